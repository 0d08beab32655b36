"""A run's page needs no other file, escapes its content, and its plots agree with the batches."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from pyjs.pipeline.declared import chart, record, report
from pyjs.pipeline.declared.chart import ChartSeries
from pyjs.pipeline.declared.progress import Batch, moment

START = 1_795_334_400.0  # 2026-11-22T08:00:00Z


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


def page(batches: list[Batch], error: str = "") -> str:
    facts = {"started": moment(START), "file": "/<p>.yaml", "steps": [{"kind": "sink", "what": "<b>"}]}
    with record.record("orders", facts, "name: <orders>") as run:
        for batch in batches:
            run.batch(batch)
        run.end({"state": "failed" if error else "finished", "time": moment(START + 90), "error": error})
    found = record.find("orders")
    assert found is not None
    return report.html(found)


def test_a_page_has_three_plots_of_all_sinks_and_nothing_to_load() -> None:
    text = page([
        Batch(sink, number, moment(START + 10 * number), 1000, 900, 50 - number, 2.0)
        for number in range(5)
        for sink in ("lake", "back")
    ])  # fmt: skip
    assert re.findall(r"<h2>(\w[\w ]*?) <small>", text) == [
        "Throughput",
        "Lag",
        "Batch time",
    ]
    plots = [ElementTree.fromstring(svg) for svg in re.findall(r"<svg.*?</svg>", text, re.DOTALL)]
    assert len(plots) == 3
    titles = [[title.text for title in plot.iter("title")] for plot in plots]
    assert titles[0][0] == "lake, 08:00:00: 500 rows/s"
    assert titles[1][-1] == "back, 08:00:40: 46 messages"
    assert len(titles[2]) == 10
    for loaded in ("http", "src=", "<script", "@import", "url("):
        assert loaded not in text
    assert "prefers-color-scheme: dark" in text
    assert "<b>" not in text.replace("<b>5", "").split("Plan")[1]
    assert "name: &lt;orders&gt;" in text


def test_a_page_of_a_run_with_one_batch_shows_what_its_time_went_to() -> None:
    text = page([
        Batch("lake", 0, moment(START + 30), 1000, 900, None, 10.0),
        Batch("<back>", 0, moment(START + 80), None, 5, 3, 40.0),
    ])  # fmt: skip
    (plot,) = [ElementTree.fromstring(svg) for svg in re.findall(r"<svg.*?</svg>", text, re.DOTALL)]
    assert [title.text for title in plot.iter("title")] == [
        "start and plan: 20.00 s",
        "lake: 10.00 s, 1,000 in, 900 out, 100 rows/s",
        "<back>: 40.00 s, 5 out, 3 behind",
        "end: 10.00 s",
    ]
    bars = [(float(bar.attrib["x"]), float(bar.attrib["width"])) for bar in plot.iter("rect")]
    assert bars == [(170.0, 100.0), (270.0, 50.0), (370.0, 200.0), (570.0, 50.0)]


def test_a_page_of_a_run_that_failed_at_once() -> None:
    text = page([], error="orders.yaml:3:1: <no> table")
    assert "orders.yaml:3:1: &lt;no&gt; table" in text
    assert "This run failed before its first batch was completed: there is nothing to draw." in text
    assert "<svg" not in text


def test_a_page_of_a_run_without_batches_says_why() -> None:
    text = page([])
    assert "This run had no batch, for the streams had nothing new to read" in text
    assert "<svg" not in text
    assert "<svg" not in text


@pytest.mark.parametrize(
    ("top", "steps"),
    [
        (0, [0, 1]),
        (1, [0, 0.25, 0.5, 0.75, 1]),
        (7, [0, 2, 4, 6, 8]),
        (1000, [0, 250, 500, 750, 1000]),
        (123_456, [0, 50_000, 100_000, 150_000]),
    ],
)
def test_ticks_are_round_and_reach_the_top(top: float, steps: list[float]) -> None:
    assert chart.ticks(top) == pytest.approx(steps)


def test_times_are_round() -> None:
    assert [label for _, label in chart.moments(START + 1, START + 40)] == [
        "08:00:10",
        "08:00:20",
        "08:00:30",
        "08:00:40",
    ]
    assert [label for _, label in chart.moments(START, START + 5 * 86400)] == [
        "Nov 23",
        "Nov 24",
        "Nov 25",
        "Nov 26",
        "Nov 27",
    ]
    assert len(chart.moments(START, START)) == 1


def test_long_runs_are_put_together_without_losing_the_highest() -> None:
    points = [(START + each, float(each == 7777)) for each in range(10_000)]
    joined = chart.joined(points, lambda group: max(value for _, value in group))
    assert len(joined) <= chart.POINTS
    assert max(value for _, value in joined) == 1.0
    assert joined[-1][0] == points[-1][0]


def test_one_point_and_no_points_are_drawn() -> None:
    one = chart.draw("t", [ChartSeries("a", [(START, 5.0)])], "s", join=lambda group: group[0][1])
    assert "<circle" in one
    assert "NaN" not in one
    assert "nothing to draw" in chart.draw("t", [ChartSeries("a", [])], "s", join=lambda group: 0.0)


def test_a_page_shows_what_broke_which_rule() -> None:
    facts = {"started": moment(START), "rules": {"t.decode": "drop", "t.<b>": "warn"}}
    with record.record("ruled", facts, "name: ruled") as run:
        run.batch(Batch("lake", 0, moment(START), 10, 9, 0, 1.0, rules={"t.decode": 1200}))
    found = record.find("ruled")
    assert found is not None
    text = report.html(found)
    rules = text[text.index("<h2>Rules</h2>") :]
    assert re.search(r"t\.decode</td>.*?drop</td>.*?1,200</td>", rules, re.DOTALL)
    assert re.search(r"t\.&lt;b&gt;</td>.*?warn</td>.*?0</td>", rules, re.DOTALL)
