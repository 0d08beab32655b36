"""Commands of `pyjs server` that need no server: passwords for configurations, mappings tried out."""

from __future__ import annotations

from pathlib import Path

import bcrypt
import pytest
from lib.cli import Cli


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """`pyjs`, with no server anywhere."""
    return Cli(tmp_path)


def test_a_password_is_hashed(cli: Cli) -> None:
    hashed = cli.ok("server", "passwd", "--pass", "long enough", "--cost", "4").strip()
    assert hashed.startswith("$2a$04$")
    assert bcrypt.checkpw(b"long enough", hashed.encode())


def test_a_password_is_made_up(cli: Cli) -> None:
    first, second = cli.ok("server", "passwd", "-g", "-c", "4").splitlines()
    password = first.removeprefix("Generated password: ")
    assert len(password) == 22
    assert bcrypt.checkpw(password.encode(), second.removeprefix("       bcrypt hash: ").encode())


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--pass", "short"], "at least 10 characters"),
        (["--pass", "x" * 73], "at most 72 bytes"),
        (["--pass", "long enough", "-g"], "leave out --generate"),
        (["--pass", "long enough", "--cost", "3"], "4<=x<=31"),
        ([], "--pass"),
    ],
)
def test_passwords_that_will_not_do(cli: Cli, words: list[str], text: str) -> None:
    result = cli.run("server", "passwd", *words)
    assert (result.code, text in result.err) == (2, True), result.err
    assert "long enough" not in result.err


@pytest.mark.parametrize(
    ("source", "dest", "subject", "wanted"),
    [
        ("orders.*.*", "o.{{wildcard(2)}}.{{wildcard(1)}}", "orders.eu.7", "o.7.eu"),
        ("orders.>", "all.>", "orders.a.b", "all.a.b"),
        ("o.*", "o.{{partition(3,1)}}.$1", "o.7", "o.0.7"),
    ],
)
def test_a_mapping_is_tried(cli: Cli, source: str, dest: str, subject: str, wanted: str) -> None:
    assert cli.ok("server", "mappings", source, dest, subject) == f"{wanted}\n"


@pytest.mark.parametrize(
    ("source", "dest", "subject", "text"),
    [
        ("a.*", "b.$1", "c.d", "no matching transforms available"),
        ("a.*", "b.{{wildcard(2)}}", "a.b", "wildcard index out of range"),
        ("a.*", "b.$1", "a.>", "invalid subject"),
        ("a.*", "b.$1", "", "Subject"),
    ],
)
def test_mappings_that_will_not_do(cli: Cli, source: str, dest: str, subject: str, text: str) -> None:
    result = cli.run("server", "mappings", source, dest, *([subject] if subject else []))
    assert (result.code, text in result.err) == (3 if "no matching" in text else 2, True), result.err
