"""Servers in clusters and on leaf connections, of either implementation, and one client on each.

A shape is a list of places: (name, cluster, the server whose routes it is given, the server whose leaf it
is); "" is none.
"""

from __future__ import annotations

from collections.abc import Sequence

from .eventually import eventually
from .pool import START
from .process import ServerProcess
from .wire import Msg, Wire

Place = tuple[str, str, str, str]
MESH: list[Place] = [("s0", "hub", "", ""), ("s1", "hub", "s0", ""), ("s2", "hub", "s0", "")]
ONE_LEAF: list[Place] = [("s0", "hub", "", ""), ("s1", "hub", "s0", ""), ("l0", "", "", "s0")]
TWO_LEAFS: list[Place] = [*ONE_LEAF, ("l1", "", "", "s1")]
LEAF_CLUSTER: list[Place] = [*MESH[:2], ("l0", "edge", "", "s0"), ("l1", "edge", "l0", "s1")]
SHAPES = {"mesh": MESH, "one-leaf": ONE_LEAF, "two-leafs": TWO_LEAFS, "leaf-cluster": LEAF_CLUSTER}
ACCOUNTS = """
accounts {
    SYS: { users: [{user: admin, password: admin}] }
    ACC: {
        users: [{user: acc, password: acc}]
        exports: [{service: "help.>"}, {stream: "news.>"}]
    }
    OTHER: {
        users: [{user: other, password: other}]
        imports: [
            {service: {account: ACC, subject: "help.>"}, to: "ask.>"}
            {stream: {account: ACC, subject: "news.>"}, prefix: "from"}
        ]
    }
}
system_account: SYS
"""


class Shape:
    """Servers by name, in the order of the places."""

    def __init__(
        self, places: Sequence[Place], implementations: Sequence[str], accounts: str = ACCOUNTS
    ) -> None:
        self.servers: dict[str, ServerProcess] = {}
        try:
            for (name, cluster, route, hub), implementation in zip(places, implementations, strict=True):
                config = f"listen: 127.0.0.1:<client>\nserver_name: {name}\n"
                config += self._cluster(cluster, route) + self._leafs(hub) + accounts
                self.servers[name] = START[implementation](config)
            self.joined()
        except BaseException:
            self.close()
            raise

    def _cluster(self, cluster: str, route: str) -> str:
        if not cluster:
            return ""
        routes = f"nats-route://127.0.0.1:{self.servers[route].ports['route']}" if route else ""
        return f'cluster {{ name: {cluster}, listen: "127.0.0.1:<route>", routes: ["{routes}"] }}\n'.replace(
            '[""]', "[]"
        )

    def _leafs(self, hub: str) -> str:
        if not hub:
            return 'leafnodes { listen: "127.0.0.1:<leaf>" }\n'
        port = self.servers[hub].ports["leaf"]
        remotes = ", ".join(
            f'{{ url: "nats-leaf://{user}:{user}@127.0.0.1:{port}", account: {user.upper()} }}'
            for user in ("admin", "acc", "other")
        ).replace("ADMIN", "SYS")
        return f"leafnodes {{ remotes: [{remotes}] }}\n"

    def joined(self) -> None:
        """Return when every server knows all others, in every account."""
        for name in self.servers:
            for user in ("admin", "acc", "other"):
                meet([(self.login(each, user), each == name) for each in self.servers])

    def login(self, name: str, user: str = "acc") -> Wire:
        """Return a client of one server."""
        return self.servers[name].connect(user=user, **{"pass": user})

    def close(self) -> None:
        """Close all."""
        for server in self.servers.values():
            server.stop()


def meet(wires: list[tuple[Wire, bool]]) -> None:
    """Return when the one wire that is marked reaches all the others; closes all."""
    (speaker,) = [wire for wire, speaks in wires if speaks]
    deaf = [wire for wire, speaks in wires if not speaks]
    for wire in deaf:
        wire.sub("meet.me")
        wire.sync()

    def all_hear() -> bool:
        speaker.pub("meet.me", "x")
        speaker.sync()
        for wire in list(deaf):
            if any(isinstance(frame, Msg) for frame in wire.sync()):
                deaf.remove(wire)
        return not deaf

    try:
        eventually(all_hear, 60)
    finally:
        for wire, _ in wires:
            wire.close()
