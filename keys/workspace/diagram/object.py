"""Operator, accounts and users of a store as a PlantUML object diagram, in the words of nsc."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ....protocol.duration import format_go
from ...claims import AccountClaims, Claims, OperatorClaims, UserClaims
from ...claims.issues import Level, quote
from ...claims.limits import OperatorLimits
from ...claims.parts import Permissions, UserPermissionLimits
from ...folders.keystore import Keystore
from ...folders.store import OperatorStore
from .uml import Uml, moment


@dataclass(frozen=True, slots=True)
class DiagramOptions:
    """What is drawn besides operator and accounts.

    users: the users of the accounts.
    keys: identity and signing keys, and whether their seeds are stored.
    detail: also what is unlimited or empty.
    """

    users: bool = False
    keys: bool = False
    detail: bool = False


def object_uml(
    store: OperatorStore, keystore: Keystore, now: int, shown: DiagramOptions = DiagramOptions()
) -> str:
    """Return the text of the diagram, for PlantUML. `now`: ns. Raises FolderError."""
    uml = Uml()
    uml.line("@startuml")
    uml.line("title Object Diagram")
    draw_objects(uml, store, keystore, now, shown)
    return uml.end(store.folder, now)


class Canvas(Protocol):
    """What objects are drawn on, with the methods of Uml."""

    def line(self, text: str) -> None:
        """Add a line to the object that is open."""

    def open(self, shape: str, name: str, key: str, kind: str) -> None:
        """Begin an object."""

    def close(self) -> None:
        """End the object that is open."""

    def tie(self, one: str, mark: str, other: str, text: str = "") -> None:
        """Connect two objects."""

    def note(self, of: str, description: str, url: str) -> None:
        """Add a note to an object."""


def draw_objects(
    canvas: Canvas, store: OperatorStore, keystore: Keystore, now: int, shown: DiagramOptions
) -> None:
    """Draw operator, accounts and users. `now`: ns. Raises FolderError."""
    drawing = _Drawing(canvas, store, keystore, now, shown)
    drawing.operator()
    for name in store.accounts():
        drawing.account(name)


class _Drawing:
    """One diagram while it is drawn."""

    def __init__(
        self, canvas: Canvas, store: OperatorStore, keystore: Keystore, now: int, shown: DiagramOptions
    ) -> None:
        self.uml = canvas
        self._store, self._keystore, self._now, self._shown = store, keystore, now, shown
        self._operator = store.operator()

    def operator(self) -> None:
        claims, body = self._operator, self._operator.nats
        self._open(claims, "operator")
        self._claims(claims)
        self._value("JWT Version", str(body.version))
        self._value("account server", body.account_server_url)
        self._value("Strict signing key usage", _word(body.strict_signing_key_usage))
        self._validation(claims)
        self.uml.close()
        self._signing_keys(claims, "operator", body.signing_keys)

    def account(self, name: str) -> None:
        claims = self._store.account(name)
        body = claims.nats
        system = claims.sub == self._operator.nats.system_account
        self._open(claims, "system account" if system else "account")
        self._claims(claims)
        self._account_limits(body.limits)
        self._nats_limits(body.limits)
        self._jetstream_limits(body.limits)
        self._validation(claims)
        self.uml.close()
        defaults = ""
        if not body.default_permissions.unrestricted:
            defaults = self._permissions(claims, "default", body.default_permissions)
            self.uml.tie(claims.sub, "*--", defaults)
        self._signing_keys(claims, "account", sorted(body.signing_keys))
        self._signed(self._operator, claims)
        self.uml.note(claims.sub, body.description, body.info_url)
        if self._shown.users:
            for user in self._store.users(name):
                self._user(claims, self._store.user(name, user), defaults)

    def _user(self, account: AccountClaims, claims: UserClaims, defaults: str) -> None:
        body = claims.nats
        self._open(claims, "user")
        self._claims(claims)
        self._value("Bearer Token", _word(body.bearer_token))
        self._list("Allowed Connection Types", body.allowed_connection_types)
        self._nats_limits(body)
        self._user_limits(body)
        self._validation(claims)
        self.uml.close()
        if not body.unrestricted:
            own = self._permissions(claims, "user", body)
            self.uml.tie(claims.sub, "*--", own, "API restricted by >")
        elif defaults:
            self.uml.tie(claims.sub, "--", defaults, "API restricted by >")
        self._signed(account, claims)

    def _open(self, claims: Claims, kind: str) -> None:
        self.uml.open("object", claims.name, claims.sub, kind)

    def _value(self, name: str, value: str) -> None:
        if value or self._shown.detail:
            self.uml.line(f"{name} = {value}")

    def _list(self, name: str, values: Sequence[str]) -> None:
        if values or self._shown.detail:
            self._value(name, " ".join(map(quote, values)))

    def _time(self, name: str, seconds: int) -> None:
        if seconds:
            self.uml.line(f"{name} = {moment(seconds)}")
        elif self._shown.detail:
            self.uml.line(f"{name} = not set")

    def _limit(self, name: str, limit: int) -> None:
        self._value(name, {-1: "-1 (unlimited)", 0: "0 (disabled)"}.get(limit, str(limit)))

    def _section(self, title: str, state: str = "") -> bool:
        """Begin a section and return whether it is drawn. One that has a `state` is drawn only for detail."""
        if state and not self._shown.detail:
            return False
        self.uml.line(f"--- {title} {state}---")
        return True

    def _claims(self, claims: Claims) -> None:
        if self._shown.keys:
            self._value("Identity Key", claims.sub)
            self._value("Identity Key Present", _word(self._keystore.has(claims.sub)))
        self._list("Tags", claims.tags)
        self._time("Issued At", claims.iat)
        self._time("Valid From", claims.nbf)
        self._time("Expires", claims.exp)

    def _validation(self, claims: Claims) -> None:
        found = claims.issues(self._now)
        if len(found):
            self.uml.line("==**<color:red>Validation</color>**==")
        elif not self._shown.detail:
            return
        else:
            self._section("Validation (no issues)")
        errors = [issue.text for issue in found if issue.level is Level.ERROR]
        self._value("Errors", " ".join(map(quote, errors)))
        self._list("Warnings", [issue.text for issue in found if issue.level is not Level.ERROR])

    def _account_limits(self, limits: OperatorLimits) -> None:
        counts = (limits.exports, limits.imports, limits.conn, limits.leaf)
        free = counts == (-1, -1, -1, -1) and limits.wildcards and not limits.disallow_bearer
        if not self._section("Account Limits", "(unlimited)" if free else ""):
            return
        self._limit("Max Exports", limits.exports)
        self._limit("Max Imports", limits.imports)
        self._limit("Max Client Connections", limits.conn)
        self._limit("Max Leaf Node Connections", limits.leaf)
        self._value("Allow Wildcard Exports", _word(limits.wildcards))
        self._value("Disallow bearer token", _word(limits.disallow_bearer))

    def _nats_limits(self, limits: OperatorLimits | UserPermissionLimits) -> None:
        free = (limits.subs, limits.data, limits.payload) == (-1, -1, -1)
        if not self._section("Nats Limits", "(unlimited)" if free else ""):
            return
        self._limit("Max Payload", limits.payload)
        self._limit("Max Subscriber", limits.subs)
        self._limit("Max Number of bytes", limits.data)

    def _jetstream_limits(self, limits: OperatorLimits) -> None:
        counts = (limits.mem_storage, limits.disk_storage, limits.streams, limits.consumer)
        sizes = (limits.max_ack_pending, limits.mem_max_stream_bytes, limits.disk_max_stream_bytes)
        if counts == (-1, -1, -1, -1) and all(s <= 0 for s in sizes) and not limits.max_bytes_required:
            self.uml.line("--- Jetstream Limits (unlimited) ---")
        elif limits.disk_storage == limits.mem_storage == 0:
            if not self._section("Jetstream Limits", "(disabled) "):
                return
        else:
            self._section("Jetstream Limits")
        self._limit("Max Memory Storage", limits.mem_storage)
        self._limit("Max Disk Storage", limits.disk_storage)
        self._limit("Max Streams", limits.streams)
        self._limit("Max Consumer", limits.consumer)

    def _user_limits(self, limits: UserPermissionLimits) -> None:
        free = not limits.src and not limits.times
        if not self._section("User Limits", "(unlimited)" if free else ""):
            return
        self._list("Permitted CIDR blocks", limits.src)
        spans = "".join(f" [{span.start}-{span.end}]" for span in limits.times)
        self._value("Permitted Times to Connect", limits.times_location + spans)

    def _signing_keys(self, claims: Claims, kind: str, keys: Sequence[str]) -> None:
        if not self._shown.keys or not keys:
            return
        self.uml.open("map", claims.name, f"{claims.sub}_sk", f"{kind} signing keys")
        self.uml.line("key => stored")
        for key in keys:
            self.uml.line(f"{key} => {_word(self._keystore.has(key))}")
        self.uml.close()
        self.uml.tie(claims.sub, "*--", f"{claims.sub}_sk ")  # nsc has a blank there

    def _permissions(self, claims: Claims, kind: str, permissions: Permissions) -> str:
        label = f"{claims.sub}_permissions"
        self.uml.open("object", claims.name, label, f"{kind} permissions")
        for title, subjects in (
            ("Publish Deny", permissions.pub.deny),
            ("Publish Allow", permissions.pub.allow),
            ("Subscribe Deny", permissions.sub.deny),
            ("Subscribe Allow", permissions.sub.allow),
        ):
            if subjects or self._shown.detail:
                self._section(title)
            for subject in subjects:
                self.uml.line(f' ""{subject}""')
        if permissions.resp is None:
            self._section("Response Permissions", "(server default)")
        else:
            self._section("Response Permissions")
            self._value("Expiration", format_go(permissions.resp.ttl))
            self._limit("Max Messages", permissions.resp.max)
        self.uml.close()
        return label

    def _signed(self, signer: OperatorClaims | AccountClaims, signee: Claims) -> None:
        if signee.iss == signee.sub:
            self.uml.tie(signee.iss, "--", signee.sub, "self signed >")
        elif self._shown.keys and signee.iss != signer.sub:
            self.uml.tie(f"{signer.sub}_sk::{signee.iss}", "--", signee.sub, "signed >")
        else:
            self.uml.tie(signer.sub, "--", signee.sub, "signed >")


def _word(value: bool) -> str:
    return "true" if value else "false"
