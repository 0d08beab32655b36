"""Commands of the meta group: streams, consumers, entries, refusals. test_apply_peers.py has servers."""

from __future__ import annotations

from typing import Any

import pytest
from lib.meta_fixture import MIB, MetaFixture, check, code, config, refusal
from pyjs.protocol.errors import ApiError
from pyjs.server.jetstream.meta.apply import apply
from pyjs.server.jetstream.meta.command import (
    CreateStream,
    DeleteConsumer,
    DeleteStream,
    MetaCommandError,
    PreferLeader,
    PurgeAccount,
    PutConsumer,
    UpdateStream,
    decode,
    encode,
)
from pyjs.server.jetstream.meta.effect import (
    AlreadyExists,
    CommandRejected,
    ConsumerDeleted,
    ConsumerUpdated,
    StaleCommand,
    StreamCreated,
    StreamDeleted,
    StreamUpdated,
)
from pyjs.server.jetstream.meta.tier_limits import TierLimits

# --- streams


@pytest.mark.parametrize("replicas", [1, 3, 5])
def test_a_stream_gets_as_many_servers_as_it_wants_copies(replicas: int) -> None:
    meta = MetaFixture(5)
    stream = meta.create(replicas=replicas)
    assert len(set(stream.peers)) == replicas
    assert stream.group.startswith(f"S-R{replicas}F-") and len(stream.group) == 14
    assert stream.preferred in stream.peers and stream.seeds == stream.peers
    assert stream.replicated == (replicas > 1) and not stream.short and not stream.change
    check(meta.state)


def test_an_equal_stream_is_there_already() -> None:
    meta = MetaFixture()
    made = meta.create()
    again = meta.planner.create_stream(meta.state.view("A"), config(), meta.requester, 99)
    assert meta.put(again) == [AlreadyExists(made)]
    with pytest.raises(ApiError) as refused:
        meta.create(replicas=1)
    assert code(refused.value) == 10058
    assert refusal(meta.put(CreateStream("A", config(replicas=1), "G", "C", made.peers[:1], 9))) == 10058
    assert meta.state.stream("A", "S") == made


def test_streams_of_an_account_do_not_overlap_and_those_of_two_do_not_mind() -> None:
    meta = MetaFixture()
    meta.create()
    with pytest.raises(ApiError) as refused:
        meta.create(name="T", subjects=["*.a"])
    assert code(refused.value) == 10065
    # who proposed did not know of it yet
    late = CreateStream("A", config("T", subjects=["S.a"]), "G", "C", tuple(meta.state.servers), 9)
    assert refusal(meta.put(late)) == 10065
    other = meta.create("B", subjects=["*.a"])
    meta.create(name="T")
    with pytest.raises(ApiError) as refused:
        meta.update(name="T", subjects=["S.b"])
    assert code(refused.value) == 10065
    assert meta.state.of_account("B") == [other]
    check(meta.state)


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
    meta = MetaFixture()
    meta.create(max_bytes=MIB)
    with pytest.raises(ApiError) as refused:
        meta.create(tier_limits=tier_limits, name="T", **asked)
    assert code(refused.value) == wanted
    assert meta.state.stream("A", "T") is None


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
    meta = MetaFixture()
    meta.create(max_bytes=MIB)
    meta.create(
        tier_limits=tier_limits, name="T", max_bytes=MIB, replicas=1 if tier_limits.tier == "R1" else 3
    )
    meta.create("B", tier_limits=TierLimits(max_streams=1), name="T")


def test_an_update_reserves_only_what_it_adds() -> None:
    meta = MetaFixture()
    meta.create(max_bytes=MIB)
    tier_limits = TierLimits(max_store=6 * MIB, max_streams=1)
    assert meta.update(tier_limits=tier_limits, max_bytes=2 * MIB).max_bytes == 2 * MIB
    with pytest.raises(ApiError) as refused:
        meta.update(tier_limits=tier_limits, max_bytes=3 * MIB)
    assert code(refused.value) == 10047
    # the limits have shrunk meanwhile: what asks for no more is free to change
    meta.update(tier_limits=TierLimits(max_store=0), max_bytes=2 * MIB, description="x")


