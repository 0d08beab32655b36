"""pyjs over a disk that can lose its power and fail: `python -m lib.trust.server -c file`, for tests only.

It takes nats-server's command line. TRUST_STORE names the store directory, TRUST_SEED seeds the chances of
its disk. Blocks, segments and the kept part of logs are so small that rare events happen all the time.
"""

from __future__ import annotations

import os
from pathlib import Path

from lib.trust.disk import PowerDisk
from pyjs.store import fs

BLOCK_BYTES = 96 << 10
SEGMENT_BYTES = 32 << 10
COMPACT_BYTES = 48 << 10
KEPT_ENTRIES = 30


def shrink() -> None:
    """Make the server seal blocks and segments, compact logs and refill replicas within seconds."""
    from pyjs.server.cluster import environment, raft_node
    from pyjs.store.file import FileStream
    from pyjs.store.raft import RaftStore

    for function, name, size in (
        (FileStream.__init__, "block_size", BLOCK_BYTES),
        (RaftStore.__init__, "segment_bytes", SEGMENT_BYTES),
    ):
        defaults = function.__kwdefaults__
        assert defaults is not None and name in defaults
        defaults[name] = size
    assert hasattr(raft_node, "COMPACT_BYTES") and hasattr(environment.TIMING, "keep")
    raft_node.COMPACT_BYTES = COMPACT_BYTES
    object.__setattr__(environment.TIMING, "keep", KEPT_ENTRIES)


if __name__ == "__main__":
    PowerDisk.use(Path(os.environ["TRUST_STORE"]), int(os.environ["TRUST_SEED"]))
    # Before any module of the server looks up the class by name.
    fs.Disk = PowerDisk  # type: ignore[misc]
    from pyjs.server.main import main

    shrink()
    main()
