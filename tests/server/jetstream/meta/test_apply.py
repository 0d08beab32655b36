"""What is decided: streams, consumers, servers, and what refuses them."""

from __future__ import annotations

from typing import Any

import pytest
from lib.meta_fixture import MIB, Site, check, code, config, server, stream_of
from pyjs.protocol.errors import ApiError
from pyjs.server.jetstream.meta.apply import apply
from pyjs.server.jetstream.meta.command import (
    CreateStream,
    DeleteConsumer,
    DeleteStream,
    GroupStarted,
    MetaCommandError,
    PeersConfirmed,
    PreferLeader,
    PurgeAccount,
    PutConsumer,
    PutServer,
    RemoveServer,
    ReplaceServer,
    UpdateStream,
    decode,
    encode,
)
from pyjs.server.jetstream.meta.effect import (
    AlreadyExists,
    CommandRejected,
    ConsumerDeleted,
    ConsumerUpdated,
    ServerRemoved,
    ServerReplaced,
    StaleCommand,
    StreamCreated,
    StreamDeleted,
    StreamUpdated,
)
from pyjs.server.jetstream.meta.tier_limits import TierLimits


def refusal(effects: list[Any]) -> int:
    [effect] = effects
    assert isinstance(effect, CommandRejected)
    return effect.error.err_code


# --- streams


@pytest.mark.parametrize("replicas", [1, 3, 5])
def test_a_stream_gets_as_many_servers_as_it_wants_copies(replicas: int) -> None:
    site = Site(5)
    stream = site.create(replicas=replicas)
    assert len(set(stream.peers)) == replicas
    assert stream.group.startswith(f"S-R{replicas}F-") and len(stream.group) == 14
    assert stream.preferred in stream.peers and stream.seeds == stream.peers
    assert stream.replicated == (replicas > 1) and not stream.short and not stream.change
    check(site.state)


def test_an_equal_stream_is_there_already() -> None:
    site = Site()
    made = site.create()
    again = site.planner.create_stream(site.state.view("A"), config(), site.requester, 99)
    assert site.put(again) == [AlreadyExists(made)]
    with pytest.raises(ApiError) as refused:
        site.create(replicas=1)
    assert code(refused.value) == 10058
    assert refusal(site.put(CreateStream("A", config(replicas=1), "G", "C", made.peers[:1], 9))) == 10058
    assert site.state.stream("A", "S") == made


def test_streams_of_an_account_do_not_overlap_and_those_of_two_do_not_mind() -> None:
    site = Site()
    site.create()
    with pytest.raises(ApiError) as refused:
        site.create(name="T", subjects=["*.a"])
    assert code(refused.value) == 10065
    # who proposed did not know of it yet
    late = CreateStream("A", config("T", subjects=["S.a"]), "G", "C", tuple(site.state.servers), 9)
    assert refusal(site.put(late)) == 10065
    other = site.create("B", subjects=["*.a"])
    site.create(name="T")
    with pytest.raises(ApiError) as refused:
        site.update(name="T", subjects=["S.b"])
    assert code(refused.value) == 10065
    assert site.state.of_account("B") == [other]
    check(site.state)


@pytest.mark.parametrize(
    ("tier_limits", "asked", "wanted"),
    [
        (TierLimits(max_streams=1), {}, 10027),
        (TierLimits(max_consumers=5), {"max_consumers": 6}, 10026),
        (
            TierLimits(max_store=6 * MIB),
            {"max_bytes": MIB + 1},
            10047,
        ),  # with two copies and three MiB reserved
        (TierLimits(max_store=3 * MIB), {}, 10047),  # not a byte left
        (TierLimits(max_memory=0), {"storage": "memory"}, 10028),
        (TierLimits("R3", max_store=2 * MIB), {"max_bytes": MIB + 1}, 10047),
        (TierLimits("R3", max_streams=1), {}, 10027),
    ],
)
def test_limits_count_over_the_cluster(tier_limits: TierLimits, asked: dict[str, Any], wanted: int) -> None:
    site = Site()
    site.create(max_bytes=MIB)
    with pytest.raises(ApiError) as refused:
        site.create(tier_limits=tier_limits, name="T", **asked)
    assert code(refused.value) == wanted
    assert site.state.stream("A", "T") is None


