"""LocalReplica: the replica of a stream on this server: opened, filled from the others, and replaced.

Promises: a replica is opened over what its disk holds for certain. One that was found damaged is set aside;
it is never served, and no other replica gets anything from it. A new one catches up from the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from ....protocol.api.stream import StreamConfig
from ....store.errors import StoreError
from . import Replica, conversion
from .catchup import CatchupError, CatchupMismatchError, CatchupRequests, CatchupSenderError
from .group_log import GroupLog
from .group_peers import AssignmentView, GroupPeers
from .opening import FailedReplica, ReplicaFiles, ReplicaOpener
from .state import ReplicaStateError

if TYPE_CHECKING:
    from ....store.stream import StreamStore
    from ...cluster.environment import GroupEnvironment
    from ...cluster.raft_node import RaftNode
    from ...cluster.state_machine import StateMachine
    from ..consumers.core import Consumer
    from ..streams.context import StreamContext
    from .stream import ReplicatedStream

AGAIN = 20  # ticks after which a failed replica is opened again


class MembershipListener(AssignmentView, Protocol):
    """Knows what was decided about the stream, and is called when something changes here."""

    def opened(self, stream: ReplicatedStream) -> None:
        """The stream is from now on this object."""

    def leading(self) -> None:
        """The replica here leads, and serves the stream."""

    def following(self) -> None:
        """The replica here no longer leads."""

    def leader_changed(self) -> None:
        """The group has another leader, or none."""

    def gives_up_lead(self) -> bool:
        """Return whether another server should lead, if one can."""

    def unused(self, consumer: Consumer) -> None:
        """Nobody uses a consumer any more: it may be deleted."""


class ReplicaGroup(Protocol):
    """The group of a replica, as the replica sees it."""

    @property
    def group(self) -> RaftNode | None:
        """This server's member of the group, None until it has started."""

    def stop_serving(self, replica: Replica, why: str, ticks: int) -> None:
        """Let another member lead, and open the replica again after some ticks."""


class LocalReplica:
    """The replica, and its owner (`ReplicaOwner`).

    replica: None while there is none.
    failure: why there is no replica, "" while there is one.
    peers: the servers of the group.
    catch_up: asks the other servers for messages and state.
    """

    def __init__(
        self,
        context: StreamContext,
        files: ReplicaFiles,
        environment: GroupEnvironment,
        listener: MembershipListener,
        name: str,
        membership: ReplicaGroup,
        store: StreamStore | None = None,
    ) -> None:
        """For the arguments see `ReplicaMembership`; name: the group's."""
        self.replica: Replica | None = None
        self.failure = ""
        self.peers = GroupPeers(listener, name, environment.node)
        self.catch_up = CatchupRequests(
            name,
            environment.transport,
            self._answer,
            self._answered,
            lambda: self.peers.to_ask(membership.group),
            lambda: not self.catching_up,
            context.host.catchup,
        )
        self._name = name
        self._context = context
        self._environment = environment
        self._listener = listener
        self._membership = membership
        self._log = GroupLog(lambda: membership.group, context.host.stream_queue)
        self._label = f"{context.account.name} > {listener.assignment.config['name']}"
        self._opener = ReplicaOpener(files, name, self._over, self._damaged, self.log_error, store)

    @property
    def damage(self) -> str:
        """Why the replica has to be filled again, "" if it need not."""
        return self._opener.damage

    @property
    def catching_up(self) -> bool:
        """Whether there is no replica yet, or it still gets messages and state from the others."""
        return self.replica is None or self.replica.catchup is not None

    @property
    def hopeless(self) -> bool:
        """Whether the replica waits for something that all of the others have just answered they lack."""
        return self.replica is not None and self.replica.catchup is not None and self.catch_up.hopeless

    @property
    def in_memory(self) -> bool:
        """Whether the stream is in memory."""
        config = self._listener.assignment.config
        return config.get("storage") == "memory"

    # --- opening

    def prepare(self) -> None:
        """Read what is on the disk, on a worker thread, unless a replica writes to it."""
        if self.replica is None and not self.in_memory:
            self._opener.read()

    def make(self) -> StateMachine:
        """Open the replica, as the application of the group; if that fails, the group ends with an entry."""
        self.drop()
        try:
            self.replica = self.open()
        except (OSError, StoreError, ReplicaStateError) as error:
            self.failure = str(error) or type(error).__name__
            return FailedReplica(self.failure)
        self.failure = ""
        self._listener.opened(self.replica.stream)
        return self.replica

    def open(self) -> Replica:
        """Return the disk's replica; called directly once the group has ended. Raises OSError, StoreError."""
        assignment = self._listener.assignment
        return self._opener.open(StreamConfig.from_json(assignment.config), assignment.created)

    def _over(self, config: StreamConfig, store: StreamStore) -> Replica:
        """Return a replica over a store: a founder's, one with a state of its own, or one to be filled."""
        assignment = self._listener.assignment
        if not store.note and self.peers.may_bootstrap and not self.damage:
            conversion.begin(config, store, assignment.created, self._name)
        joins = not store.note
        replica = Replica(config, store, self._context, assignment.created, self._log, self, self._name)
        if joins:
            replica.join()
        return replica

    def _damaged(self, where: str) -> None:
        """Give up the replica, because a read found damage."""
        replica = self.replica
        if replica is not None and not self._opener.due:
            self._opener.mark_damaged(f"a message is damaged: {where}")
            replica.stream.direct_get.stop()  # at once: an older message of the subject is no answer
            self._environment.executor.soon(lambda: self._membership.stop_serving(replica, self.damage, 1))

    def drop(self) -> None:
        """Stop the replica, and forget it."""
        replica, self.replica = self.replica, None
        if replica is not None:
            try:
                replica.stop()
            except (OSError, StoreError) as error:
                self.log_error(f"it was not closed well: {error}")

    def discard(self) -> None:
        """Close what was read from the disk and not opened."""
        self._opener.discard()

    def log_error(self, text: str) -> None:
        """Log that something is wrong with the stream here."""
        self._environment.log.error(f"JetStream stream '{self._label}' {text}")

    # --- what the replica needs of its owner

    def replaced(self, replica: Replica) -> None:
        """See `ReplicaOwner`: the replica has been filled."""
        self._opener.filled(replica.stream.config.storage)
        self.catch_up.rest()
        self._listener.opened(replica.stream)

    def ask(self, _: Replica, question: bytes, *, another: bool = False) -> None:
        """See `ReplicaOwner`."""
        self.catch_up.ask(question, another=another)

    def unused(self, consumer: Consumer) -> None:
        """See `ReplicaOwner`."""
        self._listener.unused(consumer)

    def store_failed(self, replica: Replica, error: BaseException) -> None:
        """See `ReplicaOwner`: open the replica again some time later."""
        if not self._opener.due:
            self.failure = str(error) or type(error).__name__
            self._environment.executor.soon(
                lambda: self._membership.stop_serving(replica, self.failure, AGAIN)
            )

    def _answer(self, question: bytes) -> bytes:
        if self.replica is None:
            raise CatchupSenderError("there is no replica")
        return self.replica.answer(question)

    def _answered(self, data: bytes) -> None:
        replica = self.replica
        if replica is None or replica.catchup is None:
            return
        try:
            replica.answered(data)
        except CatchupMismatchError as error:
            self._opener.mark_damaged(str(error))
            self._membership.stop_serving(replica, str(error), 1)
        except CatchupError as error:
            self._environment.log.warning(f"Stream '{self._label}' asks again: {error}")
            self.catch_up.ask(replica.catchup.ask())
        except (OSError, StoreError) as error:
            self.store_failed(replica, error)
