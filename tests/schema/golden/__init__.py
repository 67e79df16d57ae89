"""Published schemas as files, one a type: `parameters/`, `inputs/` (of `.input(T)`) and `outputs/`."""
