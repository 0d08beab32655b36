"""Leaf connections without sockets: servers on one fake clock, and links whose bytes move on request."""

from __future__ import annotations

import itertools
import json
from typing import Any

from pyjs.server.config import load_text
from pyjs.server.config.options import Options, RemoteOptions
from pyjs.server.leaf import Leafs

from .fake_clock import FakeClock
from .fake_wire import ClientsFixture, FakeClient, FakeWire

_NUMBERS = itertools.count(1)


class LeafServer(ClientsFixture):
    """A server's clients and leafs, without its sockets."""

    def __init__(self, config: str = "", clock: FakeClock | None = None, *, jetstream: bool = False) -> None:
        number = next(_NUMBERS)
        options: Options = load_text(f"server_name: server{number}\n{config}")
        super().__init__(options, seed=number, clock=clock)
        self.clients.identity.name = options.server_name
        self.leafs = Leafs(self.clients, self.clients.authenticator, jetstream=jetstream)

    def run_pending(self) -> None:
        """Do what is left for the loop's next turns, however slow this machine is, and write."""
        self.clock.advance(0)
        self.leafs.flusher.flush()

    def user(self, name: str = "acc") -> FakeClient:
        """Return a client that has logged in; its password is its name."""
        client = self.connected(user=name, **{"pass": name})
        client.says("PING\r\n")
        return client


class Peer:
    """One end of a leaf connection by hand: `says` sends lines and returns the lines that came back."""

    def __init__(self, env: LeafServer, remote: RemoteOptions | None = None) -> None:
        self.env = env
        self.wire = FakeWire()
        self.remote = env.leafs.remote(remote) if remote is not None else None
        if self.remote is not None:
            self.remote.target = self.remote.targets.next()
        self.connection = env.leafs.connection(self.wire, ("127.0.0.1", 7), self.remote)
        self.connection.open()

    def read(self) -> list[str]:
        """Return the lines that arrived since the last call."""
        self.env.run_pending()
        sent, self.wire.sent = self.wire.sent, b""
        return sent.decode().split("\r\n")[:-1]

    def says(self, *lines: str) -> list[str]:
        """Send lines; return the lines that came back."""
        self.connection.receive("".join(line + "\r\n" for line in lines).encode())
        return self.read()

    def logs_in(self, name: str = "peer", user: str = "acc", **options: Any) -> list[str]:
        """Send CONNECT as a leaf; return the lines that came back."""
        fields = {"user": user, "pass": user, "name": name, "cluster": name, "headers": True, "protocol": 3}
        self.read()
        return self.says("CONNECT " + json.dumps(fields | {"remote_account": "ACC"} | options))

    @property
    def closed(self) -> str:
        return self.connection.closed_reason


class Link:
    """Two servers joined: `leaf` has dialled `hub`."""

    def __init__(self, hub: LeafServer, leaf: LeafServer, remote: RemoteOptions | None = None) -> None:
        self.down = Peer(
            leaf, remote or RemoteOptions(urls=["nats-leaf://acc:acc@127.0.0.1:7422"], account="ACC")
        )
        self.up = Peer(hub)
        self.pump()

    def pump(self) -> None:
        """Move bytes until there are no more."""
        moved = True
        while moved:
            moved = False
            for here, there in ((self.up, self.down), (self.down, self.up)):
                here.env.run_pending()
                data, here.wire.sent = here.wire.sent, b""
                if data and not there.closed:
                    there.connection.receive(data)
                    moved = True
                if here.closed and not there.closed and not here.wire.sent:
                    there.connection.lost()
                    moved = True

    def cut(self) -> None:
        """Break the connection."""
        for end in (self.up, self.down):
            if not end.closed:
                end.connection.lost("Read Error")
