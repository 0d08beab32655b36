"""Moves of streams between servers: to another one, off a server, and taken back."""

from __future__ import annotations

import pytest
from lib.meta_fixture import MetaFixture, check, refusal, server, stream_of
from pyjs.protocol.errors import ApiError
from pyjs.server.jetstream.meta import snapshot
from pyjs.server.jetstream.meta.assignment import StreamAssignment
from pyjs.server.jetstream.meta.command import DeleteStream, PeersConfirmed, PutServer
from pyjs.server.jetstream.meta.moves import MovePlanner, MoveTarget
from pyjs.server.jetstream.meta.planner import ApiClient

WHO = ApiClient({}, ["C"])


def moves(meta: MetaFixture) -> MovePlanner:
    return MovePlanner(meta.planner)


def confirm(meta: MetaFixture) -> StreamAssignment:
    """Let the stream's group report that it matches its peers."""
    stream = meta.state.stream("A", "S")
    assert stream is not None
    meta.put(PeersConfirmed("A", "S", stream.placed))
    found = meta.state.stream("A", "S")
    assert found is not None
    return found


def settled(count: int, replicas: int = 3) -> tuple[MetaFixture, StreamAssignment]:
    meta = MetaFixture(count)
    meta.create(replicas=replicas)
    return meta, confirm(meta)


def test_a_server_is_evacuated_and_stays_in_the_cluster() -> None:
    meta, before = settled(4)
    gone = before.peers[0]
    after = stream_of(meta.put(moves(meta).evacuate_server(meta.state.server_name(gone))))
    assert gone not in after.peers and len(after.peers) == 3 and after.leaving == (gone,)
    assert gone in meta.state.servers and after.evacuated == ()
    check(meta.state)


def test_an_evacuated_server_that_nobody_replaces_does_not_get_the_stream_back() -> None:
    meta, before = settled(3)
    gone = before.peers[1]
    after = stream_of(meta.put(moves(meta).evacuate_server(peer=gone)))
    assert after.peers == tuple(peer for peer in before.peers if peer != gone)
    assert (after.evacuated, after.leaving) == ((gone,), (gone,))
    confirm(meta)
    assert meta.planner.heal() == []
    assert snapshot.restore(snapshot.take(meta.state)) == meta.state
    meta.join(server(9))
    [healing] = meta.planner.heal()
    healed = stream_of(meta.put(healing))
    assert healed.peers[-1] == server(9).id and healed.evacuated == ()
    check(meta.state)


def test_the_only_copy_stays_where_no_other_server_can_take_it() -> None:
    meta, before = settled(1, replicas=1)
    assert meta.put(moves(meta).evacuate_server("n1")) == []
    assert meta.state.stream("A", "S") == before
    with pytest.raises(ApiError, match="server is not a member"):
        moves(meta).evacuate_server("nobody")


def test_an_evacuation_leaves_streams_alone_that_changed_meanwhile() -> None:
    meta, before = settled(4)
    planned = moves(meta).evacuate_server(peer=before.peers[0])
    meta.update(description="another one")
    assert meta.put(planned) == []
    meta.put(DeleteStream("A", "S"))
    assert meta.put(planned) == []


def test_a_move_is_taken_back() -> None:
    meta, before = settled(6)
    for one in set(meta.state.servers) - set(before.peers):
        meta.put(PutServer(server(int(one[4:8]), tags=("new",))))
    moved = meta.update(placement={"tags": ["new"]})
    assert not set(moved.peers) & set(before.peers) and moved.change == "move"
    back = stream_of(meta.put(moves(meta).cancel("A", "S")))
    assert (back.peers, back.config, back.cluster) == (before.peers, before.config, before.cluster)
    assert back.change == "move" and set(back.leaving) == set(moved.peers)
    assert meta.put(PeersConfirmed("A", "S", moved.placed)) == []  # the group speaks of what was before
    assert confirm(meta).origin == {}
    check(meta.state)
    with pytest.raises(ApiError, match="stream reconfiguration not in progress"):
        moves(meta).cancel("A", "S")
    with pytest.raises(ApiError, match="stream not found"):
        moves(meta).cancel("A", "T")


def test_a_scale_is_taken_back_to_what_it_began_with_also_after_another_one() -> None:
    meta, before = settled(5, replicas=1)
    meta.update(replicas=3)
    meta.update(replicas=5)
    back = stream_of(meta.put(moves(meta).cancel("A", "S")))
    assert back.peers == before.peers and back.config["num_replicas"] == 1
    assert len(back.leaving) == 4 and back.change == "scale"
    check(meta.state)
    again = meta.put(moves(meta).cancel("A", "S"))  # harmless, as long as it is under way
    assert stream_of(again).peers == before.peers


def test_what_began_with_servers_that_are_gone_returns_to_those_that_are_left() -> None:
    meta, before = settled(4)
    meta.update(replicas=1)
    lost = before.peers[2]
    meta.put(meta.planner.remove_server(peer=lost))
    back = stream_of(meta.put(moves(meta).cancel("A", "S")))
    assert back.peers == before.peers[:2] and back.replicas == 3 and back.short
    check(meta.state)


def test_a_command_to_cancel_that_comes_too_late_is_refused() -> None:
    meta, _ = settled(4)
    meta.update(replicas=1)
    late = moves(meta).cancel("A", "S")
    confirm(meta)
    assert refusal(meta.put(late)) == 10129


def test_one_peer_moves_to_another_server() -> None:
    meta, before = settled(4)
    view = meta.state.view("A")
    target = MoveTarget(meta.state.server_name(before.peers[2]))
    after = stream_of(meta.put(moves(meta).move(view, "S", target, WHO)))
    assert after.peers[:2] == before.peers[:2] and after.leaving == (before.peers[2],)
    assert (after.config, after.change) == (before.config, "move")
    with pytest.raises(ApiError, match="stream move already in progress"):
        moves(meta).move(meta.state.view("A"), "S", MoveTarget(), WHO)


def test_a_stream_moves_to_another_cluster_if_its_own_has_no_other_server() -> None:
    meta, before = settled(3)
    for number in (7, 8, 9):
        meta.join(server(number, cluster="D", tags=("fast",)))
    view = meta.state.view("A")
    after = stream_of(meta.put(moves(meta).move(view, "S", MoveTarget(tags=("fast",)), WHO)))
    assert after.cluster == "D" and set(after.leaving) == set(before.peers)
    assert after.config == before.config  # the tags are those of this move


@pytest.mark.parametrize(
    ("target", "number"),
    [
        (MoveTarget("nobody"), 10044),
        (MoveTarget("n1", cluster="D"), 10044),
        (MoveTarget("n1", domain="hub"), 10044),
        (MoveTarget("n4"), 10040),
        (MoveTarget(tags=("ssd",)), 10005),
    ],
)
def test_moves_that_are_refused(target: MoveTarget, number: int) -> None:
    meta = MetaFixture(3)
    meta.create()
    confirm(meta)
    meta.join(server(4))
    for name, expected in (("S", number), ("T", 10059)):
        with pytest.raises(ApiError) as caught:
            moves(meta).move(meta.state.view("A"), name, target, WHO)
        assert caught.value.err_code == expected
