"""Runs a Python program of the demo as its own process, with this interpreter, and stops it with the demo."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys

from ..stage import DemoError, Stage, unbroken

SECONDS = 400.0  # it takes 20 on an idle machine
END_SECONDS = 15.0
LOG = "spark.log"
TAIL = 15
# A short run does not benefit from Java's second compiler.
JAVA = {"JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}


def run(stage: Stage, name: str, *arguments: str) -> str:
    """Run `python name …` in the demo's folder, show it, and return its output.

    Raises DemoError, with the end of its output and of Spark's, if it fails or takes longer than SECONDS.
    """
    stage.command(f"python {name} {' '.join(arguments)}", f"Spark's log in {LOG}")
    with unbroken():
        process = subprocess.Popen(
            [sys.executable, name, *arguments],
            cwd=stage.directory,
            env={**JAVA, **stage.environment(), "PYTHONUNBUFFERED": "1", "TMPDIR": str(stage.directory)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
    with process:
        try:
            with stage.console.status("Spark works …"):
                said, _ = process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            raise DemoError(f"{name} did not end within {SECONDS:.0f} s{_log(stage)}") from None
        finally:
            _end(process)
    stage.output(said)
    if process.returncode != 0:
        raise DemoError(f"{name} ended with exit code {process.returncode}{_log(stage)}")
    return said


def _end(process: subprocess.Popen[str]) -> None:
    """Stop the program if it still runs, with the Java process and the workers, which are in its session."""
    if process.poll() is not None:
        return
    with unbroken():
        for number in (signal.SIGINT, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(END_SECONDS)
                return


def _log(stage: Stage) -> str:
    path = stage.directory / LOG
    lines = path.read_text(errors="replace").splitlines()[-TAIL:] if path.exists() else []
    return "\n".join((f"; the end of {LOG}:", *lines)) if lines else ""
