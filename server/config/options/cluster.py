"""Options of clusters and super clusters: routes and gateways."""

from __future__ import annotations

from ....protocol.lazy_dataclass import dataclass
from .authorization import PermissionsOptions
from .field import option
from .leafnodes import CompressionOptions
from .tls import TLSOptions


@dataclass(slots=True)
class PeerAuthorization:
    """The one user of a cluster or gateway."""

    user: str = option("", "user username", "string", "User name.", reload=True)
    password: str = option("", "password pass", "string", "Password.", reload=True, secret=True)
    timeout: int | None = option(None, "timeout", "seconds", "Time to log in.", reload=True)
    permissions: PermissionsOptions | None = option(
        None, "permissions", "permissions", "Deprecated; use `permissions` of the cluster.", reload=True
    )


_WRITE_TIMEOUT = "After `write_deadline`: `close` or, if the peer reads, `retry` (the default)."


def _accept() -> CompressionOptions:
    return CompressionOptions("accept")


@dataclass(slots=True)
class ClusterOptions:
    """The `cluster { }` block: routes to the other servers of a cluster.

    port: None for no listener.
    """

    name: str = option("", "name", "string", "Name of the cluster, the same on each server.")
    host: str = option("0.0.0.0", "host net", "string", "Address to listen on.")  # noqa: S104 the reference's default
    port: int | None = option(
        None, "port listen", "port", "Port or `host:port` for routes; -1: any free port."
    )
    authorization: PeerAuthorization | None = option(
        None, "authorization", "section", "The user of routes.", reload=True, section=PeerAuthorization
    )
    permissions: PermissionsOptions | None = option(
        None, "permissions", "permissions", "Subjects that may pass over routes.", reload=True
    )
    routes: list[str] = option(list, "routes", "urls", "URLs of the other servers.", reload=True)
    tls: TLSOptions | None = option(
        None, "tls", "section", "TLS of routes, always verified both ways.", reload=True, section=TLSOptions
    )
    advertise: str = option(
        "", "cluster_advertise advertise", "advertise", "Address announced to other servers.", reload=True
    )
    no_advertise: bool = option(
        False, "no_advertise", "bool", "Do not announce other servers to clients.", reload=True
    )
    connect_retries: int = option(
        0,
        "connect_retries",
        "int",
        "Retries, after a first attempt, to connect to a server that others announced.",
        reload=True,
    )
    connect_backoff: bool = option(
        False, "connect_backoff", "bool", "Wait longer after each attempt.", reload=True
    )
    pool_size: int = option(
        3, "pool_size", "int", "Connections to each server; -1: one without a pool.", reload=True
    )
    accounts: list[str] = option(
        list, "accounts", "strings", "Accounts that get a connection of their own.", reload=True
    )
    compression: CompressionOptions = option(
        _accept, "compression", "compression", "Compression of routes.", reload=True
    )
    ping_interval: int | None = option(
        None, "ping_interval", "duration", "Time between pings, at most 30s.", reload=True
    )
    ping_max: int | None = option(None, "ping_max", "int", "Unanswered pings allowed.", reload=True)
    write_deadline: int | None = option(
        None, "write_deadline", "duration", "Longest time for a write; if unset, the server's.", reload=True
    )
    write_timeout: str = option(
        "default",
        "write_timeout",
        "choice",
        _WRITE_TIMEOUT,
        reload=True,
        choices=("default", "close", "retry"),
    )


@dataclass(slots=True)
class RemoteGateway:
    """Another cluster of the super cluster."""

    name: str = option("", "name", "string", "Name of the cluster.")
    urls: list[str] = option(list, "url urls", "urls", "URLs of its gateways.")
    tls: TLSOptions | None = option(
        None, "tls", "section", "TLS for connections to it.", reload=True, section=TLSOptions
    )


@dataclass(slots=True)
class GatewayOptions:
    """The `gateway { }` block: connections to other clusters."""

    name: str = option("", "name", "string", "Name of this cluster.")
    host: str = option("0.0.0.0", "host net", "string", "Address to listen on.")  # noqa: S104 the reference's default
    port: int | None = option(
        None, "port listen", "port", "Port or `host:port` for gateways; -1: any free port."
    )
    authorization: PeerAuthorization | None = option(
        None,
        "authorization",
        "section",
        "The user of gateways.",
        reload=True,
        section=PeerAuthorization,
    )
    tls: TLSOptions | None = option(
        None, "tls", "section", "TLS of gateways, always verified both ways.", reload=True, section=TLSOptions
    )
    advertise: str = option("", "advertise", "advertise", "Address announced to other servers.")
    connect_retries: int = option(
        0,
        "connect_retries",
        "int",
        "Retries, after a first attempt, to connect to a gateway that others announced.",
    )
    connect_backoff: bool = option(False, "connect_backoff", "bool", "Wait longer after each attempt.")
    reject_unknown_cluster: bool = option(
        False, "reject_unknown_cluster reject_unknown", "bool", "Refuse clusters that are not listed."
    )
    write_deadline: int | None = option(
        None, "write_deadline", "duration", "Longest time for a write; if unset, the server's."
    )
    write_timeout: str = option(
        "default",
        "write_timeout",
        "choice",
        _WRITE_TIMEOUT,
        choices=("default", "close", "retry"),
    )
    gateways: list[RemoteGateway] = option(
        list, "gateways", "sections", "The other clusters.", section=RemoteGateway
    )
