"""One Spark session for all tests of a process: it takes seconds to start.

The tests that ask for it are collected first (tests/conftest.py), so that one worker gets them all.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from lib import maven
from lib.spark_settings import QUICK
from pyjs.pipeline.session import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTINGS = {
    **QUICK,
    "spark.sql.session.timeZone": "UTC",
    "spark.driver.memory": "1g",
}


DRIVERS = {
    "sqlite": "org.xerial:sqlite-jdbc:3.54.1.0",
    "postgresql": "org.postgresql:postgresql:42.7.14",
}


@pytest.fixture(scope="session")
def driver_jars() -> dict[str, Path]:
    """The JDBC drivers that Maven has here, by their databases."""
    found = {database: maven.jar(coordinates) for database, coordinates in DRIVERS.items()}
    return {database: jar for database, jar in found.items() if jar is not None}


@pytest.fixture(scope="session")
def jdbc_drivers(driver_jars: dict[str, Path]) -> set[str]:
    """The databases that the session has a driver of, besides Derby."""
    return set(driver_jars)


@pytest.fixture(scope="session")
def spark(
    tmp_path_factory: pytest.TempPathFactory,
    needs_java: None,
    quick_python: None,
    driver_jars: dict[str, Path],
) -> Iterator[SparkSession]:
    """A local session with two threads that knows the source `jetstream`.

    Streaming queries are their test's to stop.
    """
    folder = tmp_path_factory.mktemp("spark")
    settings = SETTINGS | {"spark.sql.warehouse.dir": str(folder / "warehouse")}
    settings["spark.jars"] = ",".join(str(jar) for jar in driver_jars.values())
    settings["spark.driver.extraJavaOptions"] += f" -Dderby.system.home={folder}"
    with session("pyjs tests", master="local[2]", settings=settings, log=folder / "java.log") as started:
        yield started
