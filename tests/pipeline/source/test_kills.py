"""A stream query that is killed ten times ends with exactly the stream's messages in its Parquet sink.

Twice a whole driver, a process of its own with its Java, is killed (SIGKILL). The other times, for a driver
takes seconds to start, Java is stopped (SIGSTOP) and what lies on the disk at that moment is copied: that is
what a SIGKILL would leave. Then the query is ended, all that it did after that moment is thrown away, and the
next one starts from the copy. When to kill is told by the files that appeared: anywhere within a batch.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from lib.eventually import eventually
from lib.jetstream import ALONE, JetStream
from lib.process import ServerProcess
from lib.spark_driver import PER_BATCH, java_of, start

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KILLS, DRIVERS = 10, 2
SECONDS = 120.0
FILES = 20  # of some two batches
TESTS = Path(__file__).parents[2]


def files(folder: Path) -> set[Path]:
    """The files of a query, temporary ones too."""
    return {Path(place) / name for place, _, names in os.walk(folder) for name in names}


def more_files(folder: Path, count: int, runs: Callable[[], bool]) -> None:
    """Wait until so many files have appeared, or what writes them does not run any more."""
    before = files(folder)
    eventually(lambda: len(files(folder) - before) >= count or not runs(), SECONDS)
    assert runs()


def state(pid: int) -> str:
    """What a process does, in `ps`'s letters."""
    return subprocess.run(
        ["ps", "-o", "state=", "-p", str(pid)], capture_output=True, text=True
    ).stdout.strip()


def running_tasks(spark: SparkSession) -> int:
    """How many tasks run, those of a query that was stopped, too."""
    tracker = spark.sparkContext._jsc.sc().statusTracker()  # type: ignore[union-attr]
    return sum(int(executor.numRunningTasks()) for executor in tracker.getExecutorInfos())


def kill_driver(server: ServerProcess, stream: str, folder: Path, count: int) -> None:
    """Run the query in a process of its own, and kill that and its Java."""
    command = [sys.executable, "-m", "lib.spark_driver", server.url, stream, str(folder)]
    with (folder.parent / "driver.log").open("ab") as log:
        driver = subprocess.Popen(command, cwd=TESTS, stdout=subprocess.PIPE, stderr=log, text=True)
    killed = [driver.pid]
    try:
        assert driver.stdout is not None
        killed.insert(0, int(driver.stdout.readline()))
        more_files(folder, count, lambda: driver.poll() is None)
    finally:
        for pid in killed:
            os.kill(pid, signal.SIGKILL)
        driver.communicate()
    eventually(lambda: state(killed[0]) in {"", "Z"})


def stop_and_copy(spark: SparkSession, server: ServerProcess, stream: str, folder: Path, count: int) -> None:
    """Run the query here, and leave of it what was on the disk at one moment."""
    copy = folder.with_name("copy")
    java = java_of(spark)
    query = start(spark, server.url, stream, folder)
    try:
        more_files(folder, count, lambda: not query.exception())
        os.kill(java, signal.SIGSTOP)
        try:
            eventually(lambda: state(java).startswith("T"))
            shutil.copytree(folder, copy)
        finally:
            os.kill(java, signal.SIGCONT)
    finally:
        query.stop()
    eventually(lambda: not running_tasks(spark))
    # Not removed: a task that was ended may still be clearing up behind itself, what no batch has.
    folder.rename(folder.with_name(f"ended-{query.runId}"))
    copy.rename(folder)


@pytest.mark.timeout(900)
def test_a_query_that_is_killed_has_every_message_once(
    spark: SparkSession,
    launch: Callable[[str], ServerProcess],
    implementation: str,
    tmp_path: Path,
) -> None:
    if implementation == "reference":
        pytest.skip("one server will do: what is tested is the checkpoint")
    seed = random.randrange(2**32)
    sys.stdout.write(f"seed {seed}\n")
    dice = random.Random(seed)
    drivers = set(dice.sample(range(KILLS), DRIVERS))
    server, folder = launch(ALONE), tmp_path / "query"
    folder.mkdir()
    total = 0
    with JetStream.of(server) as js:
        js.create("KILLS", subjects=["kills"], storage="file")
        for kill in range(KILLS):
            js.fill("kills", 4 * PER_BATCH)
            total += 4 * PER_BATCH
            count = dice.randint(1, FILES)
            if kill in drivers:
                kill_driver(server, "KILLS", folder, count)
            else:
                stop_and_copy(spark, server, "KILLS", folder, count)
    start(spark, server.url, "KILLS", folder, per_batch=total, availableNow=True).awaitTermination()
    rows = spark.read.parquet(str(folder / "rows")).select("sequence", "data").orderBy("sequence").collect()
    wanted = [(n + 1, b"%d" % (n % (4 * PER_BATCH) + 1)) for n in range(total)]
    assert [(row.sequence, bytes(row.data)) for row in rows] == wanted, f"seed {seed}"