def test_a_configuration_may_not_undercut_its_consumers() -> None:
    meta = MetaFixture()
    meta.create()
    meta.consume(max_ack_pending=10)
    with pytest.raises(ApiError, match="change to limits violates consumers: c") as refused:
        meta.update(consumer_limits={"max_ack_pending": 5})
    assert code(refused.value) == 10069
    meta.update(consumer_limits={"max_ack_pending": 10})


def test_what_was_decided_by_something_that_changed_is_stale() -> None:
    meta = MetaFixture()
    meta.create()
    view = meta.state.view("A")
    first = meta.planner.update_stream(view, config(description="one"), meta.requester)
    second = meta.planner.update_stream(meta.state.view("A"), config(description="two"), meta.requester)
    assert isinstance(meta.put(first)[0], StreamUpdated)
    assert meta.put(second) == [StaleCommand("stream S")]
    # a mirror's origin, read while it was validated, is gone
    view = meta.state.view("A")
    view.config("S")
    mirror = meta.planner.create_stream(view, config("M"), meta.requester, 5)
    meta.put(DeleteStream("A", "S"))
    assert meta.put(mirror) == [StaleCommand("stream S")]


def test_a_group_has_one_stream_and_only_servers() -> None:
    meta = MetaFixture()
    made = meta.create()
    same = CreateStream("A", config("T"), made.group, "C", made.peers, 5)
    assert isinstance(meta.put(same)[0], StaleCommand)
    for peers in ((), made.peers[:1] * 3, (*made.peers[:2], "gone-1")):
        assert isinstance(meta.put(CreateStream("A", config("T"), "G", "C", peers, 5))[0], StaleCommand)
    assert refusal(meta.put(CreateStream("A", config("T"), "G", "C", made.peers[:2], 5))) == 10005
    check(meta.state)


@pytest.mark.parametrize(
    "damage",
    [{"name": None}, {"num_replicas": "3"}, {"subjects": "a"}, {"subjects": [1]}, {"consumer_limits": 1}],
)
def test_a_damaged_configuration_is_refused_by_everyone(damage: dict[str, Any]) -> None:
    meta = MetaFixture()
    meta.create()
    peers = tuple(meta.state.servers)
    assert refusal(meta.put(CreateStream("A", config("T") | damage, "G", "C", peers, 5))) == 10052
    assert refusal(meta.put(UpdateStream("A", config() | damage))) == 10052


def test_a_stream_goes_with_its_consumers() -> None:
    meta = MetaFixture()
    stream = meta.create()
    meta.consume()
    assert refusal(meta.put(DeleteStream("A", "S", created=12345))) == 10059  # another one of that name
    assert meta.put(DeleteStream("A", "S", created=stream.created)) == [StreamDeleted(stream)]
    assert refusal(meta.put(DeleteStream("A", "S"))) == 10059
    assert not meta.state.streams and not meta.state.consumers and not meta.state.consumer_changes
    meta.create(name="one")
    meta.create(name="two")
    meta.create("B")
    effects = meta.put(PurgeAccount("A"))
    assert [effect.stream.name for effect in effects if isinstance(effect, StreamDeleted)] == ["one", "two"]
    assert [stream.account for stream in meta.state.every_stream()] == ["B"]


# --- consumers


