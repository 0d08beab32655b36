"""Authentication by the configuration: users, nkeys, a token or a single user.

Promises that secrets are compared in constant time, and that bcrypt never runs here: an `AuthResult` with a
`check` asks its caller to run that off the loop. Knows no connection. `Authentication` is the interface of
whatever decides; `operator` implements it for tokens.
"""

from __future__ import annotations

import base64
import binascii
import hmac
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, Protocol

from ..config.options import AuthorizationOptions
from ..slices import Steps, at_once
from .certificate_users import CertificateUsers, TLSFacts
from .passwords import BCRYPT, check_for
from .permissions import Permissions
from .proxies import REQUIRED
from .registry import GLOBAL
from .users import User

if TYPE_CHECKING:
    from ..config.options import MQTTOptions, Options, PermissionsOptions, UserOptions, WebSocketOptions
    from .account import Account
    from .registry import AccountRegistry

STANDARD = "STANDARD"
WEBSOCKET = "WEBSOCKET"
LEAFNODE = "LEAFNODE"
LEAFNODE_WS = "LEAFNODE_WS"
MQTT = "MQTT"
MQTT_WS = "MQTT_WS"


class ClientCredentials(NamedTuple):
    """The credentials in a CONNECT."""

    user: str = ""
    password: str = ""
    token: str = ""
    nkey: str = ""
    signature: str = ""
    jwt: str = ""

    @property
    def claimed(self) -> str:
        """The user that the client says it is; a token is not shown."""
        return self.nkey or self.user or ("[REDACTED]" if self.token and not self.jwt else "")

    @property
    def empty(self) -> bool:
        """Whether no credentials were given at all."""
        return not any(self)


class LoginDetails(NamedTuple):
    """What is known of a connection that logs in besides its credentials, to tell a callout service.

    kind, type: as client info shows them ("Client" and "nats").
    secure: None without TLS.
    maps: whether the listener takes the user from the certificate (`verify_and_map`).
    proxied: whether it comes through a trusted proxy.
    """

    id: int = 0
    kind: str = ""
    type: str = ""
    name: str = ""
    lang: str = ""
    version: str = ""
    protocol: int = 0
    mqtt_id: str = ""
    secure: TLSFacts | None = None
    maps: bool = False
    proxied: bool = False


NO_DETAILS = LoginDetails()


class AuthResult(NamedTuple):
    """The outcome of an authentication.

    user: None means refused.
    check: to run on another thread; the user is refused unless it returns True.
    lookup: if set, nothing is decided yet. Call it with a function that gets another result later, once.
    timed: `lookup` ends by itself, within the time that one has to log in. Without it that time runs on.
    why: the reason of a refusal, for the log.
    refused_by: the account whose callout service refused; it gets an event.
    """

    user: User | None
    check: Callable[[], bool] | None = None
    lookup: Callable[[Callable[[AuthResult], None]], None] | None = None
    why: str = ""
    refused_by: Account | None = None
    timed: bool = False


REFUSED = AuthResult(None)


class Authentication(Protocol):
    """Decides about clients. The attributes are those of `Authenticator`."""

    @property
    def required(self) -> bool:
        """Whether anyone must authenticate."""

    @property
    def uses_nkeys(self) -> bool:
        """Whether INFO needs a nonce."""

    @property
    def asks(self) -> bool:
        """Whether a client must identify itself (INFO's auth_required)."""

    @property
    def no_auth_user(self) -> User | None:
        """The user that clients without credentials become; None means that they are refused."""

    def find(self, name: str) -> User | None:
        """Return a user of the configuration, None if there is none."""

    def authenticate(
        self,
        given: ClientCredentials,
        nonce: bytes,
        connection_type: str = STANDARD,
        host: str = "",
        details: LoginDetails = NO_DETAILS,
    ) -> AuthResult:
        """Decide about one CONNECT from `host`. `nonce` is what was sent in INFO."""


