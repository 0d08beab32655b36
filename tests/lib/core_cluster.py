"""Three servers of one cluster, each of either implementation; the second and third know only the first."""

from __future__ import annotations

from .eventually import eventually
from .pool import START
from .process import ServerProcess
from .wire import Msg, Wire

COMBINATIONS = [
    ("reference", "reference", "reference"),
    ("pyjs", "pyjs", "pyjs"),
    ("reference", "pyjs", "pyjs"),
    ("pyjs", "reference", "reference"),
    ("pyjs", "reference", "pyjs"),
]
CONFIG = """
listen: 127.0.0.1:<client>
server_name: {name}
cluster {{
    name: mesh
    listen: 127.0.0.1:<route>
    routes: [{routes}]
    authorization {{ user: router, password: secret }}
}}
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


class Mesh:
    """The servers s0, s1 and s2."""

    def __init__(self, *implementations: str) -> None:
        self.servers: list[ServerProcess] = []
        routes = ""
        try:
            for number, implementation in enumerate(implementations):
                config = CONFIG.format(name=f"s{number}", routes=routes)
                self.servers.append(START[implementation](config))
                routes = f"nats-route://router:secret@127.0.0.1:{self.servers[0].ports['route']}"
            self.joined()
        except BaseException:
            self.close()
            raise

    def joined(self) -> None:
        """Return when every server knows all others."""
        for server in self.servers:
            with self.login(server, "admin") as wire:
                self._heard(wire)

    def _heard(self, wire: Wire) -> None:
        names: set[str] = set()

        def all_answer() -> bool:
            wire.pub("$SYS.REQ.SERVER.PING.IDZ", "", reply=wire.inbox())
            names.update(frame.json()["name"] for frame in wire.sync() if isinstance(frame, Msg))
            return len(names) == len(self.servers)

        eventually(all_answer, 60)

    def login(self, server: ServerProcess, user: str = "acc") -> Wire:
        """Return a client of one server."""
        return server.connect(user=user, **{"pass": user})

    def close(self) -> None:
        """Stop all."""
        for server in self.servers:
            server.stop()
