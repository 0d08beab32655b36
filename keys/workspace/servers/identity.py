"""The user of a connection to the servers: a temporary or stored user of the system account.

A temporary user is valid for two minutes, exists only in memory, and may do only what it is made for.
"""

from __future__ import annotations

from collections.abc import Sequence

from ....protocol.lazy_dataclass import dataclass
from ...claims import AccountClaims, OperatorClaims, UserClaims
from ...claims.base import SECOND
from ...errors import NotFoundError, WorkspaceError
from ...nkey import KeyPair, KeyRole
from ...token import encode
from ..workspace import Workspace

INBOX = "_INBOX.>"
LIFE = 120  # seconds
_NAME = "pyjs temporary push user"


@dataclass(frozen=True, slots=True)
class Speaker:
    """A user with its secret.

    account: the name of its account in the store.
    name: the user's name.
    """

    account: str
    name: str
    token: str
    key: KeyPair


def system_speaker(
    workspace: Workspace, publish: Sequence[str], *, account: str = "", user: str = ""
) -> Speaker:
    """Return a user of the system account that may publish to `publish` and subscribe to inboxes.

    account: an account other than the operator's system account, by name or key.
    user: a stored user of it.

    Raises WorkspaceError if no such user can be made or found.
    """
    store, operator = workspace.store(), workspace.operator()
    name = _account_name(workspace, operator, account)
    claims = store.account(name)
    if user:
        found = _stored(workspace, name, user)
        if found is None:
            raise WorkspaceError(
                f'no system account user with corresponding nkey found: the seed of user "{user}" of account '
                f'"{name}" is not in the keystore'
            )
        return found
    key = _account_key(workspace, operator, claims)
    if key is not None:
        return _made(workspace, name, claims, key, publish)
    for stored in store.users(name):
        found = _stored(workspace, name, stored)
        if found is not None:
            return found
    raise WorkspaceError(
        f'no system account user with corresponding nkey found: neither a key of account "{name}" nor one of '
        "its users is in the keystore"
    )


def stored_speaker(workspace: Workspace, account: str, user: str) -> Speaker:
    """Return a stored user with the secret of its credentials file.

    Raises WorkspaceError if there is no such file, CredentialsError.
    """
    store = workspace.store()
    try:
        found = workspace.keystore.credentials(store.name, account, user)
    except NotFoundError:
        path = workspace.keystore.credentials_path(store.name, account, user)
        raise WorkspaceError(
            f'a creds file for account "{account}"/"{user}" was not found: there is no {path}'
        ) from None
    return Speaker(account, user, found.jwt, found.key)


def _account_name(workspace: Workspace, operator: OperatorClaims, given: str) -> str:
    if not given and not operator.nats.system_account:
        raise WorkspaceError(
            f'operator "{operator.name}" has no system account: make one with '
            "`nsc edit operator --system-account <account>`"
        )
    try:
        return workspace.store().account_named(given or operator.nats.system_account)
    except NotFoundError:
        what = given or operator.nats.system_account
        raise WorkspaceError(f'system account "{what}" not found') from None


def _account_key(workspace: Workspace, operator: OperatorClaims, claims: AccountClaims) -> KeyPair | None:
    """Return the account's signing key: in strict mode a signing key without scope.

    It is None if none is stored.
    """
    plain = sorted(key for key, scope in claims.nats.signing_keys.items() if scope is None)
    strict = operator.nats.strict_signing_key_usage
    for key in plain if strict else [claims.sub, *plain]:
        if workspace.keystore.has(key):
            return workspace.keystore.get(key)
    return None


def _made(
    workspace: Workspace, name: str, account: AccountClaims, key: KeyPair, publish: Sequence[str]
) -> Speaker:
    pair = KeyPair.create(KeyRole.USER)
    claims = UserClaims.new(pair.public_key, _NAME, issuer_account=account.sub)
    claims.exp = workspace.now() // SECOND + LIFE
    claims.nats.pub.allow = list(publish)
    claims.nats.sub.allow = [INBOX]
    return Speaker(name, _NAME, encode(claims, key, now=workspace.now()), pair)


def _stored(workspace: Workspace, account: str, user: str) -> Speaker | None:
    store, keystore = workspace.store(), workspace.keystore
    try:
        key = store.user(account, user).sub
    except NotFoundError:
        return None
    if not keystore.has(key):
        return None
    return Speaker(account, user, store.user_token(account, user), keystore.get(key))
