"""The meta state as a group's application."""

from __future__ import annotations

import pytest
from lib.meta_fixture import Site, config, server
from pyjs.server.cluster.state_machine import StateMachine
from pyjs.server.jetstream.meta.command import DeleteStream, MetaCommandError, encode
from pyjs.server.jetstream.meta.effect import Effect, ServerUpdated, StreamCreated, StreamDeleted
from pyjs.server.jetstream.meta.reconcile import (
    CloseReplica,
    OpenReplica,
    ReconcileAction,
    RecoverReplica,
    ReplicaOnDisk,
)
from pyjs.server.jetstream.meta.state_machine import MetaStateMachine, lets_in


class Run:
    """A machine on server n1, and what it said."""

    def __init__(self, me: str = server(1).id) -> None:
        self.duties: list[ReconcileAction] = []
        self.effects: list[Effect] = []
        self.machine = MetaStateMachine(me, self.duties.append, self.effects.append)

    def hear(self, site: Site, first: int = 1) -> None:
        self.machine.apply(list(enumerate(site.log, 1))[first - 1 :], len(site.log))


def test_it_is_a_groups_application() -> None:
    application: StateMachine = Run().machine
    assert application.applied == 0


def test_duties_begin_when_it_is_current() -> None:
    site, run = Site(), Run()
    old = site.create()
    run.hear(site)
    assert run.duties == [] and StreamCreated(old) in run.effects
    held = {("A", "S"): ReplicaOnDisk(old.group, old.created)}
    assert list(run.machine.begin(held)) == [RecoverReplica(old)]
    new = site.create(name="T")
    site.put(DeleteStream("A", "S"))
    run.hear(site, len(site.log) - 1)
    assert run.duties == [OpenReplica(new), CloseReplica(old, gone=True)]


def test_a_snapshot_takes_it_further() -> None:
    site, ahead, run = Site(), Run(), Run()
    old = site.create()
    ahead.hear(site)
    run.hear(site)
    list(run.machine.begin({}))
    site.put(DeleteStream("A", "S"))
    new = site.create(name="T")
    ahead.hear(site)
    taken = ahead.machine.take()
    assert taken is not None
    index, data = taken
    run.machine.restore(data, index)
    assert run.duties == [CloseReplica(old, gone=True), OpenReplica(new)]
    assert run.machine.state == ahead.machine.state


def test_before_it_begins_a_snapshot_is_nobodys_duty() -> None:
    site, first, run = Site(), Run(), Run()
    stream = site.create()
    first.hear(site)
    taken = first.machine.take()
    assert taken is not None
    run.machine.restore(taken[1], taken[0])
    assert run.duties == []
    assert list(run.machine.begin({})) == [OpenReplica(stream)]


def test_who_proposed_learns_what_became_of_it() -> None:
    site, run = Site(), Run()
    stream = site.create()
    run.hear(site)
    assert run.machine.outcome(len(site.log)) == []
    run.machine.lead()
    site.put(DeleteStream("A", "S"))
    run.hear(site, len(site.log))
    assert run.machine.outcome(len(site.log)) == [StreamDeleted(stream)]
    assert run.machine.outcome(len(site.log)) == []
    site.put(site.desk.create_stream(site.state.view("A"), config(), site.asker, 9))
    run.hear(site, len(site.log))
    run.machine.follow()
    assert run.machine.outcome(len(site.log)) == []


def test_entries_of_the_group_itself_move_the_index() -> None:
    run = Run()
    run.machine.apply([(3, encode(DeleteStream("A", "S")))], 5)
    assert run.machine.state.index == 5
    taken = run.machine.take()
    assert taken is not None and taken[0] == 5


def test_what_is_not_understood_ends_it() -> None:
    with pytest.raises(MetaCommandError):
        Run().machine.apply([(1, b"\x07")], 1)


def test_a_server_is_let_in() -> None:
    one = server(1)
    assert lets_in(ServerUpdated(one), one.id)
    assert not lets_in(ServerUpdated(one, server(1, tags=("x",))), one.id)
    assert not lets_in(ServerUpdated(server(2)), one.id)
