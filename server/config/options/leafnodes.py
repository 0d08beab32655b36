"""Options of leaf nodes: the listener for leafs, and the hubs this server joins."""

# ruff: noqa: RUF009  (option() declares a field, as dataclasses.field does)

from __future__ import annotations

from dataclasses import dataclass

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
    """HTTP proxy to dial a remote through; websocket URLs only."""

    url: str = option("", "url", "string", "Address of the proxy.")
    username: str = option("", "username", "string", "Name for the proxy.")
    password: str = option("", "password", "string", "Password for the proxy.", secret=True)
    timeout: int = option(0, "timeout", "duration", "Time to connect.")


@dataclass(slots=True)
class RemoteOptions:
    """One hub to join. `urls` are complete: a scheme, credentials if given, host and port."""

    urls: list[str] = option(list, "url urls", "leaf_urls", "Where to connect; tried in turn.")
    account: str = option("$G", "account local", "string", "Local account that is bound.")
    credentials: str = option("", "credentials creds", "path", "Credentials file; `~` and `$VAR` expand.")
    nkey: str = option("", "nkey seed", "string", "User seed, not together with credentials.", secret=True)
    tls: TLSOptions | None = option(
        None, "tls", "section", "TLS to the hub.", reload=True, section=TLSOptions
    )
    hub: bool = option(False, "hub", "bool", "Act as the hub of this connection.")
    deny_imports: list[str] = option(
        list, "deny_imports deny_import", "subjects", "Subjects not accepted from the remote."
    )
    deny_exports: list[str] = option(
        list, "deny_exports deny_export", "subjects", "Subjects not sent to the remote."
    )
    no_randomize: bool = option(False, "no_randomize dont_randomize", "bool", "Try the URLs in order.")
    compression: CompressionOptions = option(
        CompressionOptions, "compression", "compression", "Compression of the connection.", reload=True
    )
    ws_compression: bool = option(
        False,
        "ws_compression ws_compress websocket_compress websocket_compression",
        "bool",
        "Compress websocket frames.",
    )
    ws_no_masking: bool = option(
        False, "ws_no_masking websocket_no_masking", "bool", "Ask for websocket frames without masks."
    )
    jetstream_cluster_migrate: bool = option(
        False,
        "jetstream_cluster_migrate js_cluster_migrate",
        "cluster_migrate",
        "Step down from leading local streams when the link is lost.",
    )
    leader_migrate_delay: int = 0
    isolate: bool = option(
        False, "isolate_leafnode_interest isolate", "bool", "Keep other leafs' interest from this remote."
    )
    request_isolation: bool = option(
        False, "request_isolation", "bool", "Ask the hub to keep other leafs' interest away."
    )
    first_info_timeout: int = option(
        SECOND, "first_info_timeout", "duration", "Time to wait for the hub's first INFO."
    )
    dial_timeout: int | None = option(
        None, "dial_timeout", "duration", "Time to connect; that of `leafnodes` when unset."
    )
    disabled: bool = option(False, "disabled", "bool", "Do not connect.", reload=True)
    proxy: ProxyOptions | None = option(
        None, "proxy", "section", "HTTP proxy, websocket URLs only.", section=ProxyOptions
    )
    ignore_discovered_servers: bool = option(
        False, "ignore_discovered_servers", "bool", "Do not dial addresses the hub tells of."
    )


@dataclass(slots=True)
class LeafAuthorization:
    """`leafnodes { authorization { } }`. When unset, clients' users hold for leafs too."""

    user: str = option("", "user username", "string", "The only user.")
    password: str = option("", "password pass", "string", "Its password, plain or bcrypt.", secret=True)
    nkey: str = option("", "nkey", "string", "Public user key.")
    account: str = option("", "account", "string", "Account the leaf is bound to.")
    timeout: int | None = option(None, "timeout", "seconds", "Time to send CONNECT.")
    users: list[UserOptions] = option(list, "users", "leaf_users", "Users, each with its account.")
    proxy_required: bool = option(False, "proxy_required", "bool", "Only through a trusted proxy.")


@dataclass(slots=True)
class LeafOptions:
    """The `leafnodes { }` block. `port` None: no listener."""

    host: str = option("0.0.0.0", "host net", "string", "Address to listen on.")  # noqa: S104 the reference's default
    port: int | None = option(
        None, "port listen", "port", "Port, or address, for leaf connections; 7422 is customary, -1 any."
    )
    authorization: LeafAuthorization | None = option(
        None, "authorization", "section", "Who may join.", section=LeafAuthorization
    )
    tls: TLSOptions | None = option(
        None, "tls", "section", "TLS of the listener.", reload=True, section=TLSOptions
    )
    advertise: str = option("", "advertise leafnode_advertise", "advertise", "Address told to leafs.")
    no_advertise: bool = option(False, "no_advertise", "bool", "Do not tell leafs of other addresses.")
    min_version: str = option(
        "",
        "min_version minimum_version",
        "leaf_version",
        "Refuse leafs of an older version (2.8.0 or newer).",
    )
    compression: CompressionOptions = option(
        CompressionOptions, "compression", "compression", "Compression of the connections.", reload=True
    )
    isolate: bool = option(
        False, "isolate_leafnode_interest isolate", "bool", "Do not pass interest between leafs."
    )
    reconnect: int = option(
        SECOND, "reconnect reconnect_delay reconnect_interval", "reconnect", "Time between two attempts."
    )
    dial_timeout: int = option(SECOND, "dial_timeout", "duration", "Time to connect to a remote.")
    write_deadline: int | None = option(
        None, "write_deadline", "duration", "Time for a write; the server's when unset."
    )
    write_timeout: str = option(
        "default", "write_timeout", "choice", "What a late write does.", choices=("default", "close", "retry")
    )
    remotes: list[RemoteOptions] = option(
        list, "remotes", "sections", "Hubs to join.", reload=True, section=RemoteOptions
    )
