"""MetaState: everything the meta group has decided so far. Only `apply` changes it; everyone may read it.

Promises: two states that applied the same commands are equal, and so are their snapshots. Assignments are
values: one that was read does not change afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from ....protocol.lazy_dataclass import dataclass
from ....protocol.subject_tree import SubjectOwners
from .assignment import ConsumerAssignment, Document, StreamAssignment
from .node_info import NodeInfo, node_of

# What a proposal was decided by: (kind, stream, consumer) -> revision, 0 if there was none.
Read = tuple[str, str, str]


@dataclass(slots=True)
class MetaState:
    """The decisions of the meta group.

    index: of the last command applied.
    servers: the servers by member id.
    streams: account -> name -> assignment.
    consumers: (account, stream) -> name -> assignment.
    consumer_changes: (account, stream) -> the index at which the stream's consumers last changed.
    retired: incarnations that another one has replaced; they are never admitted again, whatever is on their
        disks.
    """

    index: int = 0
    servers: dict[str, NodeInfo] = field(default_factory=dict)
    streams: dict[str, dict[str, StreamAssignment]] = field(default_factory=dict)
    consumers: dict[tuple[str, str], dict[str, ConsumerAssignment]] = field(default_factory=dict)
    consumer_changes: dict[tuple[str, str], int] = field(default_factory=dict)
    retired: set[str] = field(default_factory=set)
    _owners: dict[str, SubjectOwners] = field(default_factory=dict, init=False, repr=False, compare=False)

    # --- streams

    def stream(self, account: str, name: str) -> StreamAssignment | None:
        """Return a stream's assignment, or None."""
        return self.streams.get(account, {}).get(name)

    def of_account(self, account: str) -> list[StreamAssignment]:
        """Return an account's streams, sorted by name."""
        return [stream for _, stream in sorted(self.streams.get(account, {}).items())]

    def every_stream(self) -> Iterator[StreamAssignment]:
        """Yield all streams, sorted by account and name."""
        for account in sorted(self.streams):
            yield from self.of_account(account)

    def assigned_to(self, member: str) -> Iterator[StreamAssignment]:
        """Return the streams that have this member, also those that it is leaving."""
        return (stream for stream in self.every_stream() if member in stream.members)

    def overlap(self, account: str, subjects: list[str], itself: str, *, patient: bool = True) -> bool:
        """Return whether a stream of the account, other than `itself`, captures one of the subjects.

        Unless `patient`, raises TooEntangled if that takes too long to find out. Applying a command is
        patient, since every server must come to the same result.
        """
        return self._by_subject(account).overlap(itself, subjects, patient=patient)

    def capturing(self, account: str, subject: str) -> list[StreamAssignment]:
        """Return the account's streams whose subjects collide with `subject`, sorted by name."""
        return [self.streams[account][name] for name in sorted(self._by_subject(account).colliding(subject))]

    def _by_subject(self, account: str) -> SubjectOwners:
        """Return an up-to-date index of the account's streams by their subjects."""
        owners = self._owners.setdefault(account, SubjectOwners())
        owners.follow((name, stream.subjects) for name, stream in self.streams.get(account, {}).items())
        return owners

    def has_group(self, group: str) -> bool:
        """Return whether a stream's group has this name. Costs a look at every stream."""
        return any(one.group == group for streams in self.streams.values() for one in streams.values())

    # --- consumers

    def consumer(self, account: str, stream: str, name: str) -> ConsumerAssignment | None:
        """Return a consumer's assignment, or None."""
        return self.consumers.get((account, stream), {}).get(name)

    def consumers_of(self, account: str, stream: str) -> list[ConsumerAssignment]:
        """Return a stream's consumers, sorted by name."""
        return [consumer for _, consumer in sorted(self.consumers.get((account, stream), {}).items())]

    # --- servers

    def named(self, name: str) -> NodeInfo | None:
        """Return the server of this name, node or member id, or None."""
        for server in self.servers.values():
            if name in (server.name, server.id, server.node):
                return server
        return None

    def server_name(self, member: str) -> str:
        """Return the name of a member's server, "" if it is not known."""
        server = self.servers.get(member)
        return "" if server is None else server.name

    # --- what was read

    def revision(self, account: str, read: Read) -> int:
        """Return the revision of a stream, a consumer, or all consumers of a stream; 0 for none."""
        kind, stream, consumer = read
        found: StreamAssignment | ConsumerAssignment | None
        if kind == "consumers":
            return self.consumer_changes.get((account, stream), 0)
        found = self.consumer(account, stream, consumer) if consumer else self.stream(account, stream)
        return 0 if found is None else found.revision

    def view(self, account: str) -> AccountView:
        """Return a view of an account that notes what is read through it."""
        return AccountView(self, account)


def has_holder(state: MetaState, stream: StreamAssignment) -> bool:
    """Return whether one of the servers is certain to have the stream's messages."""
    return any(holder in state.servers for holder in stream.holders)


def other_incarnations(state: MetaState, server: NodeInfo) -> list[str]:
    """Return other incarnations of this server that are servers, or hold streams; sorted."""
    known = {*state.servers, *(member for stream in state.every_stream() for member in stream.members)}
    return sorted(one for one in known if one != server.id and node_of(one) == server.node)


class AccountView:
    """One account as a proposal sees it.

    reads: what was read, with its revisions. It travels with the proposal: if any of it has changed when the
        proposal is applied, the proposal is stale and must be made again.
    """

    def __init__(self, state: MetaState, account: str) -> None:
        self.state = state
        self.account = account
        self.reads: dict[Read, int] = {}

    def stream(self, name: str) -> StreamAssignment | None:
        """Return a stream's assignment, or None."""
        self._note(("stream", name, ""))
        return self.state.stream(self.account, name)

    def config(self, name: str) -> Document | None:
        """Return a stream's configuration, or None."""
        found = self.stream(name)
        return None if found is None else found.config

    def consumer(self, stream: str, name: str) -> ConsumerAssignment | None:
        """Return a consumer's assignment, or None."""
        self._note(("consumer", stream, name))
        return self.state.consumer(self.account, stream, name)

    def consumers(self, stream: str) -> list[ConsumerAssignment]:
        """Return all consumers of a stream, sorted by name."""
        self._note(("consumers", stream, ""))
        return self.state.consumers_of(self.account, stream)

    def _note(self, read: Read) -> None:
        self.reads[read] = self.state.revision(self.account, read)
