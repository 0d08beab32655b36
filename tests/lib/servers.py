"""Servers: several server processes that are one system, each of either implementation, with accounts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial

from .eventually import eventually
from .process import ServerProcess
from .wire import Msg, Wire

# For a text that `str.format` fills in.
ACCOUNTS = """
accounts {{
    SYS: {{ users: [{{user: admin, password: admin}}] }}
    ACC: {{
        users: [{{user: acc, password: acc}}]
        exports: [{{service: "help.>"}}, {{stream: "news.>"}}]
    }}
    OTHER: {{
        users: [{{user: other, password: other}}]
        imports: [
            {{service: {{account: ACC, subject: "help.>"}}, to: "ask.>"}}
            {{stream: {{account: ACC, subject: "news.>"}}, prefix: "from"}}
        ]
    }}
    FEW: {{ users: [{{user: few, password: few}}], limits: {{max_connections: 2}} }}
}}
system_account: SYS
"""


class Servers:
    """The processes.

    servers: in the order in which they were started.
    """

    def __init__(self) -> None:
        self.servers: list[ServerProcess] = []

    def joined(self) -> None:
        """Return when every server hears every other one."""
        for server in self.servers:
            with self.login(server, "admin") as wire:
                eventually(partial(self._all_answer, wire, set()), 60)

    def _all_answer(self, wire: Wire, names: set[str]) -> bool:
        wire.pub("$SYS.REQ.SERVER.PING.IDZ", "", reply=wire.inbox())
        names.update(frame.json()["name"] for frame in wire.sync() if isinstance(frame, Msg))
        return len(names) == len(self.servers)

    def login(self, server: ServerProcess, user: str = "acc") -> Wire:
        """Return a client of one server."""
        return server.connect(user=user, **{"pass": user})

    @contextmanager
    def clients(self) -> Iterator[list[Wire]]:
        """Yield a client of each server, in the same account."""
        with ExitStack() as closing:
            yield [closing.enter_context(self.login(server)) for server in self.servers]

    def close(self) -> None:
        """Stop all."""
        for server in self.servers:
            server.stop()


def reaches(sender: Wire, listener: Wire, subject: str, sid: str) -> None:
    """Return when interest in `subject` has come to the sender's server; the probes are read."""

    def arrived() -> bool:
        sender.pub(subject, "probe")
        frames = sender.sync() if sender is listener else [*sender.sync(), *listener.sync()]
        return any(isinstance(frame, Msg) and frame.sid == sid for frame in frames)

    eventually(arrived)
    sender.pub(subject, "end")
    while listener.msg().body != b"end":
        pass
