"""What is wrong with a handler, all of it at once: each fault with its mend, and the signature found and corrected."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn

from ..errors import RegistrationError

if TYPE_CHECKING:
    from .definition import Definition

    Edit = Callable[[Definition], None]


class Faults:
    """Collects the faults of one function; `refuse` raises them together.

    Args:
        where: The function and where it stands.
        define: Gives the function's definition, or `None` when it cannot be shown; called only for a message.
    """

    def __init__(self, where: str, define: Callable[[], Definition | None] = lambda: None) -> None:
        self.where = where
        self._define = define
        self._found: list[str] = []
        self._edits: list[Edit] = []
        self._tidying: list[Edit] = []
        self._names: set[str] = set()

    def __bool__(self) -> bool:
        return bool(self._found)

    def add(self, message: str, edit: Edit | None = None, *, at: str | None = None) -> None:
        """A fault.

        Args:
            message: What is wrong, and how to mend it.
            edit: What it changes in the definition; `None` for what is mended elsewhere.
            at: The parameter that has it.
        """
        if message not in self._found:
            self._found.append(message)
        if edit is not None:
            self._edits.append(edit)
        if at is not None:
            self._names.add(at)

    def tidy(self, edit: Edit) -> None:
        """A change of the corrected definition that mends no fault."""
        self._tidying.append(edit)

    def refuse(self, cause: BaseException | None = None) -> NoReturn:
        """Raise all that was found.

        Raises:
            RegistrationError: Always.
        """
        raise RegistrationError(self._text()) from cause

    def _text(self) -> str:
        if len(self._found) == 1:
            lines = [f"{self.where}: {self._found[0]}"]
        else:
            lines = [f"{self.where}: it cannot be a handler as it stands:", *(f"  - {each}" for each in self._found)]
        found = self._define()
        if found is not None:
            found.faulty |= self._names
            written = found.corrected([*self._edits, *self._tidying] if self._edits else [])
            before, after = str(found), str(written)
            lines.append(f"  found:  {before}")
            if after != before:
                lines.append(f"  write:  {after}")
        return "\n".join(lines)
