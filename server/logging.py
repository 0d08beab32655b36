"""The server's log: the interface that its parts use, a log that drops everything, and the real one.

The real log writes lines in nats-server's format, `[pid] 2026/11/21 01:02:03.123456 [INF] text`. Each line is
one write, so that lines of several processes in one file do not mix. It writes to a file, which is appended
to, reopened on demand and rotated at a size, to syslog, or to standard error, in colours if that is a
terminal. Once it is open it never raises: a log that cannot be written does not stop a server.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from .config import Options
    from .syslog import Syslog

_COLOURS = {"INF": "32", "DBG": "36", "WRN": "0;93", "ERR": "31", "FTL": "31", "TRC": "33"}


class Logger(Protocol):
    """Where the parts of a server report what happens. Its methods never fail."""

    def debug(self, text: str) -> None:
        """Log a detail for developers."""

    def info(self, text: str) -> None:
        """Log an ordinary event."""

    def warning(self, text: str) -> None:
        """Log something that an administrator should look at."""

    def error(self, text: str) -> None:
        """Log an error."""

    def trace(self, text: str) -> None:
        """Log protocol traffic."""


class NullLogger:
    """A log that drops everything."""

    def debug(self, text: str) -> None:
        """Drop the text."""

    info = warning = error = trace = debug


class ServerLogger:
    """Writes lines at six levels. Callers check `debug_on` and `trace_on` before they build a costly text."""

    def __init__(self, options: Options) -> None:
        """Open the log that the options describe. Raises OSError if the log file cannot be opened."""
        self._file = ""
        self._syslog: Syslog | None = None
        self._syslog_address: str | None = None
        self._descriptor = 2
        self._size = 0
        self._second = 0
        self._stamp = ""
        self.configure(options)

    def configure(self, options: Options) -> None:
        """Apply the options, at start and after a reload.

        Raises OSError, and changes nothing, if the log file cannot be opened, or syslog not be reached. A log
        file comes before syslog.
        """
        address = _syslog_address(options)
        made: Syslog | None = None
        if address is not None and address != self._syslog_address:
            from .syslog import Syslog

            made = Syslog(address)
        if options.log_file != self._file:
            self._open(options.log_file)
        if address != self._syslog_address:
            self._use(made, address)
        self.debug_on = options.debug
        self.trace_on = options.trace
        self._times = options.logtime
        self._utc = options.logtime_utc
        self._limit = options.log_size_limit
        self._keep = options.log_max_num
        self._prefix = f"[{os.getpid()}] "
        self._colours = not self._file and sys.stderr is not None and sys.stderr.isatty()
        self._second = 0

    def info(self, text: str) -> None:
        """Log an ordinary event."""
        self._write("INF", text)

    def warning(self, text: str) -> None:
        """Log something that an administrator should look at."""
        self._write("WRN", text)

    def error(self, text: str) -> None:
        """Log an error."""
        self._write("ERR", text)

    def fatal(self, text: str) -> None:
        """Log why the server ends. The caller must end it."""
        self._write("FTL", text)

    def debug(self, text: str) -> None:
        """Log a detail for developers, if the options ask for that."""
        if self.debug_on:
            self._write("DBG", text)

    def trace(self, text: str) -> None:
        """Log protocol traffic, if the options ask for that."""
        if self.trace_on:
            self._write("TRC", text)

    def reopen(self) -> None:
        """Reopen the file after it was moved away. Without a file, only say in the log that there is none."""
        if not self._file:
            self.info("File log re-open ignored, not a file logger")
            return
        try:
            self._open(self._file)
        except OSError as error:
            self.error(f"Error reopening the log file {self._file}: {error.strerror or error}")
            return
        self.info("File log re-opened")

    def close(self) -> None:
        """Close the file or syslog. Later lines go to standard error."""
        self._close_file()
        self._use(None, None)

    def _close_file(self) -> None:
        if self._file:
            os.close(self._descriptor)
        self._file, self._descriptor = "", 2

    def _use(self, syslog: Syslog | None, address: str | None) -> None:
        """Use a syslog from now on; None for none."""
        if self._syslog is not None:
            self._syslog.close()
        self._syslog, self._syslog_address = syslog, address

    def _open(self, file: str) -> None:
        descriptor, size = 2, 0
        if file:
            descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o640)
            size = os.fstat(descriptor).st_size
        self._close_file()
        self._file, self._descriptor, self._size = file, descriptor, size

    def _write(self, level: str, text: str) -> None:
        if self._syslog is not None:
            self._syslog.send(level, text)
            return
        if self._colours:
            level = f"\x1b[{_COLOURS[level]}m{level}\x1b[0m"
        line = f"{self._prefix}{self._time() if self._times else ''}[{level}] {text}\n"
        data = line.encode("utf-8", "backslashreplace")
        try:
            os.write(self._descriptor, data)
        except OSError:
            return
        self._size += len(data)
        if self._file and 0 < self._limit <= self._size:
            self._rotate()

    def _time(self) -> str:
        now = time.time_ns()
        second, rest = divmod(now, 1_000_000_000)
        if second != self._second:
            parts = time.gmtime(second) if self._utc else time.localtime(second)
            self._second, self._stamp = second, time.strftime("%Y/%m/%d %H:%M:%S", parts)
        return f"{self._stamp}.{rest // 1000:06} "

    def _rotate(self) -> None:
        """Rename the file to one with the time in its name, open a new one, and delete the oldest backups."""
        now = time.time_ns()
        stamp = time.strftime("%Y.%m.%d.%H.%M.%S", time.localtime(now // 1_000_000_000))
        backup = f"{self._file}.{stamp}.{now % 1_000_000_000:09}"
        try:
            Path(self._file).rename(backup)
            self._open(self._file)
        except OSError as error:
            self._limit = 0  # do not try again, as it would fail on every line
            self.error(f"Unable to rotate the log file, will not try again: {error.strerror or error}")
            return
        self.info(f'Rotated log, backup saved as "{backup}"')
        if self._keep <= 0:
            return
        name = Path(self._file).name
        backups = sorted(p for p in Path(self._file).parent.glob(f"{name}.*") if _is_backup(p.name, name))
        # The new file counts as one of those kept.
        for old in backups[: max(0, len(backups) - (self._keep - 1))]:
            old.unlink(missing_ok=True)


def _syslog_address(options: Options) -> str | None:
    """Return the address of the syslog to use, "" for the system's own; None for none."""
    if options.log_file:
        return None
    return options.remote_syslog or ("" if options.syslog else None)


def _is_backup(name: str, base: str) -> bool:
    parts = name[len(base) + 1 :].split(".")
    return len(parts) == 7 and all(p.isdecimal() for p in parts)
