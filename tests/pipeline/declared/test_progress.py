"""What a batch did, from Spark's own report of it, and the sums over a run."""

from __future__ import annotations

import json
from typing import Any

from pyjs.pipeline.declared.progress import Batch, Totals, behind, observed, of_query

REPORT: dict[str, Any] = {
    "batchId": 7,
    "timestamp": "2026-11-22T08:00:00.500Z",
    "numInputRows": 300,
    "durationMs": {"addBatch": 900, "triggerExecution": 1500},
    "eventTime": {"watermark": "2026-11-22T07:50:00.000Z"},
    "sources": [
        {
            "endOffset": json.dumps({"A": {"next": 10, "created": "x"}, "B": {"next": 5, "created": "y"}}),
            "latestOffset": json.dumps({"A": {"next": 25, "created": "x"}, "B": {"next": 5, "created": "y"}}),
        },
        {"endOffset": {"C": {"next": 3}}, "latestOffset": {"C": {"next": 4}}},
    ],
}


def test_a_batch_of_sparks_report() -> None:
    batch = of_query("lake", REPORT, 12)
    assert batch == Batch(
        "lake", 7, "2026-11-22T08:00:02.000Z", 300, 12, 16, 1.5, watermark="2026-11-22T07:50:00.000Z"
    )
    assert batch.rate == 200
    assert batch.to_json()["rate"] == 200
    assert Batch.from_json({**batch.to_json(), "added": "by a later version"}) == batch


def test_a_remote_sessions_report_has_its_numbers_elsewhere() -> None:
    sources = [{**source, "numInputRows": 40} for source in REPORT["sources"]]
    assert of_query("lake", {**REPORT, "numInputRows": None, "sources": sources}, None).rows_in == 80
    assert observed({"observedMetrics": {"out": {"values": [5], "schema": {"type": "struct"}}}}, "out") == 5
    assert observed({"observedMetrics": {"out": {"rows": 6}}}, "out") == 6
    assert observed({"observedMetrics": {}}, "out") is None


def test_the_first_watermark_is_none() -> None:
    report = {**REPORT, "eventTime": {"watermark": "1970-01-01T00:00:00.000Z"}}
    assert of_query("lake", report, None).watermark is None


def test_a_lag_is_only_reported_where_offsets_show_it() -> None:
    assert behind({"endOffset": '{"A": {"next": 4}}', "latestOffset": '{"A": {"next": 4}}'}) == 0
    # a stream that is read later than the report, and one that shrank
    latest = {"A": {"next": 2}, "new": {"next": 9}}
    assert behind({"endOffset": {"A": {"next": 4}}, "latestOffset": latest}) == 0
    for end in (None, "17", "no json", [1]):
        assert behind({"endOffset": end, "latestOffset": {"A": {"next": 4}}}) is None
    assert of_query("lake", {**REPORT, "sources": []}, None).lag is None


def test_sums_count_what_several_sinks_read_once() -> None:
    batches = [
        Batch("a", 0, "t", 100, 90, 50, 1.0, rules={"t.r": 2}),
        Batch("b", 0, "t", 100, 5, 50, 1.0, rules={"t.r": 4}),
        Batch("a", 1, "t", 50, 50, 0, 1.0, rules={"t.r": 3}),
        Batch("c", 0, "t", None, None, None, 1.0),
    ]
    assert Totals.of(batches).to_json() == {
        "batches": 4,
        "rows_in": 150,
        "rows_out": 145,
        "lag": 50,
        "rules": {"t.r": 5},
    }
    assert Totals().to_json() == {"batches": 0, "rows_in": 0, "rows_out": 0, "lag": None, "rules": {}}
