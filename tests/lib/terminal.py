"""`pyjs` on a terminal of its own: what it shows, and somebody to type.

stdin and stdout are a pseudo terminal whose screen pyte keeps (tall enough that nothing scrolls away); stderr
is a file read separately. Nothing here sleeps: reading waits for output until a deadline.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import tempfile
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyte

from .preforked import process_pool

ROWS, COLUMNS = 400, 180
SECONDS = 40.0
QUIET = 0.01  # a question is drawn in one go: nothing more comes
HINTS = re.compile(r"\s*(\[\? for help\]|\[arrows[^\]]*\]|\((?:[^()]*)\))\s*$")


class Screen(pyte.Screen):
    """A screen that answers the questions a program asks its terminal."""

    def __init__(self, master: int, columns: int, rows: int) -> None:
        super().__init__(columns, rows)
        self.master = master

    def write_process_input(self, data: str) -> None:
        """Write the terminal's own answers, such as where the cursor is."""
        os.write(self.master, data.encode())

    def erase_in_line(self, how: int = 0, private: bool = False) -> None:
        """Erase as terminals do: behind the last column of a row the cursor is still on it."""
        self.cursor.x = min(self.cursor.x, self.columns - 1)
        super().erase_in_line(how, private)

    def erase_in_display(self, how: int = 0, *args: Any, **more: Any) -> None:
        """Erase as terminals do: behind the last column of a row the cursor is still on it."""
        self.cursor.x = min(self.cursor.x, self.columns - 1)
        super().erase_in_display(how, *args, **more)

    def row(self, number: int) -> str:
        """Return what a row shows, without blanks at its end (`display` draws all rows, which takes long)."""
        cells: Mapping[int, Any] = self.buffer.get(number, {})
        return "".join(cells[column].data for column in range(max(cells, default=-1) + 1)).rstrip()

    def rows(self, first: int = 0) -> list[str]:
        """Return the rows from `first` on, without blank ones at the end."""
        shown = [self.row(number) for number in range(first, max(self.buffer, default=-1) + 1)]
        while shown and not shown[-1]:
            shown.pop()
        return shown


class Terminal:
    """A running command; use it as a context manager so that it ends."""

    def __init__(
        self,
        words: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: Path,
        columns: int = COLUMNS,
        rows: int = ROWS,
    ) -> None:
        self.master, slave = pty.openpty()
        self.screen = Screen(self.master, columns, rows)
        self.resize(columns, rows)
        self.stream = pyte.ByteStream(self.screen)
        self.stderr = tempfile.NamedTemporaryFile()  # noqa: SIM115 - closed by __exit__
        self.process = process_pool("pyjs").start(
            words,
            Path(self.stderr.name),
            cwd,
            env={**env, "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1"},
            terminal=os.ttyname(slave),
        )
        os.close(slave)
        self.open = True
        self._still = False  # nothing has arrived since the check that nothing more comes

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.master)
        self.stderr.close()

    def read(self, seconds: float) -> bool:
        """Read what is written within `seconds`; return False if there was nothing or the end."""
        if not self.open or not select.select([self.master], [], [], seconds)[0]:
            return False
        try:
            data = os.read(self.master, 65536)
        except OSError:  # the other side is closed
            data = b""
        if not data:
            self.open = False
            return False
        self.stream.feed(data)
        self._still = False
        return True

    def type(self, text: str) -> None:
        """Press keys."""
        self._still = False
        os.write(self.master, text.encode())

    def resize(self, columns: int, rows: int) -> None:
        """Give the terminal another size, as a user does by pulling at its window."""
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.screen.resize(rows, columns)

    def shows(self, fits: Callable[[str], object]) -> list[str]:
        """Wait until what the terminal shows fits; return its lines."""
        deadline = time.monotonic() + SECONDS
        while not fits("\n".join(self.lines())):
            assert self.read(max(0.0, deadline - time.monotonic())), "\n".join(self.lines())
        return self.lines()

    def lines(self) -> list[str]:
        """Return what the terminal shows, without blank lines at the end."""
        return self.screen.rows()

    def question(self, fits: Callable[[str], object] = bool) -> str:
        """Return the question that waits for an answer, as it is shown; empty if the command has ended.

        An answered question is shown until the next one comes, so `fits` recognizes the one that is awaited.
        If it does not come in time, what is shown instead is returned.
        """
        deadline = time.monotonic() + SECONDS
        while True:
            asked = self._asked()
            if asked and fits(asked):
                if self._still or not self.read(QUIET):
                    self._still = True
                    return asked
            elif not self.read(max(0.0, deadline - time.monotonic())):
                if asked or not self.open:
                    return asked
                raise AssertionError("nothing asked, nothing shown:\n" + "\n".join(self.lines()))

    def _asked(self) -> str:
        row = self._asked_at()
        return self.screen.row(row)[2:] if row >= 0 else ""

    def _asked_at(self) -> int:
        # A list has its question some lines above the cursor; an answered question has no hint.
        for number in range(self.screen.cursor.y, max(-1, self.screen.cursor.y - 30), -1):
            line = self.screen.row(number)
            if line.startswith("? ") and (number == self.screen.cursor.y or "[arrows" in line):
                return number
        return -1

    def answer(self, question: str, text: str) -> None:
        """Wait for `question` and answer it."""
        shown = self.question(lambda asked: question in readings(asked))
        assert question in readings(shown), f"asked {shown!r}, expected {question!r}:\n" + "\n".join(
            self.lines()
        )
        row = self._asked_at()
        self.type(text + "\r")
        deadline = time.monotonic() + SECONDS
        while not self._answered(row, shown):
            assert self.read(max(0.0, deadline - time.monotonic())) or not self.open, "\n".join(self.lines())

    def _answered(self, row: int, shown: str) -> bool:
        """Return whether the question in `row` has become its answer, or a complaint."""
        line = self.screen.row(row)
        if not self.open or (line and not line.startswith("? " + shown)):
            return True
        return bool(line) and bool(self.screen.rows(row + 1)) and "[arrows" not in shown

    def finish(self, seconds: float = SECONDS) -> int:
        """Wait for the end of the command; return its exit code."""
        deadline = time.monotonic() + seconds
        while self.open and time.monotonic() < deadline:
            self.read(max(0.0, deadline - time.monotonic()))
        return self.process.wait(max(0.1, deadline - time.monotonic()))

    def errors(self) -> str:
        """Return what was written to stderr so far."""
        self.stderr.seek(0)
        return self.stderr.read().decode()


def readings(shown: str) -> list[str]:
    """Return the forms of a shown question, the longest first: whole, and without the hints at its end."""
    found = [shown]
    while HINTS.search(found[-1]):
        found.append(HINTS.sub("", found[-1]))
    return found
