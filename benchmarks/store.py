"""`python -m benchmarks.store`: what the stores cost. Prints one line per figure; `--quick` does a tenth.

Rates are of one thread of CPython on an otherwise idle machine. They are the best of several rounds, because
other work on the machine can only make them worse. Commit figures depend on the disk: `--directory` selects
it.
"""

from __future__ import annotations

import argparse
import gc
import shutil
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

from pyjs.store.consumer import FileConsumer
from pyjs.store.consumer_state import ConsumerState
from pyjs.store.file import FileStream
from pyjs.store.memory import MemoryStream
from pyjs.store.stream import StreamStore

BODY = b"x" * 128
SUBJECTS = {"1 subject": 1, "1,000 subjects": 1000, "100,000 subjects": 100_000}
OPENED = """
import sys, time
from pyjs.store.file import FileStream
begin = time.perf_counter()
stream = FileStream(sys.argv[1])
print(time.perf_counter() - begin, stream.messages)
"""


def best(rounds: int, measure: Callable[[], float]) -> float:
    return min(measure() for _ in range(rounds))


def show(title: str, figure: str) -> None:
    print(f"{title:<64} {figure:>20}")


def names(count: int) -> list[str]:
    return [f"orders.{number % 97}.{number}" for number in range(count)]


def append(store: StreamStore, subjects: list[str], count: int) -> float:
    """Return the seconds per append."""
    length = len(subjects)
    begin = time.perf_counter()
    for number in range(count):
        store.append(subjects[number % length], b"", BODY, number)
    return (time.perf_counter() - begin) / count


def appends(folder: Path, count: int) -> None:
    for title, subjects in SUBJECTS.items():
        many = names(subjects)

        def one(many: list[str] = many) -> float:
            stream = FileStream(str(folder / "append"))
            seconds = append(stream, many, count)
            stream.delete()
            return seconds

        show(f"file: append 128 B, {title}", f"{best(3, one) * 1e6:.2f} µs")
    show(
        "memory: append 128 B, 1 subject",
        f"{best(3, lambda: append(MemoryStream(), names(1), count)) * 1e6:.2f} µs",
    )


def commits(folder: Path, count: int) -> None:
    for batch in (1, 100, 1000, 10_000):
        stream = FileStream(str(folder / "commit"))
        stream.append("a", b"", BODY, 1)
        stream.commit_sync()
        rounds = max(3, min(200, count // batch))
        spent = 0.0
        for _ in range(rounds):
            append(stream, ["orders.new"], batch)
            begin = time.perf_counter()
            stream.commit_sync()
            spent += time.perf_counter() - begin
        per = spent / rounds
        show(f"file: commit of {batch:,}", f"{per * 1e3:.2f} ms, {batch / per:,.0f}/s")
        stream.delete()


def opening(folder: Path, count: int) -> None:
    for title, subjects in SUBJECTS.items():
        directory = str(folder / "open")
        stream = FileStream(directory)
        many = names(subjects)
        for _ in range(10):
            append(stream, many, count // 10)
            stream.commit_sync()
        stream.close()
        seconds = best(3, lambda directory=directory: opened(directory))
        show(f"file: open {count:,} messages, {title}", f"{seconds:.2f} s")
        # After kill -9 the last block has no sidecar and is read completely.
        max(Path(directory).glob("*.idx")).unlink()
        show(f"file: the same after kill -9, {title}", f"{opened(directory):.2f} s")
        gc.collect()
        tracemalloc.start()
        stream = FileStream(directory)
        gc.collect()
        held = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        show(f"file: memory per message, {title}", f"{held / count:.0f} B")
        reading(stream, count)
        stream.delete()


def opened(directory: str) -> float:
    ran = subprocess.run(
        [sys.executable, "-c", OPENED, directory], check=True, capture_output=True, text=True
    )
    return float(ran.stdout.split()[0])


def reading(stream: FileStream, count: int) -> None:
    def read() -> float:
        begin = time.perf_counter()
        seq = 1
        for _ in range(min(count, 100_000)):
            message = stream.next((), seq)
            assert message is not None
            seq = message.seq + 1
        return (time.perf_counter() - begin) / min(count, 100_000)

    show("file: read on with next(), from the disk's cache", f"{best(2, read) * 1e6:.2f} µs")
    for filters in ((), ("orders.0.0",), ("orders.>",), ("orders.7.*",), ("orders.1.*", "orders.2.>")):
        begin = time.perf_counter()
        stream.count(filters, 1)
        first = time.perf_counter() - begin
        rounds = 20_000
        begin = time.perf_counter()
        for number in range(rounds):
            stream.count(filters, number * (count // rounds))
        counted = (time.perf_counter() - begin) / rounds
        begin = time.perf_counter()
        for number in range(rounds):
            stream.next_seq(filters, number * (count // rounds))
        found = (time.perf_counter() - begin) / rounds
        title = f"file: {filters or 'no filter'}: first count, then count, next_seq"
        show(title, f"{first * 1e3:.1f} ms, {counted * 1e6:.1f}, {found * 1e6:.1f} µs")


def removing(folder: Path, count: int) -> None:
    for size in (count // 10, count):
        stream = FileStream(str(folder / "remove"))
        append(stream, names(1000), size)
        stream.commit_sync()
        rounds = count // 20
        begin = time.perf_counter()
        for _ in range(rounds):
            stream.remove_first()
        per = (time.perf_counter() - begin) / rounds
        show(f"file: remove_first of {size:,}", f"{per * 1e6:.2f} µs")
        begin = time.perf_counter()
        stream.commit_sync()
        show(f"file: commit of {rounds:,} such removals", f"{(time.perf_counter() - begin) * 1e3:.1f} ms")
        begin = time.perf_counter()
        for seq in range(stream.first_seq + 1000, stream.first_seq + 1000 + 2 * rounds, 2):
            stream.remove(seq)
        per = (time.perf_counter() - begin) / rounds
        show(f"file: remove in the middle of {size:,}", f"{per * 1e6:.2f} µs")
        stream.commit_sync()
        begin = time.perf_counter()
        while (work := stream.begin_maintenance()) is not None:
            work.run()
            stream.finish(work)
        show("file: compaction after that", f"{(time.perf_counter() - begin) * 1e3:.0f} ms")
        stream.delete()


def consumers(folder: Path, count: int) -> None:
    for pending in (100, 10_000):
        store = FileConsumer(str(folder / "consumer"))
        held = {seq: (seq, seq) for seq in range(1, pending + 1)}
        store.save(ConsumerState((pending, pending), (0, 0), dict(held), {}))
        store.commit_sync()
        rounds = max(3, count // 5000)
        begin = time.perf_counter()
        for number in range(1, rounds + 1):
            del held[number]
            held[pending + number] = (pending + number, number)
            store.save(ConsumerState((pending + number, pending + number), (number, number), dict(held), {}))
            store.commit_sync()
        per = (time.perf_counter() - begin) / rounds
        show(f"consumer: save and sync with {pending:,} pending", f"{per * 1e3:.2f} ms")
        store.delete()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--directory", type=Path)
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(dir=arguments.directory))
    count = 100_000 if arguments.quick else 1_000_000
    try:
        appends(folder, count // 5)
        commits(folder, count // 10)
        opening(folder, count)
        removing(folder, count)
        consumers(folder, count)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
