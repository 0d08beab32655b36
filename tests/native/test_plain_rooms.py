"""The rooms that the compiled functions serve work on the plain ones, too: their tests run once more."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pyjs.native import COMPILED

ROOT = Path(__file__).resolve().parents[2]
ROOMS = {
    "store": ["store"],
    "accounts": ["server/accounts"],
    "connections": ["protocol/test_client_parser.py", "server/client", "server/leaf", "server/route"],
    "streams": ["server/jetstream/streams"],
    "served": [  # whole servers
        *("conformance/test_client_routing.py", "conformance/test_publish.py"),
        *("conformance/test_pull_runs.py", "conformance/test_direct_gets.py"),
    ],
}


def plain() -> dict[str, str]:
    """The environment of a program that uses the plain form, and is no worker of this run."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    return kept | {"PYJS_PURE": "1"}


@pytest.mark.skipif(not COMPILED, reason="the whole run is of the plain form")
@pytest.mark.parametrize("tests", ROOMS.values(), ids=ROOMS)
def test_a_room_works_on_the_plain_form(tests: list[str]) -> None:
    chosen = ["-k", "not reference"]  # that has one form only
    command = [sys.executable, "-m", "pytest", "-q", "-x", *chosen, *(f"tests/{name}" for name in tests)]
    done = subprocess.run(command, cwd=ROOT, env=plain(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]


@pytest.mark.parametrize(("asked", "form"), [("1", "pure"), ("0", "compiled"), ("", "compiled")])
def test_the_environment_says_which_form_runs(asked: str, form: str) -> None:
    program = "from pyjs.server.identity import ServerIdentity; print(ServerIdentity('', '', 0).runtime)"
    command = [sys.executable, "-c", program]
    environment = plain() | {"PYJS_PURE": asked}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.endswith(f"({form if COMPILED else 'pure'})\n")
