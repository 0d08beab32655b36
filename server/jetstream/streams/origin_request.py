"""The consumer that a mirror or source asks its origin for, the subjects of the request and of its messages.

Promises: what real servers send, byte for byte where they read it: stable names, metadata that name who asks,
external prefixes in place of the local API's. Pure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....protocol.api.consumer import ConsumerConfig
from ....protocol.api.stream import StreamSource

if TYPE_CHECKING:
    from .core import Stream

SECOND = 1_000_000_000
HEARTBEAT = SECOND
SILENCE = 10 * SECOND  # of an origin that is given up, and of a mirror that its origin forgets
ACK_WAIT = 22 * 3600 * SECOND
API = "$JS.API"


def consumer_config(
    kind: str, name: str, stream: Stream[Any], source: StreamSource, *, sourcing: bool
) -> ConsumerConfig:
    """Give the consumer's configuration without its place to start. `kind` is "mirror" or "src"."""
    metadata = {f"_nats.{kind}.stream": stream.name, f"_nats.{kind}.acc": stream.account.name}
    if stream.domain:
        metadata[f"_nats.{kind}.domain"] = stream.domain
    config = ConsumerConfig(
        name=name,
        ack_policy="none",
        ack_wait=ACK_WAIT,
        max_deliver=1,
        idle_heartbeat=HEARTBEAT,
        flow_control=True,
        direct=True,
        sourcing=sourcing,
        inactive_threshold=SILENCE,
        metadata=metadata,
    )
    filters = [transform.src or ">" for transform in source.subject_transforms]
    if source.filter_subject:
        config.filter_subject = source.filter_subject
    elif len(filters) == 1:
        config.filter_subject = filters[0]
    elif filters:
        config.filter_subjects = filters
    return config


def deliver_subject(source: StreamSource, letter: str, unique: str) -> str:
    """Give the subject that the messages are to come on."""
    external = source.external
    prefix = external.deliver if external is not None and external.deliver else "$JS"
    return f"{prefix}.{letter}.{unique}".replace("..", ".")


def request_subject(source: StreamSource, config: ConsumerConfig) -> str:
    """Give the subject of the request: create a consumer, or begin anew with the durable one."""
    if source.consumer is not None:
        subject = f"CONSUMER.RESET.{source.name}.{source.consumer.name}"
    elif config.filter_subject:
        subject = f"CONSUMER.CREATE.{source.name}.{config.name}.{config.filter_subject}"
    else:
        subject = f"CONSUMER.CREATE.{source.name}"
    external = source.external
    prefix = external.api if external is not None and external.api else API
    return f"{prefix}.{subject}".replace("..", ".")
