"""LeafAuthenticator: decides which leafs may join, and which account each of them joins.

It uses `leafnodes { authorization }`, or else authenticates leafs as clients.
"""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING

from ..accounts.auth import (
    LEAFNODE,
    LEAFNODE_WS,
    NO_DETAILS,
    REFUSED,
    AuthResult,
    ClientCredentials,
    LoginDetails,
    verify,
)
from ..accounts.certificate_users import CertificateUsers
from ..accounts.passwords import check_for
from ..accounts.permissions import Permissions
from ..accounts.proxies import REQUIRED
from ..accounts.users import User

if TYPE_CHECKING:
    from ..accounts import Account, AccountRegistry
    from ..accounts.auth import Authentication
    from ..config.options import Options

_BCRYPT = ("$2a$", "$2b$", "$2x$", "$2y$")


class LeafAuthenticator:
    """The leaf users of one configuration. `clients` authenticates if the configuration has none."""

    def __init__(self, options: Options, registry: AccountRegistry, clients: Authentication) -> None:
        self._clients = clients
        self._users: dict[str, User] = {}
        self._certificates = CertificateUsers(subjects=False)
        self._nkey: User | None = None
        self._anyone: User | None = None
        # Of the users for clients without credentials, leafs over WebSocket have the listener's.
        self._websocket_user = options.websocket.no_auth_user if options.websocket is not None else ""
        authorization = options.leafnodes.authorization
        if authorization is None:
            return

        def account(name: str) -> Account:
            return registry.accounts.get(name) or registry.global_account

        own = account(authorization.account)
        if authorization.user:
            self._users[authorization.user] = User(
                own,
                name=authorization.user,
                password=authorization.password,
                proxy_required=authorization.proxy_required,
            )
        elif authorization.nkey:
            self._nkey = User(own, nkey=authorization.nkey, proxy_required=authorization.proxy_required)
        elif authorization.users:
            for entry in authorization.users:
                permissions = None if entry.permissions is None else Permissions(entry.permissions)
                self._users[entry.user] = User(
                    account(entry.account),
                    name=entry.user,
                    password=entry.password,
                    permissions=permissions,
                    proxy_required=entry.proxy_required,
                )
                self._certificates.add(self._users[entry.user])
        elif authorization.account and not clients.required:
            self._anyone = User(own)

    def authenticate(
        self,
        given: ClientCredentials,
        nonce: bytes,
        host: str,
        *,
        over_websocket: bool = False,
        details: LoginDetails = NO_DETAILS,
    ) -> AuthResult:
        """Decide about one CONNECT from `host`. `nonce` is what was sent in INFO."""
        result = self._decide(given, nonce, host, over_websocket, details)
        if result.user is not None and result.user.proxy_required and not details.proxied:
            return AuthResult(None, why=REQUIRED)
        return result

    def _decide(
        self,
        given: ClientCredentials,
        nonce: bytes,
        host: str,
        over_websocket: bool,
        details: LoginDetails,
    ) -> AuthResult:
        if self._anyone is not None:
            return AuthResult(self._anyone)
        if self._nkey is not None:
            right = given.nkey == self._nkey.nkey and verify(given.nkey, nonce, given.signature)
            return AuthResult(self._nkey) if right else REFUSED
        if self._users:
            user = self._users.get(given.user)
            if details.maps and self._certificates:
                user = self._certificates.find(details.secure, LEAFNODE)
            return REFUSED if user is None else _compare(user, given.password)
        if over_websocket and given.empty and self._websocket_user:
            user = self._clients.find(self._websocket_user)
            return REFUSED if user is None or not _may_join(user) else AuthResult(user)
        kind = LEAFNODE_WS if over_websocket else LEAFNODE
        return self._clients.authenticate(given, nonce, kind, host, details)


def _may_join(user: User) -> bool:
    return user.connection_types is None or LEAFNODE_WS in user.connection_types


def _compare(user: User, given: str) -> AuthResult:
    expected = user.password
    if expected.startswith(_BCRYPT):
        return AuthResult(user, check_for(expected, given))
    return AuthResult(user) if hmac.compare_digest(expected.encode(), given.encode()) else REFUSED
