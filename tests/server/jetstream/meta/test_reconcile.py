"""What each server does after a decision: while it runs, while it catches up, and at its start."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

import pytest
from lib.examples import seeds
from lib.meta_fixture import MetaFixture, check, config, server, stream_of
from pyjs.protocol.errors import ApiError
from pyjs.raft import Members
from pyjs.server.jetstream.meta.apply import apply
from pyjs.server.jetstream.meta.command import DeleteConsumer, DeleteStream, PeersConfirmed
from pyjs.server.jetstream.meta.effect import Effect
from pyjs.server.jetstream.meta.reconcile import (
    ChangeConsumer,
    ChangeReplica,
    CloseConsumer,
    CloseReplica,
    DeleteReplica,
    OpenConsumer,
    OpenReplica,
    OrphanStream,
    RecoverReplica,
    ReplicaOnDisk,
    actions_for,
    at_start,
    catch_up,
    has_converged,
)
from pyjs.server.jetstream.meta.snapshot import restore, take
from pyjs.server.jetstream.meta.state import MetaState


def test_members_open_and_others_do_not() -> None:
    meta = MetaFixture(4)
    stream = meta.create()
    [effect] = meta.put(DeleteStream("A", "S"))
    made = meta.put(meta.planner.create_stream(meta.state.view("A"), config(), meta.requester, 50))[0]
    new = stream_of([made])
    for member in meta.state.servers:
        assert actions_for(meta.state, made, member) == ([OpenReplica(new)] if member in new.peers else [])
        assert actions_for(meta.state, effect, member) == (
            [CloseReplica(stream, True)] if member in stream.peers else []
        )


def test_who_leaves_stays_until_the_group_let_it_go() -> None:
    meta = MetaFixture(4)
    before = meta.create()
    meta.consume()
    [effect] = meta.put(meta.planner.remove_peer("A", "S", before.peers[0]))
    after = stream_of([effect])
    [new] = set(after.peers) - set(before.peers)
    assert actions_for(meta.state, effect, before.peers[0]) == [ChangeReplica(before, after)]
    assert actions_for(meta.state, effect, before.peers[1]) == [ChangeReplica(before, after)]
    [opened, consumer] = actions_for(meta.state, effect, new)
    assert opened == OpenReplica(after) and isinstance(consumer, OpenConsumer)
    [effect] = meta.put(PeersConfirmed("A", "S", after.placed))
    assert actions_for(meta.state, effect, before.peers[0]) == [CloseReplica(stream_of([effect]), gone=False)]
    assert isinstance(actions_for(meta.state, effect, new)[0], ChangeReplica)


def test_who_was_removed_and_is_back_keeps_its_copy_until_the_group_let_it_go() -> None:
    """Its vote may be the one that the group needs: another member may only be filling up."""
    meta = MetaFixture()
    stream = meta.create()
    gone = meta.state.servers[stream.peers[0]]
    on_disk = {("A", "S"): ReplicaOnDisk(stream.group, stream.created)}
    meta.put(meta.planner.remove_server(peer=gone.id))
    assert list(at_start(meta.state, on_disk, gone.id)) == []  # nothing is deleted before it is let in
    command = meta.planner.admit(gone)
    assert command is not None
    meta.put(command)
    after = meta.state.stream("A", "S")
    assert after is not None and list(at_start(meta.state, on_disk, gone.id)) == [RecoverReplica(after)]
    [effect] = meta.put(PeersConfirmed("A", "S", after.placed))
    assert actions_for(meta.state, effect, gone.id) == [CloseReplica(stream_of([effect]), gone=False)]
    assert list(at_start(meta.state, on_disk, gone.id)) == [DeleteReplica("A", "S")]
    check(meta.state)


def test_consumers_are_every_members() -> None:
    meta = MetaFixture(4)
    stream = meta.create()
    [other] = set(meta.state.servers) - set(stream.peers)
    for x, kind in ((0, OpenConsumer), (1, ChangeConsumer), (2, CloseConsumer)):
        view = meta.state.view("A")
        put = meta.planner.put_consumer(view, "S", {"name": "c", "x": x}, meta.requester, 5)
        [effect] = meta.put(DeleteConsumer("A", "S", "c") if x == 2 else put)
        assert [type(action) for action in actions_for(meta.state, effect, stream.peers[2])] == [kind]
        assert actions_for(meta.state, effect, other) == []


def test_a_new_incarnation_joins_or_starts_again_what_nobody_else_has() -> None:
    meta = MetaFixture(3)
    meta.create()
    single = meta.create(name="R1", replicas=1)
    number = int(single.peers[0].partition("-")[0][4:])
    found = [
        action
        for effect in meta.reincarnate(server(number, "2"))
        for action in actions_for(meta.state, effect, server(number, "2").id)
    ]
    opened = {action.stream.name: action.lost for action in found if isinstance(action, OpenReplica)}
    assert opened == {"S": False, "R1": True}


@pytest.mark.parametrize(
    ("on_disk", "wanted"),
    [
        ({}, "openreplica"),
        ({"group": "as is", "created": "as is"}, "recoverreplica"),
        ({"group": "other", "created": "as is"}, "recoverreplica"),  # it began the group
        ({"group": "as is", "created": "other"}, "deletereplica openreplica"),
    ],
)
def test_at_a_start_what_lies_there_is_looked_up(on_disk: dict[str, str], wanted: str) -> None:
    meta = MetaFixture(3)
    stream = meta.create()
    here = {}
    if on_disk:
        group = stream.group if on_disk["group"] == "as is" else "S-R1F-other"
        here["A", "S"] = ReplicaOnDisk(group, stream.created + (on_disk["created"] == "other"))
    found = [type(action).__name__.lower() for action in at_start(meta.state, here, stream.peers[0])]
    assert " ".join(found) == wanted


def test_at_a_start_former_copies_go_and_unknown_streams_stay() -> None:
    meta = MetaFixture(4)
    stream = meta.create()
    [other] = set(meta.state.servers) - set(stream.peers)
    on_disk = {
        ("A", "S"): ReplicaOnDisk(stream.group, stream.created),
        ("A", "mine"): ReplicaOnDisk("", 5),
        ("B", "x"): ReplicaOnDisk("G", 5),
    }
    assert list(at_start(meta.state, on_disk, other)) == [
        DeleteReplica("A", "S"),
        OrphanStream("A", "mine"),
        DeleteReplica("B", "x"),
    ]


def test_a_former_copy_of_an_earlier_group_is_no_member_of_the_new_one() -> None:
    meta = MetaFixture(3)
    three = meta.create()
    leader, former = three.peers[0], three.peers[1]
    one = meta.update(replicas=1, leader=leader)
    meta.put(PeersConfirmed("A", "S", one.placed))
    again = meta.update(replicas=3)
    on_disk = {("A", "S"): ReplicaOnDisk(three.group, three.created)}
    assert list(at_start(meta.state, on_disk, former)) == [
        DeleteReplica("A", "S"),
        OpenReplica(again),
    ]
    assert list(at_start(meta.state, on_disk, leader)) == [RecoverReplica(again)]


def test_what_has_begun_is_joined_and_what_should_be_there_was_lost() -> None:
    meta = MetaFixture(3)
    three, one = meta.create(), meta.create(name="R1", replicas=1)
    me = one.peers[0]
    assert list(at_start(meta.state, {}, me)) == [OpenReplica(one), OpenReplica(three)]
    three = stream_of(meta.put(PeersConfirmed("A", "S", three.placed)))
    one = stream_of(meta.put(PeersConfirmed("A", "R1", one.placed)))
    assert three.seeds == one.seeds == ()
    lost = [OpenReplica(one, lost=True), OpenReplica(three, lost=True)]
    assert list(at_start(meta.state, {}, me)) == lost


def test_who_is_out_deletes_nothing() -> None:
    meta = MetaFixture(4)
    stream, single = meta.create(), meta.create(name="R1", replicas=1)
    me = single.peers[0]
    on_disk = {(one.account, one.name): ReplicaOnDisk(one.group, one.created) for one in (stream, single)}
    old = restore(take(meta.state))
    for effect in meta.reincarnate(server(int(me.partition("-")[0][4:]), "2")):
        assert actions_for(meta.state, effect, me) == []
    assert list(at_start(meta.state, on_disk, me)) == []
    assert list(catch_up(old, meta.state, me)) == []


def test_a_group_is_settled_when_its_voters_are_the_peers() -> None:
    stream = MetaFixture().create()
    incarnations = [f"{peer.partition('-')[0]}-9" for peer in stream.peers]
    assert has_converged(stream, Members.of(incarnations))
    assert not has_converged(stream, Members.of(incarnations, ["x-1"]))
    assert not has_converged(stream, Members.of(incarnations[:2], incarnations[2:]))
    assert not has_converged(stream, Members.of([*incarnations, "x-1"]))


# --- all together


@dataclass
class Machine:
    """A server that carries out its actions, and may be away. on_disk: the streams on its disk."""

    id: str
    state: MetaState = field(default_factory=MetaState)
    on_disk: dict[tuple[str, str], ReplicaOnDisk] = field(default_factory=dict)
    consumers: set[tuple[str, str, str]] = field(default_factory=set)
    up: bool = True

    def follow(self, effects: list[Effect]) -> None:
        for effect in effects:
            for action in actions_for(self.state, effect, self.id):
                self._do(action)

    def _do(self, action: object) -> None:
        if isinstance(action, OpenReplica):
            key = action.stream.account, action.stream.name
            assert key not in self.on_disk, (self.id, key)
            self.on_disk[key] = ReplicaOnDisk(action.stream.group, action.stream.created)
        elif isinstance(action, ChangeReplica):
            key = action.stream.account, action.stream.name
            assert key in self.on_disk, (self.id, key)
            self.on_disk[key] = ReplicaOnDisk(action.stream.group, action.stream.created)
        elif isinstance(action, CloseReplica):
            key = action.stream.account, action.stream.name
            del self.on_disk[key]
            self.consumers = {one for one in self.consumers if one[:2] != key}
        elif isinstance(action, OpenConsumer):
            one = action.consumer.account, action.consumer.stream, action.consumer.name
            assert one not in self.consumers
            self.consumers.add(one)
        elif isinstance(action, CloseConsumer):
            self.consumers.remove((action.consumer.account, action.consumer.stream, action.consumer.name))

    def catch_up(self, log: list[bytes], leader: MetaState, random: Random) -> None:
        self.up = True
        how = random.choice(["log", "snapshot", "restart"])
        if how == "log":
            for index in range(self.state.index + 1, len(log) + 1):
                self.follow(apply(self.state, index, log[index - 1]))
            return
        old, self.state = self.state, restore(take(leader))
        if how == "snapshot":
            for action in catch_up(old, self.state, self.id):
                self._do(action)
            return
        for found in at_start(self.state, dict(self.on_disk), self.id):
            if isinstance(found, DeleteReplica):
                del self.on_disk[found.account, found.name]
            elif isinstance(found, RecoverReplica | OpenReplica):
                stream = found.stream
                self.on_disk[stream.account, stream.name] = ReplicaOnDisk(stream.group, stream.created)
        # consumers come with their streams
        self.consumers = {
            (one.account, one.stream, one.name)
            for account, name in self.on_disk
            for one in self.state.consumers_of(account, name)
        }


def random_request(meta: MetaFixture, random: Random) -> list[Effect]:
    name, account = random.choice("STUV"), random.choice("AB")
    stream = meta.state.stream(account, name)
    kind = random.randrange(9)
    try:
        if kind <= 1 or stream is None:
            meta.create(account, name=name, replicas=random.choice([1, 3, 5]))
        elif kind == 2:
            meta.update(
                account, name=name, replicas=random.choice([1, 3, 5]), leader=random.choice(stream.peers)
            )
        elif kind == 3:
            meta.put(DeleteStream(account, name))
        elif kind == 4:
            meta.put(meta.planner.remove_peer(account, name, random.choice(stream.peers)))
        elif kind == 5:
            meta.put(PeersConfirmed(account, name, stream.placed))
        elif kind <= 7:
            wanted = {"name": random.choice("xyz"), "x": random.randrange(3)}
            view = meta.state.view(account)
            meta.put(meta.planner.put_consumer(view, name, wanted, meta.requester, len(meta.log)))
        else:
            meta.put(DeleteConsumer(account, name, random.choice("xyz")))
    except ApiError:
        pass
    return []


@seeds(16)
def test_servers_that_come_and_go_hold_what_they_should(seed: int) -> None:
    random = Random(seed)
    meta = MetaFixture(6, seed=seed)
    machines = [Machine(member) for member in meta.state.servers]
    done = 0
    for _ in range(120):
        random_request(meta, random)
        check(meta.state)
        for index in range(done + 1, len(meta.log) + 1):
            for machine in machines:
                if machine.up:
                    machine.follow(apply(machine.state, index, meta.log[index - 1]))
        done = len(meta.log)
        one = random.choice(machines)
        if random.random() < 0.3:
            if one.up:
                one.up = False
            else:
                one.catch_up(meta.log, meta.state, random)
    for machine in machines:
        if not machine.up:
            machine.catch_up(meta.log, meta.state, random)
        assert take(machine.state) == take(meta.state)
        wanted = {
            (one.account, one.name): ReplicaOnDisk(one.group, one.created)
            for one in meta.state.assigned_to(machine.id)
        }
        assert machine.on_disk == wanted
        assert machine.consumers == {
            (one.account, one.stream, one.name)
            for account, name in wanted
            for one in meta.state.consumers_of(account, name)
        }
