"""Fairness: what a well-behaved client experiences while another one does its worst.

A client sends a PING every 20 ms and waits for its PONG, in a process of its own. In another process an
abuser works as fast as it is answered. `python -m benchmarks --only fairness` prints for each of them the
longest and the 99th percentile of the round trips, of pyjs and of the reference, and how often the abuser was
served meanwhile: a server that serves the abuser slowly is not fairer for that.

Both servers have the same configuration and the same load in turn. The row `nobody` is the machine's own
noise. Processes: `python -m benchmarks.fairness ping|abuse ...` (see `main`).
"""

from __future__ import annotations

import functools
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import servers
from .load import Wire
from .tokens import Site

EVERY = 0.02  # s between two pings
SECONDS = 5.0  # how long each abuser works
MEMORY = "max_mem: 4G, max_file: 4G"
MANY = 10_000
MILLION = 1_000_000
HTTP = "http: '127.0.0.1:{http}'\n"
USERS = "authorization { users: [{ user: good, password: good }] }\n"
DENIED = USERS.replace("good }", "good, permissions: { publish: { deny: forbidden } } }")
SITE = Site()
Login = Callable[[dict[str, Any]], dict[str, Any]]


def _nobody(_: dict[str, Any]) -> dict[str, Any]:
    return {}


def _good(_: dict[str, Any]) -> dict[str, Any]:
    return {"user": "good", "pass": "good"}


@dataclass(frozen=True)
class Abuser:
    """One abuser. `prepare(wire)` is not measured; `work(target)` does its worst once, again and again.

    config: further lines of the server's configuration, with `{http}` for a port and `{folder}` for an empty
        folder
    login: the fields of CONNECT that say who connects (see load.Wire)
    """

    title: str
    work: Callable[[Target], None]
    prepare: Callable[[Wire], None] = lambda _: None
    config: str = ""
    login: Login = _nobody


@dataclass
class Target:
    """What an abuser works on: the server's ports, and a connection that is logged in."""

    port: int
    http: int = 0
    login: Login = _nobody
    turn: int = 0
    kept: list[Wire] = field(default_factory=list)

    @functools.cached_property
    def wire(self) -> Wire:
        """The abuser's connection."""
        return Wire(self.port, self.login)

    def ask(self, subject: str, body: dict[str, Any] | bytes = b"") -> bytes:
        """Send one request to the API and return the answer, which may be an error."""
        return self.wire.ask(subject, body if isinstance(body, bytes) else json.dumps(body).encode())


def _stream(name: str, *subjects: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "subjects": subjects, "storage": "memory", **more}


def _fill(wire: Wire, subjects: Iterator[str]) -> None:
    """Publish an empty message to each of the subjects, without acknowledgements."""
    block: list[str] = []
    for subject in subjects:
        block.append(f"PUB {subject} 0\r\n\r\n")
        if len(block) == MANY:
            wire.send("".join(block).encode())
            wire.ping()
            block.clear()
    wire.send("".join(block).encode())
    wire.ping()


# -- the twelve


def _subjects(target: Target) -> None:
    """Create and delete a stream with 10,000 subjects."""
    config = _stream("S", *(f"s.{n}.*" for n in range(MANY)))
    target.ask("$JS.API.STREAM.CREATE.S", config)
    target.ask("$JS.API.STREAM.DELETE.S")


def _one_stream(wire: Wire) -> None:
    wire.request("$JS.API.STREAM.CREATE.F", _stream("F", "f.>"))


def _filters(target: Target) -> None:
    """Create and delete a consumer with 10,000 filters."""
    filters = [f"f.{n}.*" for n in range(MANY)]
    config = {"name": "C", "ack_policy": "explicit", "filter_subjects": filters}
    target.ask("$JS.API.CONSUMER.CREATE.F.C", {"stream_name": "F", "config": config})
    target.ask("$JS.API.CONSUMER.DELETE.F.C")


