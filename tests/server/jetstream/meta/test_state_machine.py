"""The meta state as the state machine of a group."""

from __future__ import annotations

import pytest
from lib.meta_fixture import MetaFixture, config, server
from pyjs.server.cluster.state_machine import StateMachine
from pyjs.server.jetstream.meta.command import DeleteStream, MetaCommandError, encode
from pyjs.server.jetstream.meta.effect import Effect, StreamCreated, StreamDeleted
from pyjs.server.jetstream.meta.reconcile import (
    CloseReplica,
    OpenReplica,
    ReconcileAction,
    RecoverReplica,
    ReplicaOnDisk,
)
from pyjs.server.jetstream.meta.state_machine import MetaStateMachine


class Run:
    """A machine on server n1, and what it gave."""

    def __init__(self, me: str = server(1).id) -> None:
        self.actions: list[ReconcileAction] = []
        self.effects: list[Effect] = []
        self.state_machine = MetaStateMachine(me, self.actions.append, self.effects.append)

    def follow(self, meta: MetaFixture, first: int = 1) -> None:
        self.state_machine.apply(list(enumerate(meta.log, 1))[first - 1 :], len(meta.log))


def test_it_is_a_groups_application() -> None:
    application: StateMachine = Run().state_machine
    assert application.durable_index == 0


def test_actions_begin_when_it_is_current() -> None:
    meta, run = MetaFixture(), Run()
    old = meta.create()
    run.follow(meta)
    assert run.actions == [] and StreamCreated(old) in run.effects
    on_disk = {("A", "S"): ReplicaOnDisk(old.group, old.created)}
    assert list(run.state_machine.begin(on_disk)) == [RecoverReplica(old)]
    new = meta.create(name="T")
    meta.put(DeleteStream("A", "S"))
    run.follow(meta, len(meta.log) - 1)
    assert run.actions == [OpenReplica(new), CloseReplica(old, gone=True)]


def test_a_snapshot_takes_it_further() -> None:
    meta, ahead, run = MetaFixture(), Run(), Run()
    old = meta.create()
    ahead.follow(meta)
    run.follow(meta)
    list(run.state_machine.begin({}))
    meta.put(DeleteStream("A", "S"))
    new = meta.create(name="T")
    ahead.follow(meta)
    taken = ahead.state_machine.snapshot()
    assert taken is not None
    index, data = taken
    run.state_machine.restore(data, index)
    assert run.actions == [CloseReplica(old, gone=True), OpenReplica(new)]
    assert run.state_machine.state == ahead.state_machine.state


def test_before_it_begins_a_snapshot_causes_no_actions() -> None:
    meta, first, run = MetaFixture(), Run(), Run()
    stream = meta.create()
    first.follow(meta)
    taken = first.state_machine.snapshot()
    assert taken is not None
    run.state_machine.restore(taken[1], taken[0])
    assert run.actions == []
    assert list(run.state_machine.begin({})) == [OpenReplica(stream)]


def test_who_proposed_learns_what_became_of_it() -> None:
    meta, run = MetaFixture(), Run()
    stream = meta.create()
    run.follow(meta)
    assert run.state_machine.outcome(len(meta.log)) == []
    run.state_machine.lead()
    meta.put(DeleteStream("A", "S"))
    run.follow(meta, len(meta.log))
    assert run.state_machine.outcome(len(meta.log)) == [StreamDeleted(stream)]
    assert run.state_machine.outcome(len(meta.log)) == []
    meta.put(meta.planner.create_stream(meta.state.view("A"), config(), meta.requester, 9))
    run.follow(meta, len(meta.log))
    run.state_machine.follow()
    assert run.state_machine.outcome(len(meta.log)) == []


def test_entries_of_the_group_itself_move_the_index() -> None:
    run = Run()
    run.state_machine.apply([(3, encode(DeleteStream("A", "S")))], 5)
    assert run.state_machine.state.index == 5
    taken = run.state_machine.snapshot()
    assert taken is not None and taken[0] == 5


def test_what_is_not_understood_ends_it() -> None:
    with pytest.raises(MetaCommandError):
        Run().state_machine.apply([(1, b"\x07")], 1)
