"""Generated names, for those who do not want to choose one."""

from __future__ import annotations

import secrets

from ..errors import WorkspaceError, is_secret
from ..folders.names import checked

ANY = "*"
_MANNERS = (
    "brave",
    "calm",
    "clever",
    "eager",
    "fair",
    "gentle",
    "happy",
    "keen",
    "kind",
    "lively",
    "lucky",
    "merry",
)
_PEOPLE = (
    "boole",
    "curie",
    "darwin",
    "dijkstra",
    "euler",
    "faraday",
    "gauss",
    "hopper",
    "lamport",
    "lovelace",
    "noether",
    "turing",
)


def any_name() -> str:
    """Return a generated name."""
    return f"{secrets.choice(_MANNERS)}_{secrets.choice(_PEOPLE)}"


def chosen(name: str, what: str) -> str:
    """Return the name to use; for `*` it is a generated one.

    Raises WorkspaceError without a name, FolderError for an invalid one.
    """
    if not name.strip():
        raise WorkspaceError(f"{what} name is required")
    if "/" in name or "\\" in name:
        raise WorkspaceError("name cannot contain '/' or '\\'")
    if name.strip().startswith("."):
        raise WorkspaceError("name cannot begin with '.': such files are hidden")
    if is_secret(name):
        raise WorkspaceError(f"this is a seed, a private key or a token, and no {what} name")
    if not name.isprintable():
        raise WorkspaceError(f"{what} name has a letter that cannot be seen, or that turns text around")
    return any_name() if name == ANY else checked(name)
