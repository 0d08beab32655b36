"""pyjs over a disk that can lose its power and fail: `python -m lib.trust.server -c file`, for tests only.

Takes nats-server's command line. TRUST_STORE names the store directory, TRUST_SEED the dice of its disk.
"""

from __future__ import annotations

import os
from pathlib import Path

from lib.trust.disk import PowerDisk
from pyjs.store import fs

if __name__ == "__main__":
    PowerDisk.use(Path(os.environ["TRUST_STORE"]), int(os.environ["TRUST_SEED"]))
    # Before any module of the server asks for the class by name.
    fs.Disk = PowerDisk  # type: ignore[misc]
    from pyjs.server.main import main

    main()
