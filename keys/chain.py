"""The trust chain: operator, account, user.

The functions are pure: they take tokens, claims and the time, and return a typed result. Nothing here raises
for what a peer sent. The checks run in the order of nats-server.

A result is an `Admission` (what the user may do, and until when) or a `Refusal` with a `Reason`. A new
connection that is refused always gets `CONNECT_ERROR`; `Reason.live_error` is the `-ERR` text for a
connection that is already established. Times are in nanoseconds.

Importing this module imports neither pydantic nor PyJWT; calling its functions does.
"""

from __future__ import annotations

import base64
import binascii
import ipaddress
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, tzinfo
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar

from ..protocol.lazy_dataclass import dataclass
from .errors import IdentityError, TokenError, TokenFault
from .nkey import verify
from .scope import TemplateError, apply_template
from .time_ranges import window_end

if TYPE_CHECKING:
    from .claims import AccountClaims, Claims, OperatorClaims, Permissions, UserClaims, UserPermissionLimits

SECOND = 1_000_000_000
CONNECT_ERROR = "Authorization Violation"
CONNECTION_TYPES = frozenset(
    {"STANDARD", "WEBSOCKET", "LEAFNODE", "LEAFNODE_WS", "MQTT", "MQTT_WS", "IN_PROCESS"}
)
C = TypeVar("C", bound="Claims")


class Reason(StrEnum):
    """Why a user, an account or an import is refused."""

    BAD_TOKEN = "bad-token"  # noqa: S105 - no secret
    BAD_SIGNATURE = "bad-signature"
    BAD_ALGORITHM = "bad-algorithm"
    WRONG_KIND = "wrong-kind"
    WRONG_ROLE = "wrong-role"
    INVALID_CLAIMS = "invalid-claims"
    USER_EXPIRED = "user-expired"
    USER_NOT_YET_VALID = "user-not-yet-valid"
    USER_REVOKED = "user-revoked"
    ACCOUNT_EXPIRED = "account-expired"
    ACCOUNT_NOT_YET_VALID = "account-not-yet-valid"
    OPERATOR_EXPIRED = "operator-expired"
    OPERATOR_NOT_YET_VALID = "operator-not-yet-valid"
    UNKNOWN_OPERATOR = "unknown-operator"
    WRONG_ACCOUNT = "wrong-account"
    UNKNOWN_ISSUER = "unknown-issuer"
    IDENTITY_ISSUED = "identity-issued"
    SCOPE_CONFLICT = "scope-conflict"
    BAD_TEMPLATE = "bad-template"
    BEARER_NOT_ALLOWED = "bearer-not-allowed"
    CONNECTION_TYPE = "connection-type"
    PROXY_REQUIRED = "proxy-required"
    NONCE_UNSIGNED = "nonce-unsigned"
    NONCE_SIGNATURE = "nonce-signature"
    SOURCE_NETWORK = "source-network"
    OUTSIDE_HOURS = "outside-hours"
    NO_EXPORT = "no-export"
    ACCOUNT_POSITION = "account-position"
    NO_ACTIVATION = "no-activation"
    BAD_ACTIVATION = "bad-activation"
    ACTIVATION_ISSUER = "activation-issuer"
    ACTIVATION_EXPIRED = "activation-expired"
    ACTIVATION_REVOKED = "activation-revoked"

    @property
    def live_error(self) -> str:
        """The -ERR text with which an established connection is closed."""
        return _LIVE_ERRORS.get(self, CONNECT_ERROR)


_LIVE_ERRORS = {
    Reason.USER_EXPIRED: "User Authentication Expired",
    Reason.OUTSIDE_HOURS: "User Authentication Expired",
    Reason.USER_REVOKED: "User Authentication Revoked",
    Reason.ACCOUNT_EXPIRED: "Account Authentication Expired",
}
_REASONS = {
    TokenFault.SIGNATURE: Reason.BAD_SIGNATURE,
    TokenFault.ALGORITHM: Reason.BAD_ALGORITHM,
    TokenFault.KIND: Reason.WRONG_KIND,
    TokenFault.ISSUER: Reason.WRONG_ROLE,
    TokenFault.SUBJECT: Reason.WRONG_ROLE,
}


