"""Runs a pyjs command line in this process, as if typed in another directory with other variables.

Promises: its output is captured in the order in which it came. The directory, variables and streams of this
process are restored. None of the user's own settings reaches the command, apart from `variables`.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from ...cli import entry
from ...cli.errors import ExitCode, InterruptedRunError, UsageError

# Settings of the user that would change the server that a command connects to, or the folders that it writes
# to.
FOREIGN = ("NATS_", "NSC_", "NKEYS_", "XDG_")


class CommandOutput(NamedTuple):
    """The exit code of a command and its output, whole and as it is shown: with tables that fit."""

    code: int
    text: str
    shown: str


class Replies:
    """Answers to a command's questions, in lines as they stay on the screen: `? Storage backend file`."""

    def __init__(self, lines: str) -> None:
        self._left = [line.strip() for line in lines.splitlines() if line.strip()]

    def __call__(self, question: str) -> str:
        """Return what is typed at `question`. Raises UsageError if another question was expected."""
        expected = self._left.pop(0) if self._left else ""
        start = f"? {question}"
        if not f"{expected} ".startswith(f"{start} "):
            raise UsageError(f'"{question}" is asked where the answer is "{expected}"')
        return expected.removeprefix(start).strip()

    def end(self) -> None:
        """Raise CliError if an answer is left that no question asked for."""
        if self._left:
            raise UsageError(f'nobody asked for "{self._left[0]}"')


def variables(more: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a command: this process's without FOREIGN variables, and `more`."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
    return {**kept, **more}


def run(
    words: list[str],
    directory: Path,
    environment: Mapping[str, str],
    replies: str = "",
    *,
    columns: int = 0,
) -> CommandOutput:
    """Run `pyjs words…`. Raises InterruptedRunError on Ctrl-C during the command.

    columns: the width that tables are to fit when they are shown; 0 for none.
    """
    fitted: list[tuple[str, str]] = []
    answers = Replies(replies)
    sink = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    with _home(directory, environment), _streams(sink):
        try:
            code = entry.run(words, answers if replies else None, columns=columns, fitted=fitted)
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 1
    sink.seek(0)
    text = sink.read()
    if code == ExitCode.INTERRUPTED:
        raise InterruptedRunError
    if not code:
        answers.end()
    whole = text
    for shown, table in fitted:
        whole = whole.replace(shown, table, 1)
    return CommandOutput(code, whole, text)


@contextlib.contextmanager
def _home(directory: Path, environment: Mapping[str, str]) -> Iterator[None]:
    kept = dict(os.environ)
    os.environ.clear()
    os.environ.update(environment)
    try:
        with contextlib.chdir(directory):
            yield
    finally:
        os.environ.clear()
        os.environ.update(kept)


@contextlib.contextmanager
def _streams(sink: io.TextIOWrapper) -> Iterator[None]:
    typed = sys.stdin
    sys.stdin = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    try:
        with contextlib.redirect_stdout(sink), contextlib.redirect_stderr(sink):
            yield
    finally:
        sys.stdin = typed
