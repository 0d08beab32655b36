"""Queries and exactly-once writes whose stream's leader is killed, again and again, at any moment.

Every batch must have just the messages that were stored before it, every row must be stored once. `make soak`
plays thirty rounds of each.
"""

from __future__ import annotations

import random
import sys
import threading
import time
from types import SimpleNamespace

import pytest
from lib.eventually import eventually
from lib.examples import size
from lib.frames import batch, schema
from lib.jetstream import JetStream
from lib.jetstream_cluster import JetMesh
from lib.spark_query import Query, sequences
from pyjs.pipeline.options import QuerySettings
from pyjs.pipeline.sink import atomic
from pyjs.pipeline.sink.task import WriteTask
from pyjs.pipeline.sink.write_options import WriteOptions
from pyjs.pipeline.sink.writer import WritePlan

MESSAGES = 600  # of a round
USER = {"user": "acc", "pass": "acc"}


def leader_of(js: JetStream, stream: str) -> str:
    """Wait until both replicas are current, and return the leader's name."""

    def led() -> bool:
        cluster = js.info(stream)["cluster"]
        current = [one for one in cluster.get("replicas") or () if one.get("current")]
        return bool(cluster.get("leader")) and len(current) == 2

    eventually(led, 60)
    leader: str = js.info(stream)["cluster"]["leader"]
    return leader


def store(mesh: JetMesh, total: int) -> str:
    """Store messages up to `total` in all, and return the leader's name."""
    with JetStream.of(mesh.alive()[0], **USER) as js:
        leader_of(js, "LED")
        while (last := js.state("LED")["last_seq"]) < total:
            for number in range(last + 1, total + 1):
                js.publish("led", str(number))
        return leader_of(js, "LED")


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_a_leader_that_is_killed_at_any_moment(implementation: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(atomic, "ROWS", 20)  # so that a round has thirty atomic batches
    seed = random.randrange(2**32)
    sys.stdout.write(f"seed {seed}\n")
    rng = random.Random(seed)
    mesh = JetMesh(implementation)
    try:
        with JetStream.of(mesh.servers[0], **USER) as js:
            js.create("LED", subjects=["led"], storage="file", num_replicas=3, allow_direct=True)
        query = Query(
            SimpleNamespace(url=mesh.url()),  # type: ignore[arg-type]
            stream="LED",
            startingOffsets="earliest",
            minPartitions="3",
            batchRows="50",
            timeout="2s",
            fetchRetries="100",
            fetchRetryInterval="200ms",
        )
        try:
            play(mesh, query, rng)
        finally:
            query.reader.stop()
        write(mesh, rng)
    finally:
        mesh.close()


def play(mesh: JetMesh, query: Query, rng: random.Random) -> None:
    store(mesh, MESSAGES)
    began = time.monotonic()
    assert sequences(query.step() or []) == list(range(1, MESSAGES + 1))
    usual = time.monotonic() - began
    for number in range(1, size(3, 30) + 1):
        leader = mesh[store(mesh, (number + 1) * MESSAGES)]
        killing = threading.Timer(rng.uniform(0, usual), leader.crash)
        killing.start()
        found = sequences(query.step() or [])
        killing.join()
        assert found == list(range(number * MESSAGES + 1, (number + 1) * MESSAGES + 1)), f"round {number}"
        leader.launch()
        mesh.ready()


def write(mesh: JetMesh, rng: random.Random) -> None:
    """Write rows exactly once, a batch a round, and kill the leader meanwhile."""
    with JetStream.of(mesh.servers[0], **USER) as js:
        js.create(
            "OUT", subjects=["out.>"], storage="file", num_replicas=3, allow_direct=True, allow_atomic=True
        )
    given = {"servers": mesh.url(), "stream": "OUT", "guarantee": "exactly-once", "markSubject": "out.marks"}
    options = WriteOptions.of(QuerySettings.of(given | {"timeout": "2s", "deliveryTimeout": "60s"}, "write"))
    rows = [b"%d" % number for number in range(MESSAGES * size(3, 30))]
    usual = 0.5
    for number in range(size(3, 30)):
        with JetStream.of(mesh.alive()[0], **USER) as js:
            leader = mesh[leader_of(js, "OUT")]
        part = rows[number * MESSAGES : (number + 1) * MESSAGES]
        frames = (batch(subject=["out.a"] * 20, data=part[at : at + 20]) for at in range(0, MESSAGES, 20))
        plan = WritePlan.make(options, schema("subject", "data"))
        killing = threading.Timer(rng.uniform(0, usual), leader.crash)
        killing.start()
        began = time.monotonic()
        plan.run(WriteTask("q", 0, 0, name="q", batch=number), frames)
        usual = min(usual, time.monotonic() - began)
        killing.join()
        leader.launch()
        mesh.ready()
    with JetStream.of(mesh.servers[0], **USER) as js:
        leader_of(js, "OUT")
        found = [body for body in js.stored("OUT").values() if not body.startswith(b"{")]
    assert found == rows
