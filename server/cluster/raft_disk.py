"""Translates between a member's core, with its log and state, and the files in which the store keeps them."""

from __future__ import annotations

from ...raft import Entry, HardState, Members, RaftLog, Snapshot, StorageAppend
from ...store.raft import RaftStore, StoredRaft, StoredSnapshot, StoredState


def create(store: RaftStore, snapshot: Snapshot) -> None:
    """Create a member's files from the snapshot that all members of its group begin with. Raises OSError."""
    store.create(_stored(snapshot))


def load(stored: StoredRaft, applied: int = 0) -> tuple[RaftLog, HardState]:
    """Return the log and state that were read. Raises BrokenLogError if the log ends before `applied`."""
    found = stored.snapshot
    members = Members.decode(found.members) if found.members else Members.of(())
    snapshot = Snapshot(found.index, found.term, members, found.data)
    entries = [Entry(*record) for record in stored.entries]
    log = RaftLog.load(snapshot, stored.base, stored.base_term, entries, applied)
    return log, HardState(*stored.state)


def persist(store: RaftStore, write: StorageAppend) -> None:
    """Make a write durable. Blocks. Then call `RawNode.written`, or `RawNode.fail` after an OSError."""
    store.write(
        state=StoredState(*write.state) if write.state is not None else None,
        snapshot=_stored(write.snapshot) if write.snapshot is not None else None,
        first=write.first,
        entries=write.entries,
    )


def compact(store: RaftStore, snapshot: Snapshot, base: int) -> None:
    """Store a snapshot of `RawNode.compact` and drop the log before `base`. Blocks. Raises OSError."""
    store.compact(_stored(snapshot), base)


def _stored(snapshot: Snapshot) -> StoredSnapshot:
    return StoredSnapshot(snapshot.index, snapshot.term, snapshot.members.encode(), snapshot.data)
