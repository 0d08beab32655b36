"""What the tests of `pyjs explain` share: its findings by their checks."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from lib.cli import Cli
from lib.jetstream import JetStream
from lib.process import ServerProcess


@dataclass
class Explained:
    """The exit code of a run, and its findings by their checks."""

    code: int
    found: dict[str, dict[str, Any]]

    @property
    def bad(self) -> set[str]:
        """The checks that found an error or a warning."""
        return {name for name, each in self.found.items() if each["severity"] != "note"}


@pytest.fixture
def explain(cli: Cli, server: ServerProcess) -> Callable[..., Explained]:
    """explain("stream", NAME): what `pyjs explain` says, after it was checked that its exit code fits.

    The server is named by a variable: the commands that are proposed need no flags then.
    """
    bare = cli.with_flags()

    def run(*words: str) -> Explained:
        result = bare.run("explain", *words, "-o", "json", env={"NATS_URL": server.url})
        records = json.loads(result.out)
        explained = Explained(result.code, {each["check"]: each for each in records})
        assert (explained.code == 0) == (not explained.bad), result
        return explained

    return run


@pytest.fixture
def js(server: ServerProcess) -> Iterator[JetStream]:
    """The JetStream API of the server that the tests of a module share."""
    with JetStream.of(server) as api:
        yield api


@pytest.fixture
def examine(cli: Cli) -> Callable[[str], dict[str, dict[str, Any]]]:
    """examine(NAME): what `pyjs doctor` says about the stream NAME and its consumers, by the checks."""

    def run(name: str) -> dict[str, dict[str, Any]]:
        records = json.loads(cli.run("doctor", "-o", "json").out)
        return {each["check"]: each for each in records if each["about"].split(" > ")[0] == name}

    return run
