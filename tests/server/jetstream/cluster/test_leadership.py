"""What was decided in quick succession: the log of the stream ends with the last of it."""

from __future__ import annotations

import pytest
from lib.stream_cluster import STREAM, Sites
from pyjs.protocol.api.consumer import ConsumerConfig
from pyjs.protocol.api.stream import StreamConfig
from pyjs.server.jetstream.meta.command import DeleteConsumer
from pyjs.server.jetstream.replication.stream import ReplicatedStream


@pytest.fixture
def sites() -> Sites:
    made = Sites().start()
    made.create()
    made.consumer("C", description="first")
    made.run(2)
    return made


def consumer_states(sites: Sites) -> list[dict[str, ConsumerConfig]]:
    """The consumers that each replica knows."""
    sites.settle()
    streams = [site.local.stream for site in sites.all.values() if site.local is not None]
    assert all(isinstance(stream, ReplicatedStream) for stream in streams)
    return [
        {name: state.config for name, state in stream.states.items()}
        for stream in streams
        if isinstance(stream, ReplicatedStream)
    ]


def test_a_consumer_that_is_changed_and_changed_back(sites: Sites) -> None:
    sites.consumer("C", description="second")
    sites.consumer("C", description="first")
    sites.run(2)
    assert [found["C"].description for found in consumer_states(sites)] == ["first"] * 3


def test_a_stream_that_is_changed_and_changed_back(sites: Sites) -> None:
    sites.configure(max_msgs=5)
    sites.configure(max_msgs=-1)
    sites.run(2)
    decided = StreamConfig.from_json(sites.assignment.config)
    found = [site.local.stream.config for site in sites.all.values() if site.local and site.local.stream]
    assert found == [decided] * 3 and decided.max_msgs == -1


def test_a_consumer_that_is_made_and_deleted_at_once(sites: Sites) -> None:
    sites.consumer("D")
    sites.decide(DeleteConsumer(sites.assignment.account, STREAM, "D"))
    sites.run(2)
    assert [list(found) for found in consumer_states(sites)] == [["C"]] * 3


def test_a_consumer_that_is_deleted_and_made_again_at_once(sites: Sites) -> None:
    sites.decide(DeleteConsumer(sites.assignment.account, STREAM, "C"))
    sites.consumer("C", description="another")
    sites.run(2)
    assert [found["C"].description for found in consumer_states(sites)] == ["another"] * 3
    sites.run(15)
    assert [list(found) for found in consumer_states(sites)] == [["C"]] * 3
