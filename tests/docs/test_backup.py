"""The session of docs/cli/backup.md, played by pyjs between two JetStream domains."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from lib.cli import Cli
from lib.leaf_pair import Pair
from lib.source_facts import ROOT
from lib.transcript import normal, parse, play


@pytest.fixture
def pair() -> Iterator[Pair]:
    """A hub with the domain `hub`, and a leaf with the domain `leaf`."""
    made = Pair("pyjs", "pyjs")
    made.joined("acc")
    yield made
    made.close()


def alike(lines: list[str]) -> list[str]:
    """Return lines without the size and rate of a compressed stream, which differ from run to run."""
    return [
        re.sub(r"[0-9.]+ (B|KiB) compressed|[0-9.]+ [KM]?i?B/s", "<size>", line) for line in normal(lines)
    ]


def test_the_session_runs_as_printed(pair: Pair, tmp_path: Path) -> None:
    cli = Cli(tmp_path, "--server", f"nats://acc:acc@127.0.0.1:{pair.hub.port}")
    cli.ok("stream", "add", "ORDERS", "--subjects", "orders.*", "--defaults")
    for number in (1, 2, 3):
        cli.ok("pub", f"orders.{number}", f"order {number}", "-J", "-q")
    page = (ROOT / "docs/cli/backup.md").read_text("utf-8")
    session = page[page.index("    > ") : page.index("\n## ")]
    lines = "\n".join(line.removeprefix("    ") for line in session.splitlines())
    steps = parse(lines, {"spoke": "leaf"})
    assert len(steps) == 5
    for step in steps:
        play(cli, step, alike)
    assert (
        json.loads(cli.ok("stream", "info", "ORDERS", "--js-domain", "leaf", "-j"))["state"]["messages"] == 4
    )
