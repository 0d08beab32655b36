"""Damage to files of a dead server, by kind of file and kind of damage."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random
from typing import NamedTuple


class Kind(NamedTuple):
    """Files whose path below the store directory matches."""

    name: str
    pattern: str


KINDS = {
    "pyjs": [
        Kind("block", r"/msgs/[^/]+\.blk$"),
        Kind("Raft log", r"/log\.\d+$"),
        Kind("Raft state", r"-[0-9a-f]{8}/state$"),
        Kind("Raft snapshot", r"/snapshot$"),
        Kind("synced mark", r"/synced$"),
        Kind("life", r"/life$"),
        Kind("document", r"/meta\.json$"),
        Kind("anything", r"[^/]$"),
    ],
    "reference": [
        Kind("block", r"/msgs/[^/]+\.blk$"),
        Kind("index", r"/index\.db$"),
        Kind("term and vote", r"/tav\.idx$"),
        Kind("peers", r"/peer\.idx$"),
        Kind("snapshot", r"/snapshots/[^/]+$"),
        Kind("consumer", r"/o\.dat$"),
        Kind("document", r"/meta\.(inf|sum)$"),
    ],
}
HARMS = ["flip", "flip", "byte", "half", "empty", "remove", "old"]
_CHUNK = 512


def files(store: Path, kind: Kind) -> list[Path]:
    """Return those of a kind, without those that are already kept as damaged."""
    pattern = re.compile(kind.pattern)
    return sorted(
        path
        for path in store.rglob("*")
        if path.is_file()
        and path.name != "lock"
        and "/lost." not in str(path)
        and pattern.search(f"/{path.relative_to(store)}")
    )


def damage(store: Path, kind: Kind, rng: Random) -> list[str]:
    """Damage all files of a kind, or one of them, in one way; return what was done."""
    found = [path for path in files(store, kind) if path.stat().st_size]
    if found and rng.random() < 0.5:
        found = [rng.choice(found)]
    harm = rng.choice(HARMS)
    return [f"{harm} {path.relative_to(store)}" for path in found if _harm(path, harm, rng)]


def _harm(path: Path, harm: str, rng: Random) -> bool:
    data = bytearray(path.read_bytes())
    if harm == "remove":
        path.unlink()
        return True
    if harm == "flip":
        for _ in range(2):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    elif harm == "old":  # some bytes as they may have been once: not yet written
        start = rng.randrange(len(data))
        data[start : start + _CHUNK] = bytes(len(data[start : start + _CHUNK]))
    else:
        del data[{"byte": len(data) - 1, "half": len(data) // 2, "empty": 0}[harm] :]
    # In place: a new file would not be the one whose number the disk knows.
    with path.open("r+b") as file:
        file.write(data)
        file.truncate(len(data))
    return True
