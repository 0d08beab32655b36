"""What servers have: streams and consumers with their state, as `reading` found them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Set
from dataclasses import dataclass, field

from ..protocol.api.consumer import ConsumerConfig
from ..protocol.api.stream import StreamConfig, StreamState
from .declared import OWNER, Id
from .defaults import normal_consumer, normal_stream


@dataclass(frozen=True)
class ObservedConsumer:
    """A consumer.

    created: when, as the server writes it.
    pending: messages that it has yet to deliver.
    unacknowledged: messages that it delivered, and waits for.
    """

    config: ConsumerConfig
    created: str = ""
    pending: int = 0
    unacknowledged: int = 0

    @property
    def owner(self) -> str:
        """Who looks after it; empty for nobody."""
        return self.config.metadata.get(OWNER, "")


@dataclass(frozen=True)
class ObservedStream:
    """A stream.

    created: when, as the server writes it.
    consumers: its durable consumers by name, where they were asked for.
    """

    config: StreamConfig
    state: StreamState = field(default_factory=StreamState)
    created: str = ""
    consumers: Mapping[str, ObservedConsumer] = field(default_factory=dict)

    @property
    def owner(self) -> str:
        """Who looks after it; empty for nobody."""
        return self.config.metadata.get(OWNER, "")


@dataclass(frozen=True)
class ObservedDomain:
    """A JetStream domain.

    max_ack_pending: the account's limit there, 0 or less for none.
    name: what the server calls it; empty for a server without a domain.
    """

    streams: Mapping[str, ObservedStream] = field(default_factory=dict)
    max_ack_pending: int = 0
    name: str = ""


@dataclass(frozen=True)
class ObservedState:
    """Domains by name; the empty name is that of the connection.

    elsewhere: the names of the streams in other domains that declared streams copy from, where a server
        answered for them.
    """

    domains: Mapping[str, ObservedDomain] = field(default_factory=dict)
    elsewhere: Mapping[str, Set[str]] = field(default_factory=dict)

    def names(self, domain: str) -> Set[str] | None:
        """Return the names of all streams of a domain; None if they are not known."""
        here = self.domains.get("")
        found = self.domains.get(domain) or (here if here is not None and here.name == domain else None)
        return found.streams.keys() if found is not None else self.elsewhere.get(domain)

    def stream(self, id: Id) -> ObservedStream | None:  # noqa: A002 - the word for it
        """Return the stream, or that of the consumer, with this id; None if there is none."""
        return self.domains[id.domain].streams.get(id.stream)

    def consumer(self, id: Id) -> ObservedConsumer | None:  # noqa: A002
        """Return a consumer; None if there is none."""
        found = self.stream(id)
        return None if found is None else found.consumers.get(id.consumer)

    def fingerprint(self, id: Id) -> str:  # noqa: A002
        """Return that of a stream or consumer; empty if there is none."""
        found: ObservedStream | ObservedConsumer | None = (
            self.consumer(id) if id.consumer else self.stream(id)
        )
        return "" if found is None else fingerprint(found.config, found.created)


def fingerprint(config: StreamConfig | ConsumerConfig, created: str) -> str:
    """Return a text that changes when a stream or consumer is made again or its configuration changes.

    It does not change with what a stream stores, how far a consumer is or whether it is paused, nor with what
    another version of the server adds.
    """
    normal = normal_stream(config) if isinstance(config, StreamConfig) else normal_consumer(config)
    text = json.dumps([created, normal], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()
