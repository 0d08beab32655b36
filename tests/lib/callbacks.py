"""How long each callback of a server's event loop holds the processor, and where it was.

A server that is started while the environment names a file in `PYJS_SLOW_CALLBACKS` runs on asyncio's own
loop, without uvloop: everything that such a loop does, reads and steps of tasks alike, goes through
`Handle._run`. Each callback that takes more than `LIMIT` seconds of its thread's processor time is added to
the file with samples of its stack. Other processes and waiting do not count; passes of the garbage collector
do. The product knows nothing of it: lib/preforked.py calls `measure` in the process that becomes the server.

Beside other work the same code takes up to four times the processor time that it takes alone. So a fixed
piece of work is done every few milliseconds of a slow callback, and at its end: as much as the piece is
slower than `PIECE_SECONDS`, as much less the time since the last piece counts. On a faster machine no time
counts more.

A test writes `with callbacks.bounded(server):` around what it does (fixture `callbacks`). With
`PYJS_BOUNDED=1` in the environment every test's servers are measured, and a test fails in which one held its
loop.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import gc
import json
import os
import signal
import socket
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from time import thread_time
from types import FrameType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .process import ServerProcess

FILE = "PYJS_SLOW_CALLBACKS"
EVERYWHERE = "PYJS_BOUNDED"
LIMIT = 0.010
# What the pieces of work cannot compensate: they see one moment of each few milliseconds.
ALLOWED = 2.5 * LIMIT
PIECE_SECONDS = 0.000_350  # in the middle of other work, on a machine with nothing else to do
_KEYS = [f"subject.{number}" for number in range(50_000)]  # more than fits into the nearest caches
_ROUNDS = 400
_SAMPLE_SECONDS = 0.004
_SAMPLES = 20
_DEPTH = 12
_TOLD = 5


@dataclass
class Slow:
    """One callback that held the loop.

    process: the server's id
    seconds: processor time, as it would be on a machine with nothing else to do
    raw: processor time as it was
    collector: the part of `raw` that the garbage collector took
    stacks: where it was, sampled from when it had taken `LIMIT`; innermost frame first
    """

    process: int
    name: str
    seconds: float
    raw: float
    collector: float = 0.0
    stacks: list[list[str]] = field(default_factory=list)

    def __str__(self) -> str:
        lines = [
            f"{self.seconds * 1000:.0f} ms in {self.name} ({self.raw * 1000:.0f} ms as it was, "
            f"collector {self.collector * 1000:.0f} ms), {len(self.stacks)} samples"
        ]
        seen = Counter(" < ".join(stack) for stack in self.stacks)
        lines += [f"  {count} x {text}" for text, count in seen.most_common(_TOLD)]
        return "\n".join(lines)


class Callbacks:
    """The slow callbacks of all servers that write to one file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._read = 0

    def new(self) -> list[Slow]:
        """Return the callbacks that were added since the last call."""
        if not self.path.exists():
            return []
        with self.path.open() as file:
            file.seek(self._read)
            lines = file.readlines()
            self._read = file.tell()
        return [Slow(**json.loads(line)) for line in lines]

    @contextlib.contextmanager
    def bounded(self, server: ServerProcess) -> Iterator[None]:
        """Check that nothing in the block holds the server's loop for long. The server must still run.

        Raises AssertionError with the callbacks that did. The reference is never measured.
        """
        fence(server)
        self.new()
        yield
        fence(server)
        assert server.process is not None
        check([slow for slow in self.new() if slow.process == server.process.pid])


def check(found: list[Slow]) -> None:
    """Raise AssertionError if one of these took `ALLOWED` or more."""
    blocking = [slow for slow in found if slow.seconds >= ALLOWED]
    assert not blocking, "the event loop was held:\n" + "\n".join(str(slow) for slow in blocking)


