"""The metrics of a run: their text, how often streams are asked for it, and the endpoint that serves them."""

from __future__ import annotations

import json
import re
import socket
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from lib.cli import Cli
from pyjs.cli.errors import CliError, UsageError
from pyjs.pipeline.declared.exposition import LAG_SECONDS, RunMetrics
from pyjs.pipeline.declared.lag import SourceLag
from pyjs.pipeline.declared.progress import Batch
from pyjs.plugins.pipeline.metrics_endpoint import address, serving

DOCUMENT = """\
name: p
connection: {servers: "nats://127.0.0.1:9"}
sources: {orders: {stream: ORDERS}}
sinks: {files: {from: orders, format: json, path: out}}
"""
BATCH = Batch("lake", 0, "2026-11-22T08:00:00.000Z", 10, 9, 4, 0.5)
LAG = SourceLag("lake", "orders", "ORDERS", "hub", next=11, last=20, behind=10, oldest="2026-11-22T08:00:00Z")
SAMPLE = re.compile(r'[a-z_]+\{([a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)*\} -?[0-9.e+]+')


class Streams:
    """What is asked for the lag."""

    def __init__(self) -> None:
        self.asked = 0
        self.fails = False

    def __call__(self) -> list[SourceLag]:
        self.asked += 1
        if self.fails:
            raise OSError("no server")
        return [LAG]


class Clock:
    """A clock that stands still."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_batches_are_counted_and_the_lag_is_that_of_now() -> None:
    streams, clock = Streams(), Clock()
    metrics = RunMetrics("p", "p.7", ["lake", "other"], "1.2", streams, now=clock)
    metrics.batch(BATCH)
    metrics.batch(BATCH)
    lines = metrics.text().splitlines()
    assert [each for each in lines if not each.startswith("#") and not SAMPLE.fullmatch(each)] == []
    assert 'pyjs_pipeline_info{pipeline="p",run="p.7",version="1.2"} 1' in lines
    assert 'pyjs_pipeline_rows_read_total{pipeline="p",sink="lake"} 20' in lines
    assert 'pyjs_pipeline_rows_written_total{pipeline="p",sink="lake"} 18' in lines
    assert 'pyjs_pipeline_batch_seconds_total{pipeline="p",sink="lake"} 1.0' in lines
    assert 'pyjs_pipeline_batches_total{pipeline="p",sink="other"} 0' in lines
    of = 'pipeline="p",sink="lake",source="orders",stream="ORDERS",domain="hub"'
    assert f"pyjs_pipeline_source_behind{{{of}}} 10" in lines
    assert 'pyjs_pipeline_sources_up{pipeline="p"} 1' in lines
    for name in {each.split("{")[0] for each in lines if not each.startswith("#")}:
        assert sum(each.startswith(f"# TYPE {name} ") for each in lines) == 1


def test_streams_are_asked_once_in_a_while_and_may_fail() -> None:
    streams, clock = Streams(), Clock()
    metrics = RunMetrics("p", "p.1", ["lake"], "1", streams, now=clock)
    for _ in range(3):
        metrics.text()
    assert streams.asked == 1
    clock.now += LAG_SECONDS
    streams.fails = True
    text = metrics.text()
    assert streams.asked == 2
    assert 'sources_up{pipeline="p"} 0' in text
    assert "source_behind" not in text


def test_labels_are_escaped() -> None:
    text = RunMetrics("p", 'a"b\\c\nd', [], "1", Streams(), now=Clock()).text()
    assert 'run="a\\"b\\\\c\\nd"' in text


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("9464", ("127.0.0.1", 9464)),
        ("0.0.0.0:0", ("0.0.0.0", 0)),
        ("[::1]:9464", ("::1", 9464)),
        ("host:9464", ("host", 9464)),
    ],
)
def test_an_address_has_a_port_and_perhaps_a_host(text: str, found: tuple[str, int]) -> None:
    assert address(text) == found


@pytest.mark.parametrize("text", ["", "x", "70000", "a:b", "1:2:3", ":"])
def test_other_addresses_are_refused(text: str) -> None:
    with pytest.raises(UsageError):
        address(text)


def test_a_port_that_is_taken_is_a_failed_run_before_spark_starts(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(DOCUMENT)
    cli = Cli(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = cli.run("pipeline", "run", "p.yaml", "--metrics", str(taken.getsockname()[1]))
    assert (done.code, "cannot serve metrics on port" in done.err) == (1, True)
    assert json.loads(cli.ok("pipeline", "ls", "p", "--json"))[0]["state"] == "failed"
    assert cli.run("pipeline", "run", "p.yaml", "--metrics", "x").code != 0


def test_the_endpoint_serves_as_long_as_the_run_lasts() -> None:
    with serving(lambda: "metrics\n", "127.0.0.1", 0) as port:
        url = f"http://127.0.0.1:{port}"
        for _ in range(2):
            with urllib.request.urlopen(f"{url}/metrics", timeout=10) as page:
                assert page.read() == b"metrics\n"
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(f"{url}/other", timeout=10)
        caught.value.close()
        with pytest.raises(CliError, match="cannot serve metrics"), serving(str, "127.0.0.1", port):
            pass
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), 1)
