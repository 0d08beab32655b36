"""What an account takes from others: streams received and services called, and the way of a response back.

A service import is a sink in the importing account: it hands each request on to the exporting account under
the exported subject and a reply of its own, `_R_.<account>.<id>`. A response to that reply is another such
step, in the opposite direction. Promises: a request goes through an export at most once (loops end), through
`MOST_STEPS` imports at most, and what waits for responses is bounded by the export's threshold in time.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ...protocol import gojson, headers
from ...protocol.subject import collide, is_subset
from ...protocol.transform import SubjectTransform, with_placeholders, without_placeholders
from .exports import ResponseType, ServiceExport, StreamExport
from .routing import route
from .subscription import ConnectionKind, ImportStep, MessageEndpoint

if TYPE_CHECKING:
    from .account import Account
    from .subscription import RoutedMessage, Subscription

REQUEST_INFO = b"Nats-Request-Info"
JS_ACK = b"$JS.ACK."
# Each is a few calls within calls, and as many on the way back: many hundreds would exhaust the stack.
MOST_STEPS = 64


class StreamImport:
    """Messages of `exporter` under `subject`, seen here under `local`."""

    __slots__ = ("_given", "_reverse", "export", "exporter", "local", "subject", "transform")

    def __init__(self, exporter: Account, export: StreamExport, subject: str, local: str) -> None:
        self.exporter = exporter
        self.export = export
        self.subject = subject
        self.local = without_placeholders(local)
        self._given = local
        self.transform, self._reverse = _transforms(subject, local)

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for imports that are the same, down to the export they come through."""
        return id(self.exporter), id(self.export), self.subject, self._given

    def shadow_subject(self, wanted: str) -> str | None:
        """What to subscribe to in the exporter for an interest in `wanted` here; None: they do not meet."""
        if not collide(wanted, self.local):
            return None
        if wanted == self.local or is_subset(self.local, wanted):
            return self.subject
        overlap = intersection(wanted, self.local)
        return overlap if self._reverse is None else self._reverse.apply(overlap)


class ServiceImport(MessageEndpoint):
    """Requests made here on `local`, answered by `exporter` on `subject`. A sink."""

    __slots__ = (
        "_given",
        "export",
        "exporter",
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
        importer: Account,
        exporter: Account,
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
        self._given = local
        self.share = share
        self.step = ImportStep(export, share)
        _, self.transform = _transforms(self.subject, local)
        self.subscription: Subscription | None = None

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for imports that are the same, down to the export they come through."""
        return id(self.exporter), id(self.export), self.subject, self._given, self.share

    def deliver(self, subscription: Subscription, msg: RoutedMessage) -> bool:
        """Hand the request on; False when nobody there received it (the requestor then gets its 503)."""
        del subscription
        chain = msg.chain
        if len(chain) >= MOST_STEPS or any(step.export is self.export for step in chain):
            return False
        exporter = self.exporter
        text = msg.subject.decode("utf-8", "surrogateescape")
        to = text if self.transform is None else self.transform.apply(text)
        if to is None:
            return False
        response: Response | None = None
        reply = msg.reply
        # An acknowledgement's subject stays itself: cross-account pull consumers rely on it.
        if reply and not reply.startswith(JS_ACK):
            response = exporter.responses.expect(self, self.importer, msg)
            reply = response.subject
        header = _with_request_info(self, msg)
        mapped = exporter.mapped(to)
        delivered = 0
        if mapped is not None:
            subject = mapped.encode("utf-8", "surrogateescape")
            request = msg.rewritten(subject, reply, header, (*chain, self.step))
            delivered = route(exporter.plan(subject), request)
        if response is not None and not delivered:
            exporter.responses.forget(response)
        return delivered > 0


class Response:
    """The way back of one request: what is published to `subject` in one account goes to `reply` in
    `asker`.
    """

    __slots__ = ("asker", "due", "reply", "response_type", "service", "subject")

    def __init__(
        self, service: ServiceImport, asker: Account, subject: bytes, reply: bytes, due: int
    ) -> None:
        self.service = service
        self.asker = asker
        self.subject = subject
        self.reply = reply
        self.response_type = service.export.response_type
        self.due = due


def respond(response: Response, responder: Account, msg: RoutedMessage) -> bool:
    """Carry one response from `responder` to who asked; tells whether anyone took it.

    A pulled message keeps the subject of its acknowledgement; any other reply gets a way back of its own.
    """
    asker, service = response.asker, response.service
    reply = msg.reply
    further: Response | None = None
    if reply and not reply.startswith(JS_ACK):
        further = asker.responses.expect(service, responder, msg)
        reply = further.subject
    answer = msg.rewritten(response.reply, reply, msg.header, (*msg.chain, service.step), answer=True)
    delivered = route(asker.plan(response.reply), answer) > 0
    if further is not None and not delivered:
        asker.responses.forget(further)
    return delivered


def is_last(response: Response, msg: RoutedMessage) -> bool:
    """Whether `msg` ends the exchange: the one answer, or the empty message that ends a stream."""
    return response.response_type is ResponseType.SINGLETON or msg.size == 0


def intersection(a: str, b: str) -> str:
    """The pattern of what both `a` and `b` match; they must collide."""
    left, right = a.split("."), b.split(".")
    tokens: list[str] = []
    for i in range(max(len(left), len(right))):
        x = left[i] if i < len(left) else ">"
        y = right[i] if i < len(right) else ">"
        if x == ">":
            return ".".join([*tokens, *right[i:]])
        if y == ">":
            return ".".join([*tokens, *left[i:]])
        tokens.append(y if x == "*" else x)
    return ".".join(tokens)


def _transforms(source: str, local: str) -> tuple[SubjectTransform | None, SubjectTransform | None]:
    """exported -> local and back; (None, None) when they are the same. Raises TransformError."""
    if source == local:
        return None, None
    forward = SubjectTransform(source, with_placeholders(local), strict=True)
    return forward, forward.reverse()


def _with_request_info(service: ServiceImport, msg: RoutedMessage) -> bytes:
    """The request's header with who asks. A chained request keeps the first asker and names the last
    account.
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
