"""The data source `jetstream` in Spark, beside loops of nats-py on the same stream in the same run.

`python -m benchmarks.spark PORT PID SCALE` measures one server and prints a JSON object; `section` runs it
for both and returns the lines of a page. Spark has two threads (local[2]). Neither its start nor that of its
Python is counted: a small read and a small write go before. The result is how many times as fast as nats-py
it is, the processor time of all that take part, and that a worker's memory does not grow with what it reads.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import load, servers

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SIZES = {128: 1_000_000, 4096: 200_000}  # bytes of a message, and how many are read
SMALL = min(SIZES)  # of what is written, and of what the memory is measured with
WRITTEN = 500_000
PULLED, SEQUENTIAL = 50_000, 3_000  # enough for nats-py's rate
IDLE_SECONDS = 20.0
TICKS = os.sysconf("SC_CLK_TCK")
MEMORY = "max_mem: 2G"
# As `pyjs pipeline run` has it, and docs/pipeline.md says for others.
SETTINGS = {
    "spark.python.daemon.module": "pyjs.pipeline.daemon",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
WORKER = "pyspark"  # in the command line of Spark's Python processes


# -- processes below this one, by Linux's /proc


def below() -> list[int]:
    """Return the processes that this one and its children have started."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has just ended
        parents.setdefault(int(fields[1]), []).append(int(entry.parent.name))
    found, left = [], [os.getpid()]
    while left:
        children = parents.get(left.pop(), [])
        found += children
        left += children
    return found


def is_python(pid: int) -> bool:
    """Return whether a process is one of Spark's Python ones; otherwise it is Java."""
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
    except OSError:
        return False
    return WORKER in command and "java" not in command.split("\0")[0]


def cpu() -> dict[int, tuple[bool, float]]:
    """Return (is it Python or else Java, processor seconds so far) of each process of Spark, by its id."""
    found = {}
    for pid in below():
        try:
            found[pid] = (is_python(pid), seconds_of(pid))
        except OSError:
            continue
    return found


def seconds_of(pid: int) -> float:
    """Return the processor seconds of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def used(before: dict[int, tuple[bool, float]], python: bool) -> float:
    """Return the processor seconds since `before`, of processes that still run."""
    now = [(pid, seconds) for pid, (kind, seconds) in cpu().items() if kind == python]
    return sum(seconds - before.get(pid, (python, 0.0))[1] for pid, seconds in now)


@contextmanager
def peak() -> Iterator[list[int]]:
    """Provide a list whose item is, at the end, the most resident bytes that a Python worker ever had."""
    seen, over = [0], threading.Event()

    def look() -> None:
        while not over.wait(0.02):
            for pid in below():
                try:
                    status = Path(f"/proc/{pid}/status").read_text()
                except OSError:
                    continue
                high = [line for line in status.splitlines() if line.startswith("VmHWM:")]
                if high and is_python(pid):
                    seen[0] = max(seen[0], int(high[0].split()[1]) * 1024)

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield seen
    finally:
        over.set()
        thread.join()


# -- nats-py


async def pull_loop(url: str, size: int, count: int) -> float:
    """Return messages/s of a pull consumer without acks, 1,000 at a time."""
    import nats
    from nats.js.api import AckPolicy, ConsumerConfig

    client = await nats.connect(url)
    config = ConsumerConfig(ack_policy=AckPolicy.NONE)
    subscription = await client.jetstream().pull_subscribe(
        f"bench.{size}", stream=f"BENCH{size}", config=config
    )
    seen, began = 0, time.perf_counter()
    while seen < count:
        seen += len(await subscription.fetch(1000, timeout=30))
    taken = time.perf_counter() - began
    await client.close()
    return seen / taken


def pulled(url: str, size: int, count: int) -> float:
    """Return what `pull_loop` returns."""
    return asyncio.run(pull_loop(url, size, count))


async def publish_loop(url: str, count: int) -> float:
    """Return messages/s if each publish is awaited before the next."""
    import nats

    client = await nats.connect(url)
    jetstream, body = client.jetstream(), load.payload(SMALL)
    began = time.perf_counter()
    for _ in range(count):
        await jetstream.publish("bench.sequential", body)
    taken = time.perf_counter() - began
    await client.close()
    return count / taken


# -- Spark


def table(spark: SparkSession, url: str, size: int, end: int, **options: str) -> DataFrame:
    """Return the first `end` - 1 messages of a size as a table."""
    stream = f"BENCH{size}"
    reader = spark.read.format("jetstream").options(servers=url, stream=stream, **options)
    return reader.option("endingOffsets", json.dumps({stream: end})).load()


def drained(frame: DataFrame) -> float:
    """Return the seconds that it takes to compute every row with all of its columns."""
    began = time.perf_counter()
    frame.write.format("noop").mode("overwrite").save()
    return time.perf_counter() - began


def costs(work: Callable[[], float], server: int, count: int) -> dict[str, float]:
    """Return rows/s of work that returns its seconds, and processor s per million rows of all that take part.

    server: its process id
    """
    spark_before, server_before = cpu(), seconds_of(server)
    taken = work()
    million = count / 1e6
    return {
        "rate": count / taken,
        "java": used(spark_before, python=False) / million,
        "python": used(spark_before, python=True) / million,
        "server": (seconds_of(server) - server_before) / million,
    }


def read(spark: SparkSession, url: str, server: int, size: int, count: int) -> dict[str, float]:
    """Return the costs of a batch read, after a small one for which both of Spark's Python workers start."""
    drained(table(spark, url, size, 1000, minPartitions="4"))
    found = costs(lambda: drained(table(spark, url, size, count + 1, minPartitions="4")), server, count)
    whole = table(spark, url, size, count + 1).count()
    if whole != count:
        raise RuntimeError(f"{whole} rows of {count}")
    return found


