"""A process that runs a pipeline to its end and prints the sequences that its tables then have.

`python -m lib.lakehouse_run FILE CHECKPOINT LOG` prints one JSON document: how the run ended, and for each
sink the column `sequence` of its table, sorted. A session that does not start is {"lacking": "why"}.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyjs.pipeline.declared import engine
from pyjs.pipeline.declared.document import IcebergSink
from pyjs.pipeline.declared.reading import LoadedDocument, load
from pyjs.pipeline.declared.run import Halt, play
from pyjs.pipeline.session import SparkError

if TYPE_CHECKING:
    from pyjs.pipeline.declared.progress import Batch
    from pyspark.sql import SparkSession


class Silent:
    """An observer that shows nothing."""

    def stage(self, text: str) -> None:
        """Show nothing."""

    def batch(self, batch: Batch) -> None:
        """Show nothing."""

    def tick(self, doing: Mapping[str, str]) -> None:
        """Show nothing."""

    def rows(
        self, sink: str, batch: int, columns: Sequence[str], rows: Sequence[Sequence[Any]], total: int | None
    ) -> None:
        """Show nothing."""


def sequences(spark: SparkSession, loaded: LoadedDocument) -> dict[str, list[int]]:
    """Return the sequences in each sink's table."""
    found = {}
    for name, sink in loaded.document.sinks.items():
        if isinstance(sink, IcebergSink):
            frame = spark.table(sink.table)
        else:
            frame = spark.read.format(sink.format).load(str(loaded.folder / getattr(sink, "path", "")))
        found[name] = sorted(row["sequence"] for row in frame.select("sequence").collect())
    return found


def main(file: str, checkpoint: str, log: str) -> None:
    """Run it, and print what there is then."""
    loaded = load(Path(file), trigger="availableNow")
    try:
        with engine.opened(loaded, Path(log)) as spark:
            outcome = play(spark, loaded, checkpoint, Silent(), Halt())
            said = {"state": outcome.state, "error": outcome.error, "rows": sequences(spark, loaded)}
    except SparkError as error:
        said = {"lacking": str(error)}
    sys.stdout.write(json.dumps(said) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