def test_consumers_come_change_and_go() -> None:
    meta = MetaFixture()
    meta.create()
    made = meta.consume()
    assert meta.consume() == made
    assert meta.consume(action="create") == made
    with pytest.raises(ApiError) as refused:
        meta.consume(action="create", description="x")
    assert code(refused.value) == 10148
    with pytest.raises(ApiError) as refused:
        meta.consume(name="d", action="update")
    assert code(refused.value) == 10149
    late = PutConsumer("A", "S", "c", {"durable_name": "c", "x": 1}, 5, "create")
    assert refusal(meta.put(late)) == 10148
    assert refusal(meta.put(PutConsumer("A", "S", "d", {}, 5, "update"))) == 10149
    changed = meta.consume(description="x")
    assert changed.created == made.created and changed.revision > made.revision
    assert refusal(meta.put(DeleteConsumer("A", "S", "c", created=77))) == 10014
    assert meta.put(DeleteConsumer("A", "S", "c")) == [ConsumerDeleted(changed)]
    assert refusal(meta.put(DeleteConsumer("A", "S", "c"))) == 10014
    assert refusal(meta.put(DeleteConsumer("A", "T", "c"))) == 10059
    assert refusal(meta.put(PutConsumer("A", "T", "c", {}, 5))) == 10059
    check(meta.state)


def test_consumers_are_counted_without_internal_ones() -> None:
    meta = MetaFixture()
    meta.create(max_consumers=2)
    meta.consume()
    meta.consume(name="source", sourcing=True)
    with pytest.raises(ApiError) as refused:
        meta.consume(name="d", tier_limits=TierLimits(max_consumers=1))
    assert code(refused.value) == 10026
    meta.consume(name="other source", sourcing=True)
    meta.consume(
        name="d", tier_limits=TierLimits("R1", max_consumers=1), num_replicas=1
    )  # a tier with none yet
    with pytest.raises(ApiError) as refused:
        meta.consume(name="e")
    assert code(refused.value) == 10026
    meta.consume(description="a change is not one more")


def test_a_consumer_validated_beside_its_siblings_is_stale_when_they_change() -> None:
    meta = MetaFixture()
    meta.create(retention="workqueue")
    view = meta.state.view("A")
    view.consumers("S")
    mine = meta.planner.put_consumer(view, "S", {"durable_name": "a"}, meta.requester, 5)
    meta.consume(name="b")
    assert meta.put(mine) == [StaleCommand("consumers S")]
    first = meta.planner.put_consumer(
        meta.state.view("A"), "S", {"durable_name": "b", "x": 1}, meta.requester, 5
    )
    second = meta.planner.put_consumer(
        meta.state.view("A"), "S", {"durable_name": "b", "x": 2}, meta.requester, 5
    )
    assert isinstance(meta.put(first)[0], ConsumerUpdated)
    assert meta.put(second) == [StaleCommand("consumer S b")]


def test_a_consumer_without_a_name_is_given_one() -> None:
    meta = MetaFixture()
    meta.create()
    command = meta.planner.put_consumer(meta.state.view("A"), "S", {}, meta.requester, 5)
    assert len(command.name) == 8


# --- entries


def test_an_index_is_applied_once() -> None:
    meta = MetaFixture()
    meta.create()
    for index, entry in enumerate(meta.log, 1):
        assert apply(meta.state, index, entry) == []
    assert isinstance(apply(meta.state, 100, encode(DeleteStream("A", "S")))[0], StreamDeleted)
    assert meta.state.index == 100


def test_entries_are_what_they_say() -> None:
    meta = MetaFixture(4)
    meta.create()
    meta.consume(description="ü \udce4")
    meta.update(replicas=1)
    meta.put(meta.planner.remove_peer("A", "S", meta.state.of_account("A")[0].peers[0]))
    meta.put(meta.planner.remove_server("n1"))
    for entry in meta.log:
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
    meta = MetaFixture()
    with pytest.raises(MetaCommandError):
        apply(meta.state, 10, entry)
    assert meta.state.index == 3


def test_a_refused_entry_changes_nothing_but_the_index() -> None:
    meta = MetaFixture()
    meta.create()
    before = meta.state.streams, dict(meta.state.servers)
    assert isinstance(meta.put(PreferLeader("A", "T", "x"))[0], CommandRejected)
    assert (meta.state.streams, meta.state.servers) == before and meta.state.index == len(meta.log)
    assert isinstance(StreamCreated(meta.state.of_account("A")[0]), StreamCreated)
