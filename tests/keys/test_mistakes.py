"""Mistakes that would open what should be closed, or show a secret, are refused when they are made."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from pyjs.keys import AccountClaims, KeyPair, KeyRole, TokenError, UserClaims, UserScope, decode, encode
from pyjs.keys.claims.parts import Permission
from pyjs.keys.claims.user import User
from pyjs.keys.nkey import holds_secret

SECOND = 1_000_000_000
ACCOUNT = KeyPair.create(KeyRole.ACCOUNT)


def user() -> UserClaims:
    return UserClaims.new(KeyPair.create(KeyRole.USER).public_key, "u")


@pytest.mark.parametrize(
    ("slip", "reported"),
    [
        (lambda claims: setattr(claims.nats.pub, "alow", ["x"]), "has no field 'alow': did you mean 'allow'"),
        (lambda claims: setattr(claims.nats, "bearer", True), "User has no field 'bearer'"),
        (lambda claims: setattr(claims, "epx", 5), "UserClaims has no field 'epx': did you mean 'exp'"),
        (lambda claims: Permission(alow=["x"]), "Permission has no field 'alow'"),  # type: ignore[call-arg]
        (lambda claims: User(paylod=5), "User has no field 'paylod': did you mean 'payload'"),  # type: ignore[call-arg]
    ],
)
def test_a_misspelt_field_is_an_error(slip: Callable[[UserClaims], Any], reported: str) -> None:
    claims = user()
    before = claims.document()
    with pytest.raises(AttributeError, match=reported):
        slip(claims)
    assert claims.document() == before


def test_fields_of_newer_tokens_are_kept_and_may_be_changed() -> None:
    read = User.model_validate({"future": {"a": 1}, "pub": {"later": True}})
    read.future = 2
    copy = read.model_copy(deep=True)
    assert copy.document()["future"] == 2
    assert copy.document()["pub"] == {"later": True}


@pytest.mark.parametrize("role", [KeyRole.OPERATOR, KeyRole.ACCOUNT, KeyRole.USER, KeyRole.CURVE])
def test_seeds_are_found_wherever_they_stand(role: KeyRole) -> None:
    pair = KeyPair.create(role)
    glued = (f"a{pair.seed}", f"SU_{pair.seed}", f"SA{pair.seed}A", f"my{pair.seed.lower()}s")
    for text in (pair.seed, f"my {pair.seed}.creds", pair.seed.lower(), *glued):
        assert holds_secret(text)
    assert not holds_secret(pair.public_key)
    assert not holds_secret("S" + pair.public_key[1:] + "AA")  # no checksum of a seed
    assert not holds_secret("".join(chr(ord("A") + i % 26) for i in range(4000)))


@pytest.mark.parametrize(
    "place",
    [
        lambda claims, seed: setattr(claims, "name", seed),
        lambda claims, seed: setattr(claims.nats, "tags", [seed.lower()]),
        lambda claims, seed: setattr(claims.nats.pub, "allow", [f"a.{seed}.>"]),
        lambda claims, seed: setattr(claims, "aud", f"for {seed}"),
    ],
)
def test_a_token_never_holds_a_seed(place: Callable[[UserClaims, str], None]) -> None:
    claims, seed = user(), KeyPair.create(KeyRole.USER).seed
    place(claims, seed)
    with pytest.raises(TokenError) as caught:
        encode(claims, ACCOUNT, now=SECOND)
    assert seed not in str(caught.value)
    assert seed.lower() not in str(caught.value).lower()


@pytest.mark.parametrize("letters", ["SAAA", "PA", "P", "SA"])
def test_a_text_of_nothing_but_letters_of_keys_is_searched_soon(letters: str) -> None:
    claims = user()
    claims.name = letters * (900_000 // len(letters))
    start = time.process_time()
    with suppress(TokenError):
        encode(claims, ACCOUNT, now=SECOND)
    repr(claims)
    assert time.process_time() - start < 2


@pytest.mark.parametrize("name", ["a\u202eb", "a\u2066b", "a\u200bb", "a\nb"])
def test_a_name_that_turns_text_around_is_not_signed(name: str) -> None:
    claims = user()
    claims.name = name
    with pytest.raises(TokenError, match="turns text around"):
        encode(claims, ACCOUNT, now=SECOND)


def test_what_is_shown_of_claims_holds_no_seed() -> None:
    seed = KeyPair.create(KeyRole.USER).seed
    account = AccountClaims.new(ACCOUNT.public_key, seed)
    account.nats.tags = [seed.lower(), "b"]
    account.nats.signing_keys = {seed: UserScope(key=seed)}
    account.nats.mappings = {seed: []}
    for shown in (repr(account), str(account), f"{[account]}"):
        assert seed not in shown.upper()
        assert ACCOUNT.public_key in shown
    with pytest.raises(ValueError, match="exp") as caught:
        AccountClaims(exp=seed)  # type: ignore[arg-type]
    assert seed not in str(caught.value)


def test_an_end_before_1970_is_over() -> None:
    claims = AccountClaims.new(ACCOUNT.public_key, "A")
    claims.exp = -1
    read = decode(encode(claims, KeyPair.create(KeyRole.OPERATOR), now=SECOND), AccountClaims)
    assert read.exp == -1
    assert [issue.text for issue in read.issues(SECOND)] == ["claim is expired"]
