"""Proposer: how this server has the meta group decide something, or hands its lead over.

Promises: the meta leader gets one answer to each proposal. What another server forwards to the leader may get
lost without notice; the sender repeats it until the group has decided.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from ....protocol.errors import ApiError, api_error
from ...cluster.proposals import Outcome, ProposalError
from ..meta import placement
from ..meta.command import (
    Command,
    DeleteConsumer,
    GroupStarted,
    MetaCommandError,
    PeersConfirmed,
    PreferLeader,
    decode,
    encode,
)
from ..meta.node_info import node_of
from ..meta.planner import MetaPlanner

if TYPE_CHECKING:
    from random import Random

    from ...accounts.subscription import Message, Subscription
    from ..meta.effect import Effect
    from ..meta.placement import PlacementPolicy
    from .meta_group import MetaGroup
    from .view import ClusterView

FORWARD_SUBJECT = "$JSC.META"  # the subject of forwarded proposals, in the system account
Decided = Callable[["list[Effect] | ApiError"], None]
Forwarded = PeersConfirmed | GroupStarted | DeleteConsumer | PreferLeader


class Proposer:
    """Proposes commands to the meta group; a server has one.

    policy: returns the rules by which streams are placed.
    """

    def __init__(
        self,
        meta_group: MetaGroup,
        view: ClusterView,
        random: Random,
        policy: Callable[[], PlacementPolicy],
    ) -> None:
        self._meta_group = meta_group
        self._view = view
        self._system = view.system
        self._random = random
        self._policy = policy
        self._subscription: Subscription | None = None

    def start(self) -> None:
        """Receive what other servers forward."""
        self._subscription = self._system.subscribe(FORWARD_SUBJECT, self._received)

    def stop(self) -> None:
        """Stop receiving what other servers forward."""
        if self._subscription is not None:
            self._system.unsubscribe(self._subscription)

    # --- proposals

    def planner(self) -> MetaPlanner:
        """Return what turns requests into commands, by what is known now."""
        return MetaPlanner(self._view.state, self._view.node_statuses, self._random, self._policy())

    def propose(self, command: Command, done: Decided) -> None:
        """Have the meta group decide; `done` gets the effects, or error 10008.

        Only a leader gets anything but the error. After the error the command may still be applied.
        """
        group, state_machine = self._meta_group.group, self._meta_group.state_machine
        if group is None or state_machine is None or not self._meta_group.is_leader:
            done(api_error("JSClusterNotAvailErr"))
            return

        def decided(outcome: Outcome) -> None:
            if isinstance(outcome, ProposalError):
                done(api_error("JSClusterNotAvailErr"))
            else:
                done(state_machine.outcome(outcome))

        group.propose([encode(command)], decided)

    def forward(self, command: Forwarded) -> None:
        """Have the meta leader propose a command, on whichever server it is; delivery is not guaranteed."""
        if self._meta_group.is_leader:
            self.propose(command, _ignore)
        else:
            self._system.publish(FORWARD_SUBJECT, encode(command))

    def _received(self, message: Message) -> None:
        if not self._meta_group.is_leader:
            return
        try:
            command = decode(message.body)
        except MetaCommandError:
            return
        if isinstance(command, Forwarded):
            self.propose(command, _ignore)

    def heal(self) -> None:
        """Propose peers for streams that lack some, as far as there are servers for them."""
        if self._meta_group.is_leader:
            for command in self.planner().heal():
                self.propose(command, _ignore)

    def remove_server(self, name: str, peer: str, done: Decided) -> None:
        """Remove a server permanently, by name or by peer; only a leader can. Raises ApiError 10044."""
        self.propose(self.planner().remove_server(name, peer), done)

    # --- the lead of the meta group

    def successor(self, server: str = "", cluster: str = "", tags: Collection[str] = ()) -> str:
        """Return the member to which this server would hand over. Raises ApiError 10005."""
        view, group = self._view, self._view.group
        voters = frozenset[str]() if group is None else group.members.voters
        clusters = {view.cluster_name, *view.other_clusters()}
        members = sorted(placement.may_lead(view.state, voters, clusters) | {view.me})
        return placement.successor(
            view.state,
            members,
            view.me,
            view.node_statuses,
            self._random,
            server=server,
            cluster=cluster,
            tags=[*tags],
        )

    def step_down(self, preferred: str) -> ApiError | None:
        """Hand the lead over to `preferred` (a member's id), or for "" to any that can lead.

        Return the error if that is not possible, otherwise None.
        """
        group = self._view.group
        if group is None or not self._meta_group.is_leader:
            return api_error("JSClusterNotAvailErr")
        if not preferred:
            try:
                preferred = self.successor()
            except ApiError:
                return None  # this server goes on leading, as there is no other
        if preferred not in group.members.voters or node_of(preferred) == self._view.node:
            return api_error("JSClusterNoPeersErrF", err="no replacement peer connected")
        group.leadership.transfer(preferred)
        return None


def _ignore(_outcome: list[Effect] | ApiError) -> None:
    """Do nothing: nobody waits for the result."""
