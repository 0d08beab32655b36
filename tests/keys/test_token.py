"""Tokens: a signed token is read again, and a changed one is refused."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyjs.keys.claims import ActivationClaims, GenericClaims, OperatorClaims, UserClaims
from pyjs.keys.errors import IdentityError, TokenError, TokenFault
from pyjs.keys.nkey import KeyPair, KeyRole
from pyjs.keys.token import MAX_TOKEN, decode, encode, header_of, payload_of

quiet = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
int64 = st.integers(-(2**63), 2**63 - 1)


def _b64(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def _forged(header: dict[str, Any], payload: dict[str, Any], by: KeyPair, *, whole: bool = True) -> str:
    """A token with any header and payload, properly signed."""
    head, body = (_b64(json.dumps(part).encode()) for part in (header, payload))
    return f"{head}.{body}.{_b64(by.sign(f'{head}.{body}'.encode() if whole else body.encode()))}"


def _fault(token: str, **options: Any) -> TokenFault:
    with pytest.raises(TokenError) as caught:
        decode(token, **options)
    return caught.value.fault


HEADER = {"typ": "JWT", "alg": "ed25519-nkey"}


@quiet
@given(
    name=texts.filter(str.isprintable),
    tags=st.lists(texts, max_size=3),
    subs=int64,
    exp=int64,
    allow=st.lists(texts, max_size=4),
    bearer=st.booleans(),
    ttl=int64,
)
def test_user_claims_come_back(
    party: Any, name: str, tags: list[str], subs: int, exp: int, allow: list[str], bearer: bool, ttl: int
) -> None:
    claims = party.user_claims()
    claims.name, claims.exp = name, exp
    claims.nats.tags, claims.nats.subs, claims.nats.bearer_token = tags, subs, bearer
    claims.nats.pub.allow = allow
    claims.nats.resp = type(claims.nats).model_fields["resp"].annotation.__args__[0](max=1, ttl=ttl)
    token = encode(claims, party.account, now=party.now)
    read = decode(token, UserClaims)
    assert (read.name, read.exp, read.tags) == (name, exp, tags)
    assert read.nats.model_dump(exclude={"type", "version"}) == claims.nats.model_dump(
        exclude={"type", "version"}
    )
    assert encode(read, party.account, now=party.now) == token


json_values = st.recursive(
    st.none() | st.booleans() | int64 | texts,
    lambda inner: st.lists(inner) | st.dictionaries(texts, inner),
    max_leaves=10,
)


@quiet
@given(st.dictionaries(texts.filter(lambda k: k not in {"type", "version"}), json_values, max_size=4))
def test_generic_claims_come_back(party: Any, data: dict[str, Any]) -> None:
    claims = GenericClaims(sub=party.operator.public_key, nats=data)
    read = decode(encode(claims, party.operator, now=party.now), GenericClaims)
    assert read.nats == {**data, "version": 2}


@quiet
@given(st.data())
def test_any_flipped_bit_refuses(party: Any, data: st.DataObject) -> None:
    raw = bytearray(party.signed(party.user_claims(), party.account).encode())
    at = data.draw(st.integers(0, len(raw) - 1))
    raw[at] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(IdentityError):
        decode(raw.decode("latin-1"))


def test_every_flipped_bit_of_the_last_letters_refuses(party: Any) -> None:
    token = party.signed(party.user_claims(), party.account)
    for at in [i for i, letter in enumerate(token) if letter == "."] + list(
        range(len(token) - 4, len(token))
    ):
        for near in (at - 1, at, min(at + 1, len(token) - 1)):
            for bit in range(8):
                changed = token[:near] + chr(ord(token[near]) ^ 1 << bit) + token[near + 1 :]
                with pytest.raises(IdentityError):
                    decode(changed)


@given(st.text(max_size=60))
def test_any_text_is_refused_without_other_errors(text: str) -> None:
    with pytest.raises(TokenError):
        decode(text)


@quiet
@given(json_values, json_values)
def test_any_signed_json_is_read_or_refused(party: Any, header: Any, body: Any) -> None:
    payload = {"iss": party.account.public_key, "sub": party.user.public_key, "nats": body}
    for head in (header, HEADER):
        try:
            decode(_forged(head, payload, party.account))
        except TokenError:
            continue


@pytest.mark.parametrize(
    "header",
    [
        {"typ": "JWT", "alg": "none"},
        {"typ": "JWT", "alg": "None"},
        {"typ": "JWT", "alg": "HS256"},
        {"typ": "JWT", "alg": "EdDSA"},
        {"typ": "JWT", "alg": "ed25519"},
        {"typ": "JWT", "alg": "ED25519-NKEY"},
        {"typ": "JWT", "alg": ""},
        {"typ": "JWT", "alg": None},
        {"typ": "JWT", "alg": ["ed25519-nkey"]},
        {"typ": "JWT"},
        {"alg": "ed25519-nkey"},
        {"typ": "JWE", "alg": "ed25519-nkey"},
        {"typ": "JWT", "alg": "ed25519-nkey", "b64": False, "crit": ["b64"]},
        {"typ": "JWT", "alg": "ed25519-nkey", "jwk": {}},
    ],
    ids=json.dumps,
)
def test_another_algorithm_or_header_is_refused(party: Any, header: dict[str, Any]) -> None:
    payload = payload_of(party.signed(party.user_claims(), party.account))
    assert decode(_forged(HEADER, payload, party.account))
    assert _fault(_forged(header, payload, party.account)) is TokenFault.ALGORITHM


def test_an_unsigned_token_is_refused(party: Any) -> None:
    head, body, _ = party.signed(party.user_claims(), party.account).split(".")
    none = _b64(b'{"typ":"JWT","alg":"none"}')
    assert _fault(f"{none}.{body}.") is TokenFault.MALFORMED
    assert _fault(f"{head}.{body}.AAAA") is TokenFault.SIGNATURE


def test_a_signature_by_another_key_is_refused(party: Any) -> None:
    payload = payload_of(party.signed(party.user_claims(), party.account))
    assert _fault(_forged(HEADER, payload, party.other)) is TokenFault.SIGNATURE


def test_roles_of_issuer_and_subject_are_checked_on_both_ways(party: Any) -> None:
    user, account = party.user_claims(), party.account_claims()
    with pytest.raises(TokenError) as caught:
        encode(user, party.operator, now=party.now)
    assert caught.value.fault is TokenFault.ISSUER
    user.sub = party.account.public_key
    with pytest.raises(TokenError) as caught:
        encode(user, party.account, now=party.now)
    assert caught.value.fault is TokenFault.SUBJECT
    for claims in (
        account,
        OperatorClaims.new(""),
        ActivationClaims.new(party.user.public_key, "a", "stream"),
    ):
        payload = claims.document() | {"iss": party.user.public_key}
        payload["nats"] = {**payload["nats"], "type": claims.KIND, "version": 2}
        assert _fault(_forged(HEADER, payload, party.user)) is TokenFault.ISSUER
    seed = payload_of(party.signed(party.user_claims(), party.account)) | {"sub": party.user.seed}
    assert _fault(_forged(HEADER, seed, party.account)) is TokenFault.SUBJECT


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ({"type": "user", "version": 3}, TokenFault.VERSION),
        ({"type": "user", "version": 1}, TokenFault.VERSION),
        ({"type": "user"}, TokenFault.VERSION),
        ({"type": "cluster", "version": 2}, TokenFault.KIND),
        ({"type": "server", "version": 2}, TokenFault.KIND),
        ({"type": ["user"], "version": 2}, TokenFault.KIND),
        ({"type": 0, "version": 2}, TokenFault.KIND),
        ({"type": "user", "version": 2, "subs": "5"}, TokenFault.CONTENT),
        ({"type": "user", "version": 2, "subs": 1.5}, TokenFault.CONTENT),
        ({"type": "user", "version": 2, "subs": 2**63}, TokenFault.CONTENT),
        ({"type": "user", "version": 2, "pub": {"allow": "a"}}, TokenFault.CONTENT),
        ({"type": "user", "version": 2, "bearer_token": 1}, TokenFault.CONTENT),
    ],
)
def test_versions_kinds_and_types_are_checked(party: Any, body: dict[str, Any], fault: TokenFault) -> None:
    payload = {"iss": party.account.public_key, "sub": party.user.public_key, "nats": body}
    assert _fault(_forged(HEADER, payload, party.account)) is fault


def test_null_is_as_good_as_absent_and_unknown_fields_stay(party: Any) -> None:
    body = {"type": "user", "version": 2, "resp": None, "subs": None, "new_field": {"a": 1}}
    payload = {"iss": party.account.public_key, "sub": party.user.public_key, "nats": body}
    read = decode(_forged(HEADER, payload, party.account), UserClaims)
    assert (read.nats.subs, read.nats.resp) == (0, None)
    again = payload_of(encode(read, party.account, now=party.now))
    assert again["nats"]["new_field"] == {"a": 1}


def test_a_token_of_another_kind_is_refused_where_one_is_wanted(party: Any) -> None:
    assert _fault(party.signed(party.user_claims(), party.account), kind=OperatorClaims) is TokenFault.KIND


def test_too_large_tokens_are_refused_on_both_ways(party: Any) -> None:
    assert _fault("a" * (MAX_TOKEN + 1)) is TokenFault.TOO_LARGE
    claims = party.user_claims()
    claims.nats.tags = ["x" * MAX_TOKEN]
    with pytest.raises(TokenError, match="bytes"):
        encode(claims, party.account, now=party.now)


def test_claims_that_could_not_be_read_back_are_not_written(party: Any) -> None:
    claims = party.user_claims()
    claims.nats.subs = "many"
    with pytest.raises(TokenError, match=r"nats\.subs") as caught:
        encode(claims, party.account, now=party.now)
    assert caught.value.fault is TokenFault.CONTENT
    scoped = party.account_claims()
    scoped.nats.signing_keys[party.other.public_key] = scoped.nats.signing_keys[party.scoped.public_key]
    with pytest.raises(TokenError, match="names the key"):
        encode(scoped, party.operator, now=party.now)


def test_encoding_leaves_the_claims_as_they_are(party: Any) -> None:
    claims = party.account_claims()
    before = claims.model_copy(deep=True)
    encode(claims, party.operator, now=party.now)
    assert claims == before


V1 = {"typ": "jwt", "alg": "ed25519"}


def _v1(party: Any, **changes: Any) -> dict[str, Any]:
    body = {"pub": {"allow": ["a"]}, "max": 7, "src": "10.0.0.0/8, 11.0.0.0/8"}
    base = {"iss": party.account.public_key, "sub": party.user.public_key, "name": "old", "tags": ["t"]}
    return {**base, "type": "user", "issuer_account": party.other.public_key, "nats": body, **changes}


def test_version_1_is_read_only_where_it_is_asked_for(party: Any) -> None:
    token = _forged(V1, _v1(party), party.account, whole=False)
    assert _fault(token) is TokenFault.ALGORITHM
    read = decode(token, UserClaims, v1=True)
    assert (read.tags, read.nats.issuer_account, read.nats.version) == (["t"], party.other.public_key, 1)
    assert (read.nats.subs, read.nats.data, read.nats.payload) == (-1, -1, -1)
    assert read.nats.src == ["10.0.0.0/8", "11.0.0.0/8"]
    written = payload_of(encode(read, party.account, now=party.now))
    assert written["nats"]["version"] == 2
    assert "type" not in written
    assert "max" not in written["nats"]


def test_version_1_accounts_and_activations_are_upgraded(party: Any) -> None:
    limits = {"subs": 1, "imports": 2, "mem_storage": 9}
    account = _v1(party, type="account", sub=party.account.public_key)
    account["nats"] = {"limits": limits, "signing_keys": [party.signing.public_key]}
    read = decode(_forged(V1, account, party.account, whole=False), v1=True)
    assert read.nats.limits.mem_storage == 0  # type: ignore[attr-defined]
    assert read.nats.limits.imports == 2  # type: ignore[attr-defined]
    assert read.nats.signing_keys == {party.signing.public_key: None}  # type: ignore[attr-defined]
    grant = _v1(
        party, type="activation", sub=party.other.public_key, nats={"subject": "a", "type": "service"}
    )
    act = decode(_forged(V1, grant, party.account, whole=False), ActivationClaims, v1=True)
    assert (act.nats.subject, act.nats.kind) == ("a", "service")


def test_versions_cannot_be_mixed(party: Any) -> None:
    new = payload_of(party.signed(party.user_claims(), party.account))
    assert _fault(_forged(V1, new, party.account, whole=False), v1=True) is TokenFault.VERSION
    assert _fault(_forged(HEADER, _v1(party), party.account), v1=True) is TokenFault.VERSION
    assert _fault(_forged(V1, _v1(party), party.account), v1=True) is TokenFault.SIGNATURE


def test_a_token_can_be_looked_at_without_being_trusted(party: Any) -> None:
    token = party.signed(party.user_claims(), party.account)
    assert header_of(token) == HEADER
    assert payload_of(token)["name"] == "ann"


def test_a_signer_may_keep_its_key_elsewhere(party: Any) -> None:
    class Remote:
        public_key = party.account.public_key

        def sign(self, data: bytes) -> bytes:
            signature: bytes = party.account.sign(data)
            return signature

    assert decode(encode(party.user_claims(), Remote(), now=party.now), UserClaims).iss == Remote.public_key


def test_keys_of_every_role_sign_generic_claims(party: Any) -> None:
    for role in (KeyRole.OPERATOR, KeyRole.ACCOUNT, KeyRole.USER, KeyRole.SERVER, KeyRole.CLUSTER):
        pair = KeyPair.create(role)
        assert decode(encode(GenericClaims(sub="anything"), pair, now=party.now)).iss == pair.public_key
