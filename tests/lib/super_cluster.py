"""Three clusters joined by gateways: A of two servers, B and C of one, each of either implementation.

B and C are configured with A only, so that B and C have to hear of each other from A. A leaf node, of the
same implementation as the first server, joins the account ACC in B.
"""

from __future__ import annotations

from typing import Any

from .eventually import eventually
from .pool import START
from .process import ServerProcess, free_port
from .servers import ACCOUNTS, Servers
from .wire import Wire

COMBINATIONS = [
    ("reference", "reference", "reference", "reference"),
    ("pyjs", "pyjs", "pyjs", "pyjs"),
    ("pyjs", "pyjs", "reference", "reference"),
    ("reference", "reference", "pyjs", "pyjs"),
    ("pyjs", "reference", "reference", "pyjs"),
]
SERVERS = (("a0", "A"), ("a1", "A"), ("b0", "B"), ("c0", "C"))
CONFIG = (
    ACCOUNTS
    + """
listen: 127.0.0.1:<client>
server_name: {name}
http: 127.0.0.1:<http>
leafnodes {{ listen: 127.0.0.1:<leaf> }}
cluster {{
    name: {cluster}
    listen: 127.0.0.1:<route>
    routes: [{routes}]
}}
gateway {{
    name: {cluster}
    listen: 127.0.0.1:<gateway>
    authorization {{ user: gate, password: secret }}
    gateways: [{gateways}]
}}
"""
)


LEAF_CONFIG = """
listen: 127.0.0.1:<client>
server_name: leaf
leafnodes {{ remotes: [{{ url: "nats-leaf://acc:acc@127.0.0.1:{port}" }}] }}
"""


class SuperCluster(Servers):
    """The servers a0, a1, b0 and c0.

    leaf: a leaf node of b0.
    """

    def __init__(self, *implementations: str, config: str = CONFIG) -> None:
        super().__init__()
        self.leaf: ServerProcess | None = None
        routes = gateways = ""
        try:
            for (name, cluster), implementation in zip(SERVERS, implementations, strict=True):
                text = config.format(name=name, cluster=cluster, routes=routes, gateways=gateways)
                self.servers.append(START[implementation](text))
                first = self.servers[0].ports
                routes = f"nats-route://127.0.0.1:{first['route']}" if cluster == "A" else ""
                gateways = f"{{name: A, url: 'nats://gate:secret@127.0.0.1:{first['gateway']}'}}"
                if name == "a0":
                    gateways = ""
                else:
                    routes = ""
            port = self.servers[2].ports["leaf"]
            self.leaf = START[implementations[0]](LEAF_CONFIG.format(port=port))
            self.joined()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Stop all."""
        super().close()
        if self.leaf is not None:
            self.leaf.stop()


JET_SERVERS = (("a0", "A"), ("a1", "A"), ("a2", "A"), ("b0", "B"))
JET_CONFIG = """
listen: 127.0.0.1:<client>
server_name: {name}
jetstream {{ store_dir: "<store>", max_memory_store: 256MB, max_file_store: 1GB }}
cluster {{ name: {cluster}, listen: "127.0.0.1:{port}", routes: [{routes}] }}
gateway {{ name: {cluster}, listen: "127.0.0.1:{gateway}", gateways: [{gateways}] }}
accounts {{
    SYS: {{ users: [{{user: admin, password: admin}}] }}
    ACC: {{ users: [{{user: acc, password: acc}}], jetstream: enabled }}
}}
system_account: SYS
"""


class JetSuperCluster:
    """A cluster A of three servers with JetStream and B of one, which are one JetStream.

    servers: a0, a1, a2 and b0, by name.
    """

    def __init__(self, implementation: str) -> None:
        self.servers: dict[str, ServerProcess] = {}
        ports = {name: (free_port(), free_port()) for name, _ in JET_SERVERS}
        gateways = ", ".join(
            f"{{name: {cluster}, urls: [{', '.join(f'nats://127.0.0.1:{port}' for port in found)}]}}"
            for cluster in "AB"
            if (found := [ports[name][1] for name, of in JET_SERVERS if of == cluster])
        )
        try:
            for name, cluster in JET_SERVERS:
                own = [ports[other][0] for other, of in JET_SERVERS if of == cluster]
                text = JET_CONFIG.format(
                    name=name,
                    cluster=cluster,
                    port=ports[name][0],
                    gateway=ports[name][1],
                    routes=", ".join(f"nats-route://127.0.0.1:{port}" for port in own),
                    gateways=gateways,
                )
                self.servers[name] = START[implementation](text)
            self.ready()
        except BaseException:
            self.close()
            raise

    def meta(self, name: str) -> dict[str, Any]:
        """Return what a server says of the meta group."""
        with self.login(name, "admin") as wire:
            answer = wire.request(f"$SYS.REQ.SERVER.{wire.info['server_id']}.JSZ").json()
        found: dict[str, Any] = answer["data"].get("meta_cluster") or {}
        return found

    def ready(self) -> None:
        """Return when all servers know the same leader of the meta group, and it knows all of them."""

        def agreed() -> bool:
            found = [self.meta(name) for name in self.servers]
            leaders = {each.get("leader") for each in found}
            if len(leaders) != 1 or not (leader := leaders.pop()):
                return False
            replicas = self.meta(leader).get("replicas") or []
            return len(replicas) == len(self.servers) - 1 and all(each["current"] for each in replicas)

        eventually(agreed, 60)

    def login(self, name: str, user: str = "acc") -> Wire:
        """Return a client of one server."""
        return self.servers[name].connect(user=user, **{"pass": user})

    def close(self) -> None:
        """Stop all."""
        for server in self.servers.values():
            server.stop()
