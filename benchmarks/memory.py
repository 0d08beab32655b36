"""Memory: what strangers, slow peers and many connections make a server hold, and whether it is released.

For each storm this measures the resident set of a fresh server before it, the most during it (sampled every
50 ms), and the value `AFTER` seconds after the last connection of the storm was closed. `python -m benchmarks
--only memory` prints pyjs and the reference side by side. Both have the same configuration, except in the row
that says so.

A process may open as many files as the system permits: the limit is raised as far as possible, and counts are
lowered to what fits.
"""

from __future__ import annotations

import os
import resource
import select
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from . import servers
from .load import Wire

MIB = 1 << 20
EVERY = 0.05  # s between two samples
AFTER = 3.0  # s
LARGE = 12_000_000
PAYLOAD = "max_payload: 12MB\n"
LOGIN = PAYLOAD + "authorization { user: a, password: b, timeout: 5 }\n"
HTTP = "http: '127.0.0.1:<http>'\n"
TLS = """
tls { cert_file: '<folder>/cert.pem', key_file: '<folder>/key.pem', timeout: 2 }
allow_non_tls: true
"""
BODY = b"x" * (1 << 16)
SPARE = 200  # descriptors for everything else


@dataclass
class Storm:
    """One storm's sockets, and where the server listens.

    scale: below 1 for a quick run
    most: how many files may be opened
    """

    port: int
    http: int
    scale: float
    most: int
    sockets: list[socket.socket] = field(default_factory=list)

    def count(self, wanted: int) -> int:
        """Return how many connections to make where `wanted` are meant."""
        return min(max(10, int(wanted * self.scale)), self.most)

    def connect(self, port: int = 0) -> socket.socket:
        """Open one more connection; its INFO is not read."""
        sock = socket.create_connection(("127.0.0.1", port or self.port), timeout=20)
        self.sockets.append(sock)
        return sock

    def send(self, data: bytes, sockets: list[socket.socket], seconds: float = 10.0) -> None:
        """Send `data` over all sockets side by side, as far as each is read within `seconds`."""
        left = {sock.fileno(): (sock, memoryview(data)) for sock in sockets}
        poll = select.poll()
        for number, (sock, _) in left.items():
            sock.setblocking(False)
            poll.register(number, select.POLLOUT)
        end = time.monotonic() + seconds
        while left and time.monotonic() < end:
            for number, _ in poll.poll(100):
                sock, rest = left[number]
                try:
                    rest = rest[sock.send(rest[: 1 << 18]) :]
                except BlockingIOError:
                    continue
                except OSError:  # closed by the server: nothing more to send
                    rest = rest[:0]
                left[number] = (sock, rest)
                if not rest:
                    poll.unregister(number)
                    del left[number]


def _strangers(storm: Storm) -> None:
    sockets = [storm.connect() for _ in range(20)]
    storm.send(b"PUB a %d\r\n" % LARGE + BODY * 168, sockets)


def _large(storm: Storm) -> None:
    wires = [Wire(storm.port) for _ in range(20)]
    storm.sockets += [wire.sock for wire in wires]
    storm.send(b"PUB a %d\r\n" % LARGE + b"x" * (LARGE - 10), storm.sockets)
    time.sleep(0.5)
    storm.send(b"x" * 10 + b"\r\n", storm.sockets)


def _cut(storm: Storm) -> None:
    storm.sockets += [Wire(storm.port).sock for _ in range(20)]
    storm.send(b"PUB a %d\r\n" % LARGE + BODY * 168, storm.sockets)


def _many_large(storm: Storm) -> None:
    storm.sockets += [Wire(storm.port).sock for _ in range(storm.count(100))]
    storm.send(b"PUB a %d\r\n" % LARGE + b"x" * LARGE + b"\r\n", storm.sockets, 30.0)


def _unread(storm: Storm) -> None:
    readers = [Wire(storm.port) for _ in range(20)]
    for reader in readers:
        reader.send(b"SUB a 1\r\n")
        reader.ping()
    storm.sockets += [reader.sock for reader in readers]
    producer = Wire(storm.port)
    storm.sockets.append(producer.sock)
    for _ in range(2):
        producer.send(b"PUB a %d\r\n" % LARGE + b"x" * LARGE + b"\r\n")
        producer.ping()


def _dropped(storm: Storm) -> None:
    for _ in range(int(4_000 * storm.scale)):
        storm.connect().close()
        storm.sockets.clear()


def _idle(storm: Storm) -> None:
    for _ in range(storm.count(5_000)):
        storm.sockets.append(Wire(storm.port).sock)
    time.sleep(1)


def _lines(storm: Storm) -> None:
    sockets = [storm.connect() for _ in range(storm.count(2_000))]
    for letter in b"PUB a b":
        storm.send(bytes([letter]), sockets)
        time.sleep(0.5)


