"""`pyjs demo leaf-nodes` plays to its end, every claim holds, and nothing is left running."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

from lib.cli import Cli
from lib.eventually import eventually
from lib.leftovers import at_work_in


def test_every_claim_of_the_page_holds_and_nothing_is_left(tmp_path: Path) -> None:
    done = Cli(tmp_path).process("demo", "leaf-nodes", env={"TMPDIR": str(tmp_path)}, seconds=100)
    assert done.code == 0, done.out + done.err
    assert re.search(r"(\d+) of \1 claims held", done.out), done.out
    assert "✗" not in done.out
    assert "│ leaf-server │ leaf-server │ leaf " in done.out
    assert "Nats-Stream-Source: test:" in done.out
    assert done.err == ""
    assert at_work_in(tmp_path) == []
    assert list(tmp_path.glob("pyjs-demo-*")) == []


def test_ctrl_c_ends_the_servers_too(tmp_path: Path) -> None:
    with Cli(tmp_path).terminal(["demo", "leaf-nodes"], {"TMPDIR": str(tmp_path)}) as terminal:
        while len(at_work_in(tmp_path)) < 2 and terminal.read(30.0):
            pass
        os.killpg(terminal.process.pid, signal.SIGINT)
        assert terminal.finish(60) == 130
        assert "pyjs: error: interrupt" in terminal.errors()
    eventually(lambda: at_work_in(tmp_path) == [])
    assert list(tmp_path.glob("pyjs-demo-*")) == []
