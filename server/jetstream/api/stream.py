"""The API family STREAM: create, update, info, names, list, delete, purge."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from ....protocol.api.messages import PageRequest, PurgeRequest, StreamInfoRequest, StreamRequest, response
from ....protocol.api.stream_template import TEMPLATE_OWNER
from ....protocol.errors import ApiError, api_error
from ....protocol.subject import ANY_REST
from ...slices import Steps, paced
from ..account import changes
from ..streams import stream_info
from ..streams.validation.config import check_texts
from ..streams.validation.context import invalid
from .page import LIST_LIMIT, NAMES_LIMIT, Page
from .raw_json import RawJson, to_text
from .request import LATER, Request, Response

if TYPE_CHECKING:
    from ..consumers.core import Consumer
    from ..streams.core import Stream
    from ..streams.removal import RemovalOutcome

SUBJECTS_LIMIT = 100_000
DELETED_LIMIT = 100_000
STEP = 2048  # sequences examined in one slice


def reading_create(request: Request) -> Steps[StreamRequest]:
    """Return in steps the request STREAM.CREATE, checked by itself. Raises ApiError."""
    asked = yield from request.reading(StreamRequest)
    name = request.tokens[2]
    if asked.name != name:
        raise api_error("JSStreamMismatchErr")
    if "/" in name or "\\" in name:
        raise api_error("JSStreamNameContainsPathSeparatorsErr")
    if asked.sealed:
        raise invalid("stream configuration for create can not be sealed")
    if asked.mirror_direct and asked.mirror is None:
        raise invalid("stream has no mirror but does have mirror direct")
    if TEMPLATE_OWNER in asked.metadata and request.account.host.legacy_api:
        raise invalid("stream not owned by template")  # which makes its streams itself
    return asked


def create(request: Request) -> Response:
    """Answer STREAM.CREATE.<stream>."""
    return _change(request, reading_create(request), changes.creating, _created)


def _change(
    request: Request,
    reading: Steps[StreamRequest],
    change: Callable[..., Steps[Stream[Consumer]]],
    answer: Callable[[Request, Stream[Consumer]], Steps[Response]],
) -> Response:
    """Read a configuration, create or change the stream, and answer."""

    def changing() -> Steps[Stream[Consumer]]:
        asked = yield from reading
        return (yield from change(request.account, asked.config(), pedantic=asked.pedantic))

    return request.change(changing(), partial(answer, request))


def _created(request: Request, stream: Stream[Consumer]) -> Steps[Response]:
    return response(request.kind) | (yield from _brief(stream)) | {"did_create": True}


def _brief(stream: Stream[Consumer]) -> Steps[dict[str, Any]]:
    """Return in steps what create, update and list answer: no cluster, as on a single reference server."""
    found = yield from stream_info.describing(stream)
    found.cluster = None
    return (yield from found.writing())


def reading_update(request: Request) -> Steps[StreamRequest]:
    """Return in steps the request STREAM.UPDATE, checked by itself. Raises ApiError."""
    asked = yield from request.reading(StreamRequest)
    check_texts(asked)
    if asked.name != request.tokens[2]:
        raise api_error("JSStreamMismatchErr")
    return asked


def update(request: Request) -> Response:
    """Answer STREAM.UPDATE.<stream>."""
    return _change(request, reading_update(request), changes.updating, _updated)


def _updated(request: Request, stream: Stream[Consumer]) -> Steps[Response]:
    """Return the answer, once everything that the new configuration does not allow is removed."""
    while stream.removal.under_way and not stream.stopped:
        yield
    return response(request.kind) | (yield from _brief(stream))


def _page(request: Request, limit: int) -> Page[str]:
    asked = request.read_optional(PageRequest)
    return Page(request.account.names(asked.subject), asked.offset, limit)


def names(request: Request) -> Response:
    """Answer STREAM.NAMES, once all names are known."""
    page = _page(request, NAMES_LIMIT)
    return response(request.kind, **page.numbers(), streams=page.items or None)


def list_streams(request: Request) -> Response:
    """Answer STREAM.LIST, once all streams are open."""
    request.account.must_be_recovered()
    return request.work(paced(_listing(request)))


def _listing(request: Request) -> Steps[Response]:
    account = request.account
    page = _page(request, LIST_LIMIT)
    shown = []
    for name in page.items:
        stream = account.streams.get(name)
        if stream is not None:  # it may be deleted meanwhile
            shown.append((yield from _brief(stream)))
        yield
    answer = response(request.kind, **page.numbers(), streams=shown)
    if account.offline:
        answer["offline"] = dict(sorted(account.offline.items()))
    return answer


def info(request: Request) -> Response:
    """Answer STREAM.INFO.<stream>."""
    stream = request.account.lookup(request.tokens[2])
    return request.work(paced(describing(request, stream)))


def describing(request: Request, stream: Stream[Consumer]) -> Steps[Response]:
    """Return in steps the answer to STREAM.INFO about this stream. Raises ApiError."""
    asked = request.read_optional(StreamInfoRequest)
    page: dict[str, int] = {}
    subjects: RawJson | None = None
    if asked.subjects_filter:
        page, subjects = yield from _subjects(stream, asked)
    found = yield from stream_info.describing(stream)
    answer = response(request.kind)
    answer.update({"total": 0, "offset": 0, "limit": 0, **page})
    answer.update((yield from found.writing()))
    if subjects is not None:
        answer["state"]["subjects"] = subjects
    if asked.deleted_details and found.state.num_deleted:
        answer["state"]["deleted"] = yield from _missing(stream)
    return answer


def _missing(stream: Stream[Consumer]) -> Steps[RawJson]:
    """Return as JSON the first sequences that hold no message, as many as fit into an answer."""
    pieces: list[str] = []
    count, at = 0, 0
    while count < DELETED_LIMIT:
        step: list[int] = []
        began, room = at, min(STEP, DELETED_LIMIT - count)
        for low, high in stream.store.gaps(at):
            at = min(high, low + room - len(step) - 1) + 1
            step += range(low, at)
            if len(step) >= room or at - began > 8 * STEP:
                break
        if not step:
            break
        count += len(step)
        pieces.append(to_text(step)[1:-1])
        yield
    return RawJson("[" + ",".join(pieces) + "]")


def _subjects(
    stream: Stream[Consumer], asked: StreamInfoRequest
) -> Steps[tuple[dict[str, int], RawJson | None]]:
    """Return the page, and its subjects with their numbers of messages as JSON, None if there are none.

    Each part is written as soon as it is read: a list of a million names would hold up Python's garbage
    collector.
    """
    store = stream.store
    offset = max(asked.offset, 0)
    everything = asked.subjects_filter == ANY_REST
    pieces: list[str] = []
    total = shown = 0
    for names in store.matching((asked.subjects_filter,)):
        wanted = names[max(offset - total, 0) :][: SUBJECTS_LIMIT - shown]
        total += len(names)
        shown += len(wanted)
        found = {name: count for name in wanted if (count := store.subject_count(name))}
        if found:
            pieces.append(to_text(found)[1:-1])
        if everything and shown == SUBJECTS_LIMIT:
            total = store.num_subjects
            break
        yield
    page = {"total": total, "offset": offset, "limit": SUBJECTS_LIMIT} if total else {}
    return page, RawJson("{" + ",".join(pieces) + "}") if pieces else None


def delete(request: Request) -> Response:
    """Answer STREAM.DELETE.<stream>."""
    request.must_be_empty()
    account = request.account
    return request.change(changes.deleting(account, request.tokens[2]), lambda _: _deleted(request))


def _deleted(request: Request) -> Steps[Response]:
    yield from ()
    return response(request.kind, success=True)


def purge(request: Request) -> Response:
    """Answer STREAM.PURGE.<stream>, once the purge is durable."""
    asked = request.read_optional(PurgeRequest)
    if asked.seq and asked.keep:
        raise api_error("JSBadRequestErr")
    stream = request.account.lookup(request.tokens[2])
    if stream.config.sealed:
        raise api_error("JSStreamSealedErr")
    if stream.config.deny_purge:
        raise api_error("JSStreamPurgeFailedF", err="stream purge not permitted")

    def done(purged: RemovalOutcome) -> None:
        if failed(request, purged):
            return
        request.respond(response(request.kind, success=True, purged=purged))

    stream.removal.start_purge(done, subject=asked.filter, up_to=asked.seq, keep=asked.keep)
    return LATER


def failed(request: Request, outcome: RemovalOutcome) -> bool:
    """Refuse the request if an order failed, and return whether it did."""
    if isinstance(outcome, ApiError):
        request.fail(outcome)
    elif isinstance(outcome, BaseException):
        request.fail(api_error("JSStreamGeneralErrorF", err=str(outcome)))
    return isinstance(outcome, BaseException)