def write(spark: SparkSession, url: str, server: int, count: int) -> dict[str, float]:
    """Return the costs of a batch write of two tasks, each row acknowledged, after a small one."""

    def saved(rows: int) -> float:
        frame = spark.range(0, rows, 1, 2).selectExpr(
            "'bench.written' as subject", f"cast(lpad(cast(id as string), {SMALL}, 'x') as binary) as data"
        )
        began = time.perf_counter()
        frame.write.format("jetstream").mode("append").options(servers=url, stream="WRITTEN").save()
        return time.perf_counter() - began

    saved(1000)
    return costs(lambda: saved(count), server, count)


def memory(spark: SparkSession, url: str, counts: tuple[int, int]) -> list[float]:
    """Return the most MiB of a worker after a task has read so many rows, the smaller count first."""
    found = []
    for count in counts:
        with peak() as most:
            drained(table(spark, url, SMALL, count + 1))
        found.append(most[0] / 2**20)
    return found


def idle(spark: SparkSession, url: str) -> list[float]:
    """Return how many percent of a processor an idle query costs: Spark's Python, and its Java."""
    frame = spark.readStream.format("jetstream").options(servers=url, stream=f"BENCH{SMALL}").load()
    with tempfile.TemporaryDirectory(prefix="bench-spark-") as folder:
        query = frame.writeStream.format("noop").option("checkpointLocation", folder).start()
        try:
            deadline = time.monotonic() + 60
            while not query.lastProgress and time.monotonic() < deadline:
                time.sleep(0.1)
            time.sleep(2)
            before, began = cpu(), time.monotonic()
            time.sleep(IDLE_SECONDS)
            taken = time.monotonic() - began
            return [100 * used(before, python) / taken for python in (True, False)]
        finally:
            query.stop()


