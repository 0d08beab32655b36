"""Spark's Python daemon, which imports what the workers need once, before it forks them.

Spark starts it as `python -m pyjs.pipeline.daemon WORKER_MODULE` if a setting of the session says so
(`DAEMON` in `pipeline/session.py`), and speaks with it as with its own daemon, whose code this runs. A worker
then begins with PySpark, Arrow and the source `jetstream` in memory. PySpark's own daemon imports nothing,
since some libraries start threads when they are imported: of these, only Arrow and NumPy are imported here,
and theirs are prepared for a fork.
"""

from __future__ import annotations

import gc
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path

ARCHIVE = "pyspark.zip"
MODULES = (
    "pyspark.worker",
    "pyspark.sql.worker.plan_data_source_read",
    "pyarrow.compute",
    "pyjs.pipeline.source.datasource",
    "pyjs.pipeline.sink.writer",
)


def without_archive(path: Sequence[str]) -> list[str]:
    """Return Python's search path without PySpark's archive, where it lies inside the same PySpark, unpacked.

    Each process compiles what it imports from an archive.
    """
    return [place for place in path if not _is_copy(Path(place))]


def _is_copy(place: Path) -> bool:
    # An installed PySpark has the archive as pyspark/python/lib/pyspark.zip.
    if place.name != ARCHIVE or len(place.parents) < 3:
        return False
    package = place.parents[2]
    return (package / "__init__.py").is_file() and str(package.parent) in sys.path


def main() -> None:
    """Import, and serve Spark until it closes the standard input."""
    sys.path[:] = without_archive(sys.path)
    for name in (*MODULES, *sys.argv[1:2]):
        importlib.import_module(name)
    gc.collect()
    gc.freeze()  # so that a worker's collector does not copy the pages of all that
    manager = importlib.import_module("pyspark.daemon").manager
    manager()


if __name__ == "__main__":
    main()
