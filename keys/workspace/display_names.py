"""Names for public keys: the names of operators and accounts, for pages that show keys."""

from __future__ import annotations

from ..errors import FolderError
from .workspace import Workspace


def friendly_names(workspace: Workspace) -> dict[str, str]:
    """Return names by public key, signing keys included, for all operators and accounts in the stores root.

    An account of an operator that is not the current one is called `operator/account`. What cannot be read
    has no name.
    """
    found: dict[str, str] = {}
    several = len(workspace.stores.names()) > 1
    for store_name in workspace.stores.names():
        try:
            store = workspace.stores.open(store_name)
            operator = store.operator()
        except FolderError:
            continue
        found |= dict.fromkeys([operator.sub, *operator.nats.signing_keys], operator.name)
        foreign = several and operator.name != workspace.context.operator
        for account in store.accounts():
            try:
                claims = store.account(account)
            except FolderError:
                continue
            name = f"{operator.name}/{claims.name}" if foreign else claims.name
            found |= dict.fromkeys([claims.sub, *claims.nats.signing_keys], name)
    return found
