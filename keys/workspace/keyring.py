"""The keys of an operator, its accounts and users, and whether their seeds are stored here.

Seeds are read only on request (`seed`), and no repr shows them.
"""

from __future__ import annotations

from dataclasses import field, replace
from pathlib import Path

from ...protocol.lazy_dataclass import dataclass
from ..claims import AccountClaims
from ..errors import FolderError, NotFoundError, WorkspaceError
from ..nkey import KeyRole, is_public
from .workspace import Workspace

UNKNOWN = "?"


@dataclass(frozen=True, slots=True)
class KeyFilter:
    """Which keys to collect.

    roles: the roles to show; all if there are none.
    account, user: only keys of these.
    unreferenced: whether to collect the keys in the keystore that the operator does not know.
    part: a part of the key's text.
    """

    roles: frozenset[KeyRole] = frozenset()
    account: str = ""
    user: str = ""
    part: str = ""
    unreferenced: bool = False


@dataclass(frozen=True, slots=True)
class StoredKey:
    """One key.

    path: where its seed is, None if it is not stored.
    damaged: whether the file does not hold the seed of this key.
    parent: the public key of the issuer.
    token: the token, for an identity key.
    """

    name: str
    public_key: str
    role: KeyRole
    parent: str = ""
    signing: bool = False
    curve: bool = False
    path: Path | None = None
    damaged: bool = False
    token: str = field(default="", repr=False)


def collect(workspace: Workspace, wanted: KeyFilter) -> list[StoredKey]:
    """Collect keys: the operator's, then those of each account and its users.

    Raises WorkspaceError, FolderError.
    """
    if not workspace.keystore.root.is_dir():
        raise WorkspaceError(f"keystore {workspace.keystore.root} does not exist")
    if not workspace.context.operator and not wanted.unreferenced:
        raise WorkspaceError(
            "operator is not set -- set an operator first or try --not-referenced to list all keys "
            "not in the context"
        )
    roles = wanted.roles or frozenset({KeyRole.OPERATOR, KeyRole.ACCOUNT, KeyRole.USER, KeyRole.CURVE})
    account = wanted.account
    if not wanted.roles and not account and not wanted.unreferenced:
        account = workspace.context.account
    found = _referenced(workspace, "" if wanted.unreferenced else account, wanted.user)
    if wanted.unreferenced:
        found = _unreferenced(workspace, {key.public_key for key in found})
    if wanted.user and not wanted.unreferenced and not any(key.role is KeyRole.USER for key in found):
        raise NotFoundError(f"there is no user {wanted.user} here")
    part = wanted.part.upper()
    if KeyRole.ACCOUNT in roles:
        roles |= {KeyRole.CURVE}  # a curve key belongs to its account
    return [key for key in found if key.role in roles and part in key.public_key]


def with_role(wanted: KeyFilter, role: KeyRole) -> KeyFilter:
    """Return the same filter with one more role; a filter without roles contains it already."""
    return replace(wanted, roles=wanted.roles | {role})


def seed(workspace: Workspace, key: StoredKey) -> str:
    """Return a key's secret. Raises NotFoundError, DamagedError."""
    return workspace.keystore.get(key.public_key).seed


def _referenced(workspace: Workspace, account: str, user: str) -> list[StoredKey]:
    if not workspace.context.operator:
        return []
    store = workspace.store()
    operator = store.operator()
    identity = _key_info(
        workspace, operator.name, operator.sub, KeyRole.OPERATOR, token=store.operator_token()
    )
    signing = (
        _key_info(workspace, operator.name, k, KeyRole.OPERATOR, signing=True)
        for k in operator.nats.signing_keys
    )
    found = [identity, *signing]
    for name in [store.account_named(account)] if account else store.accounts():
        claims = store.account(name)
        found += _of_account(workspace, claims, store.account_token(name), operator.sub)
        for name_of_user in [user] if user else store.users(name):
            try:
                mine = store.user(name, name_of_user)
            except NotFoundError:
                continue  # the user that was asked for belongs to another account
            token = store.user_token(name, name_of_user)
            found.append(
                _key_info(workspace, mine.name, mine.sub, KeyRole.USER, parent=claims.sub, token=token)
            )
    return found


def _of_account(workspace: Workspace, claims: AccountClaims, token: str, parent: str) -> list[StoredKey]:
    signing = sorted(claims.nats.signing_keys)
    found = [
        _key_info(workspace, claims.name, claims.sub, KeyRole.ACCOUNT, parent=parent, token=token),
        *(_key_info(workspace, claims.name, key, KeyRole.ACCOUNT, signing=True) for key in signing),
    ]
    callout = claims.nats.authorization
    if callout is not None and callout.xkey:
        found.append(_key_info(workspace, claims.name, callout.xkey, KeyRole.CURVE, curve=True))
    return found


def _unreferenced(workspace: Workspace, known: set[str]) -> list[StoredKey]:
    order = (KeyRole.OPERATOR, KeyRole.ACCOUNT, KeyRole.USER, KeyRole.CURVE)
    keystore = workspace.keystore
    return [
        _key_info(workspace, UNKNOWN, key, role)
        for role in order
        for key in keystore.keys(role)
        if key not in known
    ]


def _key_info(
    workspace: Workspace,
    name: str,
    key: str,
    role: KeyRole,
    *,
    parent: str = "",
    signing: bool = False,
    curve: bool = False,
    token: str = "",
) -> StoredKey:
    path, damaged = None, False
    if is_public(key) and workspace.keystore.has(key):
        path = workspace.keystore.path(key)
        try:
            workspace.keystore.get(key)
        except FolderError:
            damaged = True
    return StoredKey(name, key, role, parent, signing, curve, path, damaged, token)