@dataclass(frozen=True, slots=True)
class Refusal:
    """The result of a failed check.

    reason: why it failed.
    detail: a text for logs, with keys and times, but never with secrets or tokens.
    """

    reason: Reason
    detail: str

    def __str__(self) -> str:
        return f"{self.reason}: {self.detail}"


@dataclass(frozen=True, slots=True)
class Trust:
    """The keys that may sign accounts.

    keys: public key to whether its operator is strict, that is, demands signing keys of accounts too.
    """

    keys: Mapping[str, bool]

    @classmethod
    def in_keys(cls, keys: Iterable[str]) -> Trust:
        """Trust bare operator keys, as a server's `trusted_keys` do."""
        return cls(MappingProxyType(dict.fromkeys(keys, False)))

    @classmethod
    def in_operators(cls, operators: Iterable[OperatorClaims]) -> Trust:
        """Trust operators: their signing keys, and also their identity unless they are strict."""
        keys: dict[str, bool] = {}
        for operator in operators:
            strict = operator.nats.strict_signing_key_usage
            own = () if strict else (operator.sub,)
            keys |= dict.fromkeys((*own, *operator.nats.signing_keys), strict)
        return cls(MappingProxyType(keys))


@dataclass(frozen=True, slots=True)
class ConnectInfo:
    """A client that connects, and what it signed.

    nonce: what the server gave it to sign.
    signature: the text of `sig` in its CONNECT, over `nonce`.
    kind: the type of the connection, one of `CONNECTION_TYPES`.
    host: the address it comes from.
    zone: the server's time zone, for hours that name no zone of their own.
    """

    nonce: bytes
    signature: str
    kind: str = "STANDARD"
    host: str = ""
    proxied: bool = False
    zone: tzinfo = UTC


@dataclass(frozen=True, slots=True)
class Admission:
    """The result of a passed check: the user's effective permissions and limits.

    deadline: when the admission ends (ns), 0 for never.
    """

    user: UserClaims
    account: AccountClaims
    permissions: Permissions
    limits: UserPermissionLimits
    deadline: int
    signing_key: str
    connection_types: frozenset[str]


def open_operator(token: str, now: int | None = None) -> OperatorClaims | Refusal:
    """Read an operator's token, which must be signed by the operator itself or by one of its signing keys.

    Its dates are checked only if `now` is given; nats-server does not check them.
    """
    from .claims import OperatorClaims

    claims = _open(token, OperatorClaims)
    if isinstance(claims, Refusal):
        return claims
    if not claims.did_sign(claims):
        return Refusal(Reason.UNKNOWN_ISSUER, f"operator {claims.sub} is signed by {claims.iss}")
    return _validated(claims, _errors(claims), now, Reason.OPERATOR_EXPIRED, Reason.OPERATOR_NOT_YET_VALID)


def open_account(token: str, trust: Trust, now: int, *, key: str = "") -> AccountClaims | Refusal:
    """Read an account's token, which must be signed by a trusted key and valid at `now`.

    key: the account that the token must belong to, "" for any.
    """
    claims, errors = open_account_token(token)
    return authorize_account(claims, errors, trust, now, key=key)


def open_account_token(token: str) -> tuple[AccountClaims | Refusal, list[str]]:
    """Read an account's token; return its claims and the errors in their contents.

    Neither trust nor dates are checked.
    """
    from .claims import AccountClaims

    claims = _open(token, AccountClaims)
    if isinstance(claims, Refusal):
        return claims, []
    return claims, _errors(claims)


def authorize_account(
    claims: AccountClaims | Refusal, errors: list[str], trust: Trust, now: int, *, key: str = ""
) -> AccountClaims | Refusal:
    """Check the result of `open_account_token`: signed by a trusted key, valid at `now`, of account `key`."""
    if isinstance(claims, Refusal):
        return claims
    if key and claims.sub != key:
        return Refusal(Reason.WRONG_ACCOUNT, f"the token is that of account {claims.sub}, not of {key}")
    return _trusted(claims, trust) or _validated(
        claims, errors, now, Reason.ACCOUNT_EXPIRED, Reason.ACCOUNT_NOT_YET_VALID
    )


def open_user(token: str, now: int) -> UserClaims | Refusal:
    """Read a user's token, which must be valid at `now`. Its `account` names the account to look up."""
    from .claims import UserClaims

    claims = _open(token, UserClaims)
    if isinstance(claims, Refusal):
        return claims
    return _validated(claims, _errors(claims), now, Reason.USER_EXPIRED, Reason.USER_NOT_YET_VALID)


