"""healthz: whether the server can serve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .request import asked
from .view import Monitored

OK, BAD_REQUEST, NOT_FOUND, UNAVAILABLE = 200, 400, 404, 503


@dataclass(slots=True)
class HealthzRequest:
    """Which parts must be well; a stream needs its account, a consumer its stream."""

    js_enabled: bool = asked(False, "js-enabled")
    js_enabled_only: bool = asked(False, "js-enabled-only")
    js_server_only: bool = asked(False, "js-server-only")
    js_meta_only: bool = asked(False, "js-meta-only")
    account: str = asked("", "account")
    stream: str = asked("", "stream")
    consumer: str = asked("", "consumer")
    details: bool = asked(False, "details")


def healthz(server: Monitored, request: HealthzRequest | None = None) -> tuple[int, dict[str, Any]]:
    """The HTTP status and the document; the status is not in the document, which is how HTTP shows it."""
    request = request or HealthzRequest()
    if request.stream and not request.account:
        return _error(BAD_REQUEST, '"account" must not be empty when checking stream health')
    if request.consumer and not request.stream:
        return _error(BAD_REQUEST, '"stream" must not be empty when checking consumer health')
    engine = server.jetstream
    if engine is None or not engine.running:
        if server.options.jetstream.enabled or request.js_enabled or request.js_enabled_only:
            return _error(UNAVAILABLE, "JetStream not enabled")
        return OK, {"status": "ok"}
    if request.js_enabled_only or request.js_server_only:
        return OK, {"status": "ok"}
    if engine.cluster is not None:
        problems = engine.cluster.problems()
        return _error(UNAVAILABLE, problems[0]) if problems else (OK, {"status": "ok"})
    if request.js_meta_only:
        return OK, {"status": "ok"}
    if request.account:
        account = engine.accounts.get(request.account)
        if account is None:
            return _error(NOT_FOUND, f"JetStream account {request.account!r} not found")
        stream = account.streams.get(request.stream) if request.stream else None
        if request.stream and stream is None:
            return _error(NOT_FOUND, f"JetStream stream {request.stream!r} not found")
        if stream is not None and request.consumer and request.consumer not in stream.consumers:
            return _error(NOT_FOUND, f"JetStream consumer {request.consumer!r} not found")
    lost = [
        f"JetStream stream '{name} > {stream.name}' has lost {len(damaged)} messages"
        for name, account in engine.accounts.items()
        if request.account in ("", name)
        for stream in account.streams.values()
        if request.stream in ("", stream.name) and (damaged := stream.store.damaged())
    ]
    return _error(UNAVAILABLE, "; ".join(lost)) if lost else (OK, {"status": "ok"})


def _error(code: int, text: str) -> tuple[int, dict[str, Any]]:
    status = "unavailable" if code == UNAVAILABLE else "error"
    return code, {"status": status, "error": text}
