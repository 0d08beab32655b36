"""The API family STREAM.MSG: read and delete single messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....protocol.api.messages import MsgDeleteRequest, MsgGetRequest, StoredMsg, response
from ....protocol.errors import ApiError, api_error
from ....store.errors import Damaged, NotFound
from ....store.message import StoredMessage
from ...slices import Steps
from .request import LATER, Request, Response
from .stream import failed

if TYPE_CHECKING:
    from ..consumers.core import Consumer
    from ..streams.core import Stream
    from ..streams.removal import RemovalOutcome


def get(request: Request) -> Response:
    """Answer STREAM.MSG.GET.<stream>."""
    if request.empty:
        raise api_error("JSBadRequestErr")
    asked = request.read(MsgGetRequest)
    last, following, time = asked.last_by_subj, asked.next_by_subj, asked.start_time
    if (
        asked.batch > 0
        or asked.max_bytes > 0
        or (asked.seq and (last or time))
        or not (asked.seq or last or following or time)
        or (last and (time or following))
    ):
        raise api_error("JSBadRequestErr")
    return request.work(_get(request, request.account.lookup(request.tokens[3]), asked))


def _get(request: Request, stream: Stream[Consumer], asked: MsgGetRequest) -> Steps[Response]:
    filters = [one for one in (asked.next_by_subj, asked.last_by_subj) if one]
    yield from stream.store.preparing(filters)
    found = _find(stream, asked)
    if found is None:
        raise api_error("JSNoMessageFoundErr")
    message = StoredMsg(
        subject=found.subject,
        seq=found.seq,
        hdrs=b"" if asked.no_hdr else found.header,
        data=found.body,
        time=found.time,
    )
    return response(request.kind, message=message.to_json())


def _find(stream: Stream[Consumer], asked: MsgGetRequest) -> StoredMessage | None:
    store = stream.store
    sequence = store.seq_at(asked.start_time) if asked.start_time else asked.seq
    if asked.next_by_subj:
        return store.next((asked.next_by_subj,), sequence)
    if asked.last_by_subj:
        return store.last(asked.last_by_subj)
    try:
        return store.get(sequence)
    except NotFound:
        return None
    except Damaged as damage:
        raise api_error("JSStreamGeneralErrorF", err=f"message {damage.seq} is damaged") from damage


def delete(request: Request) -> Response:
    """Answer STREAM.MSG.DELETE.<stream>, once the deletion is durable."""
    if request.empty:
        raise api_error("JSBadRequestErr")
    asked = request.read(MsgDeleteRequest)
    stream = request.account.lookup(request.tokens[3])
    if stream.config.sealed:
        raise api_error("JSStreamSealedErr")
    if stream.config.deny_delete:
        raise api_error("JSStreamMsgDeleteFailedF", err="message delete not permitted")

    def done(found: RemovalOutcome) -> None:
        if failed(request, found):
            return
        if found:
            request.respond(response(request.kind, success=True))
        else:
            request.fail(_absent(stream, asked.seq))

    stream.removal.start_delete(done, asked.seq, erase=not asked.no_erase)
    return LATER


def _absent(stream: Stream[Consumer], sequence: int) -> ApiError:
    """Return the error for a message that does not exist.

    Before the first and after the last message, file streams have errors of their own.
    """
    store = stream.store
    if stream.config.storage == "memory" or store.first_seq <= sequence <= store.last_seq:
        return api_error("JSSequenceNotFoundErrF", seq=sequence)
    text = "stream store EOF" if sequence > store.last_seq else "no message found"
    return api_error("JSStreamMsgDeleteFailedF", err=text)
