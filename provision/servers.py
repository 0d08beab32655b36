"""Servers as they are asked and changed: the JetStream API of one or several domains.

`observe` asks only; `apply` changes. Both take a function that gives the API of a domain, so that a caller
brings the connection and its errors: `client_api` does for a client of nats-py.
"""

from __future__ import annotations

import json
from asyncio import gather
from collections.abc import AsyncIterator, Callable, Collection
from dataclasses import replace
from typing import Any, Protocol

from ..protocol.api.consumer import ConsumerConfig
from ..protocol.api.stream import StreamConfig, StreamState
from ..protocol.errors import ApiError
from .declared import Declared, Id, external_domain, origins
from .errors import ConflictError, UnreadableError
from .observed_state import ObservedConsumer, ObservedDomain, ObservedState, ObservedStream, fingerprint

Json = dict[str, Any]
AT_ONCE = 16  # requests for the consumers of streams
MOST_PAGES = 100_000  # a server that always tells of more is no reason to ask for ever


class JetStreamApi(Protocol):
    """The JetStream API of a domain."""

    async def request(self, name: str, payload: object = None) -> Json:
        """Ask ``<prefix>.<name>`` and return the answer. Raises an error of its own for an error answer."""


ApiOf = Callable[[str], JetStreamApi]


class ClientApi:
    """The JetStream API by a client of nats-py."""

    def __init__(self, client: Any, domain: str, timeout: float) -> None:
        self._client = client
        self._prefix = f"$JS.{domain}.API" if domain else "$JS.API"
        self._timeout = timeout

    async def request(self, name: str, payload: object = None) -> Json:
        """Ask, and return the answer. Raises ApiError, or what the client raises if nobody answers."""
        body = b"" if payload is None else json.dumps(payload).encode()
        answer = await self._client.request(f"{self._prefix}.{name}", body, timeout=self._timeout)
        found: Json = json.loads(answer.data)
        if "error" in found:
            raise ApiError.from_json(found["error"])
        return found


def client_api(client: Any, timeout: float = 5.0) -> ApiOf:
    """Return the API of any domain by a connected client of nats-py.

    timeout: seconds for each request.
    """
    return lambda domain: ClientApi(client, domain, timeout)


async def observe(declared: Declared, api_of: ApiOf, *, prune: str = "") -> ObservedState:
    """Return what servers have of all that is declared.

    prune: an owner whose streams are read as a whole.

    Raises UnreadableError if a server does not tell all, ConflictError if documents call one domain by two
    names, and what `api_of` raises.
    """
    wanted = {each._replace(consumer="") for each in (*declared.streams, *declared.consumers)}
    found = {}
    for domain in declared.domains:
        names = {each.stream for each in wanted if each.domain == domain}
        found[domain] = await read_domain(api_of(domain), None if prune else names)
    here = found.get("")
    if here is not None and here.name in found and here.name:
        raise ConflictError(
            f"some documents name the domain {here.name} and others none, which is the same one here",
            ["name the domain in all documents, or in none"],
        )
    state = ObservedState(found)
    origins = {each for each in _origin_domains(declared) if state.names(each) is None}
    elsewhere = {domain: await _names(api_of(domain)) for domain in sorted(origins)}
    return ObservedState(found, {domain: names for domain, names in elsewhere.items() if names is not None})


def _origin_domains(declared: Declared) -> set[str]:
    """Return the other domains that declared streams copy from."""
    configs = [each.config for each in declared.streams.values()]
    return {external_domain(origin) for config in configs for origin in origins(config)} - {""}


async def _names(api: JetStreamApi) -> frozenset[str] | None:
    """Return the names of all streams of a domain; None if it does not tell them.

    No plan fails because of a domain in which it changes nothing.
    """
    try:
        return frozenset([str(name) async for name in _pages(api, "STREAM.NAMES", "streams")])
    except Exception:  # of whatever kind the connection raises
        return None


async def read_domain(api: JetStreamApi, names: Collection[str] | None = None) -> ObservedDomain:
    """Return what a domain has.

    names: the streams whose consumers are read; None for all.
    """
    limits = [await api.request("INFO")]
    tiers = limits[0].get("tiers") or {}
    bounds = [
        int((each.get("limits") or {}).get("max_ack_pending", 0)) for each in [*limits, *tiers.values()]
    ]
    streams: dict[str, ObservedStream] = {}
    async for info in _pages(api, "STREAM.LIST", "streams"):
        facts = _stream(info)
        streams[facts.config.name] = facts
    asked = [
        name
        for name, each in streams.items()
        if each.state.consumer_count and (names is None or name in names)
    ]
    for start in range(0, len(asked), AT_ONCE):
        group = asked[start : start + AT_ONCE]
        for name, consumers in zip(
            group, await gather(*(_consumers(api, each) for each in group)), strict=True
        ):
            streams[name] = replace(streams[name], consumers=consumers)
    most = min([each for each in bounds if each > 0], default=0)
    return ObservedDomain(streams, most, str(limits[0].get("domain") or ""))


async def read_fingerprint(api: JetStreamApi, id: Id) -> tuple[str, int]:  # noqa: A002 - the word for it
    """Return the fingerprint of one stream or consumer as it is now, and how many messages a stream has."""
    kind = "CONSUMER" if id.consumer else "STREAM"
    info = await api.request(".".join(filter(None, (kind, "INFO", id.stream, id.consumer))))
    if id.consumer:
        return fingerprint(ConsumerConfig.from_json(info["config"]), str(info["created"])), 0
    facts = _stream(info)
    return fingerprint(facts.config, facts.created), facts.state.messages


def _stream(info: Json) -> ObservedStream:
    return ObservedStream(
        StreamConfig.from_json(info["config"]), StreamState.from_json(info["state"]), str(info["created"])
    )


async def _consumers(api: JetStreamApi, stream: str) -> dict[str, ObservedConsumer]:
    """Return the durable consumers of a stream, without those by which servers copy it."""
    found: dict[str, ObservedConsumer] = {}
    async for info in _pages(api, f"CONSUMER.LIST.{stream}", "consumers"):
        config = ConsumerConfig.from_json(info["config"])
        if config.durable_name and not (config.direct or config.sourcing):
            found[config.durable_name] = ObservedConsumer(
                config, str(info["created"]), int(info["num_pending"]), int(info["num_ack_pending"])
            )
    return found


async def _pages(api: JetStreamApi, name: str, key: str) -> AsyncIterator[Json]:
    """Yield the items of a list that is told in pages."""
    offset = 0
    for _ in range(MOST_PAGES):
        page = await api.request(name, {"offset": offset})
        missing = [*(page.get("missing") or ()), *(page.get("offline") or ())]
        if missing:
            raise UnreadableError(
                f"the servers do not tell all of {name}", [f"no answer about {', '.join(map(str, missing))}"]
            )
        items = page.get(key) or []
        for item in items:
            yield item
        offset += len(items)
        if not items or offset >= int(page.get("total", 0)):
            return
    raise UnreadableError(f"{name} has no end")
