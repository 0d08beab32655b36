"""Names that become file names: the names of operators, accounts and users."""

from __future__ import annotations

from ..errors import FolderError

_LONGEST = 240


def checked(name: str) -> str:
    """Return a name, stripped, if it can be a file name by itself.

    Raises FolderError otherwise; the name may come from any token.
    """
    trimmed = name.strip()
    if not trimmed:
        raise FolderError("a name cannot be empty")
    if trimmed in {".", ".."} or any(letter in trimmed for letter in "/\\\0\n\r"):
        raise FolderError(f"{trimmed!r} cannot be a name: it has a character that no file name may have")
    if len(trimmed.encode()) > _LONGEST:
        raise FolderError(f"a name may have {_LONGEST} bytes, this has {len(trimmed.encode())}")
    return trimmed
