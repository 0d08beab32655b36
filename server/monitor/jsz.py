"""jsz: JetStream, its accounts, streams and consumers.

Without JetStream this answers, too, so it imports JetStream's modules only where there are streams.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...protocol.errors import ApiError
from ...protocol.identifier import name_hash
from ...protocol.lazy_dataclass import dataclass
from ...protocol.limits import API_LEVEL
from ..clock import SECOND
from ..config.options.jetstream import DEFAULT_MAX_CONSUMERS
from ..slices import Steps, map_in_steps, matching
from .request import NotForThisServerError, RequestError, asked, page
from .view import Monitored, head

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..jetstream.account.account import JetStreamAccount
    from ..jetstream.cluster.local_info import LocalStreamView
    from ..jetstream.consumers.core import Consumer
    from ..jetstream.engine import JetStream
    from ..jetstream.meta.assignment import ConsumerAssignment, StreamAssignment
    from ..jetstream.streams.core import Stream

_SYNC_INTERVAL = 120 * SECOND  # shown if none is set: nats-server's default
_UNSIGNED = 1 << 64


@dataclass(slots=True)
class JszRequest:
    """What to show. Streams are shown only with their account, and consumers only with their stream.

    leader_only: only the leader of the meta group should answer.
    stream_leader_only: show only streams that this server leads.
    raft: show also how many streams and consumers this server leads, and the names of their groups.
    """

    account: str = asked("", "acc", "account")
    accounts: bool = asked(False, "accounts")
    streams: bool = asked(False, "streams")
    consumers: bool = asked(False, "consumers", "consumer")
    direct_consumers: bool = asked(False, "direct-consumers", "direct_consumer")
    config: bool = asked(False, "config")
    leader_only: bool = asked(False, "leader-only", "leader_only")
    stream_leader_only: bool = asked(False, "stream-leader-only", "stream_leader_only")
    raft: bool = asked(False, "raft")
    offset: int = asked(0, "offset")
    limit: int = asked(0, "limit")


def jsz(server: Monitored, request: JszRequest | None = None) -> Steps[dict[str, Any]]:
    """Return the numbers of the server and, if requested, of its accounts.

    Raises RequestError for an unknown account, and NotForThisServerError if the leader is asked and this is
    not it.
    """
    request = request or JszRequest()
    engine = server.jetstream
    if engine is not None and not engine.running:
        engine = None  # this server was removed from its cluster
    if request.leader_only and (engine is None or (engine.cluster and not engine.cluster.view.is_leader)):
        raise NotForThisServerError("not leader")
    if engine is None:
        zero = dict.fromkeys(("memory", "storage", "reserved_memory", "reserved_storage", "accounts"), 0)
        return (
            zero
            | {"ha_assets": 0, "api": {"level": 0, "total": 0, "errors": 0}}
            | head(server)
            | {
                "disabled": True,
                "config": {"max_memory": 0, "max_storage": 0},
                "limits": {},
                **dict.fromkeys(("streams", "consumers", "messages", "bytes"), 0),
                "total": 0,
            }
        )
    document = stats(engine) | head(server) | {"config": config(engine), "limits": limits(engine)}
    document |= yield from _counts(engine)
    if engine.cluster is not None:
        from ..jetstream.cluster.monitoring import meta_cluster

        document["meta_cluster"] = meta_cluster(engine.cluster.view)
    if request.raft:
        document |= yield from _led(engine)
    chosen = list(engine.accounts.items())
    document["total"] = len(chosen)
    if request.account:
        chosen = [(name, account) for name, account in chosen if name == request.account]
        if not chosen:
            raise RequestError(f'account "{request.account}" not jetstream enabled')
    elif not (request.accounts or request.streams or request.consumers or request.config):
        return document
    local_streams = _local_streams(engine)
    details = []
    for name, account in page(chosen, request.offset, request.limit):
        details.append((yield from _account(name, account, request, local_streams)))
    return document | {"account_details": details}


def stats(engine: JetStream) -> dict[str, Any]:
    """Return the numbers of the server as a whole."""
    accounts = engine.accounts.values()
    return {
        "memory": engine.memory.used,
        "storage": engine.files.used,
        "reserved_memory": engine.memory.reserved,
        "reserved_storage": engine.files.reserved,
        "accounts": len(accounts),
        "ha_assets": 0 if engine.cluster is None else engine.cluster.view.ha_assets,
        "api": {
            "level": API_LEVEL,
            "total": sum(account.api_total for account in accounts),
            "errors": sum(account.api_errors for account in accounts),
        },
    }


def config(engine: JetStream) -> dict[str, Any]:
    """Return the server's JetStream configuration."""
    options = engine.options.jetstream
    found: dict[str, Any] = {
        "max_memory": engine.memory.limit,
        "max_storage": engine.files.limit,
        "store_dir": str(Path(options.store_dir) / "jetstream"),
    }
    # Without an interval every acknowledgement waits for its sync.
    found["sync_interval"] = options.sync_interval or _SYNC_INTERVAL
    if not options.sync_interval:
        found["sync_always"] = True
    if options.domain:
        found["domain"] = options.domain
    return found | {"compress_ok": True, "strict": options.strict}


