"""What each server does about what was decided: running, catching up, and at its start."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

import pytest
from lib.meta_fixture import Site, check, config, server, stream_of
from pyjs.protocol.errors import ApiError
from pyjs.raft.members import Members
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
    at_start,
    catch_up,
    duties,
    is_settled,
)
from pyjs.server.jetstream.meta.snapshot import restore, take
from pyjs.server.jetstream.meta.state import MetaState


def test_members_open_and_others_do_not() -> None:
    site = Site(4)
    stream = site.create()
    [effect] = site.put(DeleteStream("A", "S"))
    made = site.put(site.desk.create_stream(site.state.view("A"), config(), site.asker, 50))[0]
    new = stream_of([made])
    for member in site.state.servers:
        assert duties(site.state, made, member) == ([OpenReplica(new)] if member in new.peers else [])
        assert duties(site.state, effect, member) == (
            [CloseReplica(stream, True)] if member in stream.peers else []
        )


def test_who_leaves_stays_until_the_group_let_it_go() -> None:
    site = Site(4)
    before = site.create()
    site.consume()
    [effect] = site.put(site.desk.remove_peer("A", "S", before.peers[0]))
    after = stream_of([effect])
    [new] = set(after.peers) - set(before.peers)
    assert duties(site.state, effect, before.peers[0]) == [ChangeReplica(before, after, leaves=True)]
    assert duties(site.state, effect, before.peers[1]) == [ChangeReplica(before, after)]
    [opened, consumer] = duties(site.state, effect, new)
    assert opened == OpenReplica(after, joins=True) and isinstance(consumer, OpenConsumer)
    [effect] = site.put(PeersConfirmed("A", "S", after.placed))
    assert duties(site.state, effect, before.peers[0]) == [CloseReplica(stream_of([effect]), gone=False)]
    assert isinstance(duties(site.state, effect, new)[0], ChangeReplica)


def test_who_was_removed_and_is_back_keeps_its_copy_until_the_group_let_it_go() -> None:
    """Its vote may be the one that the group needs: another member may only be filling up."""
    site = Site()
    stream = site.create()
    gone = site.state.servers[stream.peers[0]]
    held = {("A", "S"): ReplicaOnDisk(stream.group, stream.created)}
    site.put(site.desk.remove_server(peer=gone.id))
    assert list(at_start(site.state, held, gone.id)) == []  # nothing is deleted before it is let in
    command = site.desk.greet(gone)
    assert command is not None
    site.put(command)
    after = site.state.stream("A", "S")
    assert after is not None and list(at_start(site.state, held, gone.id)) == [
        RecoverReplica(after, leaves=True)
    ]
    [effect] = site.put(PeersConfirmed("A", "S", after.placed))
    assert duties(site.state, effect, gone.id) == [CloseReplica(stream_of([effect]), gone=False)]
    assert list(at_start(site.state, held, gone.id)) == [DeleteReplica("A", "S")]
    check(site.state)


def test_consumers_are_every_members() -> None:
    site = Site(4)
    stream = site.create()
    [other] = set(site.state.servers) - set(stream.peers)
    for x, kind in ((0, OpenConsumer), (1, ChangeConsumer), (2, CloseConsumer)):
        view = site.state.view("A")
        put = site.desk.put_consumer(view, "S", {"name": "c", "x": x}, site.asker, 5)
        [effect] = site.put(DeleteConsumer("A", "S", "c") if x == 2 else put)
        assert [type(duty) for duty in duties(site.state, effect, stream.peers[2])] == [kind]
        assert duties(site.state, effect, other) == []


def test_a_new_life_joins_or_begins_anew_what_nobody_else_has() -> None:
    site = Site(3)
    site.create()
    single = site.create(name="R1", replicas=1)
    number = int(single.peers[0].partition("-")[0][4:])
    found = [
        duty
        for effect in site.reborn(server(number, "2"))
        for duty in duties(site.state, effect, server(number, "2").id)
    ]
    opened = {duty.stream.name: (duty.joins, duty.lost) for duty in found if isinstance(duty, OpenReplica)}
    assert opened == {"S": (True, False), "R1": (False, True)}


@pytest.mark.parametrize(
    ("held", "wanted"),
    [
        ({}, "openreplica"),
        ({"group": "as is", "created": "as is"}, "recoverreplica"),
        ({"group": "other", "created": "as is"}, "recoverreplica"),  # it began the group
        ({"group": "as is", "created": "other"}, "deletereplica openreplica"),
    ],
)
def test_at_a_start_what_lies_there_is_looked_up(held: dict[str, str], wanted: str) -> None:
    site = Site(3)
    stream = site.create()
    here = {}
    if held:
        group = stream.group if held["group"] == "as is" else "S-R1F-other"
        here["A", "S"] = ReplicaOnDisk(group, stream.created + (held["created"] == "other"))
    found = [type(duty).__name__.lower() for duty in at_start(site.state, here, stream.peers[0])]
    assert " ".join(found) == wanted


def test_at_a_start_former_copies_go_and_unknown_streams_stay() -> None:
    site = Site(4)
    stream = site.create()
    [other] = set(site.state.servers) - set(stream.peers)
    held = {
        ("A", "S"): ReplicaOnDisk(stream.group, stream.created),
        ("A", "mine"): ReplicaOnDisk("", 5),
        ("B", "x"): ReplicaOnDisk("G", 5),
    }
    assert list(at_start(site.state, held, other)) == [
        DeleteReplica("A", "S"),
        OrphanStream("A", "mine"),
        DeleteReplica("B", "x"),
    ]


def test_a_former_copy_of_an_earlier_group_is_no_member_of_the_new_one() -> None:
    site = Site(3)
    three = site.create()
    leader, former = three.peers[0], three.peers[1]
    one = site.update(replicas=1, leader=leader)
    site.put(PeersConfirmed("A", "S", one.placed))
    again = site.update(replicas=3)
    held = {("A", "S"): ReplicaOnDisk(three.group, three.created)}
    assert list(at_start(site.state, held, former)) == [
        DeleteReplica("A", "S"),
        OpenReplica(again, joins=True),
    ]
    assert list(at_start(site.state, held, leader)) == [RecoverReplica(again)]


def test_what_has_begun_is_joined_and_what_should_be_there_was_lost() -> None:
    site = Site(3)
    three, one = site.create(), site.create(name="R1", replicas=1)
    me = one.peers[0]
    assert list(at_start(site.state, {}, me)) == [OpenReplica(one), OpenReplica(three)]
    three = stream_of(site.put(PeersConfirmed("A", "S", three.placed)))
    one = stream_of(site.put(PeersConfirmed("A", "R1", one.placed)))
    assert three.seeds == one.seeds == ()
    lost = [OpenReplica(one, lost=True), OpenReplica(three, joins=True, lost=True)]
    assert list(at_start(site.state, {}, me)) == lost


def test_who_is_out_deletes_nothing() -> None:
    site = Site(4)
    stream, single = site.create(), site.create(name="R1", replicas=1)
    me = single.peers[0]
    held = {(one.account, one.name): ReplicaOnDisk(one.group, one.created) for one in (stream, single)}
    old = restore(take(site.state))
    for effect in site.reborn(server(int(me.partition("-")[0][4:]), "2")):
        assert duties(site.state, effect, me) == []
    assert list(at_start(site.state, held, me)) == []
    assert list(catch_up(old, site.state, me)) == []


def test_a_group_is_settled_when_its_voters_are_the_peers() -> None:
    stream = Site().create()
    lives = [f"{peer.partition('-')[0]}-9" for peer in stream.peers]
    assert is_settled(stream, Members.of(lives))
    assert not is_settled(stream, Members.of(lives, ["x-1"]))
    assert not is_settled(stream, Members.of(lives[:2], lives[2:]))
    assert not is_settled(stream, Members.of([*lives, "x-1"]))


# --- all together


@dataclass
class Machine:
    """A server that follows its duties, and may be away. held: its disk. lines: what it missed is there."""

    id: str
    state: MetaState = field(default_factory=MetaState)
    held: dict[tuple[str, str], ReplicaOnDisk] = field(default_factory=dict)
    consumers: set[tuple[str, str, str]] = field(default_factory=set)
    up: bool = True

    def hear(self, effects: list[Effect]) -> None:
        for effect in effects:
            for duty in duties(self.state, effect, self.id):
                self._do(duty)

    def _do(self, duty: object) -> None:
        if isinstance(duty, OpenReplica):
            key = duty.stream.account, duty.stream.name
            assert key not in self.held, (self.id, key)
            self.held[key] = ReplicaOnDisk(duty.stream.group, duty.stream.created)
        elif isinstance(duty, ChangeReplica):
            key = duty.stream.account, duty.stream.name
            assert key in self.held, (self.id, key)
            self.held[key] = ReplicaOnDisk(duty.stream.group, duty.stream.created)
        elif isinstance(duty, CloseReplica):
            key = duty.stream.account, duty.stream.name
            del self.held[key]
            self.consumers = {one for one in self.consumers if one[:2] != key}
        elif isinstance(duty, OpenConsumer):
            one = duty.consumer.account, duty.consumer.stream, duty.consumer.name
            assert one not in self.consumers
            self.consumers.add(one)
        elif isinstance(duty, CloseConsumer):
            self.consumers.remove((duty.consumer.account, duty.consumer.stream, duty.consumer.name))

    def catch_up(self, log: list[bytes], leader: MetaState, dice: Random) -> None:
        self.up = True
        how = dice.choice(["log", "snapshot", "restart"])
        if how == "log":
            for index in range(self.state.index + 1, len(log) + 1):
                self.hear(apply(self.state, index, log[index - 1]))
            return
        old, self.state = self.state, restore(take(leader))
        if how == "snapshot":
            for duty in catch_up(old, self.state, self.id):
                self._do(duty)
            return
        for duty in at_start(self.state, dict(self.held), self.id):
            if isinstance(duty, DeleteReplica):
                del self.held[duty.account, duty.name]
            elif isinstance(duty, RecoverReplica | OpenReplica):
                stream = duty.stream
                self.held[stream.account, stream.name] = ReplicaOnDisk(stream.group, stream.created)
        # consumers come with their streams
        self.consumers = {
            (one.account, one.stream, one.name)
            for account, name in self.held
            for one in self.state.consumers_of(account, name)
        }


def random_wish(site: Site, dice: Random) -> list[Effect]:
    name, account = dice.choice("STUV"), dice.choice("AB")
    stream = site.state.stream(account, name)
    kind = dice.randrange(9)
    try:
        if kind <= 1 or stream is None:
            site.create(account, name=name, replicas=dice.choice([1, 3, 5]))
        elif kind == 2:
            site.update(account, name=name, replicas=dice.choice([1, 3, 5]), leader=dice.choice(stream.peers))
        elif kind == 3:
            site.put(DeleteStream(account, name))
        elif kind == 4:
            site.put(site.desk.remove_peer(account, name, dice.choice(stream.peers)))
        elif kind == 5:
            site.put(PeersConfirmed(account, name, stream.placed))
        elif kind <= 7:
            wanted = {"name": dice.choice("xyz"), "x": dice.randrange(3)}
            view = site.state.view(account)
            site.put(site.desk.put_consumer(view, name, wanted, site.asker, len(site.log)))
        else:
            site.put(DeleteConsumer(account, name, dice.choice("xyz")))
    except ApiError:
        pass
    return []


@pytest.mark.parametrize("seed", range(40))
def test_servers_that_come_and_go_hold_what_they_should(seed: int) -> None:
    dice = Random(seed)
    site = Site(6, seed=seed)
    machines = [Machine(member) for member in site.state.servers]
    done = 0
    for _ in range(120):
        random_wish(site, dice)
        check(site.state)
        for index in range(done + 1, len(site.log) + 1):
            for machine in machines:
                if machine.up:
                    machine.hear(apply(machine.state, index, site.log[index - 1]))
        done = len(site.log)
        one = dice.choice(machines)
        if dice.random() < 0.3:
            if one.up:
                one.up = False
            else:
                one.catch_up(site.log, site.state, dice)
    for machine in machines:
        if not machine.up:
            machine.catch_up(site.log, site.state, dice)
        assert take(machine.state) == take(site.state)
        wanted = {
            (one.account, one.name): ReplicaOnDisk(one.group, one.created)
            for one in site.state.held_by(machine.id)
        }
        assert machine.held == wanted
        assert machine.consumers == {
            (one.account, one.stream, one.name)
            for account, name in wanted
            for one in site.state.consumers_of(account, name)
        }
