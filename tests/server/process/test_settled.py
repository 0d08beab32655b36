"""A configuration is applied only once it is no longer being written."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from pyjs.server.config import ConfigError, Options, load
from pyjs.server.config.files import Files, stamps
from pyjs.server.process import settled

WHOLE = 'include "users.conf"\nmax_payload: 100\n'
USERS = "authorization { users: [{ user: a, password: b }] }\n"


class Read(NamedTuple):
    options: Options
    files: Files


class ReloadEnv:
    """A configuration file and what it includes. writing: what is done before, and after, each read."""

    def __init__(self, directory: Path) -> None:
        self.main, self.users = directory / "main.conf", directory / "users.conf"
        self.main.write_text(WHOLE)
        self.users.write_text(USERS)
        self.before = load(str(self.main))
        self.writing: list[Callable[[], object]] = []
        self.reads = 0

    async def read(self) -> Read:
        self.reads += 1
        self._write()
        options = load(str(self.main))
        self._write()
        return Read(options, stamps(options.config_files))

    def _write(self) -> None:
        if self.writing:
            self.writing.pop(0)()

    def settled(self) -> Options:
        return asyncio.run(settled.read_settled(self.read, self.before)).options


@pytest.fixture
def env(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ReloadEnv:
    monkeypatch.setattr(settled, "PAUSE", 1_000_000)
    return ReloadEnv(tmp_path)


def nothing() -> None:
    """Nobody writes."""


def test_files_that_were_written_long_ago_are_read_once(env: ReloadEnv) -> None:
    for path in (env.main, env.users):
        os.utime(path, (1, 1))
    assert env.settled().max_payload == 100
    assert env.reads == 1


def test_files_of_the_future_are_read_twice(env: ReloadEnv) -> None:
    os.utime(env.main, (1 << 32, 1 << 32))
    assert env.settled().max_payload == 100
    assert env.reads == 2


@pytest.mark.parametrize("name", ["main", "users"])
def test_an_empty_file_is_waited_for(env: ReloadEnv, name: str) -> None:
    path: Path = getattr(env, name)
    whole = path.read_text()
    env.writing = [lambda: path.write_text(""), nothing, nothing, nothing, lambda: path.write_text(whole)]
    found = env.settled()
    assert (found.max_payload, len(found.authorization.users)) == (100, 1)
    assert env.reads >= 3


@pytest.mark.parametrize("name", ["main", "users"])
def test_a_file_that_stays_empty_is_refused_with_its_name(env: ReloadEnv, name: str) -> None:
    getattr(env, name).write_text("")
    with pytest.raises(ConfigError, match=rf"{name}\.conf: the file is empty, and was not before"):
        env.settled()


def test_a_file_that_was_empty_before_may_be(env: ReloadEnv) -> None:
    env.users.write_text("")
    env.before = load(str(env.main))
    assert env.settled().authorization.users == []


def test_what_was_written_while_it_was_read_is_read_again(env: ReloadEnv) -> None:
    env.writing = [
        lambda: env.main.write_text("max_payload: 1"),
        lambda: env.main.write_text("max_payload: 12"),
        nothing,
        lambda: env.main.write_text("max_payload: 123"),
    ]
    assert env.settled().max_payload == 123


def test_a_cut_file_is_an_error_only_when_it_stays_cut(env: ReloadEnv) -> None:
    env.writing = [lambda: env.main.write_text("accounts {"), lambda: env.main.write_text(WHOLE)]
    assert env.settled().max_payload == 100
    env.main.write_text("accounts {")
    with pytest.raises(ConfigError, match="Parse error"):
        env.settled()


def test_files_that_never_rest_are_refused(env: ReloadEnv) -> None:
    written = iter(range(1000))
    env.writing = [lambda: env.main.write_text(f"max_payload: {10**6 + next(written)}")] * 1000
    with pytest.raises(ConfigError, match="changes all the time"):
        env.settled()
