"""The requests of a mirror or source to its origin, and the reply subjects of the messages that come back.

Promises: requests are what real servers send, byte for byte where servers read them: names are stable,
metadata name the stream that asks, and an external prefix replaces that of the local API. The functions are
pure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ....protocol import headers
from ....protocol.api.consumer import ConsumerConfig
from ....protocol.api.stream import StreamSource
from ...clock import SECOND

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ....protocol.transform import SubjectTransform
    from ....store.message import StoredMessage

HEARTBEAT = SECOND
SILENCE = 10 * SECOND  # after it the follower gives its origin up, and the origin deletes its consumer
ACK_WAIT = 22 * 3600 * SECOND
API = "$JS.API"


class RequestingStream(NamedTuple):
    """The stream that asks, and its account.

    domain: the JetStream domain of its server, "" for none.
    """

    stream: str
    account: str
    domain: str


def consumer_config(
    kind: str, name: str, requester: RequestingStream, source: StreamSource, *, sourcing: bool
) -> ConsumerConfig:
    """Return the consumer's configuration, still without the place where it starts.

    kind: "mirror" or "src".
    name: the consumer's name.
    sourcing: whether to ask for a sourcing consumer, which older servers do not know.
    """
    metadata = {f"_nats.{kind}.stream": requester.stream, f"_nats.{kind}.acc": requester.account}
    if requester.domain:
        metadata[f"_nats.{kind}.domain"] = requester.domain
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
    """Return the subject on which the origin delivers messages.

    letter: the kind's letter. unique: a random part.
    """
    external = source.external
    prefix = external.deliver if external is not None and external.deliver else "$JS"
    return f"{prefix}.{letter}.{unique}".replace("..", ".")


def request_subject(source: StreamSource, config: ConsumerConfig) -> str:
    """Return the subject of the request: one that creates a consumer, or one that resets the durable one."""
    if source.consumer is not None:
        subject = f"CONSUMER.RESET.{source.name}.{source.consumer.name}"
    elif config.filter_subject:
        subject = f"CONSUMER.CREATE.{source.name}.{config.name}.{config.filter_subject}"
    else:
        subject = f"CONSUMER.CREATE.{source.name}"
    external = source.external
    prefix = external.api if external is not None and external.api else API
    return f"{prefix}.{subject}".replace("..", ".")


def reply_scope(source: StreamSource, consumer: str, account_hash: str) -> str:
    """Return what the reply subject of a request says about its origin, if `js_api_reply_v2` is on.

    account_hash: of the account whose stream asks.
    """
    external = source.external
    tokens = external.api.split(".") if external is not None else []
    domain = tokens[1] if len(tokens) > 1 else "_"
    return f"{domain}.{account_hash}.{source.name}.{consumer}."


class ReplyInfo(NamedTuple):
    """One delivery of an origin's consumer.

    stream, consumer: the origin and its consumer.
    tries: how often the message was delivered, this time included.
    stream_seq: the sequence of the message in the origin.
    consumer_seq: the number of the delivery.
    time: when the origin stored the message, ns.
    pending: how many messages the origin has for the consumer after this one.
    subject: the subject of the message; "" when the reply does not have it.
    """

    stream: str
    consumer: str
    tries: int
    stream_seq: int
    consumer_seq: int
    time: int
    pending: int
    subject: str


def read_delivery(reply: str) -> ReplyInfo | None:
    """Read the reply subject of a delivered message; None if it is not one.

    The form is `$JS.ACK.<stream>.<consumer>.<delivered>.<stream seq>.<consumer seq>.<time>.<pending>`. The
    newer form has domain and account hash before the stream, and possibly more tokens at the end. A reply
    that crossed a leaf node or route connection ends with `@<subject>`.
    """
    acks, _, subject = reply.partition("@")
    tokens = acks.split(".")
    if len(tokens) == 9:
        at = 2
    elif len(tokens) >= 11:
        at = 4
    else:
        return None
    if tokens[0] != "$JS" or tokens[1] != "ACK":
        return None
    numbers = tokens[at + 2 : at + 7]
    if not all(number.isdigit() for number in numbers):
        return None
    tries, stream_seq, consumer_seq, time, pending = map(int, numbers)
    return ReplyInfo(tokens[at], tokens[at + 1], tries, stream_seq, consumer_seq, time, pending, subject)


def as_copied(
    messages: Sequence[StoredMessage], transforms: Sequence[SubjectTransform | None]
) -> tuple[list[StoredMessage], list[str]]:
    """Return the origin's messages as their copies will have them, and their subjects in the origin.

    Conditions for the publish to the origin are removed from the headers. The first transform that matches a
    subject changes it; None stands for one that changes nothing.
    """
    copied = [
        message._replace(header=_unconditional(message.header)) if _conditional(message[2]) else message
        for message in messages
    ]
    originals = [message[1] for message in copied]
    if any(transforms):
        copied = [message._replace(subject=_transformed(message[1], transforms)) for message in copied]
    return copied, originals


def _conditional(header: bytes) -> bool:
    return b"\r\nNats-Expected-" in header or b"\r\nNats-Batch-" in header


def _unconditional(header: bytes) -> bytes:
    return headers.remove(headers.remove(header, prefix=b"Nats-Expected-"), prefix=b"Nats-Batch-")


def _transformed(subject: str, transforms: Sequence[SubjectTransform | None]) -> str:
    for transform in transforms:
        changed = transform.apply(subject) if transform is not None else None
        if changed is not None:
            return changed
    return subject
