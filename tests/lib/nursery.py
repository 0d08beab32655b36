"""Processes of pyjs-server that need not import anything: one process has done it, and forks for each start.

A server so begun is a process like any other: it has its own id, takes signals and can be killed. What a
start by the command line itself does is tested in tests/server/main.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import gc
import importlib
import itertools
import json
import os
import pkgutil
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

PAUSE = 0.005
PRELOADED = ("pyjs.protocol", "pyjs.store", "pyjs.server")
# A plug-in of pytest, and what only other programs run.
LEFT_OUT = ("pyjs.server.embed", "pyjs.server.config.docs")


class Child:
    """A forked process, to be used as subprocess.Popen is; the nursery reaps it when it is asked for."""

    def __init__(self, nursery: Nursery, pid: int) -> None:
        self._nursery = nursery
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """The exit code, negative for a signal; None while it runs."""
        if self.returncode is None:
            self.returncode = self._nursery.ask(do="poll", pid=self.pid)["code"]
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the exit code. Raises subprocess.TimeoutExpired."""
        deadline = time.monotonic() + (timeout if timeout is not None else float("inf"))
        while (code := self.poll()) is None:
            if time.monotonic() > deadline:
                raise subprocess.TimeoutExpired("pyjs-server", timeout or 0)
            time.sleep(PAUSE)
        return code

    def send_signal(self, number: int) -> None:
        """Send a signal, unless the process is known to have ended."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        """SIGKILL."""
        self.send_signal(signal.SIGKILL)


class Nursery:
    """The side of the tests. Its process ends, and all it has forked, with the process that made it."""

    def __init__(self) -> None:
        self._socket, far = socket.socketpair()
        with far:
            self._process = subprocess.Popen(
                [sys.executable, "-P", __file__, str(far.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[far.fileno()],
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
            )
        self._answers = self._socket.makefile("r")
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        atexit.register(self.close)

    def start(self, arguments: Sequence[str], log: Path, directory: Path) -> Child:
        """Begin `pyjs-server arguments…` in `directory`; what it prints is added to `log`."""
        request = {"arguments": [*arguments], "log": str(log), "directory": str(directory)}
        return Child(self, self.ask(do="start", env=dict(os.environ), **request)["pid"])

    def ask(self, **request: Any) -> dict[str, Any]:
        """One question and its answer."""
        with self._lock:
            number = next(self._numbers)
            self._socket.sendall(json.dumps({"number": number, **request}).encode() + b"\n")
            while line := self._answers.readline():
                answer: dict[str, Any] = json.loads(line)
                # An earlier answer is left over where a test's time was up in the middle of a question.
                if answer["number"] == number:
                    return answer
        raise EOFError("the nursery has ended")

    def close(self) -> None:
        """End it with all that is left in it."""
        self._answers.close()
        self._socket.close()
        self._process.wait()


@functools.cache
def nursery() -> Nursery:
    """The nursery of this process."""
    return Nursery()


def _preload() -> None:
    for package in PRELOADED:
        found = pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}.")
        for module in found:
            if not module.name.startswith(LEFT_OUT) and not module.name.endswith("__main__"):
                importlib.import_module(module.name)
    gc.collect()
    gc.freeze()


def _tend(door: socket.socket) -> None:
    """Answer until nobody asks any more."""
    children: set[int] = set()
    with door.makefile("r") as requests:
        for line in requests:
            request = json.loads(line)
            number = request.pop("number")
            if request["do"] == "start":
                pid = os.fork()
                if pid == 0:
                    os.close(door.fileno())
                    _become(request)
                children.add(pid)
                answer = {"pid": pid}
            else:
                answer = {"code": _reap(request["pid"], children)}
            door.sendall(json.dumps({"number": number, **answer}).encode() + b"\n")
    for pid in children:
        os.kill(pid, signal.SIGKILL)


def _reap(pid: int, children: set[int]) -> int | None:
    ended, status = os.waitpid(pid, os.WNOHANG)
    if not ended:
        return None
    children.discard(pid)
    return os.waitstatus_to_exitcode(status)


def _become(request: dict[str, Any]) -> NoReturn:
    """Be the server in this forked process."""
    from pyjs.server import main

    code = 1
    try:
        log = os.open(request["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.close(log)
        os.chdir(request["directory"])
        os.environ.clear()
        os.environ.update(request["env"])
        time.tzset()
        sys.argv = ["pyjs-server", *request["arguments"]]
        main.main()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # the end of the process, as the interpreter would tell it
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    _preload()
    _tend(socket.socket(fileno=int(sys.argv[1])))
