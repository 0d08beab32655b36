"""jsz: JetStream, its accounts, streams and consumers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..jetstream.stream import report
from .request import RequestError, asked, page
from .view import Monitored, head

if TYPE_CHECKING:
    from ..jetstream.account import JetStreamAccount
    from ..jetstream.stream.core import Stream


@dataclass(slots=True)
class JszRequest:
    """Streams are shown only with their account, consumers only with their stream."""

    account: str = asked("", "acc", "account")
    accounts: bool = asked(False, "accounts")
    streams: bool = asked(False, "streams")
    consumers: bool = asked(False, "consumers", "consumer")
    direct_consumers: bool = asked(False, "direct-consumers", "direct_consumer")
    config: bool = asked(False, "config")
    offset: int = asked(0, "offset")
    limit: int = asked(0, "limit")


def jsz(server: Monitored, request: JszRequest | None = None) -> dict[str, Any]:
    """The numbers of the server and, if asked, of its accounts. Raises RequestError for an unknown one."""
    request = request or JszRequest()
    engine = server.jetstream
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
    streams = [s for account in engine.accounts.values() for s in account.streams.values()]
    document = engine.stats() | head(server)
    document |= {
        "config": engine.config(),
        "limits": {},
        "streams": len(streams),
        "consumers": sum(len(stream.public_consumers()) for stream in streams),
        "messages": sum(stream.store.messages for stream in streams),
        "bytes": sum(stream.store.bytes for stream in streams),
    }
    if engine.cluster is not None:
        document["meta_cluster"] = engine.cluster.meta_cluster()
    held = list(engine.accounts.items())
    document["total"] = len(held)
    if request.account:
        held = [(name, account) for name, account in held if name == request.account]
        if not held:
            raise RequestError(f"account {request.account!r} not jetstream enabled")
    elif not (request.accounts or request.streams or request.consumers or request.config):
        return document
    document["account_details"] = [
        _account(name, account, request) for name, account in page(held, request.offset, request.limit)
    ]
    return document


def _account(name: str, account: JetStreamAccount, request: JszRequest) -> dict[str, Any]:
    info = account.info().to_json()
    detail: dict[str, Any] = {"name": account.account.display, "id": name}
    for key in ("memory", "storage", "reserved_memory", "reserved_storage"):
        detail[key] = info.get(key, 0)
    detail |= {"accounts": 0, "ha_assets": 0, "api": info["api"]}
    if request.streams or request.consumers or request.config:
        detail["stream_detail"] = [_stream(stream, request) for stream in account.streams.values()]
    return detail


def _stream(stream: Stream, request: JszRequest) -> dict[str, Any]:
    info = report.info(stream).to_json()
    detail: dict[str, Any] = {"name": stream.name, "created": info["created"]}
    for key in ("cluster", *(("config",) if request.config else ()), "state", "mirror", "sources"):
        if key in info:
            detail[key] = info[key]
    if request.consumers:
        consumers = [consumer.info().to_json() for consumer in stream.public_consumers()]
        detail["consumer_detail"] = (
            consumers if request.config else [_without(c, "config") for c in consumers]
        )
    if request.direct_consumers:
        direct = [c for c in stream.consumers.values() if c.config.direct]
        detail["direct_consumer_detail"] = [consumer.info().to_json() for consumer in direct]
    return detail


def _without(document: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in document.items() if name != key}
