"""Checkpoints that Spark refuses to start with, left by a query that was killed in its first batch.

Spark writes the record of a batch into a hidden file of `offsets` and renames it. A query that is killed
between the two at its very first batch leaves a folder that "should be empty on batch 0" (SPARK-53103),
although nothing was written and nothing is on record. In a folder of this machine, this module removes what
was left.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from urllib.parse import unquote, urlsplit


def discard_unfinished_start(checkpoint: str) -> bool:
    """Remove a record of the first batch that was never finished, and return whether there was one.

    checkpoint: a path, or a URL as Spark takes it; one that is not `file:` is left alone

    Raises OSError.
    """
    url = urlsplit(checkpoint)
    if url.scheme not in ("", "file"):
        return False
    folder = Path(unquote(url.path) if url.scheme else checkpoint)
    offsets, commits = folder / "offsets", folder / "commits"
    hidden = _names(offsets)
    if not hidden or not all(name.startswith(".") for name in hidden | _names(commits)):
        return False
    shutil.rmtree(offsets)
    return True


def _names(folder: Path) -> set[str]:
    return {entry.name for entry in folder.iterdir()} if folder.is_dir() else set()
