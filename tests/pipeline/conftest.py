"""One Spark session for all tests of a process: it takes seconds to start.

The tests that ask for it are collected first (tests/conftest.py), so that one worker gets them all.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from lib.spark_settings import QUICK
from pyjs.pipeline.session import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTINGS = {
    **QUICK,
    "spark.sql.session.timeZone": "UTC",
    "spark.driver.memory": "1g",
}


@pytest.fixture(scope="session")
def spark(
    tmp_path_factory: pytest.TempPathFactory, needs_java: None, quick_python: None
) -> Iterator[SparkSession]:
    """A local session with two threads that knows the source `jetstream`.

    Streaming queries are their test's to stop.
    """
    folder = tmp_path_factory.mktemp("spark")
    settings = SETTINGS | {"spark.sql.warehouse.dir": str(folder / "warehouse")}
    settings["spark.driver.extraJavaOptions"] += f" -Dderby.system.home={folder}"
    with session("pyjs tests", master="local[2]", settings=settings, log=folder / "java.log") as started:
        yield started
