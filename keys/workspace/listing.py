"""Lists of the stored operators, accounts and users, each with its public key."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ...protocol.lazy_dataclass import dataclass
from ..claims import Claims
from ..errors import FolderError
from .workspace import Workspace


@dataclass(frozen=True, slots=True)
class ListedItem:
    """One stored entity: its name here, the content of its claims, or why they cannot be read.

    `public_key` and `claimed` are "" if there is an `error`.
    """

    name: str
    public_key: str = ""
    claimed: str = ""
    error: str = ""

    def document(self) -> dict[str, Any]:
        """Return the entry as a JSON object, with `error` in place of what cannot be read."""
        shown = {"error": self.error} if self.error else {"public_key": self.public_key}
        return {"name": self.name, **shown}


def operators(workspace: Workspace) -> list[ListedItem]:
    """List the operators in the stores root."""
    return _entries(workspace.stores.names(), lambda name: workspace.stores.open(name).operator())


def accounts(workspace: Workspace) -> list[ListedItem]:
    """List the accounts of the current operator. Raises WorkspaceError if none is current."""
    store = workspace.store()
    return _entries(store.accounts(), store.account)


def users(workspace: Workspace, account: str = "") -> list[ListedItem]:
    """List the users of an account, by default of the current one. Raises WorkspaceError, NotFoundError."""
    store, name = workspace.store(), workspace.account_name(account)
    return _entries(store.users(name), lambda user: store.user(name, user))


def _entries(names: Iterable[str], read: Callable[[str], Claims]) -> list[ListedItem]:
    found = []
    for name in names:
        try:
            claims = read(name)
        except FolderError as error:
            found.append(ListedItem(name, error=str(error)))
        else:
            found.append(ListedItem(name, claims.sub, claims.name))
    return found
