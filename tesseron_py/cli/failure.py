"""`Failure`: what a command says when it cannot go on. The person sees `error: …`, never a traceback."""

from __future__ import annotations


class Failure(Exception):
    """The command ends here.

    Args:
        message: What happened, where, and how to mend it; control characters are escaped where it is printed.
        code: The exit code: 1 something failed, 2 the command was used wrongly.
    """

    def __init__(self, message: str, code: int = 1) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