class Authenticator:
    """The users of one configuration. A reload makes a new object."""

    def __init__(self, options: Options, registry: AccountRegistry) -> None:
        at_once(self._know(options, registry))

    @classmethod
    def making(cls, options: Options, registry: AccountRegistry) -> Steps[Authenticator]:
        """Make an authenticator in steps."""
        made = cls.__new__(cls)
        yield from made._know(options, registry)
        return made

    def _know(self, options: Options, registry: AccountRegistry) -> Steps[None]:
        authorization = options.authorization
        self._users: dict[str, User] = {}
        self._nkeys: dict[str, User] = {}
        self._token = authorization.token
        self._single: User | None = None
        self._mapping = _mapping(options)
        self._certificates = CertificateUsers()
        everyone = registry.global_account
        defaults = authorization.default_permissions
        for entry in authorization.users:
            self._add(entry, registry, defaults, "$G")
            yield
        for name, given in options.accounts.items():
            for entry in given.users:
                self._add(entry, registry, given.default_permissions, name)
                yield
        if authorization.user:
            permissions = None if defaults is None else Permissions(defaults)
            self._single = User(
                everyone,
                name=authorization.user,
                password=authorization.password,
                permissions=permissions,
                proxy_required=authorization.proxy_required,
            )
        self._anyone = User(
            everyone,
            permissions=None if defaults is None else Permissions(defaults),
            proxy_required=authorization.proxy_required and bool(self._token),
        )
        self._no_auth_user = self.find(options.no_auth_user) if options.no_auth_user else None
        if _is_system_only(options, registry):
            self._no_auth_user = self._anyone
        self.uses_nkeys = bool(self._nkeys)
        self.required = bool(self._users or self._nkeys or self._token or self._single)

    @property
    def asks(self) -> bool:
        """Whether a client must identify itself (INFO's auth_required)."""
        return self.required and self._no_auth_user in (None, self._anyone)

    @property
    def no_auth_user(self) -> User | None:
        """The user that clients without credentials become.

        None means that they are refused, if anything is required at all.
        """
        return self._no_auth_user if self.required else self._anyone

    def find(self, name: str) -> User | None:
        """Return a user by name or public nkey, None if there is none."""
        return self._users.get(name) or self._nkeys.get(name)

    def authenticate(
        self,
        given: ClientCredentials,
        nonce: bytes,
        connection_type: str = STANDARD,
        host: str = "",
        details: LoginDetails = NO_DETAILS,
    ) -> AuthResult:
        """Decide about one CONNECT.

        nonce: what was sent in INFO.
        connection_type: as in the users' allowed_connection_types.
        """
        del host
        if not self.required:
            return AuthResult(self._anyone)
        if details.maps and self._users and not (given.nkey and self._nkeys):
            result = self._by_certificate(given, connection_type, details)
        else:
            result = self._identify(given, nonce)
        user = result.user
        if user is not None and user.proxy_required and not details.proxied:
            return AuthResult(None, why=REQUIRED)
        if (
            user is not None
            and user.connection_types is not None
            and connection_type not in user.connection_types
        ):
            return REFUSED
        return result

    def _by_certificate(
        self, given: ClientCredentials, connection_type: str, details: LoginDetails
    ) -> AuthResult:
        """Decide about a client whose certificate names its user. A user with a password needs that, too."""
        user = self._certificates.find(details.secure, connection_type)
        return REFUSED if user is None else _compare(user.password, given.password, user)

    def _identify(self, given: ClientCredentials, nonce: bytes) -> AuthResult:
        if given.empty and self._no_auth_user is not None:
            return AuthResult(self._no_auth_user)
        if given.nkey and self._nkeys:
            user = self._nkeys.get(given.nkey)
            if user is None or not verify(given.nkey, nonce, given.signature):
                return REFUSED
            return AuthResult(user)
        if given.user and (user := self._users.get(given.user)) is not None:
            if not user.password and self._needs_certificate(user):
                return REFUSED
            return _compare(user.password, given.password, user)
        if self._token and given.token:
            return _compare(self._token, given.token, self._anyone)
        single = self._single
        if single is not None and given.user == single.name:
            return _compare(single.password, given.password, single)
        return REFUSED

    def _needs_certificate(self, user: User) -> bool:
        """Return whether a user without a password is one that certificates name, on another listener."""
        kinds = user.connection_types
        return user is not self._no_auth_user and bool(
            self._mapping if kinds is None else self._mapping & kinds
        )

    def _add(
        self, entry: UserOptions, registry: AccountRegistry, defaults: PermissionsOptions | None, account: str
    ) -> None:
        wanted = entry.permissions if entry.permissions is not None else defaults
        user = User(
            registry.accounts[account],
            name=entry.user,
            password=entry.password,
            nkey=entry.nkey,
            permissions=None if wanted is None else Permissions(wanted),
            connection_types=entry.allowed_connection_types,
            proxy_required=entry.proxy_required,
        )
        if entry.nkey:
            self._nkeys[entry.nkey] = user
        else:
            self._users[entry.user] = user
            if self._mapping:
                self._certificates.add(user)


