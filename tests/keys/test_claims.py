"""Claims: the content of new ones, and what validation finds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyjs.keys.claims import (
    AccountClaims,
    ActivationClaims,
    AuthorizationRequestClaims,
    AuthorizationResponseClaims,
    Claims,
    Export,
    ExternalAuthorization,
    Import,
    JetStreamLimits,
    Level,
    MsgTrace,
    OperatorClaims,
    OperatorLimits,
    ServiceLatency,
    TimeRange,
    UserClaims,
    UserScope,
    WeightedMapping,
    add_tags,
)
from pyjs.keys.claims.export import _clashes
from pyjs.keys.claims.imports import _Taken
from pyjs.keys.claims.subjects import contained, plain
from pyjs.keys.nkey import KeyRole


def changed(one: Any, **fields: Any) -> object:
    """Set fields in the middle of an expression."""
    for name, value in fields.items():
        setattr(one, name, value)
    return one


def _found(claims: Claims, now: int) -> list[tuple[str, str]]:
    return [(issue.level.value, issue.text) for issue in claims.issues(now)]


def test_a_new_account_is_unlimited_without_jetstream(party: Any) -> None:
    limits = party.account_claims().nats.limits
    assert limits.document() == {
        **dict.fromkeys(("subs", "data", "payload", "imports", "exports"), -1),
        "wildcards": True,
        "conn": -1,
        "leaf": -1,
    }
    assert not limits.jetstream_enabled
    assert OperatorLimits(tiered_limits={"R1": JetStreamLimits(disk_storage=1)}).jetstream_enabled


def test_a_new_user_is_unlimited_and_a_scoped_one_empty(party: Any) -> None:
    assert not party.user_claims().nats.empty
    assert UserClaims.new(party.user.public_key, scoped=True).nats.empty


def test_global_jetstream_limits_are_not_read_beside_tiers() -> None:
    read = OperatorLimits.model_validate(
        {"disk_storage": 5, "subs": 1, "tiered_limits": {"R1": {"streams": 2}}}
    )
    assert (read.disk_storage, read.subs, read.tiered_limits["R1"].streams) == (0, 1, 2)


def test_a_template_read_without_limits_is_unlimited() -> None:
    scope = UserScope.model_validate({"kind": "user_scope", "key": "A", "template": {}})
    assert (scope.template.subs, scope.template.data, scope.template.payload) == (-1, -1, -1)


def test_tags_are_lower_case_and_unique() -> None:
    assert add_tags(["a"], " A ", "B", "", "b") == ["a", "b"]


def test_revocations_only_move_forward_and_star_covers(party: Any) -> None:
    account = party.account_claims()
    account.revoke("U1", 10)
    account.revoke("U1", 5)
    account.revoke("U2", 30)
    assert account.nats.revocations == {"U1": 10, "U2": 30}
    assert account.is_revoked("U1", 10)
    assert not account.is_revoked("U1", 11)
    account.revoke("*", 20)
    assert account.is_revoked("U3", 20)


@pytest.mark.parametrize(
    ("inner", "outer", "inside"),
    [
        ("foo", "foo", True),
        ("foo", "foo.>", False),
        ("foo.bar", "foo.>", True),
        ("foo.>", "foo.*", True),
        ("foo.*", "foo.*", True),
        ("foo.*", "foo.bar", False),
        ("a.b.c", "a.*", False),
        ("a", ">", True),
    ],
)
def test_containment_goes_token_by_token(inner: str, outer: str, inside: bool) -> None:
    assert contained(inner, outer) is inside


def test_references_become_stars() -> None:
    assert plain("a.$1.$x.$12.$") == "a.*.$x.*.$"


USERS: list[tuple[str, Callable[[UserClaims], object], Level]] = [
    ("claim is expired", lambda c: setattr(c, "exp", 5), Level.TIME),
    ("claim is not yet valid", lambda c: setattr(c, "nbf", 2**40), Level.TIME),
    ('invalid cidr "x" in user src limits', lambda c: setattr(c.nats, "src", ["x"]), Level.ERROR),
    (
        "time ranges end must contain an end",
        lambda c: setattr(c.nats, "times", [TimeRange(start="01:00:00")]),
        Level.ERROR,
    ),
    (
        'start in time range is invalid "25:00:00"',
        lambda c: setattr(c.nats, "times", [TimeRange(start="25:00:00", end="01:00:00")]),
        Level.ERROR,
    ),
    (
        "could not parse iana time zone by name: unknown time zone No/Where",
        lambda c: setattr(c.nats, "times_location", "No/Where"),
        Level.ERROR,
    ),
    ("subject cannot be empty", lambda c: setattr(c.nats.pub, "allow", [""]), Level.ERROR),
    (
        'Permission Subject "a q" is not allowed to contain queue',
        lambda c: setattr(c.nats.pub, "deny", ["a q"]),
        Level.ERROR,
    ),
    (
        'Permission Subject "a b c" contains too many spaces',
        lambda c: setattr(c.nats.sub, "allow", ["a b c"]),
        Level.ERROR,
    ),
    (
        "account_id is not an account public key",
        lambda c: setattr(c.nats, "issuer_account", c.sub),
        Level.ERROR,
    ),
]


@pytest.mark.parametrize(("text", "spoil", "level"), USERS, ids=[u[0] for u in USERS])
def test_what_is_wrong_with_a_user(
    party: Any, text: str, spoil: Callable[[UserClaims], object], level: Level
) -> None:
    claims = party.user_claims()
    assert _found(claims, party.now) == []
    spoil(claims)
    assert _found(claims, party.now) == [(level.value, text)]
    assert bool(claims.issues(party.now).blocking(time=False)) is (level is Level.ERROR)
    assert claims.issues(party.now).blocking()


def _import(**values: Any) -> Import:
    return Import(**{"subject": "a.*", "account": "A", "type": "stream", **values})


ACCOUNTS: list[tuple[str, Callable[[Any], object]]] = [
    (
        'service export subject "a.*" already exports "a.b"',
        lambda n: n.exports.extend([Export(subject=s, type="service") for s in ("a.*", "a.b")]),
    ),
    ('invalid export type: "unknown"', lambda n: n.exports.append(Export(subject="a"))),
    (
        'invalid response type for stream: "Stream"',
        lambda n: n.exports.append(Export(subject="a", type="stream", response_type="Stream")),
    ),
    (
        "AllowTrace only valid for service export",
        lambda n: n.exports.append(Export(subject="a", type="stream", allow_trace=True)),
    ),
    (
        "results subject can not contain wildcards",
        lambda n: n.exports.append(
            Export(subject="a", type="service", service_latency=ServiceLatency(results="r.*", sampling=5))
        ),
    ),
    (
        "sampling percentage needs to be between 1-100",
        lambda n: n.exports.append(
            Export(subject="a", type="service", service_latency=ServiceLatency(results="r", sampling=101))
        ),
    ),
    (
        "Account Token Position 1 matches 'a' but must match a * in: a.*",
        lambda n: n.exports.append(Export(subject="a.*", type="stream", account_token_position=1)),
    ),
    (
        "Account Token Position 3 exceeds length of subject 'a.*'",
        lambda n: n.exports.append(Export(subject="a.*", type="stream", account_token_position=3)),
    ),
    (
        "the account contains wildcard exports that are not allowed by the operator",
        lambda n: (
            n.exports.append(Export(subject="a.*", type="stream")),
            changed(n.limits, wildcards=False),
            changed(n.limits, exports=5),
        ),
    ),
    (
        "the account contains more imports than allowed by the operator",
        lambda n: (n.imports.append(_import()), changed(n.limits, imports=0)),
    ),
    (
        "subject does not contain enough * or reference wildcards $[0-9]",
        lambda n: n.imports.append(_import(local_subject="x")),
    ),
    (
        'Reference $2 in "x.$2.$1" reference * in "a.*" that do not exist',
        lambda n: n.imports.append(_import(local_subject="x.$2.$1")),
    ),
    (
        "both, renaming subject and subject, need to end or not end in >",
        lambda n: n.imports.append(_import(local_subject="$1.>")),
    ),
    (
        'overlapping subject namespace for "x.y" and "x.*" in same account "A"',
        lambda n: n.imports.extend(
            [
                _import(type="service", local_subject="x.*"),
                _import(type="service", subject="b", local_subject="x.y"),
            ]
        ),
    ),
    ("account to import from is not specified", lambda n: n.imports.append(_import(account=""))),
    ('import "a.*" contains an invalid activation token', lambda n: n.imports.append(_import(token="x"))),
    (
        "JetStream Limits and tiered JetStream Limits are mutually exclusive",
        lambda n: (
            changed(n.limits, streams=1),
            n.limits.tiered_limits.update(R1=JetStreamLimits(streams=1)),
        ),
    ),
    ('"junk" is not a valid account signing key', lambda n: n.signing_keys.update(junk=None)),
    (
        'Mapping "a" exceeds 100% among all of it\'s weighted to mappings',
        lambda n: n.mappings.update(a=[WeightedMapping(subject=s, weight=60) for s in "bc"]),
    ),
    (
        "External authorization cannot have accounts without users specified",
        lambda n: setattr(n, "authorization", ExternalAuthorization(allowed_accounts=["*"])),
    ),
    (
        'the account Trace.Destination subject "a.*" is not a valid publish subject',
        lambda n: setattr(n, "trace", MsgTrace(dest="a.*")),
    ),
    ('unknown cluster traffic option: "x"', lambda n: setattr(n, "cluster_traffic", "x")),
    ("error parsing info url: no hostname or scheme", lambda n: setattr(n, "info_url", "nothing")),
]


@pytest.mark.parametrize(("text", "spoil"), ACCOUNTS, ids=[a[0] for a in ACCOUNTS])
def test_what_is_wrong_with_an_account(party: Any, text: str, spoil: Callable[[Any], object]) -> None:
    claims = party.account_claims()
    assert _found(claims, party.now) == []
    spoil(claims.nats)
    assert ("error", text) in _found(claims, party.now)


@pytest.mark.parametrize("position", [-1, -5, 2**63])
def test_a_position_is_a_place_in_a_subject(position: int) -> None:
    with pytest.raises(ValueError, match="account_token_position"):
        Export.model_validate({"subject": "a.*", "account_token_position": position})


def test_warnings_do_not_block(party: Any) -> None:
    claims = party.made(party.account_claims(), party.account)
    claims.nats.imports.append(_import(to="x"))
    found = claims.issues(party.now)
    assert [i.level for i in found] == [Level.WARNING, Level.WARNING]
    assert found.blocking() == []


def test_an_activation_in_an_import_must_fit(party: Any) -> None:
    grant = ActivationClaims.new(party.other.public_key, "other", "service")
    claims = party.account_claims()
    token = party.signed(grant, party.signing)
    claims.nats.imports = [_import(account=party.other.public_key, token=token)]
    texts = {text for _, text in _found(claims, party.now)}
    assert texts == {
        'activation token doesn\'t match account for import "a.*"',
        'activation token doesn\'t match account it is being included in, "a.*"',
        "mismatch between token import type service and type of import stream",
        'activation token import subject "other" doesn\'t match import "a.*"',
    }


OPERATORS: list[tuple[str, Callable[[Any], object]]] = [
    (
        'account server url "nothing" requires a protocol',
        lambda n: setattr(n, "account_server_url", "nothing"),
    ),
    (
        'operator service url "nats://h/p" - paths are not supported',
        lambda n: n.operator_service_urls.append("nats://h/p"),
    ),
    (
        'operator service url "nats://u:p@h" - credentials are not supported',
        lambda n: n.operator_service_urls.append("nats://u:p@h"),
    ),
    ("junk is not an operator public key", lambda n: n.signing_keys.append("junk")),
    ("junk is not an account public key", lambda n: setattr(n, "system_account", "junk")),
    (
        "assert server version error: asserted server version must be of the form <major>.<minor>.<update>",
        lambda n: setattr(n, "assert_server_version", "2.2"),
    ),
]


@pytest.mark.parametrize(("text", "spoil"), OPERATORS, ids=[o[0] for o in OPERATORS])
def test_what_is_wrong_with_an_operator(party: Any, text: str, spoil: Callable[[Any], object]) -> None:
    claims = party.operator_claims()
    spoil(claims.nats)
    assert _found(claims, party.now) == [("error", text)]


def test_an_operator_vouches_for_what_its_keys_signed(party: Any) -> None:
    operator: OperatorClaims = party.made(party.operator_claims(), party.operator)
    by_identity = party.made(party.account_claims(), party.operator)
    by_signing = party.made(party.account_claims(), party.operator_signing)
    by_stranger = party.made(party.account_claims(), party.stranger)
    assert [operator.did_sign(c) for c in (operator, by_identity, by_signing, by_stranger)] == [1, 1, 1, 0]
    operator.nats.strict_signing_key_usage = True
    assert [operator.did_sign(c) for c in (operator, by_identity, by_signing)] == [1, 0, 1]


def test_an_account_vouches_for_users_that_name_it(party: Any) -> None:
    account: AccountClaims = party.made(party.account_claims(), party.operator)
    user = party.user_claims()
    assert account.did_sign(party.made(user, party.account))
    assert not account.did_sign(party.made(user, party.signing))
    user.nats.issuer_account = account.sub
    assert account.did_sign(party.made(user, party.signing))
    assert not account.did_sign(party.made(user, party.other))


def test_an_activation_has_a_name_for_account_servers(party: Any) -> None:
    ids = []
    for subject in ("a.b.*.c", "a.b.>", "a.b", "*"):
        claims = party.made(ActivationClaims.new(party.other.public_key, subject, "stream"), party.account)
        ids.append(claims.hash_id)
    assert ids[0] == ids[1] == ids[2] != ids[3]
    assert len(ids[0]) == 56
    assert ActivationClaims().hash_id == ""


def test_callout_claims_need_their_keys(party: Any) -> None:
    request = AuthorizationRequestClaims(sub="x")
    assert _found(request, party.now) == [("error", "User nkey is required")]
    request.nats.user_nkey = party.user.public_key
    assert _found(request, party.now) == []
    server = party.key(KeyRole.SERVER, "n").public_key
    response = AuthorizationResponseClaims(sub=party.user.public_key, aud=server)
    assert _found(response, party.now) == [("error", "Error or Jwt is required")]
    response.nats.jwt = response.nats.error = "x"
    assert _found(response, party.now) == [("error", "Only Error or Jwt can be set")]
    response.nats.jwt, response.aud = "", "x"
    assert _found(response, party.now) == [("error", "Audience must be a server public key")]


def test_a_callout_request_keeps_the_password_under_its_name(party: Any) -> None:
    from pyjs.keys.claims import ConnectOptions

    options = ConnectOptions(user="u", password="p")  # type: ignore[call-arg] # mypy knows only the alias
    assert options.document() == {"user": "u", "pass": "p", "protocol": 0}
    assert ConnectOptions.model_validate(options.document()) == options


SUBJECTS = st.lists(
    st.builds(
        lambda head, rest: ".".join([*head, *rest]),
        st.lists(st.sampled_from(["a", "b", "*"]), min_size=1, max_size=3),
        st.sampled_from([[], [">"]]),
    ),
    max_size=8,
)


@given(SUBJECTS)
def test_exports_in_each_other_are_found_as_by_all_pairs(listed: list[str]) -> None:
    wanted: dict[str, str] = {}
    for place, inner in enumerate(listed):
        for other, outer in enumerate(listed):
            if place != other and contained(inner, outer):
                wanted.setdefault(outer, inner)
    assert list(_clashes(listed).items()) == list(wanted.items())


@given(SUBJECTS)
def test_imports_in_each_other_are_found_as_by_all_pairs(listed: list[str]) -> None:
    taken = _Taken()
    for place, subject in enumerate(listed):
        wanted = [o for o in listed[:place] if contained(subject, o) or contained(o, subject)]
        assert taken.overlapping(subject) == wanted
        taken.add(subject)