@pytest.mark.parametrize(
    "tier_limits",
    [
        TierLimits(max_streams=2),
        TierLimits(max_store=6 * MIB),
        TierLimits("R3", max_store=2 * MIB),
        TierLimits("R3", max_streams=2),
        TierLimits("R1", max_streams=1, max_store=MIB),  # another tier, where nothing is yet
        TierLimits(max_memory=0),
    ],
)
def test_what_is_within_the_limits_is_made(tier_limits: TierLimits) -> None:
    site = Site()
    site.create(max_bytes=MIB)
    site.create(
        tier_limits=tier_limits, name="T", max_bytes=MIB, replicas=1 if tier_limits.tier == "R1" else 3
    )
    site.create("B", tier_limits=TierLimits(max_streams=1), name="T")


def test_an_update_reserves_only_what_it_adds() -> None:
    site = Site()
    site.create(max_bytes=MIB)
    tier_limits = TierLimits(max_store=6 * MIB, max_streams=1)
    assert site.update(tier_limits=tier_limits, max_bytes=2 * MIB).max_bytes == 2 * MIB
    with pytest.raises(ApiError) as refused:
        site.update(tier_limits=tier_limits, max_bytes=3 * MIB)
    assert code(refused.value) == 10047
    # the limits have shrunk meanwhile: what asks for no more is free to change
    site.update(tier_limits=TierLimits(max_store=0), max_bytes=2 * MIB, description="x")


def test_a_configuration_may_not_undercut_its_consumers() -> None:
    site = Site()
    site.create()
    site.consume(max_ack_pending=10)
    with pytest.raises(ApiError, match="change to limits violates consumers: c") as refused:
        site.update(consumer_limits={"max_ack_pending": 5})
    assert code(refused.value) == 10069
    site.update(consumer_limits={"max_ack_pending": 10})


def test_what_was_decided_by_something_that_changed_is_stale() -> None:
    site = Site()
    site.create()
    view = site.state.view("A")
    first = site.planner.update_stream(view, config(description="one"), site.requester)
    second = site.planner.update_stream(site.state.view("A"), config(description="two"), site.requester)
    assert isinstance(site.put(first)[0], StreamUpdated)
    assert site.put(second) == [StaleCommand("stream S")]
    # a mirror's origin, read while it was validated, is gone
    view = site.state.view("A")
    view.config("S")
    mirror = site.planner.create_stream(view, config("M"), site.requester, 5)
    site.put(DeleteStream("A", "S"))
    assert site.put(mirror) == [StaleCommand("stream S")]


def test_a_group_has_one_stream_and_only_servers() -> None:
    site = Site()
    made = site.create()
    same = CreateStream("A", config("T"), made.group, "C", made.peers, 5)
    assert isinstance(site.put(same)[0], StaleCommand)
    for peers in ((), made.peers[:1] * 3, (*made.peers[:2], "gone-1")):
        assert isinstance(site.put(CreateStream("A", config("T"), "G", "C", peers, 5))[0], StaleCommand)
    assert refusal(site.put(CreateStream("A", config("T"), "G", "C", made.peers[:2], 5))) == 10005
    check(site.state)


@pytest.mark.parametrize(
    "damage",
    [{"name": None}, {"num_replicas": "3"}, {"subjects": "a"}, {"subjects": [1]}, {"consumer_limits": 1}],
)
def test_a_damaged_configuration_is_refused_by_everyone(damage: dict[str, Any]) -> None:
    site = Site()
    site.create()
    peers = tuple(site.state.servers)
    assert refusal(site.put(CreateStream("A", config("T") | damage, "G", "C", peers, 5))) == 10052
    assert refusal(site.put(UpdateStream("A", config() | damage))) == 10052


