"""`Options`: the whole configuration of one server."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from ....protocol.lazy_dataclass import dataclass
from .accounts import AccountOptions, MappingOptions
from .authorization import AuthorizationOptions
from .cluster import ClusterOptions, GatewayOptions
from .field import MINUTE, SECOND, option
from .jetstream import JetStreamOptions
from .leafnodes import LeafOptions
from .listeners import MQTTOptions, WebSocketOptions
from .operator import ResolverOptions
from .tls import TLSOptions

if TYPE_CHECKING:
    from ..files import Files
    from ..tree import ConfigProblem, SourcePosition

MIB = 1024 * 1024


@dataclass(slots=True)
class Options:
    """All options. Defaults are those of a server started without a configuration.

    Durations are in ns, sizes in bytes. A port of 0 means any free port, a port of None no such listener.
    `auth_timeout` is derived: `authorization.timeout`, else the TLS timeout plus 1 s, else 2 s.
    """

    host: str = option("0.0.0.0", "host net", "string", "Address to listen on for clients.")  # noqa: S104 the reference's default
    port: int = option(
        4222, "port listen", "client_port", "Port or `host:port` for clients; -1: any free port."
    )
    client_advertise: str = option(
        "",
        "client_advertise",
        "advertise",
        "Address announced to clients instead of the listener's.",
        reload=True,
    )
    server_name: str = option(
        "", "server_name", "name", "Name, unique in a cluster; if unset, the server id."
    )
    server_tags: list[str] = option(
        list, "server_tags", "tags", "Tags that the placement of streams can ask for.", reload=True
    )
    server_metadata: dict[str, str] = option(
        dict, "server_metadata", "string_map", "Shown in varz.", reload=True
    )
    feature_flags: dict[str, bool] = option(
        dict, "feature_flags", "bool_map", "Switches for new behaviour: `js_ack_fc_v2`, `js_api_reply_v2`."
    )

    debug: bool = option(False, "debug", "bool", "Log debug lines.", reload=True)
    trace: bool = option(False, "trace", "bool", "Log the protocol.", reload=True)
    trace_verbose: bool = option(
        False, "trace_verbose", "bool", "As `trace`, and also the system account.", reload=True
    )
    trace_headers: bool = option(
        False, "trace_headers", "bool", "As `trace`, with headers but without payloads.", reload=True
    )
    logtime: bool = option(True, "logtime", "bool", "Begin log lines with the time.", reload=True)
    logtime_utc: bool = option(False, "logtime_utc", "bool", "Log times in UTC.", reload=True)
    log_file: str = option("", "logfile log_file", "path", "Log to this file.", reload=True)
    log_size_limit: int = option(
        0,
        "logfile_size_limit log_size_limit",
        "size",
        "Size in bytes at which the log file is rotated; 0: never.",
        reload=True,
    )
    log_max_num: int = option(
        0, "logfile_max_num log_max_num", "int", "Rotated log files that are kept; 0: all."
    )
    syslog: bool = option(False, "syslog", "bool", "Log to syslog.", reload=True)
    remote_syslog: str = option("", "remote_syslog", "string", "Log to this syslog server.", reload=True)
    pid_file: str = option("", "pid_file pidfile", "path", "File that holds the process id.", reload=True)
    ports_file_dir: str = option(
        "",
        "ports_file_dir",
        "path",
        "Directory for `<program>_<pid>.ports`, a JSON file with the server's URLs.",
        reload=True,
    )
    prof_port: int = option(0, "prof_port", "int", "Port of the profiler.")
    prof_block_rate: int = option(0, "prof_block_rate", "int", "Rate of the profiler.", reload=True)

    http_host: str = ""
    http_port: int | None = option(
        None,
        "http_port monitor_port http",
        "monitor_port",
        "Port or `host:port` for monitoring; -1: any free port.",
    )
    https_port: int | None = option(
        None, "https_port https", "monitor_port", "The same with TLS; not together with `http_port`."
    )
    http_base_path: str = option("/", "http_base_path", "string", "Prefix of the monitoring paths.")

    max_control_line: int = option(
        4096, "max_control_line", "int", "Longest protocol line in bytes.", maximum=2**31 - 1, reload=True
    )
    max_payload: int = option(
        MIB,
        "max_payload",
        "size",
        "Largest message in bytes; at most `max_pending`.",
        maximum=2**31 - 1,
        reload=True,
    )
    max_pending: int = option(64 * MIB, "max_pending", "size", "Bytes that may wait for a slow client.")
    max_buffered: int = option(
        0,
        "max_buffered",
        "size",
        "Bytes held for all connections together: parts of messages, and what peers have not read. Above it "
        "the newest senders wait. 0: an eighth of the memory.",
        minimum=0,
        reload=True,
    )
    max_connections: int = option(
        65536, "max_connections max_conn", "int", "Client connections; 0 or less refuses all.", reload=True
    )
    max_subscriptions: int = option(
        0, "max_subscriptions max_subs", "int", "Subscriptions of one connection; 0: unlimited."
    )
    max_sub_tokens: int = option(
        0,
        "max_sub_tokens max_subscription_tokens",
        "int",
        "Tokens in a subscription's subject; 0: unlimited.",
        minimum=1,
        maximum=255,
    )
    max_traced_msg_len: int = option(
        0, "max_traced_msg_len", "int", "Bytes of a payload that a trace line shows; 0: all.", reload=True
    )
    max_closed_clients: int = option(
        10_000, "max_closed_clients", "int", "Closed connections that `connz` shows."
    )
    ping_interval: int = option(2 * MINUTE, "ping_interval", "duration", "Time between pings.", reload=True)
    ping_max: int = option(2, "ping_max", "int", "Unanswered pings allowed.", reload=True)
    write_deadline: int = option(
        10 * SECOND, "write_deadline", "duration", "Longest time for a write.", reload=True
    )
    write_timeout: str = option(
        "default",
        "write_timeout",
        "choice",
        "After `write_deadline`: `close` (the default) or, if the client reads, `retry`.",
        choices=("default", "close", "retry"),
    )
    lame_duck_duration: int = option(
        2 * MINUTE,
        "lame_duck_duration",
        "strict_duration",
        "Time over which lame duck mode closes client connections.",
        minimum=30 * SECOND,
    )
    lame_duck_grace_period: int = option(
        10 * SECOND,
        "lame_duck_grace_period",
        "strict_duration",
        "Time before lame duck mode closes the first; below `lame_duck_duration`.",
    )

    authorization: AuthorizationOptions = option(
        AuthorizationOptions,
        "authorization",
        "section",
        "Who may connect.",
        reload=True,
        section=AuthorizationOptions,
    )
    auth_timeout: int = 2 * SECOND
    no_auth_user: str = option("", "no_auth_user", "string", "User for clients that send no credentials.")
    default_sentinel: str = option(
        "",
        "default_sentinel",
        "string",
        "JWT for clients that send none (operator mode).",
        reload=True,
        secret=True,
    )
    accounts: dict[str, AccountOptions] = option(
        dict,
        "accounts",
        "accounts",
        "Accounts: a list of names, or a map.",
        reload=True,
        section=AccountOptions,
    )
    mappings: list[MappingOptions] = option(
        list, "mappings maps", "mappings", "Subject mappings of `$G`.", reload=True
    )
    system_account: str = option("", "system_account system", "string", "System account; if unset, `$SYS`.")
    no_system_account: bool = option(
        False, "no_system_account no_system no_sys_acc", "bool", "Have no system account."
    )

    operator: list[str] = option(
        list,
        "operator operators root roots root_operator root_operators",
        "strings",
        "Operator JWTs: paths or the JWTs themselves.",
    )
    trusted_keys: list[str] = option(list, "trusted_keys trusted", "strings", "Public operator keys.")
    resolver: ResolverOptions | None = option(
        None,
        "resolver account_resolver accounts_resolver",
        "resolver",
        "Where account JWTs come from.",
        section=ResolverOptions,
    )
    resolver_tls: TLSOptions | None = option(
        None,
        "resolver_tls",
        "section",
        "TLS for connections to a URL resolver.",
        reload=True,
        section=TLSOptions,
    )
    resolver_preload: dict[str, str] = option(
        dict, "resolver_preload", "preload", "Account JWTs by public key.", reload=True, secret=True
    )
    resolver_pinned_accounts: list[str] = option(
        list, "resolver_pinned_accounts", "strings", "The only accounts that may be used."
    )

    leafnodes: LeafOptions = option(
        LeafOptions, "leafnodes leaf", "section", "Leaf nodes.", reload=True, section=LeafOptions
    )
    jetstream: JetStreamOptions = option(
        JetStreamOptions,
        "jetstream",
        "jetstream",
        "JetStream: true, false or a map.",
        reload=True,
        section=JetStreamOptions,
    )
    store_dir: str = option(
        "", "store_dir storedir", "path", "Same as `jetstream { store_dir }`; only one of both may be set."
    )
    default_js_domain: dict[str, str] = option(
        dict, "default_js_domain", "string_map", "For an account, the domain that `$JS.API` requests go to."
    )
    cluster: ClusterOptions | None = option(
        None, "cluster", "section", "Routes to the servers of a cluster.", reload=True, section=ClusterOptions
    )
    gateway: GatewayOptions | None = option(
        None, "gateway", "section", "Gateways to other clusters.", reload=True, section=GatewayOptions
    )
    tls: TLSOptions | None = option(
        None, "tls", "section", "TLS of the client listener.", reload=True, section=TLSOptions
    )
    allow_non_tls: bool = option(False, "allow_non_tls", "bool", "Clients may also connect without TLS.")
    ocsp: dict[str, object] | None = option(
        None,
        "ocsp",
        "ocsp",
        "OCSP answers with the certificate; cannot be done, so refused where needed.",
        reload=True,
    )
    ocsp_cache: dict[str, object] | None = option(
        None, "ocsp_cache", "ocsp_cache", "Cache of OCSP answers.", reload=True
    )
    websocket: WebSocketOptions | None = option(
        None,
        "websocket ws",
        "section",
        "Clients and leaf nodes over WebSocket.",
        reload=True,
        section=WebSocketOptions,
    )
    mqtt: MQTTOptions | None = option(
        None, "mqtt", "section", "Clients that speak MQTT.", reload=True, section=MQTTOptions
    )
    connect_error_reports: int = option(
        3600,
        "connect_error_reports",
        "int",
        "Failed attempts for each line in the log, before a first connection.",
        reload=True,
    )
    reconnect_error_reports: int = option(
        1, "reconnect_error_reports", "int", "The same after a lost connection.", reload=True
    )
    no_sublist_cache: bool = option(
        False,
        "disable_sublist_cache no_sublist_cache",
        "bool",
        "Do not cache which subscriptions match a subject.",
    )
    no_header_support: bool = option(False, "no_header_support", "bool", "Do not support message headers.")
    no_fast_producer_stall: bool = option(
        False,
        "no_fast_producer_stall",
        "bool",
        "Do not slow down publishers when receivers are slow.",
        reload=True,
    )
    proxy_protocol: bool = option(False, "proxy_protocol", "bool", "Accept HAProxy's PROXY header.")
    proxies: list[str] = option(
        list, "proxies", "proxies", "Public keys of trusted proxies, `{trusted: [{key: ...}]}`.", reload=True
    )

    config_file: str = field(default="", compare=False)
    config_digest: str = field(default="", compare=False)
    config_files: Files = field(default_factory=dict, compare=False, repr=False)
    positions: dict[str, SourcePosition] = field(default_factory=dict, compare=False, repr=False)
    warnings: list[ConfigProblem] = field(default_factory=list, compare=False, repr=False)
    notices: list[str] = field(default_factory=list, compare=False, repr=False)
