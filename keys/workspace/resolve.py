"""Resolving accounts, users and keys from names or public keys.

A secret that is given by mistake is refused, and the error does not repeat it.
"""

from __future__ import annotations

from ..claims.issues import quote
from ..claims.parts import ANY
from ..errors import FolderError, KeyFault, NkeyError, WorkspaceError
from ..nkey import KeyRole, public_role
from .workspace import Workspace


def account_key(workspace: Workspace, name_or_key: str, *, anyone: bool = False) -> str:
    """Return an account's public key, from its name or key; for an account outside the store only its key.

    anyone: whether `*` is allowed.

    Raises WorkspaceError for an unknown name, NkeyError for a key of another role or a secret.
    """
    store = workspace.store()
    if anyone and name_or_key == ANY:
        return ANY
    if name_or_key in store.accounts():
        return store.account(name_or_key).sub
    return _key(name_or_key, KeyRole.ACCOUNT, f"account {name_or_key} does not exist in the current operator")


def user_key(workspace: Workspace, account: str, name_or_key: str, *, anyone: bool = False) -> str:
    """Return the public key of an account's user, by name or key. Raises as `account_key` does."""
    store = workspace.store()
    if anyone and name_or_key == ANY:
        return ANY
    if name_or_key in store.users(account):
        return store.user(account, name_or_key).sub
    return _key(name_or_key, KeyRole.USER, f"user {name_or_key} does not exist in account {quote(account)}")


def account_label(workspace: Workspace, key: str) -> str:
    """Return an account's name from its key; "" if it is not in the store or its token is damaged."""
    store = workspace.store()
    for name in store.accounts():
        try:
            if store.account(name).sub == key:
                return name
        except FolderError:
            continue
    return ""


def _key(text: str, role: KeyRole, otherwise: str) -> str:
    """Check a public key; `otherwise` is the error text for something that is not a key at all."""
    try:
        public_role(text, role)
    except NkeyError as error:
        if error.fault is KeyFault.NOT_A_KEY:
            raise WorkspaceError(otherwise) from None
        raise
    return text
