"""A move or scale of a stream that is taken back at any moment loses nothing."""

from __future__ import annotations

import pytest
from lib.stream_cluster import StreamCluster, texts
from pyjs.server.jetstream.meta.command import CancelMove, PeerMove

MOMENTS = [0.0, 0.02, 0.1, 0.3, 0.5, 1.0]  # seconds after the move


def cancel(cluster: StreamCluster, group: str = "") -> None:
    stream = cluster.assignment
    if stream.origin:
        peers = tuple(stream.origin["peers"])
        cluster.decide(CancelMove(PeerMove(stream.account, stream.name, peers, group, stream.revision)))


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_move_is_taken_back(moment: float) -> None:
    cluster = StreamCluster("a", "b", "c", "d", "e", "f").start()
    cluster.create("a", "b", "c")
    cluster.stored(*texts(range(30)))
    before = cluster.assignment.peers
    cluster.scale("d", "e", "f", change="move")
    cluster.run(moment)
    begun = bool(cluster.assignment.origin)
    cancel(cluster)
    cluster.stored("more")
    assert cluster.bodies() == [*texts(range(30)), "more"]
    if begun:
        assert set(cluster.assignment.peers) == set(before)
    for name in "def" if begun else "abc":
        assert cluster[name].local is None


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_stream_of_one_copy_goes_back_to_its_server(moment: float) -> None:
    cluster = StreamCluster("a", "b", "c").start()
    cluster.create("a")
    cluster.stored(*texts(range(30)))
    cluster.scale("a", "b", "c")
    cluster.run(moment)
    begun = bool(cluster.assignment.origin)
    cancel(cluster)
    cluster.stored("more")
    assert cluster.bodies() == [*texts(range(30)), "more"]
    if begun:
        assert cluster.assignment.config["num_replicas"] == 1
        cluster.until(lambda: cluster["a"].local is not None and cluster["a"].local.membership is None)
        cluster.until(lambda: cluster["b"].local is None)


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_stream_keeps_its_three_copies(moment: float) -> None:
    cluster = StreamCluster("a", "b", "c").start()
    cluster.create("a", "b", "c")
    cluster.stored(*texts(range(30)))
    cluster.scale("b")
    cluster.run(moment)
    begun = bool(cluster.assignment.origin)
    cancel(cluster)
    cluster.stored("more")
    assert cluster.bodies() == [*texts(range(30)), "more"]
    assert len(cluster.assignment.peers) == (3 if begun else 1)