def test_a_stream_goes_with_its_consumers() -> None:
    site = Site()
    stream = site.create()
    site.consume()
    assert refusal(site.put(DeleteStream("A", "S", created=12345))) == 10059  # another one of that name
    assert site.put(DeleteStream("A", "S", created=stream.created)) == [StreamDeleted(stream)]
    assert refusal(site.put(DeleteStream("A", "S"))) == 10059
    assert not site.state.streams and not site.state.consumers and not site.state.consumer_changes
    site.create(name="one")
    site.create(name="two")
    site.create("B")
    effects = site.put(PurgeAccount("A"))
    assert [effect.stream.name for effect in effects if isinstance(effect, StreamDeleted)] == ["one", "two"]
    assert [stream.account for stream in site.state.every_stream()] == ["B"]


# --- peers


def test_scaling_up_adds_servers_and_begins_a_group() -> None:
    site = Site(5)
    one = site.create(replicas=1)
    three = site.update(replicas=3)
    assert three.peers[0] == one.peers[0] and len(set(three.peers)) == 3
    assert three.group.startswith("S-R3F-") and three.group != one.group
    assert three.seeds == one.peers and three.preferred == one.peers[0]
    assert (three.change, three.leaving, three.placed) == ("scale", (), three.revision)
    # before that is done: five
    five = site.update(replicas=5)
    assert five.peers[:3] == three.peers and five.group == three.group and five.seeds == one.peers
    assert site.put(PeersConfirmed("A", "S", three.placed)) == []  # the group speaks of what was before
    settled = stream_of(site.put(PeersConfirmed("A", "S", five.placed)))
    assert (settled.change, settled.preferred, settled.peers) == ("", "", five.peers)
    assert site.put(PeersConfirmed("A", "S", five.placed)) == []
    check(site.state)


def test_a_group_that_began_without_someone_begins_no_more() -> None:
    site = Site(3)
    stream = site.create()
    assert site.put(GroupStarted("A", "S", 99, stream.peers)) == []
    assert site.put(GroupStarted("A", "S", stream.placed, ("x",))) == []
    begun = stream_of(site.put(GroupStarted("A", "S", stream.placed, stream.peers[:2])))
    assert (begun.seeds, begun.holders, begun.peers) == ((), stream.peers[:2], stream.peers)
    assert site.put(GroupStarted("A", "S", stream.placed, stream.peers)) == []
    # the one that came late makes it whole
    site.update(replicas=1, leader=stream.peers[0])
    check(site.state)


def test_scaling_down_keeps_the_leader_and_lets_the_others_leave() -> None:
    site = Site(5)
    five = site.create(replicas=5)
    leader = five.peers[3]
    three = site.update(replicas=3, leader=leader)
    assert leader in three.peers and set(three.members) == set(five.peers)
    assert three.group == five.group and three.change == "scale"
    one = site.update(replicas=1, leader=leader)
    assert one.peers == (leader,) and set(one.members) == set(five.peers) and one.replicated
    done = stream_of(site.put(PeersConfirmed("A", "S", one.placed)))
    assert done.members == (leader,) and not done.replicated
    again = site.update(replicas=3)
    assert again.group != five.group and again.seeds == (leader,)
    check(site.state)


def test_scaling_up_again_takes_back_who_has_not_left_yet() -> None:
    site = Site(3)
    three = site.create()
    one = site.update(replicas=1, leader=three.peers[1])
    again = site.update(replicas=3)
    assert set(again.peers) == set(three.peers) and again.leaving == () and again.group == three.group
    assert again.peers[0] == three.peers[1] and set(again.holders) == set(three.peers)
    assert site.put(PeersConfirmed("A", "S", one.placed)) == []
    check(site.state)


