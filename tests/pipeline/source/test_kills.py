"""A stream query that is killed six times ends with exactly the stream's messages in its Parquet sink.

One time a whole driver, a process of its own with its Java, is killed (SIGKILL). The other times, because a
driver takes seconds to start, Java is stopped (SIGSTOP) and what is on the disk at that moment is copied:
that is what a SIGKILL would leave. Then the query is ended, all that it did after that moment is thrown away,
and the next one starts from the copy. The files that appeared decide when to kill: anywhere within a batch.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from lib.eventually import eventually
from lib.jetstream import ALONE, JetStream
from lib.process import ServerProcess
from lib.spark_driver import PER_BATCH, java_of, start

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KILLS = 6
SECONDS = 120.0
FILES = 20  # of some two batches
TESTS = Path(__file__).parents[2]


def files(folder: Path) -> set[Path]:
    """The files of a query, temporary ones too."""
    return {Path(place) / name for place, _, names in os.walk(folder) for name in names}


def more_files(folder: Path, count: int, ended: Callable[[], object]) -> None:
    """Wait until so many files have appeared; `ended` gives how what writes them has ended, None before."""
    before = files(folder)
    eventually(lambda: len(files(folder) - before) >= count or ended() is not None, SECONDS)
    assert ended() is None, ended()


def states(pid: int) -> set[str]:
    """What the threads of a process do, in `ps`'s letters."""
    threads = ["-L"] if sys.platform == "linux" else []
    done = subprocess.run(
        ["ps", *threads, "-o", "state=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return {letters[0] for letters in done.stdout.split()}


def running_tasks(spark: SparkSession) -> int:
    """How many tasks run, those of a query that was stopped, too."""
    tracker = spark.sparkContext._jsc.sc().statusTracker()
    return sum(int(executor.numRunningTasks()) for executor in tracker.getExecutorInfos())


@contextmanager
def driver(server: ServerProcess, stream: str, folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A process of its own for the query, which waits to be told to start it."""
    command = [sys.executable, "-m", "lib.spark_driver", server.url, stream, str(folder)]
    with (
        (folder.parent / "driver.log").open("ab") as log,
        subprocess.Popen(
            command, cwd=TESTS, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
        ) as process,
    ):
        try:
            yield process
        finally:
            process.kill()


def kill_driver(process: subprocess.Popen[str], folder: Path, count: int) -> None:
    """Have a driver run the query, and kill it and its Java."""
    assert process.stdin is not None
    assert process.stdout is not None
    java = int(process.stdout.readline())
    try:
        process.stdin.write("start\n")
        process.stdin.flush()
        more_files(folder, count, process.poll)
    finally:
        os.kill(java, signal.SIGKILL)
        process.kill()
    eventually(lambda: states(java) <= {"Z"})


def stop_and_copy(spark: SparkSession, server: ServerProcess, stream: str, folder: Path, count: int) -> None:
    """Run the query here, and leave of it what was on the disk at one moment."""
    copy = folder.with_name("copy")
    java = java_of(spark)
    query = start(spark, server.url, stream, folder)
    try:
        more_files(folder, count, query.exception)
        os.kill(java, signal.SIGSTOP)
        try:
            eventually(lambda: states(java) == {"T"})
            shutil.copytree(folder, copy)
        finally:
            os.kill(java, signal.SIGCONT)
    finally:
        query.stop()
    eventually(lambda: not running_tasks(spark))
    # Not removed: a task that was ended may still be clearing up behind itself, what no batch has.
    folder.rename(folder.with_name(f"ended-{query.runId}"))
    copy.rename(folder)


def clear(folder: Path) -> None:
    """Start again where not even the first batch is on record, but a part of that record is.

    Spark does not start with such a checkpoint (STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY).
    """
    offsets = folder / "checkpoint" / "offsets"
    if offsets.exists() and any(offsets.iterdir()) and not (offsets / "0").exists():
        assert not list(folder.rglob("*.parquet"))
        shutil.rmtree(folder / "checkpoint")


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
    rng = random.Random(seed)
    driven = rng.randrange(KILLS // 2, KILLS)  # whose driver starts while the others are played
    server, folder = launch(ALONE), tmp_path / "query"
    folder.mkdir()
    total = 0
    with JetStream.of(server) as js, driver(server, "KILLS", folder) as process:
        js.create("KILLS", subjects=["kills"], storage="file")
        for kill in range(KILLS):
            js.fill("kills", 4 * PER_BATCH)
            total += 4 * PER_BATCH
            count = rng.randint(1, FILES)
            if kill == driven:
                kill_driver(process, folder, count)
            else:
                stop_and_copy(spark, server, "KILLS", folder, count)
            clear(folder)
    start(spark, server.url, "KILLS", folder, per_batch=total, availableNow=True).awaitTermination()
    rows = spark.read.parquet(str(folder / "rows")).select("sequence", "data").orderBy("sequence").collect()
    wanted = [(n + 1, b"%d" % (n % (4 * PER_BATCH) + 1)) for n in range(total)]
    assert [(row.sequence, bytes(row.data)) for row in rows] == wanted, f"seed {seed}"
