"""The trust chain: which users are admitted, and a table of every refusal."""

from __future__ import annotations

import base64
import dataclasses
from collections.abc import Callable
from typing import Any

import pytest
from pyjs.keys.chain import (
    Admission,
    Reason,
    Refusal,
    Trust,
    account_status,
    authorize,
    open_account,
    open_operator,
    open_user,
)
from pyjs.keys.claims import ActivationClaims, Claims, Export, Import, TimeRange, UserClaims
from pyjs.keys.grants import validate_import
from pyjs.keys.nkey import KeyRole


class Case:
    """A valid chain, to be spoilt in one place; `result` walks it as a server does."""

    def __init__(self, party: Any) -> None:
        self.party = party
        self.operator = party.operator_claims()
        self.account = party.account_claims()
        self.user = party.user_claims()
        self.operator_by, self.account_by, self.user_by = party.operator, party.operator, party.account
        self.connection: dict[str, Any] = {}
        self.now = party.now
        self.issued = party.now
        self.change: Callable[[str], str] = lambda token: token
        self.account_change: Callable[[str], str] = lambda token: token

    def token(self, claims: Claims, by: Any) -> str:
        return str(self.party.signed(claims, by, self.issued))

    def result(self) -> Admission | Refusal:
        operator = open_operator(self.token(self.operator, self.operator_by), self.now)
        if isinstance(operator, Refusal):
            return operator
        trust = Trust.in_operators([operator])
        user = open_user(self.change(self.token(self.user, self.user_by)), self.now)
        if isinstance(user, Refusal):
            return user
        token = self.account_change(self.token(self.account, self.account_by))
        account = open_account(token, trust, self.now, key=user.account)
        if isinstance(account, Refusal):
            return account
        return authorize(user, account, trust, self.now, self.party.connection(**self.connection))

    def admitted(self) -> Admission:
        result = self.result()
        assert isinstance(result, Admission), result
        return result

    def scoped(self) -> Any:
        """Let the scoped key sign; gives its template."""
        self.user = UserClaims.new(
            self.party.user.public_key, "ann", issuer_account=self.account.sub, scoped=True
        )
        self.user_by = self.party.scoped
        return self.account.nats.signing_keys[self.party.scoped.public_key].template


@pytest.fixture
def case(party: Any) -> Case:
    return Case(party)


def _flip(token: str) -> str:
    head, body, signature = token.split(".")
    return f"{head}.{body}.{'B' if signature[0] == 'A' else 'A'}{signature[1:]}"


def _headed(header: bytes) -> Callable[[str], str]:
    text = base64.urlsafe_b64encode(header).decode().rstrip("=")
    return lambda token: f"{text}.{token.split('.', 1)[1]}"


REFUSALS: list[tuple[Reason, str, Callable[[Case], object]]] = []


def refusal(reason: Reason, what: str) -> Callable[[Callable[[Case], object]], Callable[[Case], object]]:
    def add(spoil: Callable[[Case], object]) -> Callable[[Case], object]:
        REFUSALS.append((reason, what, spoil))
        return spoil

    return add


def _set(path: str, value: Any) -> Callable[[Any], object]:
    def spoil(case: Any) -> None:
        target: Any = case
        *way, last = path.split(".")
        for step in way:
            target = getattr(target, step)
        setattr(target, last, value(case) if callable(value) and not isinstance(value, type) else value)

    return spoil


def _now(shift: int) -> Callable[[Case], int]:
    return lambda case: case.party.seconds + shift


