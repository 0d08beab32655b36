"""Translates the exports of an account. Activation tokens authorize the imports of a private export."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ...accounts.exports import LatencyTarget, ResponseType, ServiceExport, StreamExport

if TYPE_CHECKING:
    from ....keys import Export

_RESPONSES = {
    "": ResponseType.SINGLETON,
    "Singleton": ResponseType.SINGLETON,
    "Stream": ResponseType.STREAM,
    "Chunked": ResponseType.CHUNKED,
}


def streams(given: Iterable[Export]) -> list[StreamExport]:
    """Return the exported streams."""
    return [
        StreamExport(each.subject, None, each.account_token_position, private=each.token_req)
        for each in given
        if each.type == "stream"
    ]


def services(given: Iterable[Export]) -> list[ServiceExport]:
    """Return the exported services. A threshold is in ns, in the claims as well."""
    return [_service(each) for each in given if each.type == "service"]


def _service(given: Export) -> ServiceExport:
    made = ServiceExport(
        given.subject,
        None,
        given.account_token_position,
        _RESPONSES[given.response_type],
        given.response_threshold,
        private=given.token_req,
        latency=_latency(given),
    )
    made.allow_trace = given.allow_trace
    return made


def _latency(given: Export) -> LatencyTarget | None:
    latency = given.service_latency
    return None if latency is None else LatencyTarget(latency.results, latency.sampling)