def limits(engine: JetStream) -> dict[str, int]:
    """Return the limits of streams and consumers that are set."""
    given = engine.options.jetstream.limits
    found = {
        "default_max_consumers": given.default_max_consumers or DEFAULT_MAX_CONSUMERS,
        "max_request_batch": given.max_request_batch,
        "max_ack_pending": given.max_ack_pending,
        "max_ha_assets": given.max_ha_assets,
        "max_duplicate_window": given.duplicate_window,
    }
    return {name: value for name, value in found.items() if value}


def _local_streams(engine: JetStream) -> Mapping[tuple[str, str], LocalStreamView]:
    """Return this server's streams of a cluster, by account and stream; {} without a cluster."""
    return {} if engine.cluster is None else engine.cluster.view.local_streams


def _counts(engine: JetStream) -> Steps[dict[str, int]]:
    """Count what this server has. In a cluster, followers have the consumers of their streams too."""
    counts = dict.fromkeys(("streams", "consumers", "messages", "bytes"), 0)
    for account in list(engine.accounts.values()):
        for stream in list(account.streams.values()):
            counts["streams"] += 1
            counts["messages"] += stream.store.messages
            counts["bytes"] += stream.store.bytes
            if engine.cluster is None:
                counts["consumers"] += len(stream.consumers.public())
            yield
    for local in list(_local_streams(engine).values()):
        counts["consumers"] += len(local.consumers())
        yield
    return counts


def _led(engine: JetStream) -> Steps[dict[str, int]]:
    """Count the streams and consumers that this server leads. A count of 0 is left out."""
    streams = [stream for account in engine.accounts.values() for stream in account.streams.values()]
    if engine.cluster is not None:
        led = yield from matching(list(_local_streams(engine).values()), lambda local: local.leads())
        streams = [local.stream for local in led if local.stream is not None]
    consumers = yield from map_in_steps(streams, lambda stream: len(stream.consumers.public()))
    counts = {"streams_leader": len(streams), "consumers_leader": sum(consumers)}
    return {name: count for name, count in counts.items() if count}


def account_jsz(server: Monitored, request: JszRequest) -> Steps[dict[str, Any]]:
    """Return one account, as the answer to `$SYS.REQ.ACCOUNT.<name>.JSZ`. Raises RequestError."""
    engine = server.jetstream
    if engine is None or not engine.running:
        raise RequestError("jetstream not enabled")
    if server.registry.get(request.account) is None:
        raise RequestError(f'account "{request.account}" not found')
    account = engine.accounts.get(request.account)
    if account is None:
        raise RequestError(f'account "{request.account}" not jetstream enabled')
    local_streams = _local_streams(engine)
    return (yield from _account(request.account, account, request, local_streams))


