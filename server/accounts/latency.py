"""Latency of services: what a service export measures of its requests, and publishes in its account.

Of each request that is sampled one document is published: how long the service took, how long the request
took altogether, and who answered; or why there was no answer. Who asked is only told if the import shares it.
A sample is taken by chance, or because a trace header of the request asks for it.

Promises: a request is reported once at most; nothing is made if nobody subscribes to the results; a request
that is not sampled pays one random number. Times are in ns. Source: nats-server's ServiceLatency
(server/accounts.go: shouldSample, sendTrackingLatency).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

from ...protocol import gojson, headers
from ...protocol.identifier import new_id
from ...protocol.timestamp import format_rfc3339
from .subscription import ConnectionKind

if TYPE_CHECKING:
    from ..clock import Clock
    from .exports import LatencyTarget
    from .space import SubjectSpace
    from .subscription import MessageEndpoint

TYPE = "io.nats.server.metric.v1.service_latency"
ALWAYS = 100
OK, BAD_REQUEST, LOST, UNAVAILABLE, TIMEOUT = 200, 400, 408, 503, 504
_ERRORS = {
    BAD_REQUEST: "Bad Request",
    LOST: "Request Timeout",  # the requestor has gone before the answer came
    UNAVAILABLE: "Service Unavailable",
    TIMEOUT: "Service Timeout",
}
_UBER, _B3, _TRACEPARENT = "Uber-Trace-Id", "B3", "Traceparent"
_B3_SAMPLED, _B3_ID = "X-B3-Sampled", "X-B3-Traceid"
_B3_ALL = (_B3_SAMPLED, _B3_ID, "X-B3-Parentspanid", "X-B3-Spanid")
_UBER_CONTEXT, _TRACESTATE = "Uberctx-", "Tracestate"
_HEADERS = 16 << 10  # bytes of headers that are searched for a trace; longer ones are not sampled

Headers = dict[str, list[str]]


class MeasuredRequest:
    """A request that is measured.

    target: where the measurement goes.
    requestor: who asked.
    share: whether the exporter may know more of the requestor than the account and the round trip time.
    header: the headers that asked for the measurement.
    start: when the request came, in ns.
    """

    __slots__ = ("header", "requestor", "share", "start", "target")

    def __init__(
        self, target: LatencyTarget, requestor: MessageEndpoint, share: bool, header: Headers, start: int
    ) -> None:
        self.target = target
        self.requestor = requestor
        self.share = share
        self.header = header
        self.start = start


class LatencyMeter:
    """Takes the samples of one account's services, and publishes them there."""

    __slots__ = ("_clock", "_draw", "_publish", "_random", "_space")

    def __init__(
        self,
        space: SubjectSpace,
        publish: Callable[[str, bytes], object],
        clock: Clock,
        random_bytes: Callable[[int], bytes],
        draw: Callable[[], float],
    ) -> None:
        self._space = space
        self._publish = publish
        self._clock = clock
        self._random = random_bytes
        self._draw = draw

    def measured(
        self, target: LatencyTarget, requestor: MessageEndpoint, share: bool, header: bytes
    ) -> MeasuredRequest | None:
        """Return the measurement that begins with a request, or None if it is not sampled.

        What the server itself publishes is not measured: results that are requests again would never end.
        """
        if requestor.kind == ConnectionKind.INTERNAL:
            return None
        found: Headers | None = {}
        if target.sampling < ALWAYS and not (target.sampling and self._draw() * 100 < target.sampling):
            found = trace_headers(header)
        if found is None:
            return None
        return MeasuredRequest(target, requestor, share, found, self._clock.now())

    def answered(self, request: MeasuredRequest, responder: MessageEndpoint) -> None:
        """Publish how long an answered request took.

        A responder at another server is not told, and `service` then includes the way there.
        """
        now = self._clock.now()
        elsewhere = responder.kind in (ConnectionKind.ROUTER, ConnectionKind.GATEWAY)
        told = {} if elsewhere else responder.client_info()
        theirs, ours = _round_trip(told), _round_trip(request.requestor.client_info(share=False))
        took = now - request.start
        self._report(request, OK, told, (max(0, took - theirs), 0, took + ours))

    def failed(self, request: MeasuredRequest, status: int) -> None:
        """Publish that a request was not answered."""
        self._report(request, status, {}, (0, 0, 0))

    def _report(
        self, request: MeasuredRequest, status: int, responder: dict[str, object], spans: tuple[int, int, int]
    ) -> None:
        subject = request.target.subject
        if not self._space.sublist.has_match(subject):
            return
        requestor = request.requestor.client_info(share=request.share)
        document: dict[str, object] = {
            "type": TYPE,
            "id": new_id(self._random),
            "timestamp": format_rfc3339(self._clock.now()),
            "status": status,
        }
        if status != OK:
            document["description"] = _ERRORS[status]
        if requestor:
            document["requestor"] = requestor
        if responder:
            document["responder"] = responder
        if request.header:
            document["header"] = dict(sorted(request.header.items()))
        document["start"] = format_rfc3339(request.start - _round_trip(requestor))
        document["service"], document["system"], document["total"] = spans
        text = json.dumps(document, separators=(",", ":"), ensure_ascii=False)
        self._publish(subject, gojson.utf8(text))


