"""healthz: whether the server can serve."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ...protocol.lazy_dataclass import dataclass
from ..jetstream.meta.health import HealthzError
from ..slices import Steps
from .request import asked
from .view import Monitored

if TYPE_CHECKING:
    from ..jetstream.cluster.view import ClusterView
    from ..jetstream.consumers.core import Consumer
    from ..jetstream.engine import JetStream
    from ..jetstream.streams.core import Stream

OK, BAD_REQUEST, NOT_FOUND, CLOSED, UNAVAILABLE = 200, 400, 404, 500, 503


@dataclass(slots=True)
class HealthzRequest:
    """Which parts to check. A stream needs its account, and a consumer needs its stream."""

    js_enabled: bool = asked(False, "js-enabled")
    js_enabled_only: bool = asked(False, "js-enabled-only")
    js_server_only: bool = asked(False, "js-server-only")
    js_meta_only: bool = asked(False, "js-meta-only")
    account: str = asked("", "account")
    stream: str = asked("", "stream")
    consumer: str = asked("", "consumer")
    details: bool = asked(False, "details")


def healthz(server: Monitored, request: HealthzRequest | None = None) -> Steps[tuple[int, dict[str, Any]]]:
    """Return the HTTP status and the document, which does not contain that status."""
    request = request or HealthzRequest()
    code, problems = yield from _check(server, request)
    if not problems and not server.accepting:  # not yet, or in lame duck mode (monitor.go, healthz)
        code, problems = CLOSED, [HealthzError("CONNECTION", "failed to be ready for connections: server")]
    if not problems:
        return OK, {"status": "ok"}
    if request.details:
        return code, {"status": "error", "errors": [problem.to_json() for problem in problems]}
    status = "error" if code in (BAD_REQUEST, CLOSED) else "unavailable"
    return code, {"status": status, "error": problems[0].error}


def _check(server: Monitored, request: HealthzRequest) -> Steps[tuple[int, list[HealthzError]]]:
    """Return the HTTP status and what is wrong, in the order of the checks; [] if nothing is.

    The checks end with the first that fails, except the last two, which look at all streams.
    """
    missing_field = _missing_field(request)
    if missing_field:
        text = f'"{missing_field}" must not be empty when checking {_child_of(missing_field)} health'
        return BAD_REQUEST, [HealthzError("BAD_REQUEST", text)]
    engine = server.jetstream
    if request.js_server_only:
        return OK, []
    if engine is None or not engine.running:
        if server.options.jetstream.enabled:
            return UNAVAILABLE, [HealthzError("JETSTREAM", "JetStream not enabled")]
        return OK, []
    if request.js_enabled_only or request.js_enabled:
        return OK, []
    cluster = None if engine.cluster is None else engine.cluster.view
    if cluster is not None:
        from ..jetstream.cluster.monitoring import meta_problem

        wrong = meta_problem(cluster)
        if wrong is not None:
            return UNAVAILABLE, [wrong]
    if request.js_meta_only:
        return OK, []
    recovering = engine.recovering()
    if recovering and not _is_open(engine, request):
        return UNAVAILABLE, [HealthzError("JETSTREAM", recovering)]
    missing = _missing(engine, request) if cluster is None else _unassigned(cluster, request)
    if missing is not None:
        return NOT_FOUND, [missing]
    problems = yield from _cluster_problems(cluster, request)
    problems += yield from _damage(engine, request)
    return UNAVAILABLE, problems


def _missing_field(request: HealthzRequest) -> str:
    """Return which field is missing in the request, "" if none is."""
    if request.stream and not request.account:
        return "account"
    return "stream" if request.consumer and not request.stream else ""


def _child_of(what: str) -> str:
    """Return what an account or a stream contains."""
    return {"account": "stream", "stream": "consumer"}[what]


def _absent(request: HealthzRequest, what: str) -> HealthzError:
    account, stream, consumer = request.account, request.stream, request.consumer
    if what == "account":
        return HealthzError("ACCOUNT", f'JetStream account "{account}" not found', account)
    if what == "stream":
        text = f'JetStream stream "{stream}" not found on account "{account}"'
        return HealthzError("STREAM", text, account, stream)
    text = f'JetStream consumer "{consumer}" not found for stream "{stream}" on account "{account}"'
    return HealthzError("CONSUMER", text, account, stream, consumer)


def _is_open(engine: JetStream, request: HealthzRequest) -> bool:
    """Whether the request is about a stream that is served already, while others are being recovered."""
    account = engine.accounts.get(request.account)
    return account is not None and request.stream in account.streams


def _missing(engine: JetStream, request: HealthzRequest) -> HealthzError | None:
    """Return what is requested and does not exist, on a single server."""
    if not request.account:
        return None
    account = engine.accounts.get(request.account)
    if account is None:
        return _absent(request, "account")
    stream = account.streams.get(request.stream) if request.stream else None
    if request.stream and stream is None:
        return _absent(request, "stream")
    if stream is not None and request.consumer and request.consumer not in stream.consumers:
        return _absent(request, "consumer")
    return None


def _unassigned(cluster: ClusterView, request: HealthzRequest) -> HealthzError | None:
    """Return what is requested and not assigned to this server of a cluster."""
    state, account, name = cluster.state, request.account, request.stream
    if account and not state.streams.get(account):
        return _absent(request, "account")
    stream = state.stream(account, name) if name else None
    if name and (stream is None or cluster.me not in stream.members):
        return _absent(request, "stream")
    if request.consumer and state.consumer(account, name, request.consumer) is None:
        return _absent(request, "consumer")
    return None


def _cluster_problems(cluster: ClusterView | None, request: HealthzRequest) -> Steps[list[HealthzError]]:
    if cluster is None:
        return []
    from ..jetstream.cluster.monitoring import stream_problems

    found = yield from stream_problems(
        cluster, lambda one: request.account in ("", one.account) and request.stream in ("", one.name)
    )
    return [one for one in found if request.consumer in ("", one.consumer) or not one.consumer]


def _damage(engine: JetStream, request: HealthzRequest) -> Steps[list[HealthzError]]:
    """Return damage: streams that are offline or lost messages, consumers that are offline or went back."""
    found: list[HealthzError] = []
    for name, account in list(engine.accounts.items()):
        if request.account not in ("", name):
            continue
        for stream, reason in list(account.offline.items()):
            if request.stream in ("", stream):
                text = f"JetStream stream '{name} > {stream}' is offline: {reason}"
                found.append(HealthzError("STREAM", text, name, stream))
                yield
        for one in list(account.streams.values()):
            if request.stream in ("", one.name) and not one.stopped:
                found += _stream_damage(name, one, request.consumer)
                yield
    return found


def _stream_damage(account: str, stream: Stream[Consumer], consumer: str) -> Iterator[HealthzError]:
    what = f"{account} > {stream.name}"
    damaged = stream.store.damaged()
    if damaged:
        text = f"JetStream stream '{what}' has lost {len(damaged)} messages"
        yield HealthzError("STREAM", text, account, stream.name)
    errors = {name: f"is offline: {reason}" for name, reason in stream.consumers.offline.items()}
    errors |= {one.name: f"went back: {one.damage}" for one in stream.consumers.values() if one.damage}
    for name, error in sorted(errors.items()):
        if consumer in ("", name):
            text = f"JetStream consumer '{what} > {name}' {error}"
            yield HealthzError("CONSUMER", text, account, stream.name, name)