def _million(wire: Wire) -> None:
    wire.request("$JS.API.STREAM.CREATE.M", _stream("M", "m.>", allow_direct=True))
    _fill(wire, (f"m.{n % 1000}.{n // 1000}" for n in range(MILLION)))


def _wildcards(target: Target) -> None:
    """Read with wildcards from a stream of 1,000,000 subjects."""
    token = target.turn % 1000
    target.ask("$JS.API.STREAM.INFO.M", {"subjects_filter": f"m.{token}.*"})
    target.ask("$JS.API.STREAM.MSG.GET.M", {"seq": token, "next_by_subj": f"m.*.{token}"})
    target.ask("$JS.API.STREAM.INFO.M", {"subjects_filter": ">"})


def _counts(target: Target) -> None:
    """Create consumers with wildcards on a stream of 1,000,000 subjects."""
    token = target.turn % 1000
    for filter_, policy in ((f"m.{token}.*", "all"), (f"m.*.{token}", "last_per_subject")):
        config = {"name": "C", "ack_policy": "none", "filter_subject": filter_, "deliver_policy": policy}
        target.ask("$JS.API.CONSUMER.CREATE.M.C", {"stream_name": "M", "config": config})
        target.ask("$JS.API.CONSUMER.DELETE.M.C")


def _purges(target: Target) -> None:
    """Publish 200,000 messages and purge them by subject and as a whole."""
    if not target.turn:
        target.ask("$JS.API.STREAM.CREATE.P", _stream("P", "p.>"))
    _fill(target.wire, (f"p.{n % 100}.{n // 100}" for n in range(200_000)))
    target.ask("$JS.API.STREAM.PURGE.P", {"filter": "p.*.7"})
    target.ask("$JS.API.STREAM.PURGE.P", {"filter": "p.7.*"})
    target.ask("$JS.API.STREAM.PURGE.P", {"keep": 1000})
    target.ask("$JS.API.STREAM.PURGE.P")


def _documents(target: Target) -> None:
    """Send requests with deep, long and odd JSON."""
    deep = b'{"name":"D","metadata":' + b'{"a":' * 400 + b"1" + b"}" * 401
    tags = json.dumps(_stream("D", "d", placement={"tags": ["x" * 9] * 60_000})).encode()
    metadata = json.dumps(_stream("D", "d", metadata={f"k{n}": "v" for n in range(60_000)})).encode()
    for document in (deep, tags, metadata, b"[" * 900_000, b"1" * 900_000):
        target.ask("$JS.API.STREAM.CREATE.D", document[:1_000_000])


def _tokens(target: Target) -> None:
    """Push an account's token with 4,000 exports."""
    target.ask("$SYS.REQ.CLAIMS.UPDATE", SITE.account(exports=4000, serial=target.turn))


def _consumer(wire: Wire) -> None:
    wire.request("$JS.API.STREAM.CREATE.W", _stream("W", "w"))
    config = {"durable_name": "C", "ack_policy": "explicit", "max_waiting": 100_000}
    wire.request("$JS.API.CONSUMER.CREATE.W.C", {"stream_name": "W", "config": config})


def _pulls(target: Target) -> None:
    """Start 50,000 pulls that wait, and expire together."""
    if not target.turn:
        target.wire.send(b"SUB _P.> 1\r\n")
    pull = b'{"batch":1,"expires":500000000}'
    one = b"PUB $JS.API.CONSUMER.MSG.NEXT.W.C _P.%d %d\r\n%s\r\n"
    target.wire.send(b"".join(one % (n, len(pull), pull) for n in range(50_000)))
    target.wire.count(b" 408 ", 50_000)


