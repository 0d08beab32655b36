"""Three servers (or more) of one cluster with JetStream, all of one implementation.

Account ACC (user acc) has JetStream; OTHER (other) has it too, and SMALL (small) within limits. SYS (admin)
is the system account. Passwords are the users' names. Ready means: every server knows the same meta leader,
and that leader knows all servers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .eventually import eventually
from .pool import START
from .process import ServerProcess, free_port
from .wire import Wire

READY_SECONDS = 30.0
CONFIG = """
listen: 127.0.0.1:<client>
http: 127.0.0.1:<http>
server_name: {name}
jetstream {{ store_dir: "<store>", max_memory_store: 256MB, max_file_store: 1GB{options} }}
cluster {{
    name: mesh
    listen: 127.0.0.1:{port}
    routes: [{routes}]
}}
accounts {{
    SYS: {{ users: [{{user: admin, password: admin}}] }}
    ACC: {{ users: [{{user: acc, password: acc}}], jetstream: enabled }}
    OTHER: {{ users: [{{user: other, password: other}}], jetstream: enabled }}
    SMALL: {{
        users: [{{user: small, password: small}}]
        jetstream: {{ max_mem: 10KB, max_file: 100KB, max_streams: 2, max_consumers: 2 }}
    }}
}}
system_account: SYS
{more}
"""


class JetMesh:
    """The servers s0, s1, s2, and so on.

    options: more lines of the jetstream block
    more: more lines of the whole file, for all servers or for each
    """

    def __init__(
        self, implementation: str, size: int = 3, *, options: str = "", more: str | Sequence[str] = ""
    ) -> None:
        self.implementation = implementation
        self.servers: list[ServerProcess] = []
        ports = [free_port() for _ in range(size)]
        routes = ", ".join(f"nats-route://127.0.0.1:{port}" for port in ports)
        options = f", {options}" if options else ""
        try:
            for number, port in enumerate(ports):
                lines = more if isinstance(more, str) else more[number]
                config = CONFIG.format(
                    name=f"s{number}", port=port, routes=routes, options=options, more=lines
                )
                self.servers.append(START[implementation](config))
            self.ready()
        except BaseException:
            self.close()
            raise

    def __getitem__(self, name: str) -> ServerProcess:
        """Return the server of that name."""
        return self.servers[int(name.removeprefix("s"))]

    def alive(self) -> list[ServerProcess]:
        """Return the servers whose processes run."""
        return [one for one in self.servers if one.process is not None and one.process.poll() is None]

    def meta(self, server: ServerProcess) -> dict[str, Any]:
        """Return what a server says of the meta group."""
        with server.connect(user="admin", **{"pass": "admin"}) as wire:
            answer = wire.request(f"$SYS.REQ.SERVER.{wire.info['server_id']}.JSZ").json()
        found: dict[str, Any] = answer["data"].get("meta_cluster") or {}
        return found

    def leader(self) -> str:
        """Return the meta leader's name that all living servers agree on; "" if they do not, or know none."""
        found = {self.meta(server).get("leader", "") for server in self.alive()}
        name = found.pop() if len(found) == 1 else ""
        return name if name in {f"s{number}" for number in range(len(self.servers))} else ""

    def ready(self, seconds: float = READY_SECONDS) -> str:
        """Wait for a meta leader that has all running servers as members; return its name."""

        def is_led() -> bool:
            name = self.leader()
            return bool(name) and self.meta(self[name]).get("cluster_size") == len(self.servers)

        eventually(is_led, seconds)
        return self.meta(self.alive()[0])["leader"]  # type: ignore[no-any-return]

    def login(self, server: ServerProcess, user: str = "acc") -> Wire:
        """Return a raw client of one server."""
        return server.connect(user=user, **{"pass": user})

    def url(self, *servers: ServerProcess, user: str = "acc") -> str:
        """Return client URLs with the user, of all servers if none is given."""
        chosen = servers or tuple(self.servers)
        return ",".join(f"nats://{user}:{user}@127.0.0.1:{server.port}" for server in chosen)

    def close(self) -> None:
        """Stop all."""
        for server in self.servers:
            server.stop()
