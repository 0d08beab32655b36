"""Tokens and seeds between dashed lines, and credentials files."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyjs.keys import (
    CredentialsError,
    IdentityError,
    KeyRole,
    NkeyError,
    decorate_jwt,
    decorate_seed,
    format_credentials,
    parse_credentials,
    read_credentials,
    undecorate_jwt,
    undecorate_seed,
    write_credentials,
)


@pytest.fixture
def text(party: Any) -> str:
    return format_credentials(party.signed(party.user_claims(), party.account), party.user.seed)


def test_credentials_have_the_layout_that_every_client_reads(party: Any, text: str) -> None:
    lines = text.split("\n")
    assert lines[0] == "-----BEGIN NATS USER JWT-----"
    assert lines[2] == "------END NATS USER JWT------"
    assert lines[4] == f"{'*' * 25} IMPORTANT {'*' * 25}"
    assert lines[8] == "-----BEGIN USER NKEY SEED-----"
    assert lines[9] == party.user.seed
    assert lines[10] == "------END USER NKEY SEED------"
    assert lines[12:] == ["*" * 61, ""]
    assert [lines[3], lines[7], lines[11]] == ["", "", ""]


def test_credentials_come_back_also_with_other_line_ends(party: Any, text: str) -> None:
    for variant in (text, text.replace("\n", "\r\n"), text.rstrip("*\n"), "\n\n" + text):
        read = parse_credentials(variant)
        assert read.seed == party.user.seed
        assert read.key.public_key == party.user.public_key
        assert undecorate_jwt(variant) == read.jwt
    assert party.user.seed not in repr(parse_credentials(text))


def test_a_seed_of_another_user_or_role_is_refused(party: Any, text: str) -> None:
    token = parse_credentials(text).jwt
    for seed in (party.key(KeyRole.USER, "else").seed, party.account.seed, party.user.public_key):
        with pytest.raises(IdentityError):
            format_credentials(token, seed)
    with pytest.raises(IdentityError):
        format_credentials(party.signed(party.account_claims(), party.operator), party.user.seed)
    other = text.replace(party.user.seed, party.key(KeyRole.USER, "else").seed)
    with pytest.raises(CredentialsError, match="not that of"):
        parse_credentials(other)


@pytest.mark.parametrize("cut", [0.1, 0.5, 0.7, 0.9])
def test_a_half_written_file_is_refused(text: str, cut: float) -> None:
    end = int(text.index("------END USER") * cut)
    with pytest.raises(CredentialsError):
        parse_credentials(text[:end])


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(any_text: str) -> None:
    with pytest.raises(CredentialsError):
        parse_credentials(any_text)


@pytest.mark.parametrize("role", [KeyRole.OPERATOR, KeyRole.ACCOUNT, KeyRole.USER], ids=str)
def test_seeds_of_three_roles_are_decorated(party: Any, role: KeyRole) -> None:
    pair = party.key(role, "any")
    text = decorate_seed(pair.seed)
    assert f"-----BEGIN {role.word.upper()} NKEY SEED-----" in text
    assert undecorate_seed(text).seed == pair.seed
    assert undecorate_seed(f"# a comment\n{pair.seed}\n", role).seed == pair.seed


def test_other_seeds_are_not_decorated_and_texts_without_are_refused(party: Any) -> None:
    with pytest.raises(NkeyError):
        decorate_seed(party.key(KeyRole.SERVER, "s").seed)
    with pytest.raises(CredentialsError):
        undecorate_seed("nothing")
    with pytest.raises(NkeyError):
        undecorate_seed(party.user.seed, KeyRole.ACCOUNT)


def test_a_token_says_its_kind_and_a_bare_one_is_taken_whole(party: Any) -> None:
    token = party.signed(party.account_claims(), party.operator)
    text = decorate_jwt(token)
    assert text == f"-----BEGIN NATS ACCOUNT JWT-----\n{token}\n------END NATS ACCOUNT JWT------\n\n"
    assert undecorate_jwt(text) == undecorate_jwt(f" {token}\n") == token


def test_files_are_written_for_their_owner_only(party: Any, text: str, tmp_path: Path) -> None:
    path = tmp_path / "sub" / "ann.creds"
    path.parent.mkdir()
    path.write_text("old")
    path.chmod(0o644)
    write_credentials(path, parse_credentials(text).jwt, party.user.seed)
    assert path.read_text() == text
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [p.name for p in path.parent.iterdir()] == ["ann.creds"]
    assert read_credentials(str(path)) == parse_credentials(text)


def test_an_error_names_the_file_and_not_its_secret(party: Any, tmp_path: Path) -> None:
    path = tmp_path / "bad.creds"
    path.write_text(party.user.seed)
    with pytest.raises(CredentialsError, match=r"bad\.creds") as caught:
        read_credentials(path)
    assert party.user.seed not in str(caught.value)
