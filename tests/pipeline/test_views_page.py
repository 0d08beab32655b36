"""Views, SQL, declarative pipelines and Spark Connect as docs/pipeline.md shows them, run on Spark."""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest
from lib import pyjs_server
from lib.eventually import eventually
from lib.jetstream import JetStream
from lib.process import ServerProcess
from lib.spark_settings import QUICK
from pyjs.pipeline import table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "pipeline.md").read_text("utf-8")
SECTION = PAGE.partition("## Views, SQL and notebooks\n")[2].partition("\n## ")[0]
ADDRESS = "nats://127.0.0.1:4222"
SECONDS = 150
PROJECT = """
name: shop
storage: {storage}
libraries:
  - glob:
      include: transformations/**
configuration:
  spark.sql.shuffle.partitions: "1"
"""


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    found = pyjs_server.start('listen: 127.0.0.1:<client>\njetstream { store_dir: "<store>" }\n')
    with JetStream.of(found) as js:
        js.create("ORDERS", subjects=["orders.>"])
        for kind, count in (("tea", 1000), ("coffee", 500)):
            for _ in range(count):
                js.wire.pub(f"orders.{kind}", "{}")
        eventually(lambda: js.state("ORDERS")["messages"] == 1500)
    yield found
    found.stop()


def blocks(kind: str, server: ServerProcess) -> list[str]:
    """The section's programs of a kind, for this server."""
    found = re.findall(rf"```{kind}\n(.*?)```", SECTION, re.DOTALL)
    assert found
    assert all(ADDRESS in program for program in found)
    return [program.replace(ADDRESS, server.url) for program in found]


def run(*command: str, folder: Path) -> str:
    """Run a program of Spark's or Python's, with quick settings; return what it says."""
    settings = QUICK | {"spark.sql.warehouse.dir": f"{folder}/warehouse"}
    (folder / "spark-defaults.conf").write_text(
        "".join(f"{key} {value}\n" for key, value in settings.items())
    )
    paths = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {
        "PYSPARK_PYTHON": sys.executable,
        "PATH": paths,
        "SPARK_CONF_DIR": str(folder),
    }
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def test_a_view_is_made_again_by_table_and_otherwise_keeps_what_it_had(
    spark: SparkSession, server: ServerProcess
) -> None:
    program = blocks("python", server)[0]
    (printed,) = re.findall(r"```\n(\+-.*?)```", SECTION, re.DOTALL)
    with contextlib.redirect_stdout(io.StringIO()) as said:
        exec(compile(program, "notebook.py", "exec"), {"__name__": "__main__"})
    assert said.getvalue().strip() == printed.strip()
    (statement,) = blocks("sql", server)
    spark.sql(statement.strip().removesuffix(";").replace(" orders\n", " frozen\n"))

    def count(view: str) -> int:
        return int(spark.sql(f"SELECT count(*) FROM {view}").collect()[0][0])

    assert (count("orders"), count("frozen")) == (1500, 1500)
    with JetStream.of(server) as js:
        js.create("MORE", subjects=["more"])
        js.fill("more", 3)
        view: dict[str, Any] = {"servers": server.url, "view": "more"}
        assert table(spark, "MORE", **view).count() == 3
        js.fill("more", 2)
        assert count("more") == 3
        assert table(spark, "MORE", **view).count() == count("more") == 5
        exact = {"servers": server.url, "stream": "MORE", "startingOffsets": '{"MORE": 1}'}
        frame = spark.read.format("jetstream").options(**exact).load()
        assert frame.count() == 5
        js.call("STREAM.PURGE.MORE", {"seq": 4})
        with pytest.raises(Exception, match=r"sequences 1 to 3 are gone.*load it again"):
            frame.count()


def test_a_table_of_the_catalog_is_refused(spark: SparkSession, server: ServerProcess) -> None:
    options = f"servers '{server.url}', stream 'ORDERS'"
    with pytest.raises(Exception, match="use CREATE TEMPORARY VIEW"):
        spark.sql(f"CREATE TABLE kept USING jetstream OPTIONS ({options})")


def test_a_declarative_pipeline_of_spark(needs_java: None, server: ServerProcess, tmp_path: Path) -> None:
    pytest.importorskip("grpc")
    (tmp_path / "spark-pipeline.yml").write_text(PROJECT.format(storage=(tmp_path / "storage").as_uri()))
    (tmp_path / "transformations").mkdir()
    (tmp_path / "transformations" / "orders.py").write_text(blocks("python", server)[1])
    run(str(Path(sys.executable).parent / "spark-pipelines"), "run", folder=tmp_path)
    assert pq.read_table(tmp_path / "warehouse" / "orders").num_rows == 1500
    counts = pq.read_table(tmp_path / "warehouse" / "by_subject").to_pylist()
    assert {row["subject"]: row["count"] for row in counts} == {"orders.tea": 1000, "orders.coffee": 500}


def test_spark_connect(needs_java: None, server: ServerProcess, tmp_path: Path) -> None:
    pytest.importorskip("grpc")
    program = blocks("python", server)[2].replace("local[*]", "local[1]")
    assert "1500 orders\n" in run(sys.executable, "-c", program, folder=tmp_path)
