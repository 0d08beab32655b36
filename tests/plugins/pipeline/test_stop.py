"""Ctrl-C once and twice: what the run is asked, what is shown, and that the process then ends."""

from __future__ import annotations

import io
import os
import signal
import threading

import pytest
from pyjs.pipeline.declared.progress import Totals
from pyjs.pipeline.declared.run import Halt, Outcome
from pyjs.plugins.pipeline import run
from pyjs.plugins.pipeline.lines import JsonLines, TextLines
from pyjs.plugins.pipeline.live import LiveDisplay
from rich.console import Console


def test_a_second_signal_stops_at_once_and_ends_the_process_soon(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(run, "LAST_SECONDS", 0.01)
    halt, left = Halt(), threading.Event()
    before = signal.getsignal(signal.SIGINT)
    with run._stoppable(halt, TextLines(), left.set):
        os.kill(os.getpid(), signal.SIGINT)
        assert (halt.asked, halt.now, left.is_set()) == (True, False, False)
        os.kill(os.getpid(), signal.SIGTERM)
        assert halt.now
        os.kill(os.getpid(), signal.SIGINT)  # a third one says nothing more
        assert left.wait(20)
    assert signal.getsignal(signal.SIGINT) is before
    assert capsys.readouterr().out.splitlines() == [
        "stopping after the batch under way; once more stops at once",
        "stopping at once: the batch under way is broken off",
    ]


def test_machines_read_which_stop_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    display = JsonLines()
    display.stopping(now=False)
    display.stopping(now=True)
    assert ['"now": true' in line for line in capsys.readouterr().out.splitlines()] == [False, True]


def test_the_panel_says_how_it_ended_and_gives_the_terminal_back() -> None:
    screen = io.StringIO()
    live = LiveDisplay(["lake"], Console(file=screen, force_terminal=True, width=120))
    with live:
        live.stopping(now=True)
        live.ended("p.1", Outcome("interrupted"), Totals(), 3.0)
        live.close()
        assert screen.getvalue().endswith("\x1b[?25h")  # the cursor is shown again
    assert "p.1 " in screen.getvalue()
    assert "interrupted after 3.00s: 0 batches" in screen.getvalue()