def authorize(
    user: UserClaims, account: AccountClaims, trust: Trust, now: int, connection: ConnectInfo
) -> Admission | Refusal:
    """Authorize a user that connects. `user` and `account` come from `open_user` and `open_account`."""
    granted = account_status(user, account, trust, now)
    if isinstance(granted, Refusal):
        return granted
    return _authorize_connection(granted, now, connection)


def account_status(user: UserClaims, account: AccountClaims, trust: Trust, now: int) -> Admission | Refusal:
    """Authorize user and account without a connection, to decide whether a session may go on after an update.

    Revocations are checked. Connection types, the proof of the key, networks and hours are not.
    """
    if refused := _trusted(account, trust) or _issued(
        user, account, strict=trust.keys.get(account.iss, False)
    ):
        return refused
    limits: UserPermissionLimits = user.nats
    scope = account.scope(user.iss)
    if scope is not None:
        if not user.nats.empty:
            return Refusal(Reason.SCOPE_CONFLICT, "scoped users require no permissions or limits set")
        try:
            limits = apply_template(scope.template, user, account)
        except TemplateError as error:
            return Refusal(Reason.BAD_TEMPLATE, str(error))
    if account.exp and account.exp < now // SECOND:
        return Refusal(Reason.ACCOUNT_EXPIRED, f"account {account.sub} has expired")
    if user.exp and user.exp < now // SECOND:
        return Refusal(Reason.USER_EXPIRED, f"user {user.sub} has expired")
    if limits.bearer_token and account.nats.limits.disallow_bearer:
        return Refusal(Reason.BEARER_NOT_ALLOWED, f"account {account.sub} does not allow bearer tokens")
    if not user.iat or account.is_revoked(user.sub, user.iat):
        what = "is revoked" if user.iat else "has a token without a date of issue"
        return Refusal(Reason.USER_REVOKED, f"user {user.sub} {what}")
    return Admission(
        user=user,
        account=account,
        permissions=account.nats.default_permissions if limits.unrestricted else limits,
        limits=limits,
        deadline=max(user.exp, 0) * SECOND,
        signing_key=user.iss if user.nats.issuer_account else "",
        connection_types=frozenset(t.upper() for t in limits.allowed_connection_types) & CONNECTION_TYPES,
    )


def authorize_assigned(
    user: UserClaims, account: AccountClaims, trust: Trust, now: int, connection: ConnectInfo
) -> Admission | Refusal:
    """Authorize a user that a callout service assigned to a connection: nobody proves to have its key."""
    granted = account_status(user, account, trust, now)
    if isinstance(granted, Refusal):
        return granted
    deadline = assigned_deadline(user, granted.limits, now, connection)
    return deadline if isinstance(deadline, Refusal) else replace(granted, deadline=deadline)


def assigned_deadline(
    user: UserClaims, limits: UserPermissionLimits, now: int, connection: ConnectInfo
) -> int | Refusal:
    """Return until when (ns, 0 for ever) such a user may have this connection, by its limits alone."""
    return _connection_refusal(user, limits, connection) or _deadline(user, limits, now, connection)


def _authorize_connection(granted: Admission, now: int, connection: ConnectInfo) -> Admission | Refusal:
    """Run the checks that need the connection, and set the deadline that follows from the hours."""
    limits, user = granted.limits, granted.user
    if refused := _kind_refusal(user, limits, connection):
        return refused
    if not limits.bearer_token and (refused := _proof(user.sub, connection)):
        return refused
    deadline = _network_refusal(limits, connection) or _deadline(user, limits, now, connection)
    return deadline if isinstance(deadline, Refusal) else replace(granted, deadline=deadline)


def _connection_refusal(
    user: UserClaims, limits: UserPermissionLimits, connection: ConnectInfo
) -> Refusal | None:
    return _kind_refusal(user, limits, connection) or _network_refusal(limits, connection)


