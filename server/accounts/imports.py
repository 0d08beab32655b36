"""Service imports: services of other accounts, the way of a response back, and how imports are replaced.

A service import is a sink in the importing account: it passes each request to the exporting account, under
the exported subject and with a reply subject of its own, `_R_.<account>.<id>`, where both parts are random.
A response to that subject is another such step, in the opposite direction. Promises: a request goes through
an export at most once (so loops end), and through at most `MOST_STEPS` imports; a response that never comes
is forgotten after the export's threshold, by one timer per account; one pattern serves all responses that an
account awaits, without a subscription per request.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TypeVar

from ...protocol import gojson, headers
from ...protocol.identifier import new_id
from ...protocol.reserved import ACK, FAST_BATCH, SERVICE_REPLY
from ...protocol.subject_tree import SubjectTree
from ...protocol.tracing import DESTINATION
from ...protocol.transform import without_placeholders
from ..slices import Steps
from .exports import ResponseType, ServiceExport
from .latency import BAD_REQUEST, LOST, TIMEOUT, UNAVAILABLE
from .plan import is_request
from .routing import route
from .space import StreamImport, SubjectSpace, import_transforms
from .subscription import ConnectionKind, ImportStep, MessageEndpoint, Subscription
from .traced_message import TracedMessage

if TYPE_CHECKING:
    from ..clock import Clock, Timer
    from .latency import LatencyMeter, MeasuredRequest
    from .server_trace import ServerTrace
    from .subscription import RoutedMessage

REQUEST_INFO = b"Nats-Request-Info"
_ACK = ACK.encode()
_FAST_BATCH = FAST_BATCH.encode()
# Each step nests a few calls, and as many on the way back: many hundreds would exhaust the stack.
MOST_STEPS = 64
_ID = 6
_TRACE_WAIT = 10_000_000_000  # ns in which other servers may tell what became of a traced request

M = TypeVar("M", StreamImport, "ServiceImport")


class ServiceImport(MessageEndpoint):
    """Requests that are made in one account on `local`, and answered by another account on `subject`. A sink.

    importer, exporter: the responses that each of the two accounts awaits, with its space.
    export: the export that the import comes through.
    given: the local subject as it was given, with the placeholders that `local` has as wildcards.
    share: whether the exporter learns who sends a request.
    step: this import as it stands in the chain of a message that came through it.
    """

    __slots__ = (
        "export",
        "exporter",
        "given",
        "importer",
        "local",
        "share",
        "step",
        "subject",
        "subscription",
        "transform",
    )

    kind = ConnectionKind.IMPORT

    def __init__(
        self,
        importer: ServiceResponses,
        exporter: ServiceResponses,
        export: ServiceExport,
        subject: str,
        local: str,
        share: bool,
    ) -> None:
        self.importer = importer
        self.exporter = exporter
        self.export = export
        self.subject = without_placeholders(subject)
        self.local = without_placeholders(local)
        self.given = local
        self.share = share
        self.step = ImportStep(export, share)
        _, self.transform = import_transforms(self.subject, local)
        self.subscription: Subscription | None = None

    @property
    def key(self) -> tuple[object, ...]:
        """A value that is equal for equal imports, down to the export they come through."""
        return id(self.exporter), id(self.export), self.subject, self.given, self.share

    def deliver(self, subscription: Subscription, msg: RoutedMessage) -> bool:
        """Pass the request on.

        Return False if nobody received it there; the requestor then gets a 503.
        """
        del subscription
        chain = msg.chain
        if len(chain) >= MOST_STEPS or any(step.export is self.export for step in chain):
            return False
        exporter = self.exporter
        text = msg.subject.decode("utf-8", "surrogateescape")
        to = text if self.transform is None else self.transform.apply(text)
        if to is None:
            return False
        mapped = exporter.space.mapped(to)
        if isinstance(msg, TracedMessage):
            allowed = self.export.allow_trace
            further = _traced(msg, exporter, (mapped if allowed else None) or to, allowed=allowed)
            if further is None:
                return False
            msg = further
        trace = msg.trace
        only = trace is not None and trace.only
        response: Response | None = None
        reply = msg.reply
        measured: MeasuredRequest | None = None
        if self.export.latency is not None and not only:
            measured = exporter.meter.measured(self.export.latency, msg.source, self.share, msg.header)
        # The subject of an acknowledgement does not change: cross-account pull consumers rely on it.
        if reply and not reply.startswith(_ACK):
            response = exporter.expect(self, self.importer, reply, self.export.threshold)
            response.measured = measured
            reply = response.subject
        elif measured is not None and not reply:
            exporter.meter.failed(measured, BAD_REQUEST)
        header = _with_request_info(self, msg)
        delivered = 0
        if mapped is not None:
            subject = mapped.encode("utf-8", "surrogateescape")
            request = msg.rewritten(subject, reply, header, (*chain, self.step))
            if trace is None:
                delivered = route(exporter.space.plan(subject), request)
            else:
                delivered = self._route_traced(request, trace)
        if response is not None and only:
            exporter.forget(response)  # nobody got the request
        elif response is not None and not delivered:
            exporter.fail(response, UNAVAILABLE)
        return delivered > 0

    def _route_traced(self, msg: RoutedMessage, trace: ServerTrace) -> int:
        """Deliver a request in the exporting account, as `route` does.

        The events of other servers take a way back of their own. It is forgotten if none gets the request.
        """
        exporter, onward, hops = self.exporter, trace.onward, trace.hops
        way = exporter.expect(self, self.importer, onward.encode("utf-8", "surrogateescape"), _TRACE_WAIT)
        way.response_type = ResponseType.STREAM
        trace.onward = way.subject.decode()
        header = headers.set(msg.header, DESTINATION, way.subject)
        request = msg.rewritten(msg.subject, msg.reply, header, msg.chain)
        delivered = route(exporter.space.plan(msg.subject), request)
        trace.onward = onward
        if trace.hops == hops:
            exporter.forget(way)
        return delivered


class Response:
    """The way back of one request: what is published to `subject` in one account goes to `reply` in `asker`.

    service: the import that the request came through.
    due: when the response is no longer expected, in ns.
    measured: the latency measurement of the request, until it is reported.
    """

    __slots__ = ("asker", "due", "measured", "reply", "response_type", "service", "subject")

    def __init__(
        self, service: ServiceImport, asker: ServiceResponses, subject: bytes, reply: bytes, due: int
    ) -> None:
        self.service = service
        self.asker = asker
        self.subject = subject
        self.reply = reply
        self.response_type = service.export.response_type
        self.due = due
        self.measured: MeasuredRequest | None = None

    def has_interest(self) -> bool:
        """Return whether anyone would receive the response in the end, after any number of such ways back."""
        response: Response | None = self
        while response is not None:
            asker, reply = response.asker, response.reply
            if is_request(reply):
                return False
            response = asker.pending.get(reply)
        return asker.space.sublist.has_match(reply.decode("utf-8", "surrogateescape"))


class ServiceResponses(MessageEndpoint):
    """The responses that one account awaits, in its space. A sink for the account's reply pattern.

    pending: by the subject that each response is published to.
    meter: measures the latency of the account's services.
    """

    __slots__ = (
        "_clock",
        "_prefix",
        "_random",
        "_subscription",
        "_sweep_due",
        "_timer",
        "meter",
        "pending",
        "space",
    )

    kind = ConnectionKind.IMPORT

    def __init__(
        self, space: SubjectSpace, clock: Clock, random_bytes: Callable[[int], bytes], meter: LatencyMeter
    ) -> None:
        self.space = space
        self.meter = meter
        self._clock = clock
        self._random = random_bytes
        self.pending: dict[bytes, Response] = {}
        self._prefix = ""
        self._subscription: Subscription | None = None
        self._timer: Timer | None = None
        self._sweep_due = 0

    def __len__(self) -> int:
        return len(self.pending)

    @property
    def name(self) -> str:
        """The name of the account."""
        return self.space.name

    def expect(self, service: ServiceImport, asker: ServiceResponses, reply: bytes, wait: int) -> Response:
        """Make a way back to the subject `reply` of `asker`, for `wait` ns."""
        if self._subscription is None:
            self._prefix = f"{SERVICE_REPLY}{new_id(self._random, _ID)}."
            self._subscription = Subscription(self._prefix + ">", self)
            self.space.add_subscription(self._subscription)
        subject = (self._prefix + new_id(self._random, _ID)).encode()
        if reply.endswith(_FAST_BATCH):  # a stream needs what the subject says of the batch
            subject = b".".join([subject, *reply.rsplit(b".", 6)[1:]])
        due = self._clock.now() + wait
        response = self.pending[subject] = Response(service, asker, subject, reply, due)
        if self._timer is None or due < self._sweep_due:
            self._sweep_at(due, wait)
        return response

    def forget(self, response: Response) -> None:
        """Stop expecting a response."""
        self.pending.pop(response.subject, None)

    def fail(self, response: Response, status: int) -> None:
        """Stop expecting a response, and report with `status` that it never came."""
        self.forget(response)
        if response.measured is not None:
            self.meter.failed(response.measured, status)
            response.measured = None

    def forget_service(self, service: ServiceImport) -> None:
        """Stop expecting the responses to everything that was sent through one import."""
        for response in [r for r in self.pending.values() if r.service is service]:
            del self.pending[response.subject]

    def deliver(self, subscription: Subscription, msg: RoutedMessage) -> bool:
        """Carry a response back."""
        del subscription
        response = self.pending.get(msg.subject)
        if response is None:
            return False
        if isinstance(msg, TracedMessage):
            further = _traced(msg, response.asker, msg.subject.decode("utf-8", "surrogateescape"))
            if further is None:
                return False
            msg = further
        if is_last(response, msg):
            del self.pending[response.subject]
        delivered = respond(response, self, msg)
        if not delivered:
            self.fail(response, LOST)
        elif response.response_type is not ResponseType.SINGLETON:
            response.due = self._clock.now() + response.service.export.threshold
        if response.measured is not None:
            self.meter.answered(response.measured, msg.source)
            response.measured = None
        return delivered

    def stop(self) -> None:
        """Forget all responses and cancel the timer."""
        self.pending.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _sweep(self) -> None:
        now = self._clock.now()
        for response in [r for r in self.pending.values() if r.due <= now]:
            lost = response.measured is not None and not response.has_interest()
            self.fail(response, LOST if lost else TIMEOUT)
        self._timer = None
        if self.pending:
            due = min(r.due for r in self.pending.values())
            self._sweep_at(due, due - now)

    def _sweep_at(self, due: int, wait: int) -> None:
        """Sweep at `due`, in `wait` ns, instead of when it was planned."""
        if self._timer is not None:
            self._timer.cancel()
        self._sweep_due = due
        self._timer = self._clock.call_later(wait, self._sweep)


def respond(response: Response, responder: ServiceResponses, msg: RoutedMessage) -> bool:
    """Carry one response from `responder` to the asker. Return whether anyone took it.

    A pulled message keeps the subject of its acknowledgement. Any other reply gets a way back of its own.
    """
    asker, service = response.asker, response.service
    reply = msg.reply
    further: Response | None = None
    if reply and not reply.startswith(_ACK):
        further = asker.expect(service, responder, reply, service.export.threshold)
        reply = further.subject
    answer = msg.rewritten(response.reply, reply, msg.header, (*msg.chain, service.step), answer=True)
    delivered = route(asker.space.plan(response.reply), answer) > 0
    if further is not None and not delivered:
        asker.forget(further)
    return delivered


def is_last(response: Response, msg: RoutedMessage) -> bool:
    """Return whether `msg` ends the exchange.

    It does if it is the only answer, or the empty message that ends a stream.
    """
    return response.response_type is ResponseType.SINGLETON or msg.size == 0


def _traced(
    msg: TracedMessage, receiver: ServiceResponses, to: str, *, allowed: bool = False
) -> RoutedMessage | None:
    """Note that a traced message goes on in another account, under the subject `to`.

    Return it as it goes on there, None if it was only to be traced and the trace ends here.

    allowed: whether the trace may go on there.
    """
    trace = msg.trace
    assert trace is not None
    trace.imported(receiver.name, msg.subject.decode("utf-8", "surrogateescape"), to)
    if allowed:
        return msg
    return None if trace.only else msg.untraced()


def _with_request_info(service: ServiceImport, msg: RoutedMessage) -> bytes:
    """Return the request's header with a description of who asks.

    A request that came through several imports keeps the first asker and names the last account.
    """
    header = msg.header
    source = msg.source
    given = headers.get(header, REQUEST_INFO) if header else None
    info: dict[str, object] | None = None
    share = msg.chain[-1].share if msg.chain else service.share
    if msg.chain and given is not None and source.kind != ConnectionKind.LEAF:
        try:
            info = gojson.decode(given)
        except ValueError:
            info = None
        if isinstance(info, dict):
            info["svc"] = service.importer.name
    else:
        info = source.client_info(share=share)
        if msg.chain and info:
            info["svc"] = service.importer.name
    if not info:
        return header
    return headers.set(header, REQUEST_INFO, json.dumps(info, separators=(",", ":")).encode())


def replace_imports(
    space: SubjectSpace,
    present: list[ServiceImport],
    streams: Iterable[StreamImport],
    services: Iterable[ServiceImport],
) -> Steps[None]:
    """Replace all imports of a space, in steps while it serves.

    Nobody else may replace them meanwhile. In the end live subscriptions have the new imports, whatever comes
    and goes between two steps. Imports that stay the same remain the same objects, and responses awaited
    through them still arrive.

    present: the services imported so far; the list is changed to those that are imported now.
    """
    kept_streams = yield from _kept(space.imports_streams, streams)
    if kept_streams != space.imports_streams:
        yield from _take_streams(space, kept_streams)
    kept_services = yield from _kept(present, services)
    before, after = set(present), set(kept_services)
    gone = [service for service in present if service not in after]
    present[:] = kept_services
    for service in gone:
        if service.subscription is not None:
            space.remove_subscription(service.subscription)
        service.exporter.forget_service(service)
        yield
    for service in kept_services:
        if service not in before:
            service.subscription = Subscription(service.local, service)
            space.add_subscription(service.subscription)
            yield


def _take_streams(space: SubjectSpace, streams: list[StreamImport]) -> Steps[None]:
    indexes: SubjectTree[list[int]] = SubjectTree()
    for index, stream in enumerate(streams):
        indexes.setdefault(stream.local, []).append(index)
        yield
    for subscription in space.set_stream_imports(streams, indexes):
        if subscription.account is space and not subscription.closed:
            space.remove_shadows(subscription)
            space.add_shadows(subscription)
            yield


def _kept(old: Iterable[M], new: Iterable[M]) -> Steps[list[M]]:
    """Return `new` without repetitions, and with the old objects where they are equal."""
    old_by_key: dict[tuple[object, ...], M] = {}
    for each in old:
        old_by_key[each.key] = each
        yield
    kept: dict[tuple[object, ...], M] = {}
    for each in new:
        key = each.key
        kept.setdefault(key, old_by_key.get(key, each))
        yield
    return list(kept.values())