def trace_headers(block: bytes) -> Headers | None:
    """Return the trace headers of a request that ask for a measurement, or None if none does.

    Reads the headers of Jaeger, Zipkin (several, or one) and W3C. The first that is there decides.
    """
    if not block or len(block) > _HEADERS:
        return None
    given: Headers = {}
    for key, values in headers.decode(block).items():
        given.setdefault(_canonical(key), []).extend(values)
    if _UBER in given:
        kept = {key: value for key, value in given.items() if key == _UBER or key.startswith(_UBER_CONTEXT)}
        return kept if _uber_samples(given[_UBER][0]) else None
    sampled = given.get(_B3_SAMPLED, [""])[0]
    if sampled == "0":
        return None
    if sampled == "1" or _B3_ID in given:
        return {key: given[key] for key in _B3_ALL if key in given}
    if _B3 in given:
        return None if _b3_denies(given[_B3][0]) else {_B3: given[_B3]}
    if _TRACEPARENT in given and _parent_samples(given[_TRACEPARENT][0]):
        return {key: given[key] for key in (_TRACEPARENT, _TRACESTATE) if key in given}
    return None


def _uber_samples(value: str) -> bool:
    """Return whether bit 0 of the flags is set in ``trace:span:parent:flags``."""
    parts = value.split(":")
    return len(parts) == 4 and 1 <= len(parts[3]) <= 2 and bool(_hexadecimal(parts[3]) & 1)


def _b3_denies(value: str) -> bool:
    """Return whether ``trace-span-sampled-parent``, or ``0`` alone, says no."""
    parts = value.split("-")
    return parts == ["0"] or (len(parts) > 2 and parts[2] == "0")


def _parent_samples(value: str) -> bool:
    """Return whether bit 0 of the flags is set in ``version-trace-parent-flags``."""
    parts = value.split("-")
    return len(parts) == 4 and len(parts[3]) == 2 and bool(_hexadecimal(parts[3]) & 1)


def _hexadecimal(digits: str) -> int:
    """Return the number that hexadecimal digits stand for; 0 if they are none."""
    return int(digits, 16) if all(digit in "0123456789abcdefABCDEF" for digit in digits) else 0


def _canonical(key: str) -> str:
    """Return a header's name as Go writes it: each word begins with a capital letter."""
    return "-".join(word.capitalize() for word in key.split("-"))


def _round_trip(info: dict[str, object]) -> int:
    found = info.get("rtt", 0)
    return found if isinstance(found, int) else 0
