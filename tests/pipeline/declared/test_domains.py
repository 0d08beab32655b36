"""One document reads several domains at once, through the hub of leaf nodes, and writes to one of them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from lib.forked_stage import ForkedStage
from pyarrow import parquet
from pyjs.client import BlockingConnection, ConnectionOptions
from pyjs.pipeline.declared import stream_checks
from pyjs.pipeline.declared.progress import Batch
from pyjs.pipeline.declared.reading import parse
from pyjs.pipeline.declared.run import Halt, Outcome, play
from pyjs.pipeline.jetstream import JetStreamRequests, StreamRange, read
from pyjs.plugins.demo.pipeline import network, shops
from pyjs.plugins.demo.pipeline import play as demo
from rich.console import Console

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ORDERS = 30  # of a shop
TEXT = """\
name: domains
trigger: batch
connection: {servers: "ADDRESS", user: shop, password: shop}
sources:
  shops: {stream: orders, domains: [north, south], startingOffsets: earliest}
  hub: {stream: aggregate, domain: hub, startingOffsets: earliest}
transforms:
  everywhere: {sql: "SELECT domain, stream, subject, data FROM shops UNION ALL
    SELECT domain, stream, subject, data FROM hub"}
  told: {sql: "SELECT concat('stats.', s.domain) AS subject,
    to_json(struct(count(DISTINCT h.data) AS n)) AS data
    FROM shops s JOIN hub h ON s.data = h.data GROUP BY s.domain"}
sinks:
  lake: {from: everywhere, format: parquet, path: lake}
  stats: {from: told, format: jetstream, domain: hub, stream: stats}
"""


class Quiet:
    """An observer that says nothing."""

    def stage(self, text: str) -> None: ...

    def batch(self, batch: Batch) -> None: ...

    def tick(self, doing: Mapping[str, str]) -> None: ...

    def rows(
        self, sink: str, batch: int, columns: Sequence[str], rows: Sequence[Sequence[Any]], total: int | None
    ) -> None: ...


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[demo.Play]:
    """The demo's hub and two leafs; each leaf's shop has taken orders, and the hub has all of them."""
    with ForkedStage(Console(quiet=True, width=200), directory=tmp_path) as stage:
        made = demo.Play(stage, network.Network.choose())
        demo.servers(made)
        demo.streams(made)
        for name in network.LEAFS:
            shops.take(made.net.url(name), name, ORDERS, 0, made.totals)
        assert demo.gathered(made)
        yield made


def stored(url: str, stream: str) -> list[bytes]:
    with BlockingConnection.open(ConnectionOptions(servers=(url,))) as connection:
        api = JetStreamRequests(connection)
        batches = list(read(connection, api, StreamRange(stream, 1, api.stream(stream).last + 1)))
    return [data for batch in batches for data in batch.column("data").to_pylist()]


def test_streams_of_three_domains_are_joined_and_written_to_one(
    scene: demo.Play, spark: SparkSession, tmp_path: Path
) -> None:
    loaded = parse(TEXT.replace("ADDRESS", scene.net.address("hub")), tmp_path / "p.yaml")
    found = [(each.path, each.stream, each.domain, each.messages) for each in stream_checks.check(loaded)]
    assert found == [
        ("sources.shops", "orders", "north", ORDERS),
        ("sources.shops", "orders", "south", ORDERS),
        ("sources.hub", "aggregate", "hub", 2 * ORDERS),
        ("sinks.stats", "stats", "hub", 0),
    ]
    outcome = play(spark, loaded, str(tmp_path / "checkpoint"), Quiet(), Halt())
    assert outcome == Outcome("finished")
    rows = parquet.read_table(tmp_path / "lake").to_pylist()
    places = [(row["domain"], row["stream"]) for row in rows]
    wanted = {("north", "orders"): ORDERS, ("south", "orders"): ORDERS, ("hub", "aggregate"): 2 * ORDERS}
    assert {place: places.count(place) for place in places} == wanted
    reported = [json.loads(data) for data in stored(scene.net.url("hub"), "stats")]
    assert reported == [{"n": ORDERS}] * 2