def test_a_move_takes_all_to_another_cluster_and_is_alone() -> None:
    site = Site()
    for number in (4, 5, 6):
        site.join(server(number, cluster="D"))
    before = site.create()
    moved = site.update(placement={"cluster": "D"})
    assert {site.state.servers[peer].cluster for peer in moved.peers} == {"D"}
    assert set(moved.leaving) == set(before.peers) and moved.cluster == "D"
    assert moved.group == before.group and moved.change == "move"
    for asked, wanted in (
        ({"placement": {"cluster": "C"}}, 10124),
        ({"placement": {"cluster": "D"}, "replicas": 1}, 10124),
        ({"placement": {"cluster": "C"}, "replicas": 1}, 10123),
    ):
        with pytest.raises(ApiError) as refused:
            site.update(**asked)
        assert code(refused.value) == wanted
    late = UpdateStream("A", config(replicas=1), peers=moved.peers[:1], change="scale")
    assert refusal(site.put(late)) == 10124
    site.update(placement={"cluster": "D"}, description="this may change")
    site.put(PeersConfirmed("A", "S", moved.placed))
    scaling = site.update(placement={"cluster": "D"}, replicas=1)
    with pytest.raises(ApiError) as refused:
        site.update(placement={"cluster": "C"}, replicas=1)
    assert code(refused.value) == 10226
    late = UpdateStream("A", config(replicas=1), peers=scaling.peers, change="move")
    assert refusal(site.put(late)) == 10226
    check(site.state)


def test_a_peer_is_removed_by_name_node_or_id() -> None:
    site = Site(4)
    for number in range(3):
        before = site.state.stream("A", "S") or site.create()
        gone = before.peers[0]
        names = (gone, site.state.server_name(gone), gone.partition("-")[0])
        after = stream_of(site.put(site.planner.remove_peer("A", "S", names[number])))
        assert gone not in after.peers and gone in after.leaving and len(after.peers) == 3
        site.put(PeersConfirmed("A", "S", after.placed))
        check(site.state)
    for peer, wanted in (("n9", 10040), ("", 10040)):
        with pytest.raises(ApiError) as refused:
            site.planner.remove_peer("A", "S", peer)
        assert code(refused.value) == wanted
    with pytest.raises(ApiError) as refused:
        site.planner.remove_peer("A", "T", "n1")
    assert code(refused.value) == 10059


def test_a_peer_without_a_replacement_stays() -> None:
    site = Site()
    site.create()
    with pytest.raises(ApiError) as refused:
        site.planner.remove_peer("A", "S", "n1")
    assert code(refused.value) == 10075


def test_a_stream_of_one_copy_moves_off_a_peer() -> None:
    site = Site()
    before = site.create(replicas=1)
    after = stream_of(site.put(site.planner.remove_peer("A", "S", before.peers[0])))
    assert after.leaving == before.peers == after.seeds and after.replicated
    assert after.group != before.group
    check(site.state)


def test_a_hint_names_a_peer() -> None:
    site = Site(4)
    stream = site.create()
    assert refusal(site.put(PreferLeader("A", "S", "nobody"))) == 10040
    assert refusal(site.put(PreferLeader("A", "T", stream.peers[0]))) == 10059
    other = next(peer for peer in stream.peers if peer != stream.preferred)
    assert stream_of(site.put(PreferLeader("A", "S", other))).preferred == other
    assert site.put(PreferLeader("A", "S", other)) == []


# --- servers


def test_a_removed_server_is_replaced_where_there_is_another() -> None:
    site = Site(4)
    stream = site.create()
    site.create(name="R1", replicas=1)
    gone = stream.peers[0]
    effects = site.put(site.planner.remove_server(site.state.server_name(gone)))
    assert isinstance(effects[0], ServerRemoved)
    after = site.state.stream("A", "S")
    assert after and after.leaving == (gone,) and gone not in after.peers and len(after.peers) == 3
    assert after.change == "heal" and gone not in after.seeds
    check(site.state)
    for name in ("n9", ""):
        with pytest.raises(ApiError) as refused:
            site.planner.remove_server(name)
        assert code(refused.value) == 10044
    assert refusal(site.put(RemoveServer(gone))) == 10044


