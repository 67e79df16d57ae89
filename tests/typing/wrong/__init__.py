"""What type checkers must refuse; `..test_types` says how it is marked, and no one else runs a checker on it."""
