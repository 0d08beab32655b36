"""Tokens, nkeys and JWTs: how a connection identifies itself, by flag and by context."""

from __future__ import annotations

import base64
import os
from collections.abc import Callable
from pathlib import Path

import nkeys
import pytest
from lib.cli import Cli
from lib.process import ServerProcess

NAMES = ("stream", "ls", "--names")


def seed() -> tuple[str, str]:
    """A user's seed and public key."""
    text = nkeys.encode_seed(os.urandom(32), nkeys.PREFIX_BYTE_USER)
    pair = nkeys.from_seed(bytearray(text))
    return text.decode(), pair.public_key.decode()


SEED, PUBLIC = seed()


def config(authorization: str) -> str:
    return (
        'listen: "127.0.0.1:<client>"\njetstream { store_dir: "<store>" }\n'
        f"authorization {{ {authorization} }}\n"
    )


@pytest.fixture
def by_token(serve: Callable[[str], ServerProcess]) -> ServerProcess:
    return serve(config('token: "t0ken"'))


@pytest.fixture
def by_nkey(serve: Callable[[str], ServerProcess]) -> ServerProcess:
    return serve(config(f"users: [ {{ nkey: {PUBLIC} }} ]"))


def test_a_token_is_a_flag_a_user_without_password_or_part_of_the_url(
    cli: Cli, by_token: ServerProcess
) -> None:
    cli.ok(*NAMES, "-s", by_token.url, "--token", "t0ken")
    cli.ok(*NAMES, "-s", by_token.url, "--user", "t0ken")
    cli.ok(*NAMES, "-s", f"nats://t0ken@127.0.0.1:{by_token.port}")
    cli.ok(*NAMES, "-s", by_token.url, env={"NATS_TOKEN": "t0ken"})
    assert cli.run(*NAMES, "-s", by_token.url, "--token", "other").code == 4


def test_an_nkey_is_a_seed_or_a_file_with_it(cli: Cli, by_nkey: ServerProcess, tmp_path: Path) -> None:
    path = tmp_path / "user.nk"
    path.write_text(f"-----BEGIN USER NKEY SEED-----\n{SEED}\n------END USER NKEY SEED------\n")
    cli.ok(*NAMES, "-s", by_nkey.url, "--nkey", str(path))
    path.write_text(SEED + "\n")
    cli.ok(*NAMES, "-s", by_nkey.url, "--nkey", str(path))
    cli.ok(*NAMES, "-s", by_nkey.url, "--nkey", SEED)
    cli.ok(*NAMES, "-s", by_nkey.url, "--nkey", "env://THE_KEY", env={"THE_KEY": SEED})
    assert cli.run(*NAMES, "-s", by_nkey.url).code == 4


def test_an_nkey_embedded_in_a_context_needs_no_file(
    cli: Cli, by_nkey: ServerProcess, tmp_path: Path
) -> None:
    path = tmp_path / "user.nk"
    path.write_text(SEED + "\n")
    cli.ok("context", "save", "here", "-s", by_nkey.url, "--nkey", str(path), "--embed")
    path.unlink()
    cli.ok(*NAMES, "--context", "here")


def test_a_seed_is_not_shown_when_it_is_wrong(cli: Cli, by_nkey: ServerProcess) -> None:
    other, _ = seed()
    result = cli.run(*NAMES, "-s", by_nkey.url, "--nkey", other)
    assert result.code == 4
    assert other not in result.err
    broken = cli.run(*NAMES, "-s", by_nkey.url, "--nkey", "SUABROKEN")
    assert broken.code == 1
    assert "Traceback" not in broken.err
    assert "SUABROKEN" not in broken.err


def test_a_jwt_needs_its_seed(cli: Cli, by_nkey: ServerProcess) -> None:
    jwt = "eyJ" + base64.b64encode(b"x").decode()
    result = cli.run(*NAMES, "-s", by_nkey.url, "--jwt", jwt)
    assert result.code == 2
    assert "--seed" in result.err
