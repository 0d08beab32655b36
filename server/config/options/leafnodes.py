"""Options of leaf nodes: the listener for leafs, and the hubs this server joins."""

from __future__ import annotations

from ....protocol.lazy_dataclass import dataclass
from .authorization import UserOptions
from .field import SECOND, option
from .tls import TLSOptions


@dataclass(slots=True)
class CompressionOptions:
    """The compression of a connection. `rtt_thresholds` is in ns, for mode "s2_auto"."""

    mode: str = "s2_auto"
    rtt_thresholds: list[int] | None = None


@dataclass(slots=True)
class ProxyOptions:
    """The HTTP proxy of a remote; for WebSocket URLs only."""

    url: str = option("", "url", "string", "Address of the proxy.")
    username: str = option("", "username", "string", "User name for the proxy.")
    password: str = option("", "password", "string", "Password for the proxy.", secret=True)
    timeout: int = option(0, "timeout", "duration", "Longest time to connect.")


@dataclass(slots=True)
class RemoteOptions:
    """One hub to join."""

    urls: list[str] = option(list, "url urls", "leaf_urls", "URLs to connect to, tried in turn.")
    account: str = option("$G", "account local", "string", "Local account that the connection is for.")
    credentials: str = option(
        "", "credentials creds", "path", "Credentials file; `~` and `$VAR` are expanded."
    )
    nkey: str = option("", "nkey seed", "string", "User seed; not together with `credentials`.", secret=True)
    tls: TLSOptions | None = option(
        None, "tls", "section", "TLS for the connection to the hub.", reload=True, section=TLSOptions
    )
    hub: bool = option(False, "hub", "bool", "Be the hub of this connection.")
    deny_imports: list[str] = option(
        list, "deny_imports deny_import", "subjects", "Subjects that are not accepted from the hub."
    )
    deny_exports: list[str] = option(
        list, "deny_exports deny_export", "subjects", "Subjects that are not sent to the hub."
    )
    no_randomize: bool = option(False, "no_randomize dont_randomize", "bool", "Try the URLs in order.")
    compression: CompressionOptions = option(
        CompressionOptions, "compression", "compression", "Compression of the connection.", reload=True
    )
    ws_compression: bool = option(
        False,
        "ws_compression ws_compress websocket_compress websocket_compression",
        "bool",
        "Compress WebSocket frames.",
    )
    ws_no_masking: bool = option(
        False, "ws_no_masking websocket_no_masking", "bool", "Ask for WebSocket frames without masks."
    )
    jetstream_cluster_migrate: bool = option(
        False,
        "jetstream_cluster_migrate js_cluster_migrate",
        "cluster_migrate",
        "Give up leading local streams when the connection is lost.",
    )
    leader_migrate_delay: int = 0
    isolate: bool = option(
        False,
        "isolate_leafnode_interest isolate",
        "bool",
        "Do not send other leaf nodes' interest to this hub.",
    )
    request_isolation: bool = option(
        False, "request_isolation", "bool", "Ask the hub not to send other leaf nodes' interest."
    )
    first_info_timeout: int = option(
        SECOND, "first_info_timeout", "duration", "Longest wait for the hub's first INFO."
    )
    dial_timeout: int | None = option(
        None, "dial_timeout", "duration", "Longest time to connect; if unset, that of `leafnodes`."
    )
    disabled: bool = option(False, "disabled", "bool", "Do not connect.", reload=True)
    proxy: ProxyOptions | None = option(
        None, "proxy", "section", "HTTP proxy; for WebSocket URLs only.", section=ProxyOptions
    )
    ignore_discovered_servers: bool = option(
        False,
        "ignore_discovered_servers",
        "bool",
        "Do not connect to other addresses that the hub announces.",
    )


@dataclass(slots=True)
class LeafAuthorization:
    """Who may join as a leaf node. If unset, the users of clients may."""

    user: str = option("", "user username", "string", "The only user.")
    password: str = option("", "password pass", "string", "Its password, plain or bcrypt.", secret=True)
    nkey: str = option("", "nkey", "string", "Public user key.")
    account: str = option("", "account", "string", "Account of the leaf node.")
    timeout: int | None = option(None, "timeout", "seconds", "Time to log in.")
    users: list[UserOptions] = option(list, "users", "leaf_users", "Users, each with its account.")
    proxy_required: bool = option(False, "proxy_required", "bool", "Only through a trusted proxy.")


@dataclass(slots=True)
class LeafOptions:
    """The `leafnodes { }` block: a listener for leaf nodes, and hubs to join.

    port: None for no listener.
    """

    host: str = option("0.0.0.0", "host net", "string", "Address to listen on.")  # noqa: S104 the reference's default
    port: int | None = option(
        None, "port listen", "port", "Port or `host:port` for leaf nodes, usually 7422; -1: any free port."
    )
    authorization: LeafAuthorization | None = option(
        None, "authorization", "section", "Who may join.", section=LeafAuthorization
    )
    tls: TLSOptions | None = option(
        None, "tls", "section", "TLS of the listener.", reload=True, section=TLSOptions
    )
    advertise: str = option(
        "", "advertise leafnode_advertise", "advertise", "Address announced to leaf nodes."
    )
    no_advertise: bool = option(
        False, "no_advertise", "bool", "Do not announce other addresses to leaf nodes."
    )
    min_version: str = option(
        "",
        "min_version minimum_version",
        "leaf_version",
        "Refuse leaf nodes of an older version; 2.8.0 or newer.",
    )
    compression: CompressionOptions = option(
        CompressionOptions, "compression", "compression", "Compression of the connections.", reload=True
    )
    isolate: bool = option(
        False, "isolate_leafnode_interest isolate", "bool", "Do not pass leaf nodes' interest to each other."
    )
    reconnect: int = option(
        SECOND,
        "reconnect reconnect_delay reconnect_interval",
        "reconnect",
        "Time between two attempts to connect.",
    )
    dial_timeout: int = option(SECOND, "dial_timeout", "duration", "Longest time to connect to a hub.")
    write_deadline: int | None = option(
        None, "write_deadline", "duration", "Longest time for a write; if unset, the server's."
    )
    write_timeout: str = option(
        "default",
        "write_timeout",
        "choice",
        "After `write_deadline`: `close` or, if the peer reads, `retry` (the default).",
        choices=("default", "close", "retry"),
    )
    remotes: list[RemoteOptions] = option(
        list, "remotes", "sections", "Hubs to join.", reload=True, section=RemoteOptions
    )