def test_without_another_a_stream_is_short_until_one_comes() -> None:
    site = Site()
    stream = site.create()
    gone = stream.peers[1]
    site.put(site.planner.remove_server(peer=gone))
    after = site.state.stream("A", "S")
    assert after and after.peers == (stream.peers[0], stream.peers[2]) and after.short
    assert site.planner.heal() == []
    site.join(server(4))
    [change] = site.planner.heal()
    healed = stream_of(site.put(change))
    assert healed.peers == (*after.peers, server(4).id) and not healed.short
    assert isinstance(site.put(change)[0], StaleCommand)
    check(site.state)


def test_the_only_copy_waits_for_its_server() -> None:
    site = Site()
    stream = site.create(replicas=1)
    [holder] = stream.peers
    old = site.state.servers[holder]
    site.put(site.planner.remove_server(peer=holder))
    assert site.state.stream("A", "S") == stream  # nobody made up an empty one
    command = site.planner.admit(old)
    assert command is not None
    site.put(command)
    assert site.state.servers[holder] == old
    check(site.state)


def test_a_stream_goes_back_to_the_holder_that_comes_back_first() -> None:
    site = Site()
    stream = site.create(replicas=2)
    first, second = (site.state.servers[peer] for peer in stream.peers)
    site.put(RemoveServer(first.id))
    site.put(RemoveServer(second.id))
    waiting = site.state.stream("A", "S")
    assert waiting and (waiting.peers, waiting.leaving) == ((second.id,), (first.id,))
    check(site.state)
    site.join(first)
    back = site.state.stream("A", "S")
    assert back and (back.peers, back.leaving) == ((first.id,), (second.id,))
    check(site.state)


def test_another_incarnation_takes_the_places_of_the_one_before() -> None:
    site = Site()
    stream, single = site.create(), site.create(name="R1", replicas=1)
    [old] = single.peers
    number = int(old.partition("-")[0][4:])
    new = server(number, "2")
    assert site.planner.admit(site.state.servers[old]) is None
    assert site.planner.admit(new) is None  # there are two servers of one name
    effects = site.reincarnate(new)
    assert effects[0] == ServerReplaced(old, new)
    after = site.state.stream("A", "S")
    assert after and old not in after.members and new.id in after.peers and new.id not in after.seeds
    assert after.change == "heal" and set(after.peers) - {new.id} == set(stream.peers) - {old}
    alone = site.state.stream("A", "R1")
    assert alone and alone.peers == alone.seeds == (new.id,)
    check(site.state)
    # an incarnation that was removed with the only copy
    site.put(site.planner.remove_server(peer=new.id))
    third = server(number, "3")
    site.reincarnate(third)
    alone = site.state.stream("A", "R1")
    assert alone and alone.peers == (third.id,)
    # a disk of a former incarnation is not admitted again
    with pytest.raises(ApiError) as refused:
        site.planner.admit(new)
    assert code(refused.value) == 10044
    for command in (PutServer(new), ReplaceServer(new)):
        assert refusal(site.put(command)) == 10044
    check(site.state)


# --- consumers


def test_consumers_come_change_and_go() -> None:
    site = Site()
    site.create()
    made = site.consume()
    assert site.consume() == made
    assert site.consume(action="create") == made
    with pytest.raises(ApiError) as refused:
        site.consume(action="create", description="x")
    assert code(refused.value) == 10148
    with pytest.raises(ApiError) as refused:
        site.consume(name="d", action="update")
    assert code(refused.value) == 10149
    late = PutConsumer("A", "S", "c", {"durable_name": "c", "x": 1}, 5, "create")
    assert refusal(site.put(late)) == 10148
    assert refusal(site.put(PutConsumer("A", "S", "d", {}, 5, "update"))) == 10149
    changed = site.consume(description="x")
    assert changed.created == made.created and changed.revision > made.revision
    assert refusal(site.put(DeleteConsumer("A", "S", "c", created=77))) == 10014
    assert site.put(DeleteConsumer("A", "S", "c")) == [ConsumerDeleted(changed)]
    assert refusal(site.put(DeleteConsumer("A", "S", "c"))) == 10014
    assert refusal(site.put(DeleteConsumer("A", "T", "c"))) == 10059
    assert refusal(site.put(PutConsumer("A", "T", "c", {}, 5))) == 10059
    check(site.state)


