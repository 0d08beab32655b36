"""The API families STREAM.SNAPSHOT and STREAM.RESTORE: a stream sent to a client, and taken from one.

Source: ADR-2; for the archive, nats-server's server/filestore.go: streamSnapshot.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ....protocol.api.messages import RestoreRequest, SnapshotRequest, error_response, response
from ....protocol.errors import ApiError, api_error
from ....protocol.subject import has_wildcard, is_valid
from ....protocol.timestamp import format_rfc3339
from ....store.errors import StoreError
from ...slices import Steps, paced
from .. import advisories
from ..account.backup.restore import Complete, OnRestored, StreamRestore
from ..account.backup.sender import BackupSender
from ..streams import stream_info
from ..streams.core import Stream
from .request import LATER, Request, Response

if TYPE_CHECKING:
    from ....protocol.api.stream import StreamConfig
    from ..account.backup.staged import StagedStream
    from ..consumers.core import Consumer

_MADE = "stream_create"  # the response type at the end of a restore


def snapshot(request: Request) -> Response:
    """Answer STREAM.SNAPSHOT.<stream>, then send the stream."""
    if request.empty:
        raise api_error("JSBadRequestErr")
    stream = request.account.lookup(request.tokens[2])
    asked = request.read(SnapshotRequest)
    if not is_valid(asked.deliver_subject) or has_wildcard(asked.deliver_subject):
        raise api_error("JSSnapshotDeliverSubjectInvalidErr")
    last = stream.store.last_seq

    def begin(error: BaseException | None) -> None:
        if error is not None:
            request.fail(api_error("JSStreamSnapshotErrF", err=str(error)))
        else:
            _send(request, asked, stream, last)

    stream.ack_queue.after(begin)  # what is stored by now is safe then
    return LATER


def _send(request: Request, asked: SnapshotRequest, stream: Stream[Consumer], last: int) -> None:
    """Answer, and send the stream up to the sequence `last`."""
    state = stream_info.state(stream)
    if asked.no_consumers:
        state.consumer_count = 0
    state.last_seq = min(state.last_seq, last)
    host, account, started = request.account.host, request.account.account, request.context.clock.now()
    named = {"stream": stream.name, "client": client_of(request)}

    def ended(why: str) -> None:
        label = f"'{request.account.name} > {stream.name}'"
        if why:
            host.log.warning(f"Snapshot for stream {label} failed: {why}")
        else:
            host.log.info(f"Completed snapshot for stream {label}")
        times = {"start": format_rfc3339(started), "end": format_rfc3339(host.clock.now())}
        subject = f"STREAM.SNAPSHOT_COMPLETE.{stream.name}"
        more = {"error": why} if why else {}
        advisories.publish(account, host, subject, "snapshot_complete", {**named, **times, **more})

    sender = BackupSender(
        stream,
        state,
        asked.deliver_subject,
        ended,
        chunk=asked.chunk_size,
        window=asked.window_size,
        consumers=not asked.no_consumers,
    )
    request.respond(
        response(request.kind, config=stream_info.shown(stream.config).to_json(), state=state.to_json())
    )
    fields = {**named, "state": state.to_json()}
    advisories.publish(account, host, f"STREAM.SNAPSHOT_CREATE.{stream.name}", "snapshot_create", fields)
    host.executor.soon(sender.start)


def client_of(request: Request) -> Response:
    """Return the client that sent a request, for advisories."""
    source = request.message.source
    return source.client_info() if source is not None else {}


def read_restore(request: Request) -> StreamConfig:
    """Return the configuration that STREAM.RESTORE asks for, checked by itself. Raises ApiError."""
    if request.empty:
        raise api_error("JSBadRequestErr")
    name = request.tokens[2]
    config = request.read(RestoreRequest).config
    config.name = config.name or name
    if config.name != name:
        raise api_error("JSStreamMismatchErr")
    if "/" in name or "\\" in name:
        raise api_error("JSStreamNameContainsPathSeparatorsErr")
    return config


def restore(request: Request) -> Response:
    """Answer STREAM.RESTORE.<stream> with the subject to send the stream to."""
    return request.work(paced(_restoring(request)))


def _restoring(request: Request) -> Steps[Response]:
    account = request.account
    config = yield from account.validating(read_restore(request))
    account.must_be_new(config)

    def complete(staged: StagedStream, done: OnRestored) -> None:
        account.must_be_new(config)
        done(staged.adopt(account.host.clock.now()))

    return receive(request, config, complete)


def receive(request: Request, config: StreamConfig, complete: Complete) -> Response:
    """Receive a stream of this configuration, and return the answer: where to send it. Raises ApiError.

    complete: turns what was sent into a stream.
    """
    jetstream = request.account
    if config.name in jetstream.restores:
        raise api_error("JSStreamRestoreErrF", err="a restore of this stream is under way")
    host, account, started = jetstream.host, jetstream.account, jetstream.host.clock.now()
    named = {"stream": config.name, "client": client_of(request)}

    def answer(reply: str, outcome: Stream[Consumer] | ApiError | None) -> None:
        body = b""
        if isinstance(outcome, ApiError):
            host.log.warning(
                f"Restore failed for stream '{jetstream.name} > {config.name}': {outcome.description}"
            )
            body = json.dumps(error_response(_MADE, outcome)).encode()
        elif outcome is not None:
            host.log.info(f"Completed restore for stream '{jetstream.name} > {config.name}'")
            found = stream_info.info(outcome)
            found.cluster = None
            body = json.dumps(response(_MADE, found)).encode()
        if reply:
            account.publish(reply, body)

    def ended(size: int) -> None:
        jetstream.restores.pop(config.name, None)
        times = {"start": format_rfc3339(started), "end": format_rfc3339(host.clock.now()), "bytes": size}
        subject = f"STREAM.RESTORE_COMPLETE.{config.name}"
        advisories.publish(account, host, subject, "restore_complete", {**named, **times})

    try:
        made = StreamRestore(jetstream, config, answer, ended, complete)
    except (OSError, StoreError) as error:
        raise api_error("JSStreamRestoreErrF", err=str(error)) from error
    jetstream.restores[config.name] = made
    made.start()
    host.log.info(f"Starting restore for stream '{jetstream.name} > {config.name}'")
    advisories.publish(account, host, f"STREAM.RESTORE_CREATE.{config.name}", "restore_create", named)
    return response(request.kind, deliver_subject=made.subject)
