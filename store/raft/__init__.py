"""What a Raft member must remember: hard state, snapshot and log.

Layout of a member's directory: `state` (kept twice) and `snapshot` (a line about it with a CRC, then its
bytes), replaced in one step; `log.<n>`, segments in order; `synced`. A segment's header has the index and
term that precede it; then come records. A record with an index that is there already replaces that one and
all after it.
"""

from .segment import LogRecord
from .store import RaftStore, StoredRaft
from .table import StoredSnapshot, StoredState, SyncMark

__all__ = ["LogRecord", "RaftStore", "StoredRaft", "StoredSnapshot", "StoredState", "SyncMark"]
