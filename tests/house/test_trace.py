"""What a message costs inside the server, in calls of functions: no path takes more than its budget."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from pyjs.benchmarks import trace
from pyjs.native import COMPILED


@pytest.fixture(scope="module")
def traces() -> Iterator[dict[str, trace.Trace]]:
    yield asyncio.run(trace.record())


def test_no_path_takes_more_calls_than_before(traces: dict[str, trace.Trace]) -> None:
    assert trace.over_budget(traces) == []


def test_a_path_begins_at_the_socket_and_ends_at_it(traces: dict[str, trace.Trace]) -> None:
    """Else the budget would be kept by a trace that misses calls."""
    for found in traces.values():
        functions = [call.function for call in found.calls if call.loop]
        assert functions[0] == "SocketProtocol.data_received"
        assert "Outbound.flush" in functions
    assert any(call.file == "store/fs.py" and not call.loop for call in traces["publish"].calls)


def test_more_calls_than_allowed_are_reported() -> None:
    call = trace.Call("server/a.py", "f", 0, loop=True)
    most, _ = trace.BUDGET["ack"]
    found = trace.over_budget({"ack": trace.Trace([call] * (most + 1))})
    assert found == [f"ack: {most + 1} calls, {most} are allowed"]


def test_a_picture_takes_the_place_of_the_one_before(traces: dict[str, trace.Trace]) -> None:
    document = "before\n<!-- trace -->\n```text\nan old one\n```\nafter\n```\nanother\n```\n"
    made = trace.written(document, traces)
    assert made.startswith("before\n<!-- trace -->\n```text\ncore publish until it is delivered: ")
    assert made.endswith("\n```\nafter\n```\nanother\n```\n")
    assert trace.written(made, traces) == made


@pytest.mark.skipif(not COMPILED, reason="the page shows the compiled form")
def test_the_architecture_page_shows_the_paths_as_they_are(traces: dict[str, trace.Trace]) -> None:
    """`python -m benchmarks.trace --write` draws it again.

    A busy machine makes the server take other paths, such as to a thread that writes: it has three tries.
    """
    different = _different(traces)
    for _ in range(2):
        if different:
            different = _different(asyncio.run(trace.record()))
    assert different == {}


def _different(traces: dict[str, trace.Trace]) -> dict[str, set[str]]:
    """Return, by path, the functions that only the page or only the trace has."""
    page = trace.PAGE.read_text(encoding="utf-8")
    pictures = page.partition("<!-- trace -->\n```text\n")[2].partition("\n```\n")[0]
    found = {}
    for path in trace.SHOWN:
        picture = pictures.partition(f"{trace.TITLES[path]}: ")[2].partition("\n\n")[2].partition("\n\n")[0]
        shown = [line.split()[0] for line in picture.splitlines() if "‖" not in line]
        called = [call.function for call in traces[path].calls if call.loop]
        if only := _until_answered(shown) ^ _until_answered(called):
            found[path] = only
    return found


def _until_answered(functions: list[str]) -> set[str]:
    """Return the functions up to the last write. How soon a consumer's state is saved after it may differ."""
    return set(functions[: len(functions) - functions[::-1].index("Outbound.flush")])
