"""How long each callback of a server's event loop holds the processor, and where it was.

A server that is started while the environment names a file in `PYJS_SLOW_CALLBACKS` runs on asyncio's own
loop, without uvloop: all that such a loop does, reads and steps of tasks alike, goes through `Handle._run`.
Each callback that takes more than `LIMIT` seconds of its thread's processor time is added to the file with
samples of its stack; other processes and waiting do not count, the collector's passes do. The product knows
nothing of it: lib/nursery.py calls `measure` in the process that becomes the server.

A test says `with callbacks.bounded(server):` around what it does (fixture `callbacks`). With `PYJS_BOUNDED=1`
in the environment every test's servers are measured, and a test fails in which one held its loop.
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
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .process import ServerProcess

FILE = "PYJS_SLOW_CALLBACKS"
EVERYWHERE = "PYJS_BOUNDED"
LIMIT = 0.010
# A test fails at ten times the promise: beside another worker's test the same work took up to four times the
# processor time that it takes alone. What is wrong by its kind takes a hundred times as much.
ALLOWED = 10 * LIMIT
_SAMPLE_SECONDS = 0.004
_SAMPLES = 20
_DEPTH = 12
_TOLD = 5


@dataclass
class Slow:
    """One callback that held the loop.

    process: the server's id. seconds: processor time; collector: what the garbage collector took of it.
    stacks: where it was, sampled from when it had taken `LIMIT`; innermost frame first.
    """

    process: int
    name: str
    seconds: float
    collector: float = 0.0
    stacks: list[list[str]] = field(default_factory=list)

    def __str__(self) -> str:
        lines = [
            f"{self.seconds * 1000:.0f} ms in {self.name} (collector {self.collector * 1000:.0f} ms), "
            f"{len(self.stacks)} samples"
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
        """Those that were added since the last call."""
        if not self.path.exists():
            return []
        with self.path.open() as file:
            file.seek(self._read)
            lines = file.readlines()
            self._read = file.tell()
        return [Slow(**json.loads(line)) for line in lines]

    @contextlib.contextmanager
    def bounded(self, server: ServerProcess, seconds: float = ALLOWED) -> Iterator[None]:
        """What happens here must not hold the server's loop for `seconds` at once. The server must still run.

        Raises AssertionError with the callbacks that did. The reference is never measured.
        """
        fence(server)
        self.new()
        yield
        fence(server)
        assert server.process is not None
        check([slow for slow in self.new() if slow.process == server.process.pid], seconds)


def check(found: list[Slow], seconds: float = ALLOWED) -> None:
    """Raise AssertionError if one of these took `seconds` or more."""
    held = [slow for slow in found if slow.seconds >= seconds]
    assert not held, "the event loop was held:\n" + "\n".join(str(slow) for slow in held)


def fence(server: ServerProcess) -> None:
    """Return when every callback that runs now has ended: a later one has sent INFO."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as probe:
        probe.recv(1)


class _Meter:
    """What `measure` puts into a process."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._began = 0.0  # 0: between two callbacks
        self._stacks: list[list[str]] = []
        self._collecting = 0.0
        self._collector = 0.0

    def install(self) -> None:
        # uvloop's handles cannot be wrapped; without it the server takes asyncio's loop.
        sys.modules["uvloop"] = None  # type: ignore[assignment]
        gc.callbacks.append(self._collects)
        run = asyncio.Handle._run

        def measured(handle: asyncio.Handle) -> None:
            self._collector = 0.0
            self._began = began = time.thread_time()
            try:
                run(handle)
            finally:
                self._began = 0.0
                if (seconds := time.thread_time() - began) > LIMIT:
                    self._tell(handle, seconds)

        asyncio.Handle._run = measured  # type: ignore[method-assign]
        # Counts processor time: an idle server is not woken.
        signal.signal(signal.SIGPROF, self._sample)
        signal.setitimer(signal.ITIMER_PROF, _SAMPLE_SECONDS, _SAMPLE_SECONDS)
        atexit.register(signal.setitimer, signal.ITIMER_PROF, 0)  # the interpreter's end forgets handlers

    def _sample(self, _: int, frame: FrameType | None) -> None:
        if not self._began or time.thread_time() - self._began < LIMIT:
            return
        if len(self._stacks) < _SAMPLES and (found := _stack(frame)):
            self._stacks.append(found)

    def _collects(self, phase: str, _: dict[str, int]) -> None:
        if phase == "start":
            self._collecting = time.thread_time()
        else:
            self._collector += time.thread_time() - self._collecting

    def _tell(self, handle: asyncio.Handle, seconds: float) -> None:
        slow = Slow(os.getpid(), _name(handle._callback), seconds, self._collector, self._stacks)  # type: ignore[attr-defined]
        self._stacks = []
        with self._path.open("a") as file:
            file.write(json.dumps(asdict(slow)) + "\n")


def measure(path: str) -> None:
    """From now on measure the callbacks of every asyncio loop of this process's main thread."""
    _Meter(path).install()


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
