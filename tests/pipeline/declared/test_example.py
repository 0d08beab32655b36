"""The pipeline of examples/: Spark counts orders into Parquet and into a stream."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from lib.jetstream import ALONE, JetStream
from lib.process import ServerProcess
from pyjs.pipeline.declared.reading import parse
from pyjs.pipeline.declared.run import Halt, Outcome, play

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from pyjs.pipeline.declared.progress import Batch
    from pyspark.sql import SparkSession

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "pipeline" / "orders.yaml"


class Silent:
    """An observer that shows nothing."""

    def stage(self, text: str) -> None:
        pass

    def batch(self, batch: Batch) -> None:
        pass

    def tick(self, doing: Mapping[str, str]) -> None:
        pass

    def rows(
        self, sink: str, batch: int, columns: Sequence[str], rows: Sequence[Sequence[Any]], total: int | None
    ) -> None:
        pass


@pytest.mark.parametrize("implementation", ["pyjs"])
def test_it_counts(spark: SparkSession, launch: Callable[[str], ServerProcess], tmp_path: Path) -> None:
    server = launch(ALONE)
    with JetStream.of(server) as js:
        js.create("ORDERS", subjects=["orders.*"])
        js.create("COUNTS", subjects=["counts.*"], allow_direct=True)
        for item in ("coffee", "tea", "coffee"):
            js.publish("orders.new", json.dumps({"item": item}).encode())
        connection = f"connection: {{servers: '{server.url}'}}\n"
        loaded = parse(EXAMPLE.read_text("utf-8") + connection, tmp_path / "orders.yaml")
        halt = Halt()
        assert play(spark, loaded, str(tmp_path / "checkpoint"), Silent(), halt) == Outcome("finished")
        stored = sorted(json.loads(data)["orders"] for data in js.stored("COUNTS", 1).values())
    assert stored == [1, 2]
    rows = spark.read.parquet(str(tmp_path / "counts")).collect()
    assert {row["item"]: row["orders"] for row in rows} == {"coffee": 2, "tea": 1}
