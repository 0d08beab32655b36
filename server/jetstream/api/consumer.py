"""The API family CONSUMER: create in its three forms, info, names, list, delete, pause, reset, unpin.

Promises:
- The subject and the request must agree.
- Internal consumers (of mirrors and sources) are created here and shown nowhere.
- Pull requests are not served here: consumers subscribe to them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....protocol import headers
from ....protocol.api.consumer import ConsumerConfig, ConsumerInfo
from ....protocol.api.messages import (
    ConsumerPauseRequest,
    ConsumerResetRequest,
    ConsumerUnpinRequest,
    CreateConsumerRequest,
    PageRequest,
    response,
)
from ....protocol.api.record import invalid_json
from ....protocol.errors import api_error
from ....protocol.timestamp import format_rfc3339
from ...slices import Steps, map_in_steps, paced
from ..consumers import lifecycle
from ..consumers.config import check_group, checking_filters
from ..consumers.info import describe, shown
from ..consumers.start import picks_last
from .page import LIST_LIMIT, NAMES_LIMIT, Page
from .request import LATER, Request, Response

if TYPE_CHECKING:
    from ..consumers.core import Consumer
    from ..streams.core import Stream

IDENTITY = b"Nats-Stream-Identity"
SUFFIX_LENGTH = 8


def read_create(request: Request) -> CreateConsumerRequest:
    """Return a CONSUMER.CREATE.<stream>[.<consumer>[.<filter>]], checked by itself. Raises ApiError."""
    tokens = request.tokens
    asked = request.read(CreateConsumerRequest)
    if asked.stream_name != tokens[2]:
        raise api_error("JSStreamMismatchErr")
    config = asked.config
    name = tokens[3] if len(tokens) > 3 else config.name
    if "/" in name or "\\" in name:
        raise api_error("JSConsumerNameContainsPathSeparatorsErr")
    if len(tokens) == 3:
        if config.durable_name:
            raise api_error("JSConsumerEphemeralWithDurableNameErr")
    else:
        if config.durable_name and config.durable_name != name:
            raise api_error("JSConsumerDurableNameNotMatchSubjectErr")
        config.name = name
    if len(tokens) > 4:
        if config.filter_subjects:
            raise api_error("JSConsumerMultipleFiltersNotAllowed")
        if config.filter_subject != ".".join(tokens[4:]):
            raise api_error("JSConsumerCreateFilterSubjectMismatchErr")
    return asked


def read_create_durable(request: Request) -> CreateConsumerRequest:
    """Return a CONSUMER.DURABLE.CREATE.<stream>.<consumer>, checked by itself. Raises ApiError."""
    asked = request.read(CreateConsumerRequest)
    stream, name = request.tokens[3:5]
    if asked.stream_name != stream:
        raise api_error("JSStreamMismatchErr")
    if "/" in name or "\\" in name:
        raise api_error("JSConsumerNameContainsPathSeparatorsErr")
    if not asked.config.durable_name:
        raise api_error("JSConsumerDurableNameNotSetErr")
    if asked.config.durable_name != name:
        raise api_error("JSConsumerDurableNameNotMatchSubjectErr")
    asked.config.name = name
    return asked


def create(request: Request) -> Response:
    """Answer CONSUMER.CREATE in both forms."""
    return _create(request, read_create(request))


def create_durable(request: Request) -> Response:
    """Answer CONSUMER.DURABLE.CREATE."""
    return _create(request, read_create_durable(request))


def _create(request: Request, asked: CreateConsumerRequest) -> Response:
    return request.work(_creating(request, asked))


def _creating(request: Request, asked: CreateConsumerRequest) -> Steps[Response]:
    config = asked.config
    known = request.account.streams.get(asked.stream_name)
    picks = None
    filter_check = yield from checking_filters(config)
    if known is not None:
        yield from known.store.preparing(config.filters)
        there = (config.durable_name or config.name) in known.consumers
        if not there and picks_last(config, known.config.max_msgs_per_subject):
            picks = yield from known.store.picking(config.filters)
    if config.num_replicas > 1:
        raise api_error("JSStreamReplicasNotSupportedErr")
    stream = request.account.lookup(asked.stream_name)
    if config.direct and config.sourcing and config.name:
        _as_source(config, stream)
    if config.direct or config.sourcing:
        expected = request.header(IDENTITY)
        if expected and expected.decode("utf-8", "replace") != stream.identity:
            raise api_error("JSConsumerStreamIdentityMismatchF", msg=stream.identity)
        request.header_block = headers.set(b"", IDENTITY, stream.identity.encode())
    existing = stream.consumers.get(config.durable_name or config.name)
    if existing is not None:
        keep_from(existing.config, config)
    picks = picks if stream is known else None
    consumer = lifecycle.create(
        stream, config, asked.action, pedantic=asked.pedantic, picks=picks, filter_check=filter_check
    )
    if config.sourcing and not config.direct:
        consumer.reset(0)
    return response(request.kind, _shown(consumer))


def keep_from(old: ConsumerConfig, config: ConsumerConfig) -> None:
    """Put into `config` what another request for the same consumer does not change."""
    config.pause_until = old.pause_until
    if config.sourcing and config.durable_name:
        config.deliver_policy = old.deliver_policy
        config.opt_start_seq = old.opt_start_seq
        config.opt_start_time = old.opt_start_time


def _shown(consumer: Consumer) -> ConsumerInfo:
    """Return the consumer's info, with this server's version and level in the metadata."""
    info = describe(consumer)
    info.config = shown(consumer.config)
    return info


def _as_source(config: ConsumerConfig, stream: Stream[Consumer]) -> None:
    """Adapt a consumer that another stream's mirror or source asks for to this stream.

    If messages are removed when they are acknowledged, it becomes a durable consumer. Otherwise its stable
    name gets a random suffix, so that one that was left over does not stand in the way.
    """
    if stream.config.retention == "limits":
        config.name = f"{config.name}-{stream.host.new_id(SUFFIX_LENGTH)}"
        return
    make_lasting(config)


def make_lasting(config: ConsumerConfig) -> None:
    """Make the consumer of another stream's source durable, for a stream that waits for its acks."""
    config.direct = False
    config.durable_name = config.name
    config.ack_policy = "flow_control"
    config.ack_wait = config.max_deliver = config.inactive_threshold = 0


