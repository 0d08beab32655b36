"""Commands of the meta group: the peers of a stream, and servers that are removed, replaced or come back."""

from __future__ import annotations

import pytest
from lib.meta_fixture import MetaFixture, check, code, config, refusal, server, stream_of
from pyjs.protocol.errors import ApiError
from pyjs.server.jetstream.meta.command import (
    GroupStarted,
    PeersConfirmed,
    PreferLeader,
    PutServer,
    RemoveServer,
    ReplaceServer,
    UpdateStream,
)
from pyjs.server.jetstream.meta.effect import (
    ServerRemoved,
    ServerReplaced,
    StaleCommand,
)

# --- peers


def test_a_group_is_named_after_its_replicas_and_storage() -> None:
    meta = MetaFixture(3)
    assert meta.create(replicas=3).group.startswith("S-R3F-")
    assert meta.planner.new_group(1, "memory").startswith("S-R1M-"), (
        "as a restore names the group of its stream"
    )


def test_scaling_up_adds_servers_and_begins_a_group() -> None:
    meta = MetaFixture(5)
    one = meta.create(replicas=1)
    three = meta.update(replicas=3)
    assert three.peers[0] == one.peers[0] and len(set(three.peers)) == 3
    assert three.group.startswith("S-R3F-") and three.group != one.group
    assert three.seeds == one.peers and three.preferred == one.peers[0]
    assert (three.change, three.leaving, three.placed) == ("scale", (), three.revision)
    # before that is done: five
    five = meta.update(replicas=5)
    assert five.peers[:3] == three.peers and five.group == three.group and five.seeds == one.peers
    assert meta.put(PeersConfirmed("A", "S", three.placed)) == []  # the group speaks of what was before
    converged = stream_of(meta.put(PeersConfirmed("A", "S", five.placed)))
    assert (converged.change, converged.preferred, converged.peers) == ("", "", five.peers)
    assert meta.put(PeersConfirmed("A", "S", five.placed)) == []
    check(meta.state)


def test_a_group_that_began_without_someone_begins_no_more() -> None:
    meta = MetaFixture(3)
    stream = meta.create()
    assert meta.put(GroupStarted("A", "S", 99, stream.peers)) == []
    assert meta.put(GroupStarted("A", "S", stream.placed, ("x",))) == []
    begun = stream_of(meta.put(GroupStarted("A", "S", stream.placed, stream.peers[:2])))
    assert (begun.seeds, begun.holders, begun.peers) == ((), stream.peers[:2], stream.peers)
    assert meta.put(GroupStarted("A", "S", stream.placed, stream.peers)) == []
    # the one that came late makes it whole
    meta.update(replicas=1, leader=stream.peers[0])
    check(meta.state)


def test_scaling_down_keeps_the_leader_and_lets_the_others_leave() -> None:
    meta = MetaFixture(5)
    five = meta.create(replicas=5)
    leader = five.peers[3]
    three = meta.update(replicas=3, leader=leader)
    assert leader in three.peers and set(three.members) == set(five.peers)
    assert three.group == five.group and three.change == "scale"
    one = meta.update(replicas=1, leader=leader)
    assert one.peers == (leader,) and set(one.members) == set(five.peers) and one.replicated
    done = stream_of(meta.put(PeersConfirmed("A", "S", one.placed)))
    assert done.members == (leader,) and not done.replicated
    again = meta.update(replicas=3)
    assert again.group != five.group and again.seeds == (leader,)
    check(meta.state)


def test_scaling_up_again_takes_back_who_has_not_left_yet() -> None:
    meta = MetaFixture(3)
    three = meta.create()
    one = meta.update(replicas=1, leader=three.peers[1])
    again = meta.update(replicas=3)
    assert set(again.peers) == set(three.peers) and again.leaving == () and again.group == three.group
    assert again.peers[0] == three.peers[1] and set(again.holders) == set(three.peers)
    assert meta.put(PeersConfirmed("A", "S", one.placed)) == []
    check(meta.state)


def test_a_move_takes_all_to_another_cluster_and_is_alone() -> None:
    meta = MetaFixture()
    for number in (4, 5, 6):
        meta.join(server(number, cluster="D"))
    before = meta.create()
    moved = meta.update(placement={"cluster": "D"})
    assert {meta.state.servers[peer].cluster for peer in moved.peers} == {"D"}
    assert set(moved.leaving) == set(before.peers) and moved.cluster == "D"
    assert moved.group == before.group and moved.change == "move"
    for asked, wanted in (
        ({"placement": {"cluster": "C"}}, 10124),
        ({"placement": {"cluster": "D"}, "replicas": 1}, 10124),
        ({"placement": {"cluster": "C"}, "replicas": 1}, 10123),
    ):
        with pytest.raises(ApiError) as refused:
            meta.update(**asked)
        assert code(refused.value) == wanted
    late = UpdateStream("A", config(replicas=1), peers=moved.peers[:1], change="scale")
    assert refusal(meta.put(late)) == 10124
    meta.update(placement={"cluster": "D"}, description="this may change")
    meta.put(PeersConfirmed("A", "S", moved.placed))
    scaling = meta.update(placement={"cluster": "D"}, replicas=1)
    with pytest.raises(ApiError) as refused:
        meta.update(placement={"cluster": "C"}, replicas=1)
    assert code(refused.value) == 10226
    late = UpdateStream("A", config(replicas=1), peers=scaling.peers, change="move")
    assert refusal(meta.put(late)) == 10226
    check(meta.state)