def with_overrides(options: Options, block: WebSocketOptions | MQTTOptions | None) -> Options | None:
    """Return the options by which the clients of a listener log in, None if they do so like all others.

    A user, a token or a `no_auth_user` of the listener's block replaces all three of everybody.
    """
    if block is None or block.port is None:
        return None
    own = block.authorization
    user, password, token = ("", "", "") if own is None else (own.user, own.password, own.token)
    if not (user or token or block.no_auth_user):
        return None
    authorization = replace(options.authorization, user=user, password=password, token=token)
    return replace(options, authorization=authorization, no_auth_user=block.no_auth_user)


def _mapping(options: Options) -> frozenset[str]:
    """Return the kinds of connection whose listeners take users of the options from certificates."""
    leafs, websocket, mqtt = options.leafnodes, options.websocket, options.mqtt
    by_mqtt = mqtt.tls if mqtt is not None and mqtt.port is not None else None
    given = leafs.authorization
    own = given is not None and bool(given.user or given.nkey or given.users)
    blocks = {
        STANDARD: options.tls,
        WEBSOCKET: websocket.tls if websocket is not None and websocket.port is not None else None,
        MQTT: by_mqtt,
        MQTT_WS: by_mqtt,
        LEAFNODE: leafs.tls if leafs.port is not None and not own else None,
    }
    return frozenset(kind for kind, tls in blocks.items() if tls is not None and tls.verify_and_map)


def _is_system_only(options: Options, registry: AccountRegistry) -> bool:
    """Return whether there are users of the system account, and nothing else says who may log in.

    Everyone else then becomes a user of `$G` without credentials (nats-server: configureAccounts in
    server.go, which admits them even if there are users of `$G`).
    """
    if registry.system is None or options.no_auth_user or "authorization" in options.positions:
        return False
    if options.authorization != AuthorizationOptions():  # given on the command line
        return False
    others = [name for name, account in options.accounts.items() if account.users or name != GLOBAL]
    return others == [registry.system.name] != [GLOBAL]


def _compare(expected: str, given: str, user: User) -> AuthResult:
    if BCRYPT.match(expected):
        return AuthResult(user, check_for(expected, given))
    return AuthResult(user) if hmac.compare_digest(expected.encode(), given.encode()) else REFUSED


def verify(public: str, nonce: bytes, signature: str) -> bool:
    """Return whether `signature` is the signature of `nonce` by the user nkey `public`.

    The signature is in base64, of the URL or the standard alphabet.
    """
    from ...keys.nkey import verify as verify_raw

    text = signature.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        return False
    return verify_raw(public, nonce, raw)
