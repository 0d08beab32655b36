"""What a Raft member must remember: hard state, snapshot and log.

A member's directory contains `state` (kept twice) and `snapshot` (a line about it with a CRC, then its
bytes), which are replaced in one step; `log.<n>`, the segments in order; and `synced`. The header of a
segment has the index and term that precede it, and records follow. A record with an index that exists already
replaces that one and all after it.
"""

from .segment import LogRecord
from .state_files import StoredSnapshot, StoredState, SyncMark
from .store import RaftStore, StoredRaft

__all__ = ["LogRecord", "RaftStore", "StoredRaft", "StoredSnapshot", "StoredState", "SyncMark"]
