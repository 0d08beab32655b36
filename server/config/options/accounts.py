"""Options of accounts: users, exports, imports, subject mappings, JetStream and limits."""

from __future__ import annotations

from ....protocol.lazy_dataclass import dataclass
from .authorization import PermissionsOptions, UserOptions
from .field import option


@dataclass(slots=True)
class LatencyOptions:
    """Where a service's latency is published.

    sampling: percent; 0 for only those requests whose headers ask for it.
    """

    subject: str
    sampling: int = 100


@dataclass(slots=True)
class ExportOptions:
    """One export.

    kind: "stream" or "service".
    accounts: those that may import it; None for all.
    account_token_position: the 1-based token of the subject that must equal the importing account; 0 for
        none.
    response_type: "singleton", "stream" or "chunked".
    response_threshold: in ns; 0 for none.
    """

    kind: str
    subject: str
    accounts: list[str] | None = None
    account_token_position: int = 0
    response_type: str = "singleton"
    response_threshold: int = 0
    latency: LatencyOptions | None = None
    allow_trace: bool = False


@dataclass(slots=True)
class ImportOptions:
    """One import of `subject` from `account`.

    to: the local subject; "" for the same one.
    prefix: for streams only, put before the subject.
    share: for services only, whether to tell the exporter who asks.
    """

    kind: str
    account: str
    subject: str
    to: str = ""
    prefix: str = ""
    share: bool = False
    allow_trace: bool = False


@dataclass(slots=True)
class DestinationOptions:
    """One destination of a mapping.

    weight: in percent.
    cluster: the cluster that it applies to; "" for any.
    """

    subject: str
    weight: int = 100
    cluster: str = ""


@dataclass(slots=True)
class MappingOptions:
    """A subject mapping with all its destinations, as written: no remainder is added."""

    source: str
    destinations: list[DestinationOptions]


@dataclass(slots=True)
class AccountLimitOptions:
    """Limits of an account; -1: unlimited."""

    max_connections: int = option(-1, "max_connections max_conn", "int", "Client connections.", reload=True)
    max_subscriptions: int = option(-1, "max_subscriptions max_subs", "int", "Subscriptions.", reload=True)
    max_payload: int = option(-1, "max_payload max_pay", "int", "Largest message in bytes.", reload=True)
    max_leafnodes: int = option(-1, "max_leafnodes max_leafs", "int", "Leaf connections.", reload=True)


@dataclass(slots=True)
class AccountJetStream:
    """Limits of an account's JetStream; -1: the server's limit."""

    max_memory: int = option(
        -1, "max_memory max_mem mem memory", "int", "Bytes of memory streams.", reload=True
    )
    max_store: int = option(
        -1, "max_store max_file max_disk store disk", "int", "Bytes of file streams.", reload=True
    )
    max_streams: int = option(-1, "max_streams streams", "int", "Streams.", reload=True)
    max_consumers: int = option(-1, "max_consumers consumers", "int", "Consumers.", reload=True)
    max_bytes_required: bool = option(
        False,
        "max_bytes_required max_stream_bytes max_bytes",
        "bool",
        "Each stream must set `max_bytes`.",
        reload=True,
    )
    memory_max_stream_bytes: int = option(
        -1, "memory_max_stream_bytes mem_max_stream_bytes", "int", "Bytes of one memory stream.", reload=True
    )
    store_max_stream_bytes: int = option(
        -1, "store_max_stream_bytes disk_max_stream_bytes", "int", "Bytes of one file stream.", reload=True
    )
    max_ack_pending: int = option(
        -1, "max_ack_pending", "int", "Largest `max_ack_pending` of a consumer.", reload=True
    )
    cluster_traffic: str = option(
        "system",
        "cluster_traffic",
        "choice",
        "Account that carries Raft messages: `system` or `owner`.",
        reload=True,
        choices=("system", "owner"),
    )


@dataclass(slots=True)
class TraceDestination:
    """Where traced messages are reported, and how many of them (percent)."""

    dest: str
    sampling: int = 100


@dataclass(slots=True)
class AccountOptions:
    """One account.

    jetstream: None for no JetStream.
    """

    name: str = ""
    nkey: str = option("", "nkey", "string", "Public account key.", reload=True)
    users: list[UserOptions] = option(
        list, "users", "users", "Users of the account.", reload=True, section=UserOptions
    )
    default_permissions: PermissionsOptions | None = option(
        None, "default_permissions", "permissions", "For users without permissions of their own.", reload=True
    )
    exports: list[ExportOptions] = option(
        list, "exports", "exports", "Streams and services that others may import.", reload=True
    )
    imports: list[ImportOptions] = option(
        list, "imports", "imports", "Streams and services of other accounts.", reload=True
    )
    jetstream: AccountJetStream | None = option(
        None,
        "jetstream",
        "account_jetstream",
        "true, false, or a map of limits.",
        reload=True,
        section=AccountJetStream,
    )
    mappings: list[MappingOptions] = option(
        list, "mappings maps", "mappings", "Subject mappings, with weights.", reload=True
    )
    limits: AccountLimitOptions = option(
        AccountLimitOptions,
        "limits",
        "section",
        "Limits of the account.",
        reload=True,
        section=AccountLimitOptions,
    )
    msg_trace: TraceDestination | None = option(
        None, "msg_trace trace_dest", "msg_trace", "Default destination of message traces.", reload=True
    )
