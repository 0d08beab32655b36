"""A query whose stream's leader is killed, again and again, at any moment of planning, opening and reading.

Every batch must have just the messages that were stored before it. `make soak` plays thirty rounds.
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
from lib.jetstream import JetStream
from lib.jetstream_cluster import JetMesh
from lib.spark_query import Query, sequences

MESSAGES = 600  # of a round
USER = {"user": "acc", "pass": "acc"}


def store(mesh: JetMesh, total: int) -> str:
    """Store messages up to `total` in all, and return the leader's name."""
    with JetStream.of(mesh.alive()[0], **USER) as js:

        def led() -> bool:
            cluster = js.info("LED")["cluster"]
            current = [one for one in cluster.get("replicas") or () if one.get("current")]
            return bool(cluster.get("leader")) and len(current) == 2

        eventually(led, 60)
        while (last := js.state("LED")["last_seq"]) < total:
            for number in range(last + 1, total + 1):
                js.publish("led", str(number))
        leader: str = js.info("LED")["cluster"]["leader"]
        return leader


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_a_leader_that_is_killed_at_any_moment_of_a_query(implementation: str) -> None:
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