def fence(server: ServerProcess) -> None:
    """Return when every callback that runs now has ended: a later one has sent INFO."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as probe:
        probe.recv(1)


class Stopwatch:
    """The processor time of a part of the thread's work, as on a machine with nothing else to do."""

    def __init__(self) -> None:
        self.running = False
        self.raw = self.seconds = 0.0
        self._since = 0.0

    def start(self) -> None:
        self.raw = self.seconds = 0.0
        self.running = True
        self._since = thread_time()

    def stop(self) -> None:
        """Count the time since the last `weigh` as it is; call `weigh` first if it may be much."""
        self.running = False
        self._count(1.0)

    def weigh(self) -> None:
        """Count the time since the last call by how slow the machine is now."""
        began = thread_time()
        piece_of_work()
        took = thread_time() - began
        self._count(max(1.0, took / PIECE_SECONDS), began)
        self._since = thread_time()  # the piece itself does not count

    def so_far(self) -> float:
        return self.raw + thread_time() - self._since

    def _count(self, slowness: float, until: float | None = None) -> None:
        passed = (thread_time() if until is None else until) - self._since
        self.raw += passed
        self.seconds += passed / slowness


class _Meter:
    """The wrapper and the timers that `measure` installs in a process."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._watch = Stopwatch()
        self._stacks: list[list[str]] = []
        self._collecting = 0.0
        self._collector = 0.0

    def install(self) -> None:
        # uvloop's handles cannot be wrapped; without it the server uses asyncio's loop.
        sys.modules["uvloop"] = None  # type: ignore[assignment]
        gc.callbacks.append(self._collects)
        run = asyncio.Handle._run
        watch = self._watch

        def measured(handle: asyncio.Handle) -> None:
            self._collector = 0.0
            watch.start()
            try:
                run(handle)
            finally:
                if watch.so_far() > LIMIT:
                    watch.weigh()
                watch.stop()
                if watch.raw > LIMIT:
                    self._report(handle)

        asyncio.Handle._run = measured  # type: ignore[method-assign,assignment]
        # Counts processor time, so an idle server is not woken.
        signal.signal(signal.SIGPROF, self._sample)
        signal.setitimer(signal.ITIMER_PROF, _SAMPLE_SECONDS, _SAMPLE_SECONDS)
        atexit.register(signal.setitimer, signal.ITIMER_PROF, 0)  # the interpreter's end forgets handlers

    def _sample(self, _: int, frame: FrameType | None) -> None:
        watch = self._watch
        if not watch.running or watch.so_far() < _SAMPLE_SECONDS / 2:
            return  # most have ended before the next sample: a piece of work for each would cost a tenth
        watch.weigh()
        if watch.raw >= LIMIT and len(self._stacks) < _SAMPLES and (found := _stack(frame)):
            self._stacks.append(found)

    def _collects(self, phase: str, _: dict[str, int]) -> None:
        if phase == "start":
            self._collecting = thread_time()
        else:
            self._collector += thread_time() - self._collecting

    def _report(self, handle: asyncio.Handle) -> None:
        watch, name = self._watch, _name(handle._callback)  # type: ignore[attr-defined]
        stacks, self._stacks = self._stacks, []
        if watch.seconds <= LIMIT:
            return
        slow = Slow(os.getpid(), name, watch.seconds, watch.raw, self._collector, stacks)
        with self._path.open("a") as file:
            file.write(json.dumps(asdict(slow)) + "\n")


def measure(path: str) -> None:
    """From now on measure the callbacks of every asyncio loop of this process's main thread."""
    _Meter(path).install()


def piece_of_work() -> int:
    """Do some typical work of servers, always the same."""
    found: dict[str, int] = {}
    for number in range(_ROUNDS):
        key = f"{_KEYS[number * 7919 % len(_KEYS)]}.{number % 50}"
        found[key] = found.get(key, 0) + len(key)
    return len(found)


def _stack(frame: FrameType | None) -> list[str]:
    found: list[str] = []
    while frame is not None and len(found) < _DEPTH:
        file = Path(frame.f_code.co_filename)
        if file.parent.name == "asyncio":
            break
        found.append(f"{file.parent.name}/{file.stem}:{frame.f_lineno} {frame.f_code.co_name}")
        frame = frame.f_back
    return found


def _name(callback: Any) -> str:
    while isinstance(callback, partial):
        callback = callback.func
    owner = getattr(callback, "__self__", None)
    if isinstance(owner, asyncio.Task):
        return f"task {getattr(owner.get_coro(), '__qualname__', owner.get_name())}"
    return str(getattr(callback, "__qualname__", None) or repr(callback))