def test_consumers_are_counted_without_internal_ones() -> None:
    site = Site()
    site.create(max_consumers=2)
    site.consume()
    site.consume(name="source", sourcing=True)
    with pytest.raises(ApiError) as refused:
        site.consume(name="d", tier_limits=TierLimits(max_consumers=1))
    assert code(refused.value) == 10026
    site.consume(name="other source", sourcing=True)
    site.consume(
        name="d", tier_limits=TierLimits("R1", max_consumers=1), num_replicas=1
    )  # a tier with none yet
    with pytest.raises(ApiError) as refused:
        site.consume(name="e")
    assert code(refused.value) == 10026
    site.consume(description="a change is not one more")


def test_a_consumer_validated_beside_its_siblings_is_stale_when_they_change() -> None:
    site = Site()
    site.create(retention="workqueue")
    view = site.state.view("A")
    view.consumers("S")
    mine = site.planner.put_consumer(view, "S", {"durable_name": "a"}, site.requester, 5)
    site.consume(name="b")
    assert site.put(mine) == [StaleCommand("consumers S")]
    first = site.planner.put_consumer(
        site.state.view("A"), "S", {"durable_name": "b", "x": 1}, site.requester, 5
    )
    second = site.planner.put_consumer(
        site.state.view("A"), "S", {"durable_name": "b", "x": 2}, site.requester, 5
    )
    assert isinstance(site.put(first)[0], ConsumerUpdated)
    assert site.put(second) == [StaleCommand("consumer S b")]


def test_a_consumer_without_a_name_is_given_one() -> None:
    site = Site()
    site.create()
    command = site.planner.put_consumer(site.state.view("A"), "S", {}, site.requester, 5)
    assert len(command.name) == 8


# --- entries


def test_an_index_is_applied_once() -> None:
    site = Site()
    site.create()
    for index, entry in enumerate(site.log, 1):
        assert apply(site.state, index, entry) == []
    assert isinstance(apply(site.state, 100, encode(DeleteStream("A", "S")))[0], StreamDeleted)
    assert site.state.index == 100


def test_entries_are_what_they_say() -> None:
    site = Site(4)
    site.create()
    site.consume(description="ü \udce4")
    site.update(replicas=1)
    site.put(site.planner.remove_peer("A", "S", site.state.of_account("A")[0].peers[0]))
    site.put(site.planner.remove_server("n1"))
    for entry in site.log:
        assert encode(decode(entry)) == entry


@pytest.mark.parametrize(
    "entry",
    [
        b"",
        b"\x02[]",
        b"\x01",
        b"\x01{}",
        b'\x01["nothing",{}]',
        b'\x01["settle",{"account":"A","stream":"S"}]',
        b'\x01["settle",{"account":"A","stream":"S","placed":"1"}]',
        b'\x01["settle",{"account":"A","stream":"S","placed":1,"more":1}]',
        b'\x01["settle",[]]',
        b'\x01["put_server",{"server":{"id":"a"}}]',
    ],
)
def test_what_is_no_command_stops_applying(entry: bytes) -> None:
    site = Site()
    with pytest.raises(MetaCommandError):
        apply(site.state, 10, entry)
    assert site.state.index == 3


def test_a_refused_entry_changes_nothing_but_the_index() -> None:
    site = Site()
    site.create()
    before = site.state.streams, dict(site.state.servers)
    assert isinstance(site.put(PreferLeader("A", "T", "x"))[0], CommandRejected)
    assert (site.state.streams, site.state.servers) == before and site.state.index == len(site.log)
    assert isinstance(StreamCreated(site.state.of_account("A")[0]), StreamCreated)
