"""Running `pyjs` as a user does: its words, its output, its exit code.

`run` runs a command in this process, which is fast and shows its leaks; `process` and `terminal` start one.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pyjs.cli import entry

from .eventually import TooEarlyError
from .terminal import Terminal

PYJS = (sys.executable, "-c", "from pyjs.cli.entry import main; main()")
# Variables that would change where a command connects, or how its output looks; tests start without them.
CLEARED = (
    *("NATS_URL", "NATS_USER", "NATS_PASSWORD", "NATS_CONTEXT", "NATS_CREDS", "NATS_TOKEN", "NATS_NKEY"),
    *("COLUMNS", "NO_COLOR"),
)


class _Captured(io.TextIOWrapper):
    """A text stream over bytes, as stdout is, that remembers what was written; on request as a terminal."""

    def __init__(self, *, terminal: bool = False) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8", write_through=True)
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal

    def text(self) -> str:
        self.flush()
        written: bytes = self.buffer.getvalue()  # type: ignore[attr-defined]
        return written.decode()


@dataclass
class Result:
    """What a command left behind."""

    code: int
    out: str
    err: str


class CommandFailedError(TooEarlyError):
    """A command that must succeed has failed; within a condition that is waited for, it is run again."""


class Cli:
    """Runs commands with a home directory of their own; `flags` are put in front of every command line."""

    def __init__(self, home: Path, *flags: str) -> None:
        self.home = home
        self.flags = flags

    def environment(self, more: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return the environment of a command."""
        kept = {name: value for name, value in os.environ.items() if name not in CLEARED}
        return {
            **kept,
            "HOME": str(self.home),
            "XDG_CONFIG_HOME": str(self.home / ".config"),
            "XDG_STATE_HOME": str(self.home / ".local" / "state"),
            "TZ": "UTC",
            **(more or {}),
        }

    def with_flags(self, *flags: str) -> Cli:
        """Return the same with these flags in front instead."""
        return Cli(self.home, *flags)

    def run(
        self,
        *words: str,
        env: Mapping[str, str] | None = None,
        stdin: str = "",
        folder: Path | None = None,
        columns: int = 0,
    ) -> Result:
        """Run `pyjs words…` in this process, without a terminal, in the home directory or another folder.

        columns: stdout says that it is a terminal of that width, as `COLUMNS` does; nothing is asked there.
        """
        out, err = _Captured(terminal=columns > 0), _Captured()
        if columns:
            env = {"COLUMNS": str(columns), "PAGER": "", "TERM": "xterm", **(env or {})}
        kept, here, streams = dict(os.environ), Path.cwd(), (sys.stdin, sys.stdout, sys.stderr)
        os.environ.clear()
        os.environ.update(self.environment(env))
        os.chdir(folder or self.home)
        sys.stdin = io.TextIOWrapper(io.BytesIO(stdin.encode()))
        sys.stdout, sys.stderr = out, err
        try:
            code = entry.run([*self.flags, *words])
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 1
        finally:
            sys.stdin, sys.stdout, sys.stderr = streams
            os.chdir(here)
            os.environ.clear()
            os.environ.update(kept)
        return Result(code, out.text(), err.text())

    def process(
        self, *words: str, env: Mapping[str, str] | None = None, stdin: str = "", seconds: float = 60.0
    ) -> Result:
        """Run `pyjs words…` in a process of its own, without a terminal."""
        done = subprocess.run(
            [*PYJS, *self.flags, *words],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=seconds,
            env=self.environment(env),
            cwd=self.home,
            check=False,
        )
        return Result(done.returncode, done.stdout, done.stderr)

    def ok(self, *words: str, env: Mapping[str, str] | None = None) -> str:
        """Run a command that must succeed; return its stdout. Raises CommandFailedError."""
        result = self.run(*words, env=env)
        if result.code != 0:
            raise CommandFailedError(f"{words}: exit {result.code}\n{result.out}\n{result.err}")
        return result.out

    def terminal(self, words: Sequence[str], env: Mapping[str, str] | None = None, **size: int) -> Terminal:
        """Start `pyjs words…` on a terminal, of `columns` and `rows` if they are given."""
        return Terminal([*self.flags, *words], env=self.environment(env), cwd=self.home, **size)
