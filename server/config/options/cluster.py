"""Options of clusters and super clusters: routes and gateways."""

# ruff: noqa: RUF009  (option() declares a field, as dataclasses.field does)

from __future__ import annotations

from dataclasses import dataclass

from .authorization import PermissionsOptions
from .field import SECOND, option
from .leafnodes import CompressionOptions
from .tls import TLSOptions


@dataclass(slots=True)
class PeerAuthorization:
    """`authorization { }` of a cluster or gateway: one user."""

    user: str = option("", "user username", "string", "User name.", reload=True)
    password: str = option("", "password pass", "string", "Password.", reload=True, secret=True)
    timeout: int | None = option(None, "timeout", "seconds", "Time to send CONNECT.", reload=True)
    permissions: PermissionsOptions | None = option(
        None, "permissions", "permissions", "Deprecated; use `permissions` of the cluster.", reload=True
    )


def _accept() -> CompressionOptions:
    return CompressionOptions("accept")


@dataclass(slots=True)
class ClusterOptions:
    """The `cluster { }` block. `port` None: no listener."""

    name: str = option("", "name", "string", "Name of the cluster, the same on each server.")
    host: str = option("0.0.0.0", "host net", "string", "Address to listen on.")  # noqa: S104 the reference's default
    port: int | None = option(None, "port listen", "port", "Port, or address, for routes; -1 any.")
    authorization: PeerAuthorization | None = option(
        None, "authorization", "section", "The user of routes.", reload=True, section=PeerAuthorization
    )
    permissions: PermissionsOptions | None = option(
        None, "permissions", "permissions", "Subjects that may pass.", reload=True
    )
    routes: list[str] = option(list, "routes", "urls", "URLs of the other servers.", reload=True)
    tls: TLSOptions | None = option(
        None, "tls", "section", "TLS of routes, always verified both ways.", reload=True, section=TLSOptions
    )
    advertise: str = option(
        "", "cluster_advertise advertise", "advertise", "Address told to peers.", reload=True
    )
    no_advertise: bool = option(
        False, "no_advertise", "bool", "Do not tell clients of other servers.", reload=True
    )
    connect_retries: int = option(0, "connect_retries", "int", "Attempts for routes learnt.", reload=True)
    connect_backoff: bool = option(
        False, "connect_backoff", "bool", "Wait longer after each attempt.", reload=True
    )
    pool_size: int = option(3, "pool_size", "int", "Connections per peer; -1 is one, unpooled.", reload=True)
    accounts: list[str] = option(
        list, "accounts", "strings", "Accounts with a connection of their own.", reload=True
    )
    compression: CompressionOptions = option(
        _accept, "compression", "compression", "Compression of routes.", reload=True
    )
    ping_interval: int | None = option(
        None, "ping_interval", "duration", "Time between pings, at most 30s.", reload=True
    )
    ping_max: int | None = option(None, "ping_max", "int", "Unanswered pings allowed.", reload=True)
    write_deadline: int | None = option(
        None, "write_deadline", "duration", "Time for a write; the server's when unset.", reload=True
    )
    write_timeout: str = option(
        "default",
        "write_timeout",
        "choice",
        "What a late write does.",
        reload=True,
        choices=("default", "close", "retry"),
    )


@dataclass(slots=True)
class RemoteGateway:
    """Another cluster of the super cluster."""

    name: str = option("", "name", "string", "Name of the cluster.")
    urls: list[str] = option(list, "url urls", "urls", "Its gateways.")
    tls: TLSOptions | None = option(None, "tls", "section", "TLS to it.", reload=True, section=TLSOptions)


@dataclass(slots=True)
class GatewayOptions:
    """The `gateway { }` block."""

    name: str = option("", "name", "string", "Name of this cluster.")
    host: str = option("0.0.0.0", "host net", "string", "Address to listen on.")  # noqa: S104 the reference's default
    port: int | None = option(None, "port listen", "port", "Port, or address, for gateways; -1 any.")
    authorization: PeerAuthorization | None = option(
        None, "authorization", "section", "The user of gateways.", section=PeerAuthorization
    )
    tls: TLSOptions | None = option(
        None, "tls", "section", "TLS of gateways, always verified both ways.", reload=True, section=TLSOptions
    )
    advertise: str = option("", "advertise", "advertise", "Address told to peers.")
    connect_retries: int = option(0, "connect_retries", "int", "Attempts for gateways learnt.")
    connect_backoff: bool = option(False, "connect_backoff", "bool", "Wait longer after each attempt.")
    reject_unknown_cluster: bool = option(
        False, "reject_unknown_cluster reject_unknown", "bool", "Refuse clusters not listed."
    )
    write_deadline: int = option(10 * SECOND, "write_deadline", "duration", "Time for a write.")
    write_timeout: str = option(
        "default", "write_timeout", "choice", "What a late write does.", choices=("default", "close", "retry")
    )
    gateways: list[RemoteGateway] = option(
        list, "gateways", "sections", "The other clusters.", section=RemoteGateway
    )
