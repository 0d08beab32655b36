"""`traffic`: messages are counted by what they are for."""

from __future__ import annotations

from lib.cli import Cli
from lib.wire import Wire
from pyjs.plugins.messaging.traffic import KEPT, Counter


def test_kinds_of_messages() -> None:
    counter = Counter()
    for subject in (
        "$NRG.V.x",
        "$NRG.RP.x",
        "$NRG.R.x",
        "$NRG.R.y",
        "$JSC.SI.x",
        "$JS.ACK.a",
        "$SYS.x",
        "$OTHER.x",
    ):
        counter.add(subject, asks=False, size=100)
    counter.add("ask", asks=True, size=1448)
    counter.add("$JS.API.INFO", asks=True, size=0)
    text = counter.tick()
    assert "│ 1    │ 0      │ 2     │ 1           │ 0        │ 4              │" in text
    assert "│ 0          │ 1           │ 0             │ 0           │ 0     │ 1              │" in text
    assert "│ 1        │ 1      │ 1      │ 1      │ 1    │ 2.2 KiB     │ 5              │" in text
    again = counter.tick()
    assert again.count("│ 0 ") > text.count("│ 0 ")
    assert len(again.splitlines()) == len(text.splitlines()) + 3  # a row for each table


def test_only_the_last_seconds_are_kept() -> None:
    counter = Counter()
    for _ in range(KEPT):
        counter.tick()
    assert len(counter.tick().splitlines()) == len(counter.tick().splitlines())


def test_without_traffic_only_the_general_table_is_shown() -> None:
    text = Counter().tick()
    assert "General Traffic" in text
    assert "Raft" not in text


def test_live(cli: Cli, wire: Wire, unique: str) -> None:
    with cli.terminal(["traffic", f"{unique}.>"]) as terminal:
        lines = ""
        for _ in range(400):
            wire.pub(f"{unique}.a", b"x" * 10)
            wire.sync()
            lines = "\n".join(terminal.lines())
            if "General Traffic" in lines and "│ 0 B " not in lines:
                break
            terminal.read(0.05)
        assert f"Messages each second on {unique}.>" in lines
        assert "General Traffic" in lines
        terminal.type("\x03")
        assert terminal.finish() == 0
