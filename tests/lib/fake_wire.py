"""Client connections without sockets: a wire that remembers, and a service of clients on a fake clock."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

from pyjs.server.accounts import AccountRegistry
from pyjs.server.client import Clients, make_services
from pyjs.server.config.options import Options
from pyjs.server.identity import ServerIdentity

from .fake_clock import FakeClock

PLAIN = {"verbose": False, "pedantic": False, "headers": True, "no_responders": True, "protocol": 1}


class FakeWire:
    """Keeps what is written. If `stuck`, data stays in the write buffer as if the peer did not read."""

    def __init__(self) -> None:
        self.sent = b""
        self.writes = 0
        self.buffered = 0
        self.stuck = False
        self.closed = False
        self.aborted = False
        self.paused = False

    def write(self, data: bytes) -> None:
        self.sent += data
        self.writes += 1
        if self.stuck:
            self.buffered += len(data)

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.aborted = self.closed = True

    def get_write_buffer_size(self) -> int:
        return self.buffered

    def pause_reading(self) -> None:
        self.paused = True

    def resume_reading(self) -> None:
        self.paused = False


class FakeClient:
    """One client: `says` sends bytes and returns everything that has come back since."""

    def __init__(self, fixture: ClientsFixture) -> None:
        self.fixture = fixture
        self.wire = FakeWire()
        self.connection = fixture.clients.accept(self.wire, ("127.0.0.1", 5))
        self.connection.open()
        self.info = self.read_info()

    def read(self) -> bytes:
        self.fixture.clients.flusher.flush()
        sent, self.wire.sent = self.wire.sent, b""
        return sent

    def read_info(self) -> dict[str, Any]:
        line, _, rest = self.read().partition(b"\r\n")
        assert line.startswith(b"INFO ")
        self.wire.sent = rest
        info: dict[str, Any] = json.loads(line[5:])
        return info

    def says(self, data: bytes | str) -> bytes:
        self.connection.receive(data.encode() if isinstance(data, str) else data)
        return self.read()

    def connect(self, **fields: Any) -> FakeClient:
        self.says("CONNECT " + json.dumps({**PLAIN, **fields}) + "\r\n")
        return self

    @property
    def open(self) -> bool:
        return not self.connection.closed_reason

    @property
    def closed(self) -> str:
        """Why the server closed the connection, "" if it did not."""
        return self.connection.closed_reason


class ClientsFixture:
    """Clients on a fake clock. Slow checks are collected in `offloaded` until `work` runs them."""

    def __init__(self, options: Options | None = None, seed: int = 1, clock: FakeClock | None = None) -> None:
        self.options = options or Options(host="127.0.0.1")
        self.clock = clock or FakeClock()
        self.random = random.Random(seed)
        self.registry = AccountRegistry(self.options, self.clock, random_bytes=self.random.randbytes)
        identity = ServerIdentity.new("test", self.clock.now(), self.random.randbytes)
        self.offloaded: list[tuple[Callable[[], bool], Callable[[bool], None]]] = []
        services = make_services(
            self.options,
            identity,
            self.clock,
            lambda function, done: self.offloaded.append((function, done)),
            random_bytes=self.random.randbytes,
        )
        self.clients = Clients(self.options, self.registry, services)

    def work(self) -> None:
        while self.offloaded:
            function, done = self.offloaded.pop(0)
            done(function())

    def client(self) -> FakeClient:
        """Return a client on a socket just accepted, which has read INFO."""
        return FakeClient(self)

    def connected(self, **fields: Any) -> FakeClient:
        """Return a client that has sent CONNECT."""
        return self.client().connect(**fields)

    def reload(self, options: Options) -> None:
        self.registry.reload(options)
        self.clients.reload(options)
