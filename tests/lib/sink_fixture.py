"""A stream of the test's own, and writers to it as they arrive on executors."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyjs.pipeline.options import QuerySettings
from pyjs.pipeline.sink.writer import BatchWriter, TaskCommit

from .frames import batch, schema
from .jetstream import JetStream
from .process import ServerProcess


@dataclass
class SinkEnv:
    """A server and the name of a stream on it; `create` makes the stream, which stores `<name>.>`."""

    server: ServerProcess
    name: str

    def __post_init__(self) -> None:
        self.js = JetStream.of(self.server)

    def create(self, **config: Any) -> None:
        self.js.create(self.name, **{"subjects": [f"{self.name}.>"], "allow_direct": True} | config)

    def settings(self, **options: str) -> QuerySettings:
        return QuerySettings.of({"servers": self.server.url, "stream": self.name} | options, "write")

    def writer(self, *columns: str, **options: str) -> BatchWriter:
        """Return a batch writer that has gone through a pickle."""
        made = BatchWriter(self.settings(**options), schema(*(columns or ("subject", "data"))))
        found: BatchWriter = pickle.loads(pickle.dumps(made))
        return found

    def write(self, *batches: pa.RecordBatch, **options: str) -> TaskCommit:
        """Write record batches as one task."""
        return self.writer(*batches[0].schema.names, **options).write(iter(batches))

    def rows(self, *bodies: str) -> pa.RecordBatch:
        """Return rows on one subject of the stream."""
        return batch(subject=[f"{self.name}.a"] * len(bodies), data=[body.encode() for body in bodies])

    def bodies(self) -> list[str]:
        """Return the payloads in the stream, in order."""
        return [body.decode() for body in self.js.stored(self.name).values()]
