"""The nine servers of the video: their names, ports and configuration files.

The files are the video's own except for keys, and for ports if the video's are taken: then all ports are
moved by the same number, and the servers keep their names (`srv-4222` may listen on 5222).
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterable
from dataclasses import dataclass, field

from ..stage import DemoError

LOOPBACK = "127.0.0.1"
SHIFTS = (0, *range(1000, 24_000, 1000))  # all ports stay below those of outgoing connections


@dataclass(frozen=True)
class VideoServer:
    """One server.

    port: its client port in the video; the next ones are for routes, leaf nodes and MQTT.
    """

    port: int
    config: str  # the name of its configuration file
    store: str
    http: int

    @property
    def name(self) -> str:
        """The server's name in its configuration."""
        return f"srv-{self.port}"


@dataclass(frozen=True)
class VideoCluster:
    """Three servers and their JetStream domain."""

    domain: str
    members: tuple[VideoServer, ...]

    @property
    def name(self) -> str:
        """The cluster's name."""
        return f"cluster-{self.domain}"

    @property
    def servers(self) -> list[str]:
        """The names of its servers, sorted."""
        return sorted(member.name for member in self.members)


def _cluster(domain: str, number: int, *ports: tuple[int, int]) -> VideoCluster:
    return VideoCluster(
        domain,
        tuple(
            VideoServer(client, f"cluster-{domain}-{n}.cfg", f"s{number}-{n}", http)
            for n, (client, http) in enumerate(ports, 1)
        ),
    )


HUB = _cluster("hub", 1, (4222, 8080), (4232, 8081), (4282, 8083))
SPOKE_1 = _cluster("spoke-1", 2, (4242, 8084), (4252, 8085), (4292, 8086))
SPOKE_2 = _cluster("spoke-2", 3, (4262, 8087), (4272, 8088), (4202, 8089))
CLUSTERS = (HUB, SPOKE_1, SPOKE_2)
MEMBERS = tuple(member for cluster in CLUSTERS for member in cluster.members)
# In the order of the video's context `sys`.
EVERYWHERE = tuple(sorted(MEMBERS, key=lambda member: (member.port == 4202, member.port)))


@dataclass
class VideoTopology:
    """The addresses of the nine servers, and the accounts whose leaf nodes are connected.

    shift: the number that is added to each port of the video.
    """

    shift: int = 0
    remotes: list[tuple[str, str]] = field(default_factory=list)  # (account's public key, credentials file)

    @classmethod
    def choose(cls, shifts: Iterable[int] = SHIFTS) -> VideoTopology:
        """Return the video's ports, or the first shifted set that is free.

        Raises DemoError if there is none.
        """
        for shift in shifts:
            if all(_free(port + shift) for port in _ports()):
                return cls(shift)
        raise DemoError("no 39 ports are free together on 127.0.0.1, wherever they were looked for")

    def cache(self, member: VideoServer) -> str:
        """Return the directory of a server's account resolver."""
        return f"./cache{MEMBERS.index(member) + 1}"

    def urls(self, members: Iterable[VideoServer], host: str = LOOPBACK) -> str:
        """Return client URLs, separated by commas."""
        return ",".join(f"nats://{host}:{member.port + self.shift}" for member in members)

    def config(self, cluster: VideoCluster, member: VideoServer) -> str:
        """Return a server's configuration file."""
        port = member.port + self.shift
        routes = "\n".join(
            f"        nats-route://localhost:{each.port + 1 + self.shift}" for each in cluster.members
        )
        accepts = (
            f"leafnodes {{\n    listen localhost:{port + 2}\n    no_advertise: true\n}}\n"
            if cluster is HUB
            else ""
        )
        connects = "" if cluster is HUB else "include ./leafnode-remotes.cfg\n"
        return f"""\
listen: localhost:{port}
server_name: {member.name}
jetstream {{
    store_dir: "./{member.store}"
    domain: {cluster.domain}
}}
cluster {{
    listen localhost:{port + 1}
    name {cluster.name}
    routes = [
{routes}
    ]
}}
{accepts}mqtt {{
    port: {port + 3}
}}
http: localhost:{member.http + self.shift}
include ./nats-account-resolver.cfg
{connects}"""

    def leafnode_remotes(self) -> str:
        """Return the leaf remotes with which the spokes connect to the hub."""
        hubs = ",".join(f'"nats-leaf://localhost:{each.port + 2 + self.shift}"' for each in HUB.members)
        rows = "".join(
            f"""\
        {{
            urls: $HUB-URLS
            account: {account}
            credentials: {credentials}
        }},
"""
            for account, credentials in self.remotes
        )
        return f"""\
HUB-URLS=[{hubs}]
leafnodes {{
no_advertise: true
    remotes = [
{rows}    ]
}}
"""


def resolver(account: str, token: str) -> str:
    """Return the file that all servers include.

    It has the operator, the source of the accounts, and the preloaded system account.
    """
    return f"""\
operator: "./store/OP/OP.jwt"
resolver: {{
    type: full
    dir: $CACHE
    interval: "2m"
    allow_delete: true
}}
resolver_preload: {{
    {account}:{token}
}}
"""


def _ports() -> list[int]:
    return [
        port
        for cluster in CLUSTERS
        for member in cluster.members
        for port in (
            member.port,
            member.port + 1,
            *([member.port + 2] if cluster is HUB else []),
            member.port + 3,
            member.http,
        )
    ]


def _free(port: int) -> bool:
    with socket.socket() as probe, contextlib.suppress(OSError):
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((LOOPBACK, port))
        return True
    return False
