"""Documents of pipelines run on the tests' Spark session, and what an observer saw of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lib.jetstream import JetStream
from lib.process import ServerProcess
from pyjs.pipeline.declared.progress import Batch
from pyjs.pipeline.declared.reading import parse
from pyjs.pipeline.declared.run import Halt, Outcome, play
from pyjs.pipeline.declared.variables import NONE, Variables

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Seen:
    """An observer that remembers, and asks `halt` to stop when a batch came that `until` names."""

    def __init__(self, halt: Halt, until: Callable[[Batch], int] = lambda batch: 0) -> None:
        self.halt, self.until = halt, until
        self.stages: list[str] = []
        self.batches: list[Batch] = []
        self.shown: list[tuple[str, Sequence[str], Sequence[Sequence[Any]], int | None]] = []

    def batch(self, batch: Batch) -> None:
        self.batches.append(batch)
        for _ in range(self.until(batch)):
            self.halt.ask()

    def stage(self, text: str) -> None:
        self.stages.append(text)

    def tick(self, doing: Mapping[str, str]) -> None:
        pass

    def rows(
        self, sink: str, batch: int, columns: Sequence[str], rows: Sequence[Sequence[Any]], total: int | None
    ) -> None:
        self.shown.append((sink, columns, rows, total))


class Stage:
    """A stream of `messages` messages `message 0` and so on, and documents about it."""

    def __init__(
        self, spark: SparkSession, server: ServerProcess, name: str, folder: Path, *, messages: int = 40
    ) -> None:
        self.spark, self.server, self.name, self.folder = spark, server, name, folder
        self.js = JetStream.of(server)
        self.js.create(name, subjects=[f"{name}.>"], allow_direct=True)
        self.publish(0, messages)

    def publish(self, first: int, last: int) -> None:
        for number in range(first, last):
            self.js.publish(f"{self.name}.{number % 2}", f"message {number}".encode())

    def play(
        self, text: str, until: Callable[[Batch], int] = lambda batch: 0, variables: Variables = NONE
    ) -> tuple[Outcome, Seen]:
        head = f"name: p\nconnection: {{servers: '{self.server.url}'}}\n"
        text = head + text.replace("NAME", self.name)
        loaded = parse(text, self.folder / "p.yaml", variables=variables)
        halt = Halt()
        seen = Seen(halt, until)
        outcome = play(self.spark, loaded, str(self.folder / "checkpoint"), seen, halt)
        assert self.spark.streams.active == []
        return outcome, seen

    def rows(self, path: str, form: str = "parquet") -> list[Any]:
        return self.spark.read.format(form).load(str(self.folder / path)).collect()