def test_a_peer_is_removed_by_name_node_or_id() -> None:
    meta = MetaFixture(4)
    for number in range(3):
        before = meta.state.stream("A", "S") or meta.create()
        gone = before.peers[0]
        names = (gone, meta.state.server_name(gone), gone.partition("-")[0])
        after = stream_of(meta.put(meta.planner.remove_peer("A", "S", names[number])))
        assert gone not in after.peers and gone in after.leaving and len(after.peers) == 3
        meta.put(PeersConfirmed("A", "S", after.placed))
        check(meta.state)
    for peer, wanted in (("n9", 10040), ("", 10040)):
        with pytest.raises(ApiError) as refused:
            meta.planner.remove_peer("A", "S", peer)
        assert code(refused.value) == wanted
    with pytest.raises(ApiError) as refused:
        meta.planner.remove_peer("A", "T", "n1")
    assert code(refused.value) == 10059


def test_a_peer_without_a_replacement_stays() -> None:
    meta = MetaFixture()
    meta.create()
    with pytest.raises(ApiError) as refused:
        meta.planner.remove_peer("A", "S", "n1")
    assert code(refused.value) == 10075


def test_a_stream_of_one_copy_moves_off_a_peer() -> None:
    meta = MetaFixture()
    before = meta.create(replicas=1)
    after = stream_of(meta.put(meta.planner.remove_peer("A", "S", before.peers[0])))
    assert after.leaving == before.peers == after.seeds and after.replicated
    assert after.group != before.group
    check(meta.state)


def test_a_hint_names_a_peer() -> None:
    meta = MetaFixture(4)
    stream = meta.create()
    assert refusal(meta.put(PreferLeader("A", "S", "nobody"))) == 10040
    assert refusal(meta.put(PreferLeader("A", "T", stream.peers[0]))) == 10059
    other = next(peer for peer in stream.peers if peer != stream.preferred)
    assert stream_of(meta.put(PreferLeader("A", "S", other))).preferred == other
    assert meta.put(PreferLeader("A", "S", other)) == []


# --- servers


def test_a_removed_server_is_replaced_where_there_is_another() -> None:
    meta = MetaFixture(4)
    stream = meta.create()
    meta.create(name="R1", replicas=1)
    gone = stream.peers[0]
    effects = meta.put(meta.planner.remove_server(meta.state.server_name(gone)))
    assert isinstance(effects[0], ServerRemoved)
    after = meta.state.stream("A", "S")
    assert after and after.leaving == (gone,) and gone not in after.peers and len(after.peers) == 3
    assert after.change == "heal" and gone not in after.seeds
    check(meta.state)
    for name in ("n9", ""):
        with pytest.raises(ApiError) as refused:
            meta.planner.remove_server(name)
        assert code(refused.value) == 10044
    assert refusal(meta.put(RemoveServer(gone))) == 10044


def test_without_another_a_stream_is_short_until_one_comes() -> None:
    meta = MetaFixture()
    stream = meta.create()
    gone = stream.peers[1]
    meta.put(meta.planner.remove_server(peer=gone))
    after = meta.state.stream("A", "S")
    assert after and after.peers == (stream.peers[0], stream.peers[2]) and after.short
    assert meta.planner.heal() == []
    meta.join(server(4))
    [change] = meta.planner.heal()
    healed = stream_of(meta.put(change))
    assert healed.peers == (*after.peers, server(4).id) and not healed.short
    assert isinstance(meta.put(change)[0], StaleCommand)
    check(meta.state)


def test_the_only_copy_waits_for_its_server() -> None:
    meta = MetaFixture()
    stream = meta.create(replicas=1)
    [holder] = stream.peers
    old = meta.state.servers[holder]
    meta.put(meta.planner.remove_server(peer=holder))
    assert meta.state.stream("A", "S") == stream  # nobody made up an empty one
    command = meta.planner.admit(old)
    assert command is not None
    meta.put(command)
    assert meta.state.servers[holder] == old
    check(meta.state)


def test_a_stream_goes_back_to_the_holder_that_comes_back_first() -> None:
    meta = MetaFixture()
    stream = meta.create(replicas=2)
    first, second = (meta.state.servers[peer] for peer in stream.peers)
    meta.put(RemoveServer(first.id))
    meta.put(RemoveServer(second.id))
    waiting = meta.state.stream("A", "S")
    assert waiting and (waiting.peers, waiting.leaving) == ((second.id,), (first.id,))
    check(meta.state)
    meta.join(first)
    back = meta.state.stream("A", "S")
    assert back and (back.peers, back.leaving) == ((first.id,), (second.id,))
    check(meta.state)


def test_another_incarnation_takes_the_places_of_the_one_before() -> None:
    meta = MetaFixture()
    stream, single = meta.create(), meta.create(name="R1", replicas=1)
    [old] = single.peers
    number = int(old.partition("-")[0][4:])
    new = server(number, "2")
    assert meta.planner.admit(meta.state.servers[old]) is None
    assert meta.planner.admit(new) is None  # there are two servers of one name
    effects = meta.reincarnate(new)
    assert effects[0] == ServerReplaced(old, new)
    after = meta.state.stream("A", "S")
    assert after and old not in after.members and new.id in after.peers and new.id not in after.seeds
    assert after.change == "heal" and set(after.peers) - {new.id} == set(stream.peers) - {old}
    alone = meta.state.stream("A", "R1")
    assert alone and alone.peers == alone.seeds == (new.id,)
    check(meta.state)
    # an incarnation that was removed with the only copy
    meta.put(meta.planner.remove_server(peer=new.id))
    third = server(number, "3")
    meta.reincarnate(third)
    alone = meta.state.stream("A", "R1")
    assert alone and alone.peers == (third.id,)
    # a disk of a former incarnation is not admitted again
    with pytest.raises(ApiError) as refused:
        meta.planner.admit(new)
    assert code(refused.value) == 10044
    for command in (PutServer(new), ReplaceServer(new)):
        assert refusal(meta.put(command)) == 10044
    check(meta.state)
