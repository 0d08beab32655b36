"""Metrics for Prometheus: their form, the names that dashboards ask for, and what a scrape leaves out."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import nats
import pytest
from pyjs.server import Server
from pyjs.server.monitor.metrics import Metrics
from pyjs.server.slices import at_once

DASHBOARD = Path(__file__).parents[2] / "docs" / "grafana.json"
SAMPLE = re.compile(r'([a-z_0-9]+)\{((?:[a-z_]+="(?:[^"\\\n]|\\.)*",?)*)\} (-?[0-9.e+]+)')


def scraped(tmp_path: Path, *paths: str) -> list[tuple[int, str]]:
    """Return the answers of a server that has a stream with a message and a consumer."""

    async def run() -> list[tuple[int, str]]:
        async with Server(http_port=0, store_dir=tmp_path, server_name="S") as server:
            client = await nats.connect(server.url)
            stream = client.jetstream()
            await stream.add_stream(name="ORDERS", subjects=["orders"])
            await stream.publish("orders", b"one")
            await stream.pull_subscribe("orders", durable="ship")
            assert server.monitor is not None
            answers = [await server.monitor.answer(path) for path in paths]
            await client.close()
            return [(answer.status, answer.body.decode()) for answer in answers]

    return asyncio.run(run())


def samples(text: str) -> dict[str, list[tuple[str, float]]]:
    """Return labels and values by name. Each line must be a sample, or say the type of those that follow."""
    found: dict[str, list[tuple[str, float]]] = {}
    kind = ""
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            kind = line.split()[2]
            assert kind not in found
            found[kind] = []
            continue
        match = SAMPLE.fullmatch(line)
        assert match is not None, line
        assert match[1] == kind
        found[kind].append((match[2], float(match[3])))
    return found


def test_a_scrape(tmp_path: Path) -> None:
    ((status, text),) = scraped(tmp_path, "/metrics")
    found = samples(text)
    assert status == 200
    assert found["gnatsd_varz_connections"][0][1] == 1
    assert found["gnatsd_connz_num_connections"][0][1] == 1
    assert found["gnatsd_healthz_status"][0][1] == 0
    assert found["gnatsd_varz_jetstream_stats_accounts"][0][1] == 1
    ((labels, messages),) = found["jetstream_stream_total_messages"]
    assert messages == 1
    assert 'account="$G"' in labels
    assert 'stream_name="ORDERS"' in labels
    assert 'is_stream_leader="true"' in labels
    ((labels, pending),) = found["jetstream_consumer_num_pending"]
    assert pending == 1
    assert 'consumer_name="ship"' in labels


def test_the_dashboard_asks_for_metrics_that_exist(tmp_path: Path) -> None:
    ((_, text),) = scraped(tmp_path, "/metrics")
    found = samples(text)
    dashboard: dict[str, Any] = json.loads(DASHBOARD.read_text("utf-8"))
    asked = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    assert len(asked) > 15
    for expression in asked:
        assert re.findall(r"(?:gnatsd|jetstream)_\w+", expression)[0] in found, expression


@pytest.mark.parametrize(
    ("depth", "streams", "consumers"),
    [("off", False, False), ("server", False, False), ("streams", True, False), ("consumers", True, True)],
)
def test_how_much_of_jetstream(tmp_path: Path, depth: str, streams: bool, consumers: bool) -> None:
    ((_, text),) = scraped(tmp_path, f"/metrics?jsz={depth}")
    found = samples(text)
    assert ("jetstream_server_total_streams" in found) is (depth != "off")
    assert ("jetstream_stream_total_messages" in found) is streams
    assert ("jetstream_consumer_num_pending" in found) is consumers


def test_a_request_that_is_not_understood(tmp_path: Path) -> None:
    ((status, text),) = scraped(tmp_path, "/metrics?jsz=everything")
    assert (status, text) == (400, "jsz is one of off, server, streams, consumers")


def test_labels_with_any_letters() -> None:
    metrics = Metrics()
    metrics.add("x", 1, {"a": 'say "hi"\\\n', "b": "é"})
    assert at_once(metrics.text()).decode() == '# TYPE x gauge\nx{a="say \\"hi\\"\\\\\\n",b="é"} 1\n'
