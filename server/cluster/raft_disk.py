"""Between a member and its directory: what the core calls a log and a state, the store keeps as files."""

from __future__ import annotations

from ...raft import Entry, HardState, Members, RaftLog, Snapshot, StorageAppend
from ...store.raft import RaftStore, StoredRaft, StoredSnapshot, StoredState


def create(store: RaftStore, snapshot: Snapshot) -> None:
    """Create a member's files with what all of its group begin with. Raises OSError."""
    store.create(_stored(snapshot))


def load(stored: StoredRaft, applied: int = 0) -> tuple[RaftLog, HardState]:
    """What `RaftStore.open` found, as a log and a state. BrokenLogError: the log ends before `applied`."""
    found = stored.snapshot
    members = Members.decode(found.members) if found.members else Members.of(())
    snapshot = Snapshot(found.index, found.term, members, found.data)
    entries = [Entry(*record) for record in stored.entries]
    log = RaftLog.load(snapshot, stored.base, stored.base_term, entries, applied)
    return log, HardState(*stored.state)


def persist(store: RaftStore, write: StorageAppend) -> None:
    """Make a write durable (it blocks), then `RawNode.written`. Raises OSError: then `RawNode.fail`."""
    store.write(
        state=StoredState(*write.state) if write.state is not None else None,
        snapshot=_stored(write.snapshot) if write.snapshot is not None else None,
        first=write.first,
        entries=write.entries,
    )


def compact(store: RaftStore, snapshot: Snapshot, base: int) -> None:
    """Keep what `RawNode.compact` was given, and let go of what is before (it blocks). Raises OSError."""
    store.compact(_stored(snapshot), base)


def _stored(snapshot: Snapshot) -> StoredSnapshot:
    return StoredSnapshot(snapshot.index, snapshot.term, snapshot.members.encode(), snapshot.data)
