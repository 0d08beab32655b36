"""Tracer: decides which messages are traced on this server, and publishes the events about them.

A message is traced if a header asks for it: `Nats-Trace-Dest`, or a sampled `traceparent` in an account that
has a destination for traces. Whoever sends it must be permitted to publish to the destination.

Promises: an event is an answer of the server, so it is never a request or traced itself; it goes to nobody
but those who subscribe to the destination in the account where the message came in.
Source: nats-server's msgtrace.go (initMsgTrace).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from ...protocol import gojson, tracing
from .content_encoding import encoded
from .server_trace import CLIENT, ServerTrace

if TYPE_CHECKING:
    from ...protocol.tracing import TraceRequest
    from ..clock import Clock
    from ..logging import Logger
    from .account import Account
    from .plan import Draw
    from .subscription import MessageEndpoint

_ALWAYS = 100  # percent


class TracedIngress(NamedTuple):
    """How to go on with a message that has headers.

    taken: whether it is served at all.
    header: its headers from now on.
    trace: None if it is not traced.
    denied: the destination that its sender may not publish to, "" if it may.
    """

    taken: bool
    header: bytes
    trace: ServerTrace | None = None
    denied: str = ""


class Tracer:
    """The traces of one server.

    server: returns what events say of this server; None as long as nobody is to be told.
    """

    def __init__(self, clock: Clock, log: Logger, draw: Draw) -> None:
        self.server: Callable[[], dict[str, Any]] | None = None
        self._clock = clock
        self._log = log
        self._draw = draw

    def begin(
        self,
        source: MessageEndpoint,
        account: Account,
        subject: bytes,
        header: bytes,
        size: int,
        may_publish: Callable[[str], bool],
    ) -> TracedIngress:
        """Return how to go on with a message that `source` sent.

        size: of header and payload.
        may_publish: whether the source may publish to a destination.
        """
        target = account.trace_target
        request = tracing.requested(header, by_parent=target is not None)
        if request is None:
            return TracedIngress(True, header)
        if request.forged:
            self._log.error(f"{source} - Message tracing disabled because of a header that only servers set")
            return TracedIngress(not request.only, tracing.disabled(header))
        destination, point = request.destination, source.trace_point()
        if not destination and target is not None:
            destination = target.destination
            if point.kind == CLIENT and not self._samples(target.sampling):
                return TracedIngress(True, tracing.disabled(header))
        if self.server is None or not _valid(request, destination):
            return TracedIngress(not request.only, header)
        if not may_publish(destination):
            return TracedIngress(False, header, denied=destination)
        text = subject.decode("utf-8", "surrogateescape")
        trace = ServerTrace(request, destination, point, account.name, text, size, self._clock.now)
        return TracedIngress(True, header, trace)

    def begin_routed(
        self,
        source: MessageEndpoint,
        account: Account,
        subject: bytes,
        payload: bytes,
        header_size: int,
        may_publish: Callable[[str], bool],
    ) -> tuple[bool, bytes, int, ServerTrace | None]:
        """Do the same with a message of another server.

        Return whether it is taken, its header and payload, the size of the header, and its trace.
        """
        if not header_size or payload.find(account.trace_mark, 0, header_size) < 0:
            return True, payload, header_size, None
        header = payload[:header_size]
        ingress = self.begin(source, account, subject, header, len(payload), may_publish)
        if ingress.denied:
            self._log.error(f"{source} - Publish Violation - Subject {ingress.denied!r}, of a trace")
        if ingress.header is not header:
            payload, header_size = ingress.header + payload[header_size:], len(ingress.header)
        return ingress.taken, payload, header_size, ingress.trace

    def send(self, account: Account, trace: ServerTrace) -> None:
        """Publish the event about a message, which came in in this account."""
        if self.server is None:
            return
        body = gojson.encode(trace.document(self.server()))
        header, body = encoded(trace.encoding, body)
        account.publish(trace.destination, body, header=header)

    def _samples(self, percent: int) -> bool:
        return percent >= _ALWAYS or self._draw() * 100 < percent


def _valid(request: TraceRequest, destination: str) -> bool:
    """Return whether a destination and the hop of a message can be served."""
    return tracing.is_destination(destination) and len(request.hop) <= tracing.LONGEST