def _kind_refusal(user: UserClaims, limits: UserPermissionLimits, connection: ConnectInfo) -> Refusal | None:
    if limits.proxy_required and not connection.proxied:
        return Refusal(Reason.PROXY_REQUIRED, f"user {user.sub} must come through a proxy")
    kinds = {kind.upper() for kind in limits.allowed_connection_types}
    if kinds and connection.kind not in kinds & CONNECTION_TYPES:
        return Refusal(Reason.CONNECTION_TYPE, f"connections of type {connection.kind} are not allowed")
    return None


def _network_refusal(limits: UserPermissionLimits, connection: ConnectInfo) -> Refusal | None:
    if limits.src and not _from(connection.host, limits.src):
        return Refusal(
            Reason.SOURCE_NETWORK, f"connections from {connection.host or 'nowhere'} are not allowed"
        )
    return None


def _deadline(
    user: UserClaims, limits: UserPermissionLimits, now: int, connection: ConnectInfo
) -> int | Refusal:
    """Return when the token or the permitted hours end (ns), 0 for never."""
    expires = max(user.exp, 0) * SECOND
    if not limits.times:
        return expires
    spans = [(span.start, span.end) for span in limits.times]
    end = window_end(spans, limits.times_location, connection.zone, now)
    if not end:
        return Refusal(Reason.OUTSIDE_HOURS, f"user {user.sub} may not connect at this hour")
    return min(end, expires) if expires else end


def _open(token: str, kind: type[C]) -> C | Refusal:
    from .token import decode

    try:
        return decode(token, kind, v1=True)
    except TokenError as error:
        return Refusal(_REASONS.get(error.fault, Reason.BAD_TOKEN), str(error))
    except IdentityError as error:
        return Refusal(Reason.BAD_TOKEN, str(error))


def _errors(claims: Claims) -> list[str]:
    """Return the errors in the contents; the dates do not count."""
    return [issue.text for issue in claims.issues(0).blocking(time=False)]


def _validated(claims: C, errors: list[str], now: int | None, expired: Reason, early: Reason) -> C | Refusal:
    """Check the dates (unless `now` is None) and the contents."""
    if errors:
        return Refusal(Reason.INVALID_CLAIMS, errors[0])
    if now is not None and claims.exp and claims.exp < now // SECOND:
        return Refusal(expired, f"{claims.KIND} {claims.sub} has expired")
    if now is not None and claims.nbf > now // SECOND:
        return Refusal(early, f"{claims.KIND} {claims.sub} is not yet valid")
    return claims


def _trusted(account: AccountClaims, trust: Trust) -> Refusal | None:
    if account.iss in trust.keys:
        return None
    return Refusal(
        Reason.UNKNOWN_OPERATOR, f"account {account.sub} is signed by {account.iss}, which is not trusted"
    )


def _issued(user: UserClaims, account: AccountClaims, *, strict: bool) -> Refusal | None:
    """Return the refusal of a user that neither the account nor one of its signing keys issued, else None."""
    if user.account != account.sub:
        return Refusal(
            Reason.WRONG_ACCOUNT, f"user {user.sub} belongs to {user.account}, not to {account.sub}"
        )
    if user.iss in account.nats.signing_keys:
        return None
    if user.iss != account.sub:
        return Refusal(
            Reason.UNKNOWN_ISSUER, f"user {user.sub} is signed by {user.iss}, no key of its account"
        )
    if strict:
        return Refusal(Reason.IDENTITY_ISSUED, "the operator demands users signed by signing keys")
    return None


def _proof(user: str, connection: ConnectInfo) -> Refusal | None:
    """Return the refusal of a client that did not sign the nonce, else None."""
    text = connection.signature
    if not text:
        return Refusal(Reason.NONCE_UNSIGNED, f"user {user} sent no signature")
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=_altchars(text), validate=True)
    except (binascii.Error, ValueError):
        return Refusal(Reason.NONCE_SIGNATURE, "the signature is not base 64")
    if not connection.nonce or not verify(user, connection.nonce, raw):
        return Refusal(Reason.NONCE_SIGNATURE, f"the nonce was not signed by user {user}")
    return None


def _altchars(text: str) -> bytes:
    """Return the alphabet that `text` uses: URL base 64, or the plain one that some clients send."""
    return b"+/" if "+" in text or "/" in text else b"-_"


def _from(host: str, networks: list[str]) -> bool:
    from .claims.parts import network

    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    known = [network(cidr) for cidr in networks]
    return None not in known and any(net is not None and address in net for net in known)