def _consumer(request: Request) -> Consumer:
    stream, name = request.tokens[2:4]
    return request.account.lookup(stream).consumers.lookup(name)


def info(request: Request) -> Response:
    """Answer CONSUMER.INFO.<stream>.<consumer>."""
    request.must_be_empty()
    return response(request.kind, _shown(_consumer(request)))


def delete(request: Request) -> Response:
    """Answer CONSUMER.DELETE.<stream>.<consumer>."""
    request.must_be_empty()
    stream, name = request.account.lookup(request.tokens[2]), request.tokens[3]
    if name in stream.consumers.offline:
        lifecycle.remove_offline(stream, name)
    else:
        stream.consumers.lookup(name).delete()
    return response(request.kind, success=True)


def _page(request: Request, limit: int) -> Page[Consumer]:
    asked = request.read_optional(PageRequest)
    return Page(request.account.lookup(request.tokens[2]).consumers.public(), asked.offset, limit)


def names(request: Request) -> Response:
    """Answer CONSUMER.NAMES.<stream>."""
    page = _page(request, NAMES_LIMIT)
    return response(request.kind, **page.numbers(), consumers=[consumer.name for consumer in page.items])


def list_consumers(request: Request) -> Response:
    """Answer CONSUMER.LIST.<stream>."""
    return request.work(paced(_listing(request)))


def _listing(request: Request) -> Steps[Response]:
    page = _page(request, LIST_LIMIT)
    shown = yield from map_in_steps(page.items, lambda consumer: describe(consumer).to_json())
    answer = response(request.kind, **page.numbers(), consumers=shown)
    offline = request.account.lookup(request.tokens[2]).consumers.offline
    if offline:
        answer["offline"] = dict(sorted(offline.items()))
    return answer


def pause(request: Request) -> Response:
    """Answer CONSUMER.PAUSE.<stream>.<consumer>: pause until a time, or resume."""
    until = read_pause(request)
    consumer = _consumer(request)
    lifecycle.pause(consumer, until)
    return paused_response(request, until)


def read_pause(request: Request) -> int:
    """Return until when to pause, in ns."""
    asked = request.read_optional(ConsumerPauseRequest)
    return asked.pause_until


def paused_response(request: Request, until: int) -> Response:
    """Return the answer to a pause that was made."""
    now = request.context.clock.now()
    paused = until > now
    more = {"pause_remaining": until - now} if paused else {}
    return response(request.kind, paused=paused, pause_until=format_rfc3339(until), **more)


def reset(request: Request) -> Response:
    """Answer CONSUMER.RESET.<stream>.<consumer>: start over at a sequence, or at the ack floor."""
    asked = ConsumerResetRequest.parse(request.body)
    consumer = _consumer(request)
    seq = consumer.reset(asked.seq)
    if request.header(IDENTITY) is not None:
        request.header_block = headers.set(b"", IDENTITY, consumer.stream.identity.encode())
    answer = response(request.kind, _shown(consumer), reset_seq=seq)
    consumer.after_save(lambda: request.respond(answer))
    return LATER


def unpin(request: Request) -> Response:
    """Answer CONSUMER.UNPIN.<stream>.<consumer>: let another client of the group be pinned."""
    if not request.body.strip():
        raise invalid_json("unexpected end of JSON input")
    asked = ConsumerUnpinRequest.parse(request.body)
    if not asked.group:
        raise invalid_json("consumer group not specified")
    check_group(asked.group)
    _consumer(request).unpin(asked.group)
    return response(request.kind)
