"""Errors never repeat a secret, wherever it came from."""

from __future__ import annotations

import pytest
from pyjs.keys import FolderError, IdentityError, KeyFault, KeyPair, KeyRole, NkeyError, WorkspaceError


@pytest.mark.parametrize("role", list(KeyRole))
def test_a_seed_in_a_text_is_not_said(role: KeyRole) -> None:
    seed = KeyPair.create(role).seed
    for text in (seed, seed[:-3], f"no file /tmp/{seed}.nk", f"account {seed!r} is unknown"):
        for error in (
            IdentityError(text),
            FolderError(text),
            WorkspaceError(text),
            NkeyError(KeyFault.NOT_A_KEY, text),
        ):
            assert seed[:-3] not in str(error)
            assert "<secret>" in str(error)


def test_a_token_in_a_text_is_not_said() -> None:
    error = WorkspaceError("eyJ0eXAiOiJKV1QifQ.eyJzdWIiOiJBIn0.c2ln does not exist")
    assert str(error) == "<secret> does not exist"


def test_names_and_public_keys_are_said() -> None:
    text = f"account {KeyPair.create(KeyRole.ACCOUNT).public_key} of SALES, SAMPLES.{{name()}}, eyJ.a"
    assert str(IdentityError(text)) == text
