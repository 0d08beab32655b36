"""The page on the pipeline: its table is that of the options, its permissions suffice."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from lib.process import ServerProcess
from pyjs.client import BlockingConnection, ConnectionOptions
from pyjs.pipeline.jetstream import JetStreamRequests
from pyjs.pipeline.jetstream.range import StreamRange, read
from pyjs.pipeline.options import QuerySettings
from pyjs.pipeline.options.docs import renewed
from pyjs.pipeline.options.table import WRITE
from pyjs.pipeline.sink.task import WriteTask
from pyjs.pipeline.sink.write_options import WriteOptions
from pyjs.pipeline.sink.writer import WritePlan
from pyjs.pipeline.source import queue
from pyspark.sql.types import StringType, StructType

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "pipeline.md").read_text("utf-8")


def test_the_table_is_that_of_the_options() -> None:
    assert renewed(PAGE) == PAGE, "run: python -m pyjs.pipeline.options.docs docs/pipeline.md"


CONFIG = """
listen: "127.0.0.1:<client>"
jetstream { store_dir: "<store>" }
authorization { users: [
    { user: all, password: all },
    { user: spark, password: spark, PERMISSIONS }
] }
"""


@pytest.fixture
def config() -> str:
    (found,) = re.findall(r"```\n(permissions: .*?)```", PAGE, re.DOTALL)
    return CONFIG.replace("PERMISSIONS", found.replace("publish: [", 'publish: [ "out.>",'))


@pytest.mark.parametrize("direct", [True, False])
def test_the_permissions_of_the_page_suffice(
    serve: Callable[[str], ServerProcess], config: str, direct: bool, unique: str
) -> None:
    server = serve(config)
    with BlockingConnection.open(_address(server, "all")) as connection:
        _streams(JetStreamRequests(connection), unique, direct=direct)
        for number in range(5):
            connection.request(f"in.{unique}", f"{number}".encode())
            connection.request(f"work.{unique}", f"{number}".encode())
    with BlockingConnection.open(_address(server, "spark")) as connection:
        api = JetStreamRequests(connection)
        assert sum(batch.num_rows for batch in read(connection, api, StreamRange(f"IN{unique}", 1, 6))) == 5
        work = api.stream(f"WORK{unique}")
        queue.ensure(api, work, "spark", ())
        assert queue.acknowledge(api, work.name, "spark", 4) == 3
        written = pa.RecordBatch.from_pydict({"subject": [f"out.{unique}"] * 2, "data": ["a", "b"]})
        options = WriteOptions.of(_settings(server, f"OUT{unique}"))
        schema = StructType().add("subject", StringType()).add("data", StringType())
        assert WritePlan.make(options, schema).run(WriteTask("w", 0, 0), iter([written])).rows == 2
        assert api.stream(f"OUT{unique}").messages == 2
        assert api.stream(f"WORK{unique}").messages == 2


def _address(server: ServerProcess, user: str) -> ConnectionOptions:
    return ConnectionOptions((server.url,), user=user, password=user)


def _settings(server: ServerProcess, stream: str) -> QuerySettings:
    return QuerySettings.of(
        {"servers": server.url, "user": "spark", "password": "spark", "stream": stream}, WRITE
    )


def _streams(api: JetStreamRequests, unique: str, *, direct: bool) -> None:
    for name, subject, more in (
        ("IN", f"in.{unique}", {"allow_direct": direct}),
        ("WORK", f"work.{unique}", {"retention": "workqueue"}),
        ("OUT", f"out.{unique}", {}),
    ):
        api.call(f"STREAM.CREATE.{name}{unique}", {"name": f"{name}{unique}", "subjects": [subject], **more})