REFUSALS += [
    (Reason.BAD_TOKEN, "no token", lambda c: setattr(c, "change", lambda _: "x")),
    (Reason.BAD_TOKEN, "two parts", lambda c: setattr(c, "change", lambda t: t.rpartition(".")[0])),
    (Reason.BAD_SIGNATURE, "user changed", lambda c: setattr(c, "change", _flip)),
    (Reason.BAD_SIGNATURE, "account changed", lambda c: setattr(c, "account_change", _flip)),
    (
        Reason.BAD_ALGORITHM,
        "none",
        lambda c: setattr(c, "change", _headed(b'{"typ":"JWT","alg":"none"}')),
    ),
    (
        Reason.BAD_ALGORITHM,
        "HS256",
        lambda c: setattr(c, "change", _headed(b'{"typ":"JWT","alg":"HS256"}')),
    ),
    (
        Reason.WRONG_KIND,
        "an account's token as a user's",
        lambda c: setattr(c, "change", lambda _: c.token(c.account, c.party.operator)),
    ),
    (Reason.INVALID_CLAIMS, "bad network", _set("user.nats.src", ["nowhere"])),
    (Reason.INVALID_CLAIMS, "bad subject", _set("user.nats.pub.allow", ["a..b"])),
    (
        Reason.INVALID_CLAIMS,
        "overlapping exports",
        _set(
            "account.nats.exports",
            [Export(subject="a.*", type="stream"), Export(subject="a.b", type="stream")],
        ),
    ),
    (Reason.USER_EXPIRED, "user", _set("user.exp", _now(-1))),
    (Reason.USER_NOT_YET_VALID, "user", _set("user.nbf", _now(1))),
    (
        Reason.USER_REVOKED,
        "by key",
        _set("account.nats.revocations", lambda c: {c.party.user.public_key: c.party.seconds}),
    ),
    (Reason.USER_REVOKED, "by *", _set("account.nats.revocations", lambda c: {"*": c.party.seconds})),
    (Reason.ACCOUNT_EXPIRED, "account", _set("account.exp", _now(-1))),
    (Reason.ACCOUNT_NOT_YET_VALID, "account", _set("account.nbf", _now(1))),
    (Reason.OPERATOR_EXPIRED, "operator", _set("operator.exp", _now(-1))),
    (Reason.OPERATOR_NOT_YET_VALID, "operator", _set("operator.nbf", _now(1))),
    (Reason.UNKNOWN_OPERATOR, "a stranger signs", _set("account_by", lambda c: c.party.stranger)),
    (Reason.UNKNOWN_OPERATOR, "self-signed", _set("account_by", lambda c: c.party.account)),
    (
        Reason.UNKNOWN_OPERATOR,
        "strict, identity signs",
        _set("operator.nats.strict_signing_key_usage", True),
    ),
    (Reason.UNKNOWN_ISSUER, "operator signed by a stranger", _set("operator_by", lambda c: c.party.stranger)),
    (Reason.WRONG_ACCOUNT, "another account signs", _set("user_by", lambda c: c.party.other)),
    (Reason.WRONG_ACCOUNT, "a signing key without its account", _set("user_by", lambda c: c.party.signing)),
    (Reason.BEARER_NOT_ALLOWED, "bearer", lambda c: _bearer(c, allowed=False)),
    (Reason.CONNECTION_TYPE, "another type", _set("user.nats.allowed_connection_types", ["MQTT"])),
    (Reason.CONNECTION_TYPE, "unknown types only", _set("user.nats.allowed_connection_types", ["PIGEON"])),
    (Reason.PROXY_REQUIRED, "no proxy", _set("user.nats.proxy_required", True)),
    (Reason.NONCE_UNSIGNED, "no signature", _set("connection", {"signature": ""})),
    (Reason.NONCE_SIGNATURE, "another nonce", _set("connection", {"nonce": b"other"})),
    (Reason.NONCE_SIGNATURE, "no nonce", _set("connection", {"nonce": b""})),
    (Reason.NONCE_SIGNATURE, "no base 64", _set("connection", {"signature": "!!"})),
    (Reason.SOURCE_NETWORK, "elsewhere", _set("user.nats.src", ["10.0.0.0/8", "::/0"])),
    (Reason.OUTSIDE_HOURS, "later", _set("user.nats.times", [TimeRange(start="00:00:00", end="00:00:01")])),
]


def _bearer(case: Case, *, allowed: bool) -> None:
    case.user.nats.bearer_token = True
    case.account.nats.limits.disallow_bearer = not allowed


@refusal(Reason.UNKNOWN_ISSUER, "a key that is not the account's")
def _foreign_key(case: Case) -> None:
    case.user.nats.issuer_account = case.account.sub
    case.user_by = case.party.other