def _account(
    name: str,
    account: JetStreamAccount,
    request: JszRequest,
    local_streams: Mapping[tuple[str, str], LocalStreamView],
) -> Steps[dict[str, Any]]:
    for stream in list(account.streams.values()):
        stream.contents.update_usage()
        yield
    detail: dict[str, Any] = {"name": account.account.display, "id": name}
    limits = account.limits.by_tier.get("")
    detail |= {
        "memory": account.limits.memory.used,
        "storage": account.limits.files.used,
        # On the reference, what is reserved for an account is its limit, as an unsigned number: -1 for none.
        "reserved_memory": 0 if limits is None else limits.max_memory % _UNSIGNED,
        "reserved_storage": 0 if limits is None else limits.max_store % _UNSIGNED,
        "accounts": 0,
        "ha_assets": 0,
        "api": {"level": API_LEVEL, "total": account.api_total, "errors": account.api_errors},
    }
    if not (request.streams or request.consumers or request.config):
        return detail
    details = []
    for stream in list(account.streams.values()):
        local = local_streams.get((name, stream.name))
        gone = account.streams.get(stream.name) is not stream
        if not gone and (local is None or local.leads() or not request.stream_leader_only):
            details.append((yield from _stream(stream, request, local)))
            yield
    if details or not request.stream_leader_only:
        detail["stream_detail"] = details
    return detail


def _stream(
    stream: Stream[Consumer], request: JszRequest, local: LocalStreamView | None
) -> Steps[dict[str, Any]]:
    """Return a stream. `local` is the stream of the cluster, None on a single server."""
    from ..jetstream.consumers.info import describe
    from ..jetstream.streams import stream_info

    info = (stream_info.info(stream) if local is None else local.info()).to_json()
    consumers = [] if local is None else local.consumers()
    if local is not None:  # a follower's consumers are in the log, but not served
        info["state"]["consumer_count"] = len(consumers)
    detail: dict[str, Any] = {"name": stream.name, "created": info["created"]}
    for key in ("cluster", *(("config",) if request.config else ()), "state", "mirror", "sources"):
        if key in info:
            detail[key] = info[key]
    if request.config:
        detail["config"] = stream.config.to_json()  # as it was given, without metadata of the server
    if request.raft and local is not None:
        # Tools identify streams and consumers by these names: a consumer has one, but no group of its own.
        group = local.assignment.group
        detail["stream_raft_group"] = group
        detail["consumer_raft_groups"] = [
            {"name": consumer.name, "raft_group": _consumer_group(local.assignment, consumer)}
            for consumer in (consumers if request.consumers else ())
        ]
    if request.consumers:
        detail["consumer_detail"] = yield from _consumers(stream, request, local)
    if request.direct_consumers:
        direct = [c for c in stream.consumers.values() if c.config.direct]
        detail["direct_consumer_detail"] = yield from map_in_steps(
            direct, lambda one: describe(one).to_json()
        )
    return detail


def _consumers(
    stream: Stream[Consumer], request: JszRequest, local: LocalStreamView | None
) -> Steps[list[dict[str, Any]]]:
    from ..jetstream.consumers.info import describe

    found = []
    names = stream.consumers.public() if local is None else local.consumers()
    for name in [consumer.name for consumer in names]:
        yield
        with suppress(ApiError):  # it was deleted in the meantime
            info = describe(stream.consumers.lookup(name)) if local is None else local.consumer_info(name)
            document = info.to_json()
            found.append(document if request.config else _without(document, "config"))
    return found


def _consumer_group(stream: StreamAssignment, consumer: ConsumerAssignment) -> str:
    memory = consumer.config.get("mem_storage") or stream.storage == "memory"
    kind = f"R{consumer.replicas(stream)}{'M' if memory else 'F'}"
    return f"C-{kind}-{name_hash(f'{stream.group} {consumer.name}')}"


def _without(document: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in document.items() if name != key}
