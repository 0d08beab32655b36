"""A stream with messages to save."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from lib.cli import Cli
from lib.eventually import eventually
from lib.process import ServerProcess

Fill = Callable[..., None]


def state(cli: Cli, stream: str) -> dict[str, Any]:
    """Return the state of a stream."""
    found: dict[str, Any] = json.loads(cli.ok("stream", "info", stream, "--json"))["state"]
    return found


@pytest.fixture
def fill(server: ServerProcess, cli: Cli) -> Fill:
    """Return a function that publishes messages that do not compress, some with headers."""

    def published(stream: str, count: int, size: int = 400) -> None:
        before = state(cli, stream)["last_seq"]
        wire = server.connect()
        for number in range(count):
            body = os.urandom(size)
            head = b"NATS/1.0\r\nX: 1\r\nx: 2\r\n\r\n" if number % 2 else b""
            operation = b"HPUB %b %d %d" % (stream.encode(), len(head), len(head) + size)
            if not head:
                operation = b"PUB %b %d" % (stream.encode(), size)
            wire.send(operation + b"\r\n" + head + body + b"\r\n")
        eventually(lambda: state(cli, stream)["last_seq"] == before + count)
        wire.close()

    return published


# Runs a command of pyjs that kills itself at a given call of a function: nothing of it is cleaned up.
KILLED = """
import os, signal, sys
from importlib import import_module
module, owner, name, calls = sys.argv.pop(1), sys.argv.pop(1), sys.argv.pop(1), int(sys.argv.pop(1))
holder = getattr(import_module(module), owner) if owner else import_module(module)
plain, left = getattr(holder, name), [calls]
def counted(*given, **named):
    left[0] -= 1
    if not left[0]:
        os.kill(os.getpid(), signal.SIGKILL)
    return plain(*given, **named)
setattr(holder, name, counted)
from pyjs.cli.entry import main
main()
"""


@pytest.fixture
def killed(cli: Cli) -> Callable[..., None]:
    """Return a function that runs a command until the nth call of `module:owner.name`, and kills it there."""

    def run(where: str, calls: int, *words: str) -> None:
        module, _, path = where.partition(":")
        owner, _, name = path.rpartition(".")
        done = subprocess.run(
            [sys.executable, "-c", KILLED, module, owner, name, str(calls), *cli.flags, *words],
            env=cli.environment(),
            cwd=cli.home,
            timeout=60,
            capture_output=True,
            check=False,
        )
        assert done.returncode == -9, done.stderr.decode()

    return run