@refusal(Reason.IDENTITY_ISSUED, "strict, the account's identity signs")
def _identity(case: Case) -> None:
    case.operator.nats.strict_signing_key_usage = True
    case.account_by = case.party.operator_signing


@refusal(Reason.SCOPE_CONFLICT, "a scoped user with permissions")
def _conflict(case: Case) -> None:
    case.scoped()
    case.user.nats.pub.allow = ["a"]


@refusal(Reason.SCOPE_CONFLICT, "a scoped user with limits")
def _conflicting_limits(case: Case) -> None:
    case.scoped()
    case.user.nats.subs = -1


@refusal(Reason.BAD_TEMPLATE, "a tag that the user does not have")
def _template(case: Case) -> None:
    case.scoped().sub.deny = ["x.{{tag(dept)}}"]


@refusal(Reason.CONNECTION_TYPE, "the template's types")
def _template_types(case: Case) -> None:
    case.scoped().allowed_connection_types = ["LEAFNODE"]


@refusal(Reason.SOURCE_NETWORK, "an address that is none")
def _no_address(case: Case) -> None:
    case.user.nats.src = ["10.0.0.0/8"]
    case.connection = {"host": "localhost"}


@refusal(Reason.WRONG_ROLE, "a user's token signed by an operator")
def _wrong_role(case: Case) -> None:
    token = case.token(ActivationClaims.new(case.account.sub, "a", "stream"), case.party.operator)
    head, body, _ = token.split(".")
    raw = base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)).replace(b'"activation"', b'"user"')
    body = base64.urlsafe_b64encode(raw).decode().rstrip("=")
    case.change = lambda _: f"{head}.{body}.AAAA"


def test_a_whole_chain_is_admitted(case: Case) -> None:
    granted = case.admitted()
    assert (granted.user.name, granted.account.name, granted.deadline) == ("ann", "ACC", 0)
    assert granted.signing_key == ""
    assert granted.permissions.unrestricted


@pytest.mark.parametrize(("reason", "what", "spoil"), REFUSALS, ids=[f"{r[0]}: {r[1]}" for r in REFUSALS])
def test_one_error_is_refused_with_its_reason(
    case: Case, reason: Reason, what: str, spoil: Callable[[Case], object]
) -> None:
    case.admitted()
    spoil(case)
    result = case.result()
    assert isinstance(result, Refusal), what
    assert result.reason is reason, result
    assert result.detail
    assert case.party.user.seed not in str(result)


IMPORT_REASONS = {
    Reason.NO_EXPORT,
    Reason.ACCOUNT_POSITION,
    Reason.NO_ACTIVATION,
    Reason.BAD_ACTIVATION,
    Reason.ACTIVATION_ISSUER,
    Reason.ACTIVATION_EXPIRED,
    Reason.ACTIVATION_REVOKED,
}


def test_every_reason_has_a_test() -> None:
    assert {r[0] for r in REFUSALS} | IMPORT_REASONS == set(Reason)
    assert {r[0] for r in IMPORTS} >= IMPORT_REASONS


def test_the_moment_of_expiry_is_still_valid(case: Case) -> None:
    case.user.exp = case.party.seconds
    assert case.admitted().deadline == case.party.now
    case.now += 10**9
    result = case.result()
    assert isinstance(result, Refusal)
    assert result.reason is Reason.USER_EXPIRED


def test_a_token_issued_after_a_revocation_is_admitted(case: Case) -> None:
    case.account.nats.revocations = {
        case.party.user.public_key: case.party.seconds - 1,
        "*": case.party.seconds - 1,
    }
    case.admitted()


def test_operators_are_validated_by_date_only_where_asked(case: Case) -> None:
    case.operator.exp = case.party.seconds - 1
    token = case.token(case.operator, case.operator_by)
    assert not isinstance(open_operator(token), Refusal)


def test_signing_keys_of_operator_and_account_are_admitted(case: Case) -> None:
    case.account_by, case.user_by = case.party.operator_signing, case.party.signing
    case.user.nats.issuer_account = case.account.sub
    case.operator.nats.strict_signing_key_usage = True
    assert case.admitted().signing_key == case.party.signing.public_key


