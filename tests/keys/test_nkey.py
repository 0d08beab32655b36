"""Keys: roles, texts, signatures, and refusals."""

from __future__ import annotations

import base64

import nkeys
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyjs.keys.errors import KeyFault, NkeyError
from pyjs.keys.nkey import KeyPair, KeyRole, encode, is_public, public_role, verify, write_seed

SIGNING = [role for role in KeyRole if role is not KeyRole.CURVE]
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
raw_seeds = st.binary(min_size=32, max_size=32)


@pytest.mark.parametrize(("role", "letter"), list(zip(KeyRole, "OAUNCX", strict=True)), ids=str)
def test_a_key_of_each_role_has_its_letter(role: KeyRole, letter: str) -> None:
    pair = KeyPair.create(role)
    assert (pair.public_key[0], pair.seed[:2], role.letter) == (letter, f"S{letter}", letter)
    assert (len(pair.public_key), len(pair.seed)) == (56, 58)
    assert public_role(pair.public_key) is role
    assert KeyPair(pair.seed).public_key == pair.public_key


@pytest.mark.parametrize("role", SIGNING, ids=str)
def test_a_signature_is_that_of_its_key_and_data_only(role: KeyRole) -> None:
    pair, other = KeyPair.create(role), KeyPair.create(role)
    signature = pair.sign(b"data")
    assert len(signature) == 64
    assert verify(pair.public_key, b"data", signature)
    assert not verify(other.public_key, b"data", signature)
    assert not verify(pair.public_key, b"datb", signature)
    assert not verify(pair.public_key, b"data", signature[:-1])
    assert not verify(pair.seed, b"data", signature)


@given(raw_seeds)
def test_seeds_are_those_of_the_nkeys_library(raw: bytes) -> None:
    seed = write_seed(KeyRole.USER, raw)
    library = nkeys.from_seed(seed.encode())
    pair = KeyPair(seed)
    assert seed.encode() == nkeys.encode_seed(raw, nkeys.PREFIX_BYTE_USER)
    assert (pair.public_key, pair.private_key) == (library.public_key.decode(), library.private_key.decode())
    assert pair.sign(b"x") == library.sign(b"x")


def test_curve_keys_do_not_sign() -> None:
    with pytest.raises(NkeyError, match="cannot sign") as caught:
        KeyPair.create(KeyRole.CURVE).sign(b"x")
    assert caught.value.fault is KeyFault.CANNOT_SIGN


@given(raw_seeds, st.integers(0, 55), st.sampled_from(LETTERS))
def test_a_changed_letter_of_a_public_key_is_noticed(raw: bytes, at: int, letter: str) -> None:
    public = KeyPair(write_seed(KeyRole.ACCOUNT, raw)).public_key
    changed = public[:at] + letter + public[at + 1 :]
    assert is_public(changed) == (changed == public)


@given(raw_seeds, st.integers(0, 57), st.sampled_from(LETTERS))
def test_a_changed_letter_of_a_seed_is_noticed(raw: bytes, at: int, letter: str) -> None:
    seed = write_seed(KeyRole.ACCOUNT, raw)
    changed = seed[:at] + letter + seed[at + 1 :]
    if changed != seed:
        with pytest.raises(NkeyError):
            KeyPair(changed)


def _refusal(text: str, *roles: KeyRole) -> NkeyError:
    with pytest.raises(NkeyError) as caught:
        public_role(text, *roles)
    return caught.value


def test_a_damaged_checksum_is_said_to_be_one() -> None:
    public = KeyPair.create(KeyRole.USER).public_key
    other = public[:20] + ("A" if public[20] != "A" else "B") + public[21:]
    assert _refusal(other).fault is KeyFault.CHECKSUM


def test_a_seed_where_a_public_key_is_expected_is_refused_without_showing_it() -> None:
    pair = KeyPair.create(KeyRole.USER)
    for secret in (pair.seed, pair.private_key):
        error = _refusal(secret, KeyRole.USER)
        assert error.fault is KeyFault.SEED_GIVEN
        assert secret not in str(error)


def test_a_public_key_where_a_seed_is_expected_is_refused() -> None:
    with pytest.raises(NkeyError, match="no seed") as caught:
        KeyPair(KeyPair.create(KeyRole.USER).public_key)
    assert caught.value.fault is KeyFault.NO_SEED


def test_a_wrong_role_names_both() -> None:
    pair = KeyPair.create(KeyRole.USER)
    error = _refusal(pair.public_key, KeyRole.ACCOUNT, KeyRole.OPERATOR)
    assert error.fault is KeyFault.WRONG_ROLE
    assert "of a user, not of an account or an operator" in str(error)
    with pytest.raises(NkeyError, match="seed of a user") as caught:
        KeyPair(pair.seed, KeyRole.ACCOUNT)
    assert caught.value.fault is KeyFault.WRONG_ROLE


@pytest.mark.parametrize(
    "text", ["", "A", "AAAA", "not a key", "ä" * 56, "A" * 56 + "=", "a" * 56, "U" * 1000]
)
def test_what_is_no_key_is_refused(text: str) -> None:
    assert not is_public(text)
    assert _refusal(text).fault in {KeyFault.NOT_A_KEY, KeyFault.CHECKSUM}


def test_unknown_prefixes_and_lengths_are_refused() -> None:
    assert _refusal(encode(bytes([1 << 3]), bytes(32))).fault is KeyFault.NOT_A_KEY
    assert _refusal(encode(bytes([20 << 3]), bytes(31) + b"abc")).fault is KeyFault.NOT_A_KEY
    with pytest.raises(NkeyError):
        KeyPair(encode(bytes([18 << 3 | 1, 0x28]), bytes(32)))


@given(st.text(max_size=70))
def test_any_text_is_validated_without_other_errors(text: str) -> None:
    assert not is_public(text) or base64.b32decode(text)


def test_secrets_are_not_shown_and_can_be_forgotten() -> None:
    pair = KeyPair.create(KeyRole.USER)
    assert pair.seed not in repr(pair)
    pair.wipe()
    for use in (lambda: pair.seed, lambda: pair.sign(b"x"), lambda: pair.private_key):
        with pytest.raises(NkeyError):
            use()
