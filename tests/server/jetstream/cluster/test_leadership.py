"""Decisions in quick succession: the log of the stream ends with the last of them."""

from __future__ import annotations

import pytest
from lib.stream_cluster import STREAM, StreamCluster
from pyjs.protocol.api.consumer import ConsumerConfig
from pyjs.protocol.api.stream import StreamConfig
from pyjs.server.jetstream.meta.command import DeleteConsumer
from pyjs.server.jetstream.replication.stream import ReplicatedStream


@pytest.fixture
def cluster() -> StreamCluster:
    made = StreamCluster().start()
    made.create()
    made.consumer("C", description="first")
    made.run(2)
    return made


def consumer_states(cluster: StreamCluster) -> list[dict[str, ConsumerConfig]]:
    """The consumers that each replica knows."""
    cluster.converge()
    streams = [server.local.stream for server in cluster.all.values() if server.local is not None]
    assert all(isinstance(stream, ReplicatedStream) for stream in streams)
    return [
        {name: state.config for name, state in stream.states.items()}
        for stream in streams
        if isinstance(stream, ReplicatedStream)
    ]


def test_a_consumer_that_is_changed_and_changed_back(cluster: StreamCluster) -> None:
    cluster.consumer("C", description="second")
    cluster.consumer("C", description="first")
    cluster.run(2)
    assert [found["C"].description for found in consumer_states(cluster)] == ["first"] * 3


def test_a_stream_that_is_changed_and_changed_back(cluster: StreamCluster) -> None:
    cluster.configure(max_msgs=5)
    cluster.configure(max_msgs=-1)
    cluster.run(2)
    decided = StreamConfig.from_json(cluster.assignment.config)
    found = [
        server.local.stream.config for server in cluster.all.values() if server.local and server.local.stream
    ]
    assert found == [decided] * 3 and decided.max_msgs == -1


def test_a_consumer_that_is_made_and_deleted_at_once(cluster: StreamCluster) -> None:
    cluster.consumer("D")
    cluster.decide(DeleteConsumer(cluster.assignment.account, STREAM, "D"))
    cluster.run(2)
    assert [list(found) for found in consumer_states(cluster)] == [["C"]] * 3


def test_a_consumer_that_is_deleted_and_made_again_at_once(cluster: StreamCluster) -> None:
    cluster.decide(DeleteConsumer(cluster.assignment.account, STREAM, "C"))
    cluster.consumer("C", description="another")
    cluster.run(2)
    assert [found["C"].description for found in consumer_states(cluster)] == ["another"] * 3
    cluster.run(15)
    assert [list(found) for found in consumer_states(cluster)] == [["C"]] * 3