def measure(port: int, server: int, scale: float) -> dict[str, Any]:
    """Return all figures of one server, which has this port and process id."""
    from pyspark.sql import SparkSession

    url = f"nats://127.0.0.1:{port}"
    counts = {size: int(count * scale) for size, count in SIZES.items()}
    wire = load.Wire(port)
    subjects = {f"BENCH{size}": f"bench.{size}" for size in SIZES}
    for name, subject in (subjects | {"WRITTEN": "bench.written", "SEQ": "bench.sequential"}).items():
        config = {"name": name, "subjects": [subject], "storage": "file", "allow_direct": True}
        wire.request(f"$JS.API.STREAM.CREATE.{name}", config)
    for size, count in counts.items():
        load.publish_acknowledged(wire, size, count, 1000, stream=f"BENCH{size}", subject=b"bench.%d" % size)
    # PySpark finds the source by itself, as for everyone who has installed pyjs.
    builder = SparkSession.builder.appName("pyjs benchmark").master("local[2]")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    steps: dict[str, Callable[[], Any]] = {
        "memory": lambda: memory(spark, url, (counts[SMALL] // 10, counts[SMALL]))
    }
    for size, count in counts.items():
        steps[f"read {size}"] = partial(read, spark, url, server, size, count)
        steps[f"pull {size}"] = partial(pulled, url, size, int(PULLED * scale))
    steps |= {
        "write": lambda: write(spark, url, server, int(WRITTEN * scale)),
        "sequential": lambda: asyncio.run(publish_loop(url, int(SEQUENTIAL * scale))),
        "idle": lambda: idle(spark, url),
    }
    found: dict[str, Any] = {}
    try:
        for name, step in steps.items():
            found[name] = step()
            print(name, found[name], file=sys.stderr, flush=True)
    finally:
        spark.stop()
    return found


# -- the page

Figure = Callable[[dict[str, Any]], float]


def at(step: str, figure: str | int | None = None) -> Figure:
    """Return how to find a figure of a step; the step itself is the figure if it has only one."""
    return lambda found: float(found[step] if figure is None else found[step][figure])


def ratio(step: str, other: str) -> Figure:
    """Return how to find how many times as fast a step of Spark is as another."""
    return lambda found: float(found[step]["rate"] / found[other])


def costs_of(step: str) -> Iterator[tuple[str, Figure]]:
    """Yield the rows with the processor time of a step."""
    for who, name in (("java", "Java"), ("python", "Python"), ("server", "server")):
        yield f"{name}, processor s per million rows", at(step, who)


def rows() -> Iterator[tuple[str, Figure]]:
    """Yield the rows of the table: a title, and the figure among those of a server."""
    for size in SIZES:
        step, pull = f"read {size}", f"pull {size}"
        yield f"batch read, {size:,} B, rows/s", at(step, "rate")
        yield from costs_of(step)
        yield f"nats-py pull loop, {size:,} B, messages/s", at(pull)
        yield f"**read, {size:,} B, Spark / nats-py**", ratio(step, pull)
    yield f"batch write, {SMALL} B, rows/s", at("write", "rate")
    yield from costs_of("write")
    yield "nats-py publish and await, messages/s", at("sequential")
    yield "**write, Spark / nats-py**", ratio("write", "sequential")
    yield "worker's most memory, a tenth of the rows in one task, MiB", at("memory", 0)
    yield "worker's most memory, all rows in one task, MiB", at("memory", 1)
    yield "idle stream query, Python, % of a core", at("idle", 0)
    yield "idle stream query, Java, % of a core", at("idle", 1)


def section(scale: float, number: Callable[[float], str]) -> list[str]:
    """Return the lines of the page, which are printed too; `number` formats a figure."""
    taken = {}
    for name in ("pyjs", "reference"):
        with servers.start(name, MEMORY) as server:
            command = [sys.executable, "-m", "benchmarks.spark"]
            command += [str(server.port), str(server.process.pid), str(scale)]
            out = subprocess.check_output(command, cwd=Path(__file__).parents[1], text=True)
            taken[name] = json.loads(out.splitlines()[-1])
    many = " and ".join(f"{int(count * scale):,} messages of {size:,} B" for size, count in SIZES.items())
    lines = [
        "",
        "## Spark",
        "",
        f"`python -m benchmarks --only spark`: reads {many},",
        f"and writes {int(WRITTEN * scale):,} of {SMALL} B,",
        "with file streams and local[2]. Spark's start is not counted.",
        "nats-py reads the same stream in the same run, without acks; it writes one message after the other.",
        "",
        "| what | pyjs | reference |",
        "|---|---:|---:|",
    ]
    lines += [
        f"| {title} | {number(of(taken['pyjs']))} | {number(of(taken['reference']))} |"
        for title, of in rows()
    ]
    print("\n".join(lines), flush=True)
    return lines


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]))))
