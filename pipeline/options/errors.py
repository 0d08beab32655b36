"""The error of a wrong option, worded so that its author can correct it."""

from __future__ import annotations


class OptionError(ValueError):
    """`option` is not allowed here or has a wrong value; `hint` says what to do.

    The text never holds a secret.
    """

    def __init__(self, option: str, what: str, hint: str = "") -> None:
        super().__init__(option, what, hint)
        self.option, self.what, self.hint = option, what, hint

    def __str__(self) -> str:
        return f"option {self.option}: {self.what}" + (f"; {self.hint}" if self.hint else "")