def _handshakes(storm: Storm) -> None:
    for _ in range(storm.count(2_000)):
        storm.connect().sendall(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")  # and nothing more of it
    time.sleep(4)


def _pages(storm: Storm) -> None:
    for _ in range(storm.count(1_000)):
        with suppress(OSError):  # more than the server takes at a time
            storm.connect(storm.http).sendall(b"GET /varz HTTP/1.1\r\nHost: ")
    time.sleep(1)


@dataclass(frozen=True)
class Row:
    """One row of the table.

    more: further lines of the configuration, `<http>` for a port and `<folder>` for an empty folder
    pyjs: lines for pyjs alone
    """

    title: str
    play: Callable[[Storm], None]
    more: str = PAYLOAD
    pyjs: str = ""


ROWS = (
    Row("20 strangers announce 12 MB before login and send it", _strangers, LOGIN),
    Row("20 clients send 12 MB each, side by side", _large),
    Row("20 clients send 11 of 12 MB, and are gone", _cut),
    Row(
        "100 clients send 12 MB each; pyjs with `max_buffered: 256MB`",
        _many_large,
        pyjs="max_buffered: 256MB\n",
    ),
    Row("20 subscribers do not read 24 MB each", _unread),
    Row("4,000 connections are opened and dropped", _dropped),
    Row("5,000 connections are idle", _idle),
    Row("2,000 strangers send a line of which a byte comes every 0.5 s", _lines),
    Row("2,000 TLS handshakes hang", _handshakes, TLS),
    Row("1,000 requests to the monitoring port hang", _pages, HTTP),
)


@dataclass
class Held:
    """Resident bytes. `count` is how many connections were open at the peak."""

    before: int
    peak: int
    after: int
    count: int


@contextmanager
def _watched(server: servers.Running) -> Iterator[list[int]]:
    """Watch the server during the block; the only item of the list is the most resident bytes so far."""
    most = [server.resident_bytes()]
    done = threading.Event()

    def look() -> None:
        while not done.wait(EVERY):
            most[0] = max(most[0], server.resident_bytes())

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield most
    finally:
        most[0] = max(most[0], server.resident_bytes())
        done.set()
        thread.join()


def measure(name: str, row: Row, scale: float) -> Held:
    """Measure one storm on one server."""
    most = _raise_limit()
    with tempfile.TemporaryDirectory(prefix="bench-memory-") as folder:
        http = servers.free_port()
        if row.more == TLS:
            _certificate(Path(folder))
        more = row.more.replace("<http>", str(http)).replace("<folder>", folder)
        with servers.start(name, more=more + (row.pyjs if name == "pyjs" else "")) as server:
            storm = Storm(server.port, http, scale, most)
            before = server.resident_bytes()
            with _watched(server) as peak:
                row.play(storm)
            count = len(storm.sockets)
            for sock in storm.sockets:
                sock.close()
            time.sleep(AFTER)
            return Held(before, peak[0], server.resident_bytes(), count)


def _raise_limit() -> int:
    """Raise this process's and its servers' limit of open files; return how many connections it allows."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY:
        hard = 65_536
    with suppress(ValueError, OSError):  # the system has another bound than it reports
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0] - SPARE


def _certificate(folder: Path) -> None:
    names = ["-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem"), "-subj", "/CN=localhost"]
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", *names],
        check=True,
        capture_output=True,
        env={**os.environ, "HOME": str(folder)},
    )


def section(scale: float, number: Callable[[float], str]) -> list[str]:
    """Measure all storms on both servers; print the lines of Markdown as they come and return them."""
    lines = [
        "",
        "## Memory",
        "",
        "`python -m benchmarks --only memory`: resident memory in MiB: before, at its most, and"
        f" {AFTER:.0f} s after the last connection was closed.",
        "The reference releases memory when its garbage collector runs, pyjs at once. Only the many small",
        "pieces that OpenSSL keeps stay, and what is remembered of closed connections.",
        "",
        "| what | pyjs: before | most | after | reference: before | most | after |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    print("\n".join(lines), flush=True)
    idle = ""
    for row in ROWS:
        found = [measure(name, row, scale) for name in ("pyjs", "reference")]
        sizes = [number(n / MIB) for held in found for n in (held.before, held.peak, held.after)]
        lines.append(f"| {row.title} | " + " | ".join(sizes) + " |")
        print(lines[-1], flush=True)
        if row.play is _idle:
            ours, theirs = (number((held.peak - held.before) / held.count / 1024) for held in found)
            idle = f"An idle connection takes {ours} KiB (reference: {theirs})."
    lines += ["", idle]
    print("\n".join(lines[-2:]), flush=True)
    return lines
