"""A Python program of the demo as its own process, with this interpreter: it works when it is told to.

It starts in the background, so that what it needs is there when it is told for the first time. It ends, with
the Java process and the workers, when its stage does.
"""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

from ..stage import DemoError, Stage, unbroken

SECONDS = 400.0  # it takes 10 on an idle machine, 20 the first time
END_SECONDS = 15.0
LOG = "spark.log"
TAIL = 15
# A short run does not benefit from Java's second compiler.
JAVA = {"JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}


class Program:
    """The running program; made by `started`."""

    def __init__(self, stage: Stage, name: str, process: subprocess.Popen[str]) -> None:
        self._stage, self._name, self._process = stage, name, process
        self._lines: queue.Queue[str | None] = queue.Queue()  # None: there will be no more
        self._reader = threading.Thread(target=self._read, name=f"demo {name}", daemon=True)
        self._reader.start()

    def ask(self, last: str) -> str:
        """Send it a line, show and return what it prints, up to a line that begins with `last`.

        Raises DemoError, with the end of its output and of Spark's, if it ends, or takes longer than SECONDS.
        """
        stream = self._process.stdin
        assert stream is not None
        with contextlib.suppress(OSError):  # what it says before it ended is more telling
            stream.write("\n")
            stream.flush()
        with self._stage.console.status("Spark works …"):
            said = self._answer(last)
        self._stage.output(said)
        return said

    def _answer(self, last: str) -> str:
        end, said = time.monotonic() + SECONDS, ""
        while True:
            try:
                line = self._lines.get(timeout=max(0.0, end - time.monotonic()))
            except queue.Empty:
                raise DemoError(f"{self._name} took longer than {SECONDS:.0f} s{self._log()}") from None
            if line is None:
                self._stage.output(said)
                code = self._process.wait()
                raise DemoError(f"{self._name} ended with exit code {code}{self._log()}")
            said += line
            if line.startswith(last):
                return said

    def end(self) -> None:
        """Stop the program if it still runs, with the Java process and the workers: they are its session."""
        with unbroken():
            for number in (0, signal.SIGINT, signal.SIGKILL):
                if number:
                    with contextlib.suppress(ProcessLookupError):
                        os.killpg(self._process.pid, number)
                elif self._process.stdin is not None:
                    with contextlib.suppress(OSError):
                        self._process.stdin.close()  # upon which it ends by itself
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(END_SECONDS)
                    break
            self._reader.join(END_SECONDS)
            if self._process.stdout is not None and not self._reader.is_alive():
                self._process.stdout.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def _log(self) -> str:
        path = self._stage.directory / LOG
        lines = path.read_text(errors="replace").splitlines()[-TAIL:] if path.exists() else []
        return "\n".join((f"; the end of {LOG}:", *lines)) if lines else ""


@contextlib.contextmanager
def started(stage: Stage, name: str, *arguments: str) -> Iterator[Program]:
    """Start `python name …` in the demo's folder, show the command, and end it after the block."""
    stage.command(f"python {name} {' '.join(arguments)}", f"in the background, Spark's log in {LOG}")
    with unbroken():
        process = subprocess.Popen(
            [sys.executable, name, *arguments],
            cwd=stage.directory,
            env={**JAVA, **stage.environment(), "PYTHONUNBUFFERED": "1", "TMPDIR": str(stage.directory)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        program = Program(stage, name, process)
    try:
        yield program
    finally:
        program.end()
