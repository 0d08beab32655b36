"""Plots fit, tell small from nothing, and show what was measured; a graph follows a stream until Ctrl-C."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st
from lib.cli import Cli
from lib.process import ServerProcess
from pyjs.cli.output.cells import width_of
from pyjs.cli.output.graph import History, PlotSeries
from pyjs.cli.output.plot import plot


def test_a_plot_looks_so() -> None:
    assert plot("Stored", [0, 1, 2, 3, 4, 8, 16], 24, 4, "{:.0f}".format) == [
        "            Stored: 16",
        "        16 ┤           █",
        "           ┤          ▄█",
        "         0 ┤      ▂▃▄▆██",
    ]


@given(
    st.lists(st.floats(0, 1e18), max_size=300), st.integers(14, 250), st.integers(2, 40), st.text(max_size=40)
)
def test_a_plot_fits(values: list[float], width: int, height: int, title: str) -> None:
    lines = plot(title, values, width, height, "{:,.1f}".format)
    assert len(lines) == height
    assert max(map(width_of, lines[1:])) <= width
    assert width_of(lines[0]) <= width


@given(st.lists(st.floats(0, 1e9), min_size=1, max_size=40))
def test_the_largest_is_full_and_something_is_not_nothing(values: list[float]) -> None:
    *_, top, bottom = plot("t", values, 60, 3, str)
    bars = bottom.partition("┤")[2].ljust(48)[-len(values) :]
    assert [bar == " " for bar in bars] == [value == 0 for value in values]
    assert ("█" in top) == (max(values) > 0)


def test_rates_are_of_the_time_that_passed_and_a_counter_that_fell_begins_again() -> None:
    history = History(
        (PlotSeries("n", lambda seen: seen["n"], rate=True), PlotSeries("n", lambda seen: seen["n"]))
    )
    for now, count in ((0.0, 10.0), (2.0, 30.0), (3.0, 5.0), (4.0, 6.0)):
        history.add({"n": count}, now)
    assert list(history.values[0]) == [10.0, None, 1.0]
    assert list(history.values[1]) == [10.0, 30.0, 5.0, 6.0]
    history.skip()
    history.add({"n": 100.0}, 9.0)
    assert list(history.values[0]) == [10.0, None, 1.0, None]  # what happened in between is not known
    assert list(history.values[1]) == [10.0, 30.0, 5.0, 6.0, None, 100.0]


def test_the_first_plots_are_drawn_where_not_all_fit() -> None:
    history = History([PlotSeries(f"number {n}", lambda seen: seen["n"]) for n in range(6)])
    history.add({"n": 10.0}, 0.0)

    def titles(lines: int) -> list[str]:
        drawn = history.drawn(60, lines).split("\n")
        assert len(drawn) <= lines - 2 and max(map(width_of, drawn)) <= 60
        return [line.strip() for line in drawn if "number" in line]

    assert [title[:8] for title in titles(27)] == [f"number {n}" for n in range(6)]
    *shown, others = titles(24)
    assert [title[:8] for title in shown] == [f"number {n}" for n in range(5)]
    assert others == "… a higher terminal also shows number 5"
    *shown, others = titles(8)
    assert [title[:8] for title in shown] == ["number 0"]
    assert others.startswith("… a higher terminal also shows number 1, number") and others.endswith("…")
    assert "too small" in history.drawn(60, 7)


def test_a_stream_is_followed(cli: Cli, serve: Callable[[str], ServerProcess], unique: str) -> None:
    server = serve('listen: "127.0.0.1:<client>"\njetstream { store_dir: "<store>" }\n')
    cli = cli.with_flags("--server", server.url)
    cli.ok("stream", "add", unique, "--subjects", unique, "--defaults")
    with cli.terminal(["stream", "graph", unique], columns=70, rows=24) as terminal:
        shown = terminal.shows(lambda text: "Messages Stored: 0" in text)
        assert shown[0] == f"Stream Statistics for {unique}"
        cli.ok("pub", unique, "x", "--count", "7", "-q")
        shown = terminal.shows(lambda text: "Messages Stored: 7" in text and "█" in text)
        assert max(map(len, shown)) <= 70
        terminal.resize(70, 10)
        terminal.shows(lambda text: "a higher terminal also shows Messages Removed" in text)
        terminal.resize(70, 7)
        terminal.shows(lambda text: "too small" in text)
        terminal.type("\x03")
        assert terminal.finish() == 0
    piped = cli.run("stream", "graph", unique)
    assert (piped.code, "terminal" in piped.err) == (2, True)