def test_bare_trusted_keys_are_trust_too(case: Case) -> None:
    party = case.party
    account = open_account(
        case.token(case.account, party.stranger), Trust.in_keys([party.stranger.public_key]), case.now
    )
    assert not isinstance(account, Refusal)


def test_a_scoped_user_gets_the_template(case: Case) -> None:
    template = case.scoped()
    template.pub.allow = ["u.{{name()}}.>"]
    template.subs = 7
    granted = case.admitted()
    assert granted.permissions.pub.allow == ["u.ann.>"]
    assert (granted.limits.subs, granted.limits.payload) == (7, -1)
    assert granted.signing_key == case.party.scoped.public_key


def test_default_permissions_apply_to_users_without_any(case: Case) -> None:
    case.account.nats.default_permissions.pub.deny = ["x"]
    assert case.admitted().permissions.pub.deny == ["x"]
    case.user.nats.sub.allow = ["y"]
    assert case.admitted().permissions.pub.deny == []


def test_a_bearer_needs_no_signature(case: Case) -> None:
    _bearer(case, allowed=True)
    case.connection = {"signature": ""}
    case.admitted()


def test_plain_base_64_signatures_are_read_too(case: Case) -> None:
    raw = case.party.user.sign(b"a nonce")
    case.connection = {"signature": base64.b64encode(raw).decode()}
    case.admitted()


@pytest.mark.parametrize("at", range(0, 86, 5))
def test_a_changed_signature_of_the_nonce_is_refused(case: Case, at: int) -> None:
    text = case.party.connection().signature
    case.connection = {"signature": text[:at] + ("A" if text[at] != "A" else "B") + text[at + 1 :]}
    result = case.result()
    assert isinstance(result, Refusal)
    assert result.reason is Reason.NONCE_SIGNATURE


def test_networks_hours_types_and_proxies_that_fit_are_admitted(case: Case) -> None:
    case.user.nats.src = ["127.0.0.1/32", "fe80::/10"]
    case.user.nats.times = [TimeRange(start="00:00:00", end="23:59:59")]
    case.user.nats.allowed_connection_types = ["standard", "PIGEON"]
    case.user.nats.proxy_required = True
    case.connection = {"host": "::ffff:127.0.0.1", "proxied": True}
    granted = case.admitted()
    assert granted.connection_types == {"STANDARD"}
    assert 0 < granted.deadline - case.now < 24 * 3600 * 10**9


def test_the_deadline_is_the_earlier_of_expiry_and_hours(case: Case) -> None:
    case.user.nats.times = [TimeRange(start="00:00:00", end="23:59:59")]
    case.user.exp = case.party.seconds + 5
    assert case.admitted().deadline == (case.party.seconds + 5) * 10**9


def test_a_session_is_authorized_again_after_an_update(case: Case) -> None:
    granted = case.admitted()
    trust = Trust.in_operators([case.operator])
    account = granted.account.model_copy(deep=True)
    assert isinstance(account_status(granted.user, account, trust, case.now), Admission)
    account.revoke(case.party.user.public_key, case.party.seconds)
    refused = account_status(granted.user, account, trust, case.now)
    assert isinstance(refused, Refusal)
    assert refused.reason.live_error == "User Authentication Revoked"
    assert Reason.USER_EXPIRED.live_error == "User Authentication Expired"
    assert Reason.ACCOUNT_EXPIRED.live_error == "Account Authentication Expired"
    assert Reason.SCOPE_CONFLICT.live_error == "Authorization Violation"


def test_results_cannot_be_changed(case: Case) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        case.admitted().deadline = 0  # type: ignore[misc]
    with pytest.raises(TypeError):
        Trust.in_keys(["x"]).keys["y"] = True  # type: ignore[index]


class Grant:
    """An import from `account` by `other`, with an activation; to be spoilt."""

    def __init__(self, party: Any) -> None:
        self.party = party
        self.exporter = party.account_claims()
        self.exporter.nats.exports = [Export(subject="priv.>", type="stream", token_req=True)]
        self.importer = type(self.exporter).new(party.other.public_key, "IMP")
        self.activation = ActivationClaims.new(party.other.public_key, "priv.>", "stream")
        self.by = party.account
        self.item = Import(subject="priv.x", account=party.account.public_key, type="stream")
        self.with_token = True

    def result(self) -> Refusal | None:
        if self.with_token:
            self.item.token = self.party.signed(self.activation, self.by)
        return validate_import(self.item, self.importer, self.exporter, self.party.now)


