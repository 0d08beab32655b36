"""Leadership: the duties of a replicated stream's leader, besides the stream itself.

The leader brings the configuration and the consumers, as the meta group decided them, into the stream's log,
and reports to the meta group when the group's members match the assignment.

Promises:
- What was decided is in the log some time later, whoever led when it was decided.
- Servers learn of decisions at different times, so a leader must not undo something only because it has not
  heard of it yet: a difference that no known decision explains is resolved only after GRACE.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from ....protocol.api.consumer import ConsumerConfig
from ....protocol.api.stream import StreamConfig
from ...clock import SECOND
from ...cluster.announce import node_of
from ..meta.command import DeleteConsumer, GroupStarted, PeersConfirmed
from ..meta.reconcile import has_converged
from ..replication.entry import AddConsumer, Configure, RemoveConsumer
from . import advisories

if TYPE_CHECKING:
    from ..consumers.core import Consumer
    from ..meta.assignment import ConsumerAssignment, StreamAssignment
    from ..replication.entry import Outcome
    from ..replication.membership import ReplicaMembership
    from ..replication.stream import ReplicatedStream
    from .local_info import LocalStreamView

GRACE = 10 * SECOND
_STREAM = ""  # stands for the stream itself, where a consumer's name is expected


class Leadership:
    """The duties of one stream's leader.

    Every member keeps one, because it may become the leader.
    """

    def __init__(self, local: LocalStreamView) -> None:
        self._local = local
        self._clock = local.environment.clock
        self._meta = local.meta
        self._changed: set[str] = set()  # changed by a decision, so that the log may lag
        self._gone: set[tuple[str, int]] = set()  # deleted consumers: name, created
        self._compared: dict[str, tuple[int, int]] = {}  # name -> what was compared last: created, revision
        self._differs: dict[str, int] = {}  # name -> since when the log differs, ns
        self._unused: dict[str, int] = {}  # consumers that nobody uses: name -> created
        self._under_way: Counter[str] = Counter()  # name -> proposals without a known outcome
        self._sent: PeersConfirmed | GroupStarted | None = None

    # --- what the meta group decided

    def begin(self) -> None:
        """Begin the duties, as the replica here leads from now on."""
        self._compared.clear()
        self._differs.clear()
        self._unused.clear()
        self._compare()
        self.confirm_peers()

    def configured(self) -> None:
        """Bring the stream's changed configuration into the log."""
        self._changed.add(_STREAM)
        self._compare_stream()

    def consumer_made(self, consumer: ConsumerAssignment) -> None:
        """Bring a new or changed consumer into the log."""
        self._changed.add(consumer.name)
        self._compare_consumer(consumer)

    def consumer_gone(self, consumer: ConsumerAssignment) -> None:
        """Remove a deleted consumer in the log."""
        self._gone.add((consumer.name, consumer.created))
        self._changed.discard(consumer.name)
        self._drop_gone()

    def unused(self, consumer: Consumer) -> None:
        """Ask the meta group to delete a consumer that nobody uses any more."""
        self._unused[consumer.name] = consumer.created
        self._ask_deletion(consumer.name)

    def tick(self) -> None:
        """Do what is due regularly while the replica here leads."""
        self.confirm_peers()
        self._compare()
        self.ask_deletions()

    def ask_deletions(self) -> bool:
        """Ask again to delete unused consumers, as requests may be lost. Return whether there are any."""
        for name in list(self._unused):
            self._ask_deletion(name)
        return bool(self._unused)

    def _ask_deletion(self, name: str) -> None:
        local, created = self._local, self._unused[name]
        assignment = local.consumer(name)
        if assignment is None or assignment.created != created:
            del self._unused[name]
            return
        account, stream = local.assignment.account, local.assignment.name
        local.context.forward(DeleteConsumer(account, stream, name, created))

    # --- members

    def confirm_peers(self, *, again: bool = True) -> None:
        """Report to the meta group which members the group has. again: even if that was sent already."""
        local = self._local
        membership, assignment = local.membership, local.assignment
        group = None if membership is None else membership.group
        if group is None or group.node is None or group.node.log.members_index > group.commit:
            return
        if membership is None or membership.name != assignment.group or has_begun(assignment):
            return
        news: PeersConfirmed | GroupStarted | None = None
        if has_converged(assignment, group.members):
            news = PeersConfirmed(assignment.account, assignment.name, assignment.placed)
        elif assignment.seeds:
            nodes = {node_of(voter) for voter in group.members.voters}
            holders = tuple(seed for seed in assignment.seeds if node_of(seed) in nodes)
            news = GroupStarted(assignment.account, assignment.name, assignment.placed, holders)
        if news is not None and (again or news != self._sent):
            self._sent = news
            local.context.forward(news)

    # --- the log and the meta state

    def _compare(self) -> None:
        self._compare_stream()
        for consumer in self._local.consumers():
            self._compare_consumer(consumer)
        self._drop_gone()
        self._drop_unknown()

    def _leading(self) -> tuple[ReplicaMembership, ReplicatedStream] | None:
        membership = self._local.membership
        if membership is None or not membership.leads or membership.replica is None:
            return None
        return membership, membership.replica.stream

    def _due(self, what: str) -> bool:
        """Return whether a difference has to be resolved now; note since when there is one."""
        now = self._clock.now()
        if what in self._changed:
            return True
        since = self._differs.setdefault(what, now)
        return now - since >= GRACE and bool(self._meta.leader_status.leader)

    def _mark_compared(self, what: str, version: tuple[int, int]) -> None:
        self._compared[what] = version
        self._changed.discard(what)
        self._differs.pop(what, None)

    def _compare_stream(self) -> None:
        leading, assignment = self._leading(), self._local.assignment
        version = (assignment.created, assignment.revision)
        if leading is None or self._compared.get(_STREAM) == version:
            return
        _, stream = leading
        equal = stream.config == StreamConfig.from_json(assignment.config)
        if equal and not self._under_way[_STREAM]:
            if _STREAM in self._changed:
                self._local.announce_served()
            self._mark_compared(_STREAM, version)
        elif self._due(_STREAM):
            self._compared[_STREAM] = version  # under way
            config = json.dumps(assignment.config).encode()
            self._order(Configure(stream.time.next(), config), _STREAM, self._local.announce_served)

    def _compare_consumer(self, consumer: ConsumerAssignment) -> None:
        leading, name = self._leading(), consumer.name
        version = (consumer.created, consumer.revision)
        if leading is None or self._compared.get(name) == version:
            return
        _, stream = leading
        state = stream.states.get(name)
        config = ConsumerConfig.from_json(consumer.config)
        equal = state is not None and state.created == consumer.created and state.config == config
        if equal and not self._under_way[name]:
            if name in self._changed:
                self._local.announce_served(name)
            self._mark_compared(name, version)
            return
        if state is not None and not self._due(name):
            return
        self._compared[name] = version
        if state is not None and state.created != consumer.created:
            self._order(RemoveConsumer(stream.time.next(), name), name)
        new = state is None or state.created != consumer.created
        text = json.dumps(consumer.config).encode()
        entry = AddConsumer(stream.time.next(), consumer.created, name, text)
        self._order(entry, name, lambda: self._added(name, new=new))

    def _added(self, name: str, *, new: bool) -> None:
        """Announce a consumer that is in the stream's log."""
        if new:
            advisories.consumer_leader_elected(self._local, name)
        self._local.announce_served(name)

    def _order(
        self,
        entry: Configure | AddConsumer | RemoveConsumer,
        what: str,
        done: Callable[[], None] | None = None,
    ) -> None:
        leading = self._leading()
        if leading is None or leading[0].replica is None:
            return

        def finished(outcome: Outcome | Exception) -> None:
            self._under_way[what] -= 1
            if isinstance(outcome, Exception):
                self._compared.pop(what, None)  # so that it is compared again
                return
            if not self._under_way[what]:
                del self._under_way[what]
                self._changed.discard(what)
                self._differs.pop(what, None)
            if done is not None and self._leading() is not None:
                done()

        self._under_way[what] += 1
        leading[0].replica.proposals.propose(entry, finished)

    def _drop_gone(self) -> None:
        """Remove consumers that were deleted."""
        leading = self._leading()
        for name, created in list(self._gone):
            assignment = self._local.consumer(name)
            state = None if leading is None else leading[1].states.get(name)
            if assignment is not None:  # it exists, or another one of its name takes its place
                self._gone.discard((name, created))
            elif leading is not None and (
                self._under_way[name] or (state is not None and state.created == created)
            ):
                self._compared.pop(name, None)
                entry = RemoveConsumer(leading[1].time.next(), name)
                self._order(entry, name, partial(self._local.announce_deleted, name))
            elif leading is not None:
                self._gone.discard((name, created))

    def _drop_unknown(self) -> None:
        """Remove consumers that the meta group has not known for GRACE."""
        leading = self._leading()
        if leading is None:
            return
        stream = leading[1]
        for name, state in list(stream.states.items()):
            if self._local.consumer(name) is not None or (name, state.created) in self._gone:
                continue
            if self._due(name):
                self._differs.pop(name, None)
                self._order(RemoveConsumer(stream.time.next(), name), name)


def has_begun(assignment: StreamAssignment) -> bool:
    """Return whether the meta group knows that the stream's members match the assignment."""
    return not (assignment.seeds or assignment.change or assignment.leaving)
