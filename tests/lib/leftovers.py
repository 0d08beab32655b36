"""Processes that a test or a command has left behind."""

from __future__ import annotations

from pathlib import Path


def at_work_in(directory: Path) -> list[int]:
    """Return the processes whose working directory is in `directory`."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            place = Path(str((entry / "cwd").readlink()).removesuffix(" (deleted)"))
        except OSError:
            continue
        if place != directory and place.is_relative_to(directory):
            found.append(int(entry.name))
    return found