def _errors(target: Target) -> None:
    """Make 10,000 requests and operations that are refused, one by one."""
    if not target.turn:
        target.wire.send(b"SUB _E 1\r\n")
    api = (
        b"PUB $JS.API.STREAM.CREATE.E _E 1\r\n{\r\n"
        b"PUB $JS.API.STREAM.INFO.NONE _E 0\r\n\r\n"
        b"PUB $JS.API.CONSUMER.INFO.NONE.NONE _E 0\r\n\r\n"
        b"PUB $JS.API.STREAM.CREATE.E _E 2\r\n{}\r\n"
    )
    target.wire.send((api + b"PUB forbidden 0\r\n\r\n") * 2000)
    target.wire.count(b'"error":', 8000)


def _crowd(wire: Wire) -> None:
    for n in range(500):
        wire.request(f"$JS.API.STREAM.CREATE.S{n}", _stream(f"S{n}", f"s{n}"))
        config = {"durable_name": "C", "ack_policy": "explicit"}
        wire.request(f"$JS.API.CONSUMER.CREATE.S{n}.C", {"stream_name": f"S{n}", "config": config})


def _monitoring(target: Target) -> None:
    """Read monitoring pages of 500 streams, and of 1,000 connections with ten subscriptions each."""
    while len(target.kept) < 1000:
        wire = Wire(target.port)
        wire.send(b"".join(b"SUB x.%d.* %d\r\n" % (n, n) for n in range(10)))
        target.kept.append(wire)
    pages = ("connz?subs=1&limit=2000", "jsz?accounts=1&streams=1&consumers=1&config=1", "subsz?subs=1")
    for page in pages:
        with socket.create_connection(("127.0.0.1", target.http), timeout=60) as sock:
            sock.sendall(f"GET /{page} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
            while sock.recv(1 << 20):
                pass


def _strangers(target: Target) -> None:
    """Open 200 connections without a login: half lines, large payloads, nothing at all."""
    for n in range(200):
        with socket.create_connection(("127.0.0.1", target.port), timeout=10) as sock, suppress(OSError):
            if n % 4 == 0:
                sock.sendall(b"CONNECT " + b"x" * 3000)
            elif n % 4 == 1:
                sock.sendall(b"PUB x 1000000\r\n" + b"x" * 1_000_000)
            elif n % 4 == 2:
                sock.sendall(b'CONNECT {"user":"bad","pass":"bad"}\r\nPING\r\n')


def _acks(target: Target) -> None:
    """Send the first acks of 20 consumers, in an account with 20,000 subscriptions."""
    if not target.turn:
        target.ask("$JS.API.STREAM.CREATE.A", _stream("A", "a"))
        _fill(target.wire, iter(["a"] * 10))
        target.wire.send(b"".join(b"SUB *.%d.> %d\r\n" % (n, n) for n in range(100, 20_100)))
        target.wire.ping()
    for n in range(20):
        config = {"name": f"C{n}", "ack_policy": "explicit"}
        target.ask(f"$JS.API.CONSUMER.CREATE.A.C{n}", {"stream_name": "A", "config": config})
        target.wire.send(b"PUB $JS.ACK.A.C%d.1.1.1.1.1 0\r\n\r\n" % n)
        target.wire.ping()
        target.ask(f"$JS.API.CONSUMER.DELETE.A.C{n}")


ABUSERS = {
    "nobody": Abuser("nobody", lambda _: time.sleep(EVERY)),
    "subjects": Abuser("streams of 10,000 subjects", _subjects),
    "filters": Abuser("consumers with 10,000 filters", _filters, _one_stream),
    "wildcards": Abuser("wildcards on 1,000,000 subjects", _wildcards, _million),
    "counts": Abuser("new consumers on 1,000,000 subjects", _counts, _million),
    "purges": Abuser("200,000 messages published and purged", _purges),
    "documents": Abuser("deep and long JSON", _documents),
    "tokens": Abuser("tokens with 4,000 exports", _tokens, config=SITE.config, login=SITE.login),
    "pulls": Abuser("50,000 pulls that expire", _pulls, _consumer),
    "errors": Abuser("10,000 operations that are refused", _errors, config=DENIED, login=_good),
    "monitoring": Abuser("monitoring pages", _monitoring, _crowd, HTTP),
    "strangers": Abuser("strangers that do not log in", _strangers, config=USERS, login=_good),
    "acks": Abuser("first acks beside 20,000 subscriptions", _acks),
}


# -- the measurement


@dataclass(frozen=True)
class Felt:
    """Round trips of the well-behaved client in ms, and how often the abuser was served."""

    worst: float
    p99: float
    served: int


def measure(server: str, key: str, seconds: float = SECONDS) -> Felt:
    """Measure one abuser on one server ("pyjs" or "reference")."""
    abuser = ABUSERS[key]
    http = servers.free_port()
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        config = abuser.config.replace("{http}", str(http)).replace("{folder}", folder)
        with servers.start(server, MEMORY, config) as running:
            wire = Wire(running.port, abuser.login)
            abuser.prepare(wire)
            wire.close()
            times, served = _play([key, str(running.port), str(http), str(seconds)])
    times.sort()
    return Felt(times[-1] * 1e3, times[len(times) * 99 // 100] * 1e3, served)


def _play(arguments: list[str]) -> tuple[list[float], int]:
    """Run both processes side by side; return (round trips in s, how often the abuser was served)."""
    call = [sys.executable, "-m", "benchmarks.fairness"]
    root = Path(__file__).parent.parent
    with subprocess.Popen([*call, "abuse", *arguments], stdout=subprocess.PIPE, cwd=root) as work:
        times = json.loads(subprocess.check_output([*call, "ping", *arguments], cwd=root))
        return times, json.loads(work.communicate(timeout=180)[0])


def ping(key: str, port: int, seconds: float) -> list[float]:
    """Ping for so many seconds; return the round trips in s."""
    times = []
    wire = Wire(port, ABUSERS[key].login)
    end = time.perf_counter() + seconds
    while (began := time.perf_counter()) < end:
        with suppress(TimeoutError):  # after a minute: that is the figure then
            wire.ping()
        took = time.perf_counter() - began
        times.append(took)
        time.sleep(max(0.0, EVERY - took))
    return times


def abuse(key: str, port: int, http: int, seconds: float) -> int:
    """Work for so many seconds, with a low priority; return how often it was done."""
    os.nice(10)
    target = Target(port, http, ABUSERS[key].login)
    end = time.perf_counter() + seconds
    with suppress(TimeoutError):
        while time.perf_counter() < end:
            ABUSERS[key].work(target)
            target.turn += 1
    return target.turn


def section(scale: float, number: Callable[[float], str]) -> list[str]:
    """Measure all abusers on both servers; print the lines of Markdown as they come and return them."""
    lines = [
        "",
        "## Fairness",
        "",
        f"`python -m benchmarks --only fairness`: a client sends a PING every {EVERY * 1e3:.0f} ms, while"
        f" another one does its worst for {SECONDS * scale:.1f} s.",
        "The table has the round trips of the first client, in ms, and how often the other's work was done.",
        "",
        "| the other does | worst: pyjs | reference | p99: pyjs | reference | done: pyjs | reference |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    print("\n".join(lines), flush=True)
    for key, abuser in ABUSERS.items():
        ours, theirs = (measure(server, key, SECONDS * scale) for server in ("pyjs", "reference"))
        row = (ours.worst, theirs.worst, ours.p99, theirs.p99, ours.served, theirs.served)
        lines.append(f"| {abuser.title} | " + " | ".join(number(n) for n in row) + " |")
        print(lines[-1], flush=True)
    return lines


def main(role: str, key: str, port: str, http: str, seconds: str) -> None:
    """Run one of the two processes: `ping` prints its round trips, `abuse` how often it worked."""
    if role == "ping":
        print(json.dumps(ping(key, int(port), float(seconds))))
    else:
        print(json.dumps(abuse(key, int(port), int(http), float(seconds))))


if __name__ == "__main__":
    main(*sys.argv[1:])
