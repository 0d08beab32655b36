"""Syslog: sends lines of the log to the system's syslog or, by UDP, TCP or a Unix socket, to another one.

Promises that a line never waits and never raises once it is open: what the other side does not take is lost,
and the next line that gets through says how many were. A TCP connection that is lost is made again, at most
once a second. The forms are those of Go's log/syslog: with the local time for the system's own, by RFC 5424's
time and with the name of this host for others.
"""

from __future__ import annotations

import os
import socket
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

_LOCAL = ("/dev/log", "/var/run/syslog", "/var/run/log")
_DAEMON = 3 << 3  # the facility of the system's own; others get 0
_SEVERITIES = {"FTL": 2, "ERR": 3, "WRN": 4, "INF": 5, "TRC": 5, "DBG": 7}
_LONGEST = 32 << 10  # bytes of a line
_AGAIN_SECONDS = 1.0
_CONNECT_SECONDS = 2.0
_PORT = 514


class SyslogError(OSError):
    """Syslog cannot be reached, or its address is none."""


class Syslog:
    """A connection to one syslog; see the module."""

    def __init__(self, address: str = "") -> None:
        """Connect to `address`, `udp://host:port`, `tcp://host:port` or `unix:///path`; "" is the system's.

        Raises SyslogError.
        """
        self._remote = bool(address)
        self._tag = f"{Path(sys.argv[0]).name or 'pyjs-server'}[{os.getpid()}]"
        self._host = socket.gethostname() if self._remote else ""
        self._kind, self._target = _parsed(address) if address else (0, "")
        self._socket: socket.socket | None = None
        self._lost = 0
        self._retry_at = 0.0
        try:
            self._found = self._addresses()  # once: to look up a name may take long
            self._open(_CONNECT_SECONDS)
        except OSError as error:
            raise SyslogError(f"error connecting to syslog: {error.strerror or error}") from error

    def send(self, level: str, text: str) -> None:
        """Send one line of a level (INF, WRN …), or count it as lost."""
        if self._lost and self._ready():
            lost, self._lost = self._lost, 0
            self._put("WRN", f"{lost} lines of the log could not be sent to syslog")
        self._put(level, text)

    def close(self) -> None:
        """Close the connection."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _ready(self) -> bool:
        """Return whether there is a connection; begin to make one if it is time for that."""
        if self._socket is None and time.monotonic() >= self._retry_at:
            self._retry_at = time.monotonic() + _AGAIN_SECONDS
            try:
                self._open(0)
            except OSError:
                return False
        return self._socket is not None

    def _put(self, level: str, text: str) -> None:
        if not self._ready():
            self._lost += 1
            return
        assert self._socket is not None
        line = self._line(level, text)
        try:
            sent = self._socket.send(line)
        except (BlockingIOError, InterruptedError):
            self._lost += 1  # the other side does not keep up, or TCP connects still
        except OSError:
            self._lost += 1
            self.close()
        else:
            if sent < len(line):  # of a stream: what follows would be taken for the rest of this line
                self._lost += 1
                self.close()

    def _line(self, level: str, text: str) -> bytes:
        priority = _SEVERITIES[level] | (0 if self._remote else _DAEMON)
        now = time.localtime()
        if self._remote:
            zone = time.strftime("%z", now)
            stamp = f"{time.strftime('%Y-%m-%dT%H:%M:%S', now)}{zone[:3]}:{zone[3:]} {self._host}"
            stamp = stamp.replace("+00:00", "Z", 1)
        else:
            stamp = f"{time.strftime('%b', now)} {now.tm_mday:2} {time.strftime('%H:%M:%S', now)}"
        head = f"<{priority}>{stamp} {self._tag}: "
        body = text.replace("\n", " ").encode("utf-8", "backslashreplace")[:_LONGEST]
        return head.encode("utf-8", "replace") + body + b"\n"

    def _open(self, seconds: float) -> None:
        self.close()
        for family, kind, target in self._found:
            made = socket.socket(family, kind)
            made.settimeout(seconds)
            try:
                made.connect(target)
            except BlockingIOError:
                pass  # TCP goes on by itself
            except OSError:
                made.close()
                continue
            made.setblocking(False)
            self._socket = made
            return
        raise FileNotFoundError(None, "nobody listens there")

    def _addresses(self) -> list[tuple[int, int, str | tuple[str, int]]]:
        both = (socket.SOCK_DGRAM, socket.SOCK_STREAM)
        if not self._remote:
            return [(socket.AF_UNIX, kind, path) for path in _LOCAL for kind in both]
        if isinstance(self._target, str):
            return [(socket.AF_UNIX, kind, self._target) for kind in both]
        host, port = self._target
        found = socket.getaddrinfo(host, port, type=self._kind)
        return [(family, kind, (str(address[0]), int(address[1]))) for family, kind, _, _, address in found]


def _parsed(address: str) -> tuple[int, str | tuple[str, int]]:
    """Return the kind of socket, and a path or host and port."""
    parts = urlsplit(address)
    if parts.scheme == "unix" and parts.path:
        return 0, parts.path
    kinds = {"udp": socket.SOCK_DGRAM, "tcp": socket.SOCK_STREAM}
    try:
        port = parts.port or _PORT
    except ValueError:
        port = 0
    if parts.scheme not in kinds or not parts.hostname or not port:
        raise SyslogError(f"{address!r} is no address of a syslog: udp://host:port, tcp:// or unix:///path")
    return kinds[parts.scheme], (parts.hostname, port)
