"""Processes of a program that need not import anything: one process has done that, and forks for each start.

Such a process is like any other: it has its own id, takes signals and can be killed. What a start by the
command line itself does is tested in tests/server/main and tests/cli.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
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
import termios
import threading
import time
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

PAUSE = 0.005
# By program: where it starts, and what is imported beforehand: packages of pyjs with all submodules, and what
# else it imports when it runs.
PROGRAMS = {
    "pyjs-server": (
        "pyjs.server.main",
        ("pyjs.protocol", "pyjs.store", "pyjs.server", "uvloop", "ctypes", "encodings.idna"),
    ),
    "pyjs": ("pyjs.cli.entry", ("pyjs.protocol", "pyjs.keys", "pyjs.cli", "pyjs.plugins", "questionary")),
}
# A plug-in of pytest, and what only other programs run or takes long.
LEFT_OUT = (
    "pyjs.server.embed",
    "pyjs.server.config.docs",
    "pyjs.plugins.pipeline",
    "pyjs.plugins.demo.pipeline",
)


class Child:
    """A forked process, used like subprocess.Popen; the pool reaps it when its exit code is requested."""

    def __init__(self, process_pool: ProcessPool, program: str, pid: int) -> None:
        self._process_pool = process_pool
        self._program = program
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Return the exit code, negative for a signal; None while it runs."""
        if self.returncode is None:
            self.returncode = self._process_pool.ask(do="poll", pid=self.pid)["code"]
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the exit code and return it. Raises subprocess.TimeoutExpired."""
        deadline = time.monotonic() + (timeout if timeout is not None else float("inf"))
        while (code := self.poll()) is None:
            if time.monotonic() > deadline:
                raise subprocess.TimeoutExpired(self._program, timeout or 0)
            time.sleep(PAUSE)
        return code

    def send_signal(self, number: int) -> None:
        """Send a signal, unless the process is known to have ended."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        """Send SIGKILL."""
        self.send_signal(signal.SIGKILL)


class ProcessPool:
    """The tests' side. Its process ends, with all that it has forked, when the process that made it does."""

    def __init__(self, program: str) -> None:
        self._program = program
        self._socket, far = socket.socketpair()
        with far:
            self._process = subprocess.Popen(
                [sys.executable, "-P", __file__, program, str(far.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[far.fileno()],
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
            )
        self._answers = self._socket.makefile("r")
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        atexit.register(self.close)

    def start(
        self,
        arguments: Sequence[str],
        log: Path,
        directory: Path,
        *,
        env: Mapping[str, str] = os.environ,
        terminal: str = "",
    ) -> Child:
        """Start the program in `directory`; its output is appended to `log`.

        terminal: the path of the terminal that it reads from and prints to; then only errors go to `log`. It
            is open in the new process when this returns.
        """
        request = {"arguments": [*arguments], "log": str(log), "directory": str(directory)}
        answer = self.ask(do="start", env=dict(env), terminal=terminal, **request)
        return Child(self, self._program, answer["pid"])

    def ask(self, **request: Any) -> dict[str, Any]:
        """Ask one question and return its answer."""
        with self._lock:
            number = next(self._numbers)
            self._socket.sendall(json.dumps({"number": number, **request}).encode() + b"\n")
            while line := self._answers.readline():
                answer: dict[str, Any] = json.loads(line)
                # An earlier answer is left over if a test's time was up in the middle of a question.
                if answer["number"] == number:
                    return answer
        raise EOFError("the pool of processes has ended")

    def close(self) -> None:
        """End the process with everything that is left in it."""
        self._answers.close()
        self._socket.close()
        self._process.wait()


@functools.cache
def process_pool(program: str) -> ProcessPool:
    """Return this process's pool for a program."""
    return ProcessPool(program)


def _preload(program: str) -> None:
    for package in PROGRAMS[program][1]:
        imported = importlib.import_module(package)
        if not package.startswith("pyjs."):
            continue
        for module in pkgutil.walk_packages(imported.__path__, f"{package}."):
            if not module.name.startswith(LEFT_OUT) and not module.name.endswith("__main__"):
                importlib.import_module(module.name)
    _make_methods()
    if program == "pyjs-server":  # reading options makes what every start would make: patterns
        importlib.import_module("pyjs.server.config.flags").parse(["--port", "4222"]).options({})
    else:  # and the first question makes key bindings
        importlib.import_module("pyjs.cli.prompt").questions()
        importlib.import_module("prompt_toolkit.application.application").load_key_bindings()
    gc.collect()
    gc.freeze()


def _make_methods() -> None:
    """Have each `__init__` made that a dataclass makes at its first call: a sixth of what a start costs."""
    for name, module in list(sys.modules.items()):
        for each in [*vars(module).values()] if name.startswith("pyjs.") else []:
            own: Any = vars(each).get("__init__") if isinstance(each, type) else None
            if getattr(own, "__module__", "") == "pyjs.protocol.lazy_dataclass":
                with contextlib.suppress(TypeError):  # it is made, and then refuses the argument
                    own(None, no_field_has_this_name=True)


def _tend(program: str, listener: socket.socket) -> None:
    """Answer requests until the socket is closed, then kill the children."""
    children: set[int] = set()
    with listener.makefile("r") as requests:
        for line in requests:
            request = json.loads(line)
            number = request.pop("number")
            if request["do"] == "start":
                opened = _opened(request)
                pid = os.fork()
                if pid == 0:
                    os.close(listener.fileno())
                    _become(program, request, opened)
                for file in set(opened):
                    os.close(file)
                children.add(pid)
                answer: dict[str, int | None] = {"pid": pid}
            else:
                answer = {"code": _reap(request["pid"], children)}
            listener.sendall(json.dumps({"number": number, **answer}).encode() + b"\n")
    for pid in children:
        os.kill(pid, signal.SIGKILL)


def _reap(pid: int, children: set[int]) -> int | None:
    ended, status = os.waitpid(pid, os.WNOHANG)
    if not ended:
        return None
    children.discard(pid)
    return os.waitstatus_to_exitcode(status)


def _opened(request: dict[str, Any]) -> tuple[int, int, int]:
    """Return the files for stdin, stdout and stderr."""
    log = os.open(request["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    if request["terminal"]:
        terminal = os.open(request["terminal"], os.O_RDWR | os.O_NOCTTY)
        return terminal, terminal, log
    return os.open(os.devnull, os.O_RDONLY), log, log


def _attach(opened: tuple[int, int, int], *, terminal: bool) -> None:
    for number, file in enumerate(opened):
        os.dup2(file, number)
    for file in set(opened):
        os.close(file)
    if terminal:
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        # As the interpreter makes them for a terminal.
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - as long as the process
        sys.stdout = open(1, "w", 1, encoding="utf-8", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", 1, encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115


def _measure(path: str) -> None:
    """Measure callbacks, see lib/callbacks.py."""
    sys.path.append(str(Path(__file__).parent))
    importlib.import_module("callbacks").measure(path)


def _become(program: str, request: dict[str, Any], opened: tuple[int, int, int]) -> NoReturn:
    """Become the program, in this forked process."""
    main = importlib.import_module(PROGRAMS[program][0]).main

    code = 1
    try:
        _attach(opened, terminal=bool(request["terminal"]))
        os.chdir(request["directory"])
        os.environ.clear()
        os.environ.update(request["env"])
        time.tzset()
        sys.argv = [program, *request["arguments"]]
        if program == "pyjs-server" and (measured := os.environ.get("PYJS_SLOW_CALLBACKS")):
            _measure(measured)
        main()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # the end of the process, as the interpreter would report it
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    _preload(sys.argv[1])
    _tend(sys.argv[1], socket.socket(fileno=int(sys.argv[2])))