def _public(grant: Grant, **more: Any) -> None:
    grant.exporter.nats.exports = [Export(subject="priv.>", type="stream", **more)]
    grant.with_token = False


IMPORTS: list[tuple[Reason, str, Callable[[Grant], object]]] = [
    (Reason.WRONG_ACCOUNT, "another exporter", _set("item.account", lambda g: g.party.other.public_key)),
    (Reason.NO_EXPORT, "another subject", _set("item.subject", "other")),
    (Reason.NO_EXPORT, "another kind", _set("item.type", "service")),
    (Reason.NO_EXPORT, "more than is exported", _set("item.subject", ">")),
    (Reason.BAD_ACTIVATION, "another importer", _set("activation.sub", lambda g: g.party.account.public_key)),
    (Reason.BAD_ACTIVATION, "another subject", _set("activation.nats.subject", "priv.y")),
    (Reason.BAD_ACTIVATION, "another kind", _set("activation.nats.kind", "service")),
    (Reason.BAD_ACTIVATION, "another issuer", _set("by", lambda g: g.party.other)),
    (Reason.ACTIVATION_EXPIRED, "expired", _set("activation.exp", lambda g: g.party.seconds)),
    (Reason.ACTIVATION_EXPIRED, "early", _set("activation.nbf", lambda g: g.party.seconds + 1)),
]


def _foreign_activation(grant: Grant) -> None:
    grant.activation.nats.issuer_account = grant.exporter.sub
    grant.by = grant.party.other


def _revoked(who: str) -> Callable[[Grant], None]:
    def spoil(grant: Grant) -> None:
        name = who or grant.party.other.public_key
        grant.exporter.nats.exports[0].revocations = {name: grant.party.seconds}

    return spoil


def _damaged(grant: Grant) -> None:
    grant.item.token, grant.with_token = "damaged", False


def _wrong_position(grant: Grant) -> None:
    _public(grant, account_token_position=2)
    grant.exporter.nats.exports[0].subject = "priv.*"
    grant.item.subject = f"priv.{grant.party.user.public_key}"


def _without(grant: Grant) -> None:
    grant.item.token, grant.with_token = "", False


IMPORTS += [
    (Reason.NO_ACTIVATION, "no token", _without),
    (Reason.BAD_ACTIVATION, "damaged", _damaged),
    (Reason.ACTIVATION_ISSUER, "a key that is not the exporter's", _foreign_activation),
    (Reason.ACTIVATION_REVOKED, "by key", _revoked("")),
    (Reason.ACTIVATION_REVOKED, "by *", _revoked("*")),
    (Reason.ACCOUNT_POSITION, "another account's token", _wrong_position),
]


@pytest.mark.parametrize(("reason", "what", "spoil"), IMPORTS, ids=[f"{r[0]}: {r[1]}" for r in IMPORTS])
def test_an_import_with_one_error_is_refused(
    party: Any, reason: Reason, what: str, spoil: Callable[[Grant], object]
) -> None:
    grant = Grant(party)
    assert grant.result() is None
    spoil(grant)
    result = grant.result()
    assert result is not None, what
    assert result.reason is reason, result


def test_activations_by_a_signing_key_are_granted(party: Any) -> None:
    grant = Grant(party)
    grant.activation.nats.issuer_account, grant.by = grant.exporter.sub, party.signing
    assert grant.result() is None


def test_public_exports_and_own_positions_need_no_token(party: Any) -> None:
    grant = Grant(party)
    _public(grant)
    assert grant.result() is None
    _wrong_position(grant)
    grant.item.subject = f"priv.{party.other.public_key}"
    assert grant.result() is None


def test_roles_have_their_words() -> None:
    assert [str(role) for role in KeyRole] == ["operator", "account", "user", "server", "cluster", "curve"]
