"""Direct get: any current replica answers with a stored message, without the API's JSON around it.

Requests that one read brought are served together. Most ask for one message, by its sequence or by its
subject, and are answered at once; all others are served in slices.

Promises:
- Each answer has the stream, subject, sequence and time in headers, unless the request sets no_hdr.
- A batch ends with a `204 EOB`.
- Every request with a reply subject is answered, if only with a status; an unexpected error is answered with
  500 and its text, and logged.
- Requests for one message, by its sequence or a literal subject, are answered in the order of their arrival.
- A stream listens only while its configuration allows it.

Source: ADR-31; stream.go: getDirectRequest, getDirectMulti (the statuses).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ....native import head_answers, read_gets
from ....protocol import gojson, headers
from ....protocol.api.messages import MsgGetRequest
from ....protocol.errors import ApiError
from ....protocol.timestamp import format_rfc3339, to_the_second
from ....store.errors import NotFound, StoreError
from ....store.message import StoredMessage
from ...accounts.subscription import Message, Publish, message_of, publish_of
from ...slices import Slices, Steps
from .. import advisories
from ..host import serves_level

if TYPE_CHECKING:
    from ....protocol.api.stream import StreamConfig
    from ....store.stream import StreamStore
    from ...accounts.account import Account, HeadedAnswer
    from ...accounts.subscription import Subscription
    from ..host import JetStreamHost
    from .output import StreamOutput

QUEUE = "_sys_"
MOST_RESULTS = 1024
_AHEAD = 128  # messages of a batch read at once
_AHEAD_SIZE = 1 << 18  # or as many bytes of them
_NOT_FOUND = "404 Message Not Found"
_VERSION = b"NATS/1.0\r\n"


class _Refused(Exception):  # noqa: N818 - carries a status, which is an answer
    """A request is refused. The exception's text is the status line."""


class DirectGet:
    """The direct reads of one stream. output: publishes the answers, and logs what went wrong."""

    def __init__(
        self,
        config: StreamConfig,
        store: StreamStore,
        account: Account,
        host: JetStreamHost,
        output: StreamOutput,
    ) -> None:
        self._config = config
        self._store = store
        self._account = account
        self._host = host
        self._output = output
        # Of what is served now, sent together; an answer without a header gets the usual one.
        self._answers: list[HeadedAnswer | tuple[bytes, StoredMessage]] = []
        self._caught_up = False  # a mirror answers for its origin once it has (nearly) all messages
        self._subscriptions: dict[str, list[Subscription]] = {}

    @property
    def names(self) -> set[str]:
        """The names of the streams that it answers for."""
        return set(self._subscriptions)

    def configure(self, config: StreamConfig) -> None:
        """Listen for the stream itself (allow_direct) and for the origin of a mirror (mirror_direct)."""
        self._config = config
        names = {config.name} if config.allow_direct else set()
        mirror = config.mirror
        if mirror is not None and config.mirror_direct and mirror.external is None and self._caught_up:
            names.add(mirror.name)
        for name in set(self._subscriptions) - names:
            self._forget(name)
        account = self._account
        for name in names - set(self._subscriptions):
            subject = f"$JS.API.DIRECT.GET.{name}"
            self._subscriptions[name] = [
                account.subscribe(one, self._on_message, queue=QUEUE, batch_callback=self._receive)
                for one in (subject, subject + ".>")
            ]

    def mirror_caught_up(self) -> None:
        """Answer for the mirror's origin from now on, because the mirror has (nearly) all of its messages."""
        if not self._caught_up:
            self._caught_up = True
            self.configure(self._config)

    def stop(self) -> None:
        """Answer nothing more, for no name; for a mirror's origin only once it has caught up again."""
        self._caught_up = False
        for name in list(self._subscriptions):
            self._forget(name)

    def _forget(self, name: str) -> None:
        for subscription in self._subscriptions.pop(name):
            self._account.unsubscribe(subscription)

    def _on_message(self, message: Message) -> None:
        self._receive([publish_of(message)])

    def _receive(self, publishes: list[Publish]) -> None:
        """Serve requests that came together, as many as there is time for; the others in later turns."""
        turns = self._host.turns
        requests = list(zip(publishes, read_gets(publishes), strict=True))
        done = turns.now_each(self._serve, requests)
        for request in requests[done:]:
            reply = request[0][1]
            if not self._host.queues.is_full(len(turns)):
                turns.soon(partial(self._serve_alone, request))
                continue
            advisories.request_refused(self._host)
            if reply:
                self._refuse(reply, _Refused("503 Insufficient Resources"))
        self._send()

    def _serve_alone(self, request: tuple[Publish, int | str | None]) -> None:
        self._serve(request)
        self._send()

    def _serve(self, request: tuple[Publish, int | str | None]) -> None:
        """Serve one request; the caller sends the answers. One that needs slices has the first one now.

        request: the publish, and what `native.read_gets` returned for it.
        """
        publish, wanted = request
        reply = publish[1]
        if not reply:
            return
        try:
            if wanted is None:
                steps = self._serving(self._read(message_of(publish)), reply)
                Slices(self._host.turns, steps, self._end_slices, partial(self._refuse_at_once, reply))
                return
            found = self._find(wanted)
            if found is None:
                raise _Refused(_NOT_FOUND)
            self._answers.append((reply, found))
        except Exception as error:
            self._refuse(reply, error)

    def _send(self) -> None:
        """Send the answers that were made, unless there is nobody to answer for any more."""
        answers, self._answers = self._answers, []
        if answers and self._subscriptions:
            self._output.send_answers(head_answers(answers, self._config.name, to_the_second))

    def _end_slices(self, _: None) -> None:
        self._send()

    def _refuse_at_once(self, reply: bytes, error: Exception) -> None:
        self._refuse(reply, error)
        self._send()

    def _refuse(self, reply: bytes, error: Exception) -> None:
        """Answer with the status of a refusal, or with 500 if the error is not one."""
        status = str(error)
        if not isinstance(error, _Refused):
            self._output.log_failure(f"can not serve a direct get: {type(error).__name__}: {error}")
            status = f"500 {status or type(error).__name__}"
        self._answers.append((reply, headers.encode(status=status), b""))

    # --- requests

    def _read(self, message: Message) -> MsgGetRequest:
        """Return what a request asks for. Raises _Refused if that is nothing, or cannot be."""
        if not serves_level(message.header):
            raise _Refused("412 Required Api Level")
        by_subject = message.subject.split(".", 5)[5:]
        if by_subject:
            return self._read_last(message, by_subject[0])
        if not message.body:
            raise _Refused("408 Empty Request")
        request = _decode(message)
        if not (
            request.seq
            or request.last_by_subj
            or request.next_by_subj
            or request.multi_last
            or request.start_time
        ):
            raise _Refused("408 Empty Request")
        last, following, many = request.last_by_subj, request.next_by_subj, request.multi_last
        if (
            (request.seq and (last or request.start_time))
            or (request.start_time and last)
            or (last and (following or request.batch or many))
            or (following and many)
            or (request.up_to_seq and request.up_to_time)
        ):
            raise _Refused("408 Bad Request")
        return request

    def _read_last(self, message: Message, subject: str) -> MsgGetRequest:
        request = _decode(message) if message.body else MsgGetRequest()
        if (
            request.last_by_subj
            or request.next_by_subj
            or request.multi_last
            or request.seq
            or request.batch
            or request.start_time
            or request.up_to_seq
            or request.up_to_time
        ):
            raise _Refused("408 Bad Request")
        request.last_by_subj = subject
        return request

    # --- answers

    def _serving(self, request: MsgGetRequest, reply: bytes) -> Steps[None]:
        if request.multi_last:
            yield from self._serve_many(request, reply)
            return
        filters = [one for one in (request.next_by_subj, request.last_by_subj) if one]
        for _ in self._store.preparing(filters):
            self._send()
            yield
        if request.batch > 0:
            yield from self._serve_batch(request, reply)
            return
        sequence = self._first(request)
        if request.next_by_subj:
            found = self._next(request.next_by_subj, sequence)
        else:
            found = self._find(request.last_by_subj or sequence)
        if found is None:
            raise _Refused(_NOT_FOUND)
        self._answer(found, reply, plain=request.no_hdr)

    def _first(self, request: MsgGetRequest) -> int:
        """Return the sequence from which on messages are wanted."""
        return self._store.seq_at(request.start_time) if request.start_time else request.seq

    def _find(self, wanted: str | int) -> StoredMessage | None:
        """Return the last message of a subject (wildcards allowed), or the one with a sequence."""
        try:
            return self._store.last(wanted) if isinstance(wanted, str) else self._store.get(wanted)
        except NotFound:
            return None

    def _next(self, filter_: str, sequence: int) -> StoredMessage | None:
        try:
            return self._store.next((filter_,), sequence)
        except StoreError:
            return None

    def _serve_batch(self, request: MsgGetRequest, reply: bytes) -> Steps[None]:
        store = self._store
        sequence = self._first(request)
        filters = (request.next_by_subj,) if request.next_by_subj else ()
        pending = store.count(filters, sequence)
        budget = request.max_bytes or self._host.max_pending
        last, sent = 0, 0
        ahead: list[StoredMessage] = []  # the next messages, in reverse order
        for index in range(request.batch):
            if not ahead:
                if index:
                    self._send()
                    yield
                most = min(request.batch - index, _AHEAD)
                ahead = store.next_run(filters, sequence, store.last_seq, most, _AHEAD_SIZE)[::-1]
            found = ahead.pop() if ahead else store.next(filters, sequence)
            if found is None:
                if index == 0:
                    raise _Refused(_NOT_FOUND)
                break
            sequence = found.seq + 1
            pending = max(pending - 1, 0)
            self._answer(found, reply, plain=request.no_hdr, batch=(pending, last))
            last = found.seq
            sent += _size(found)
            if sent >= budget:
                break
        self._end(reply, pending, last)

    def _serve_many(self, request: MsgGetRequest, reply: bytes) -> Steps[None]:
        store = self._store
        up_to = request.up_to_seq
        if request.up_to_time:
            up_to = store.seq_at(request.up_to_time)
            if up_to <= store.first_seq:
                raise _Refused("404 No Results")
            up_to -= 1
        up_to = up_to or store.last_seq
        found: list[int] = []
        for names in store.matching(request.multi_last):
            found += [seq for seq in store.lasts(names, up_to) if seq >= request.seq]
            if len(found) > MOST_RESULTS:
                break
            self._send()
            yield
        found.sort()
        if not found:
            raise _Refused("404 No Results")
        if len(found) > MOST_RESULTS:
            raise _Refused("413 Too Many Results")
        budget = request.max_bytes or self._host.max_pending
        last, sent, gathered, pending = 0, 0, 0, len(found)
        for index, sequence in enumerate(found, 1):
            if index % _AHEAD == 0 or sent - gathered >= _AHEAD_SIZE:
                self._send()
                yield
                gathered = sent
            try:
                message = store.get(sequence)
            except NotFound:
                pending -= 1
                continue  # removed since it was found
            except StoreError:
                raise _Refused(_NOT_FOUND) from None
            pending -= 1
            self._answer(message, reply, plain=False, batch=(pending, last))
            last = sequence
            sent += _size(message)
            if sent >= budget or 0 < request.batch <= index:
                break
        self._end(reply, pending, last, up_to)

    def _answer(
        self, message: StoredMessage, reply: bytes, *, plain: bool, batch: tuple[int, int] | None = None
    ) -> None:
        header = b""
        if not plain:
            more = (
                "" if batch is None else f"Nats-Num-Pending: {batch[0]}\r\nNats-Last-Sequence: {batch[1]}\r\n"
            )
            header = self._header(message, more)
        self._answers.append((reply, header, message.body))

    def _header(self, message: StoredMessage, more: str = "") -> bytes:
        """Return the message's own header with where it is stored, and with the lines `more`."""
        sequence, subject, header, _, time = message
        text = (
            f"Nats-Stream: {self._config.name}\r\nNats-Subject: {subject}\r\nNats-Sequence: {sequence}\r\n"
            f"Nats-Time-Stamp: {format_rfc3339(time)}\r\n{more}\r\n"
        )
        return (header[:-2] if header else _VERSION) + text.encode("utf-8", "surrogateescape")

    def _end(self, reply: bytes, pending: int, last: int, up_to: int = 0) -> None:
        text = f"NATS/1.0 204 EOB\r\nNats-Num-Pending: {pending}\r\nNats-Last-Sequence: {last}\r\n"
        if up_to:
            text += f"Nats-UpTo-Sequence: {up_to}\r\n"
        self._answers.append((reply, f"{text}\r\n".encode(), b""))


def _decode(message: Message) -> MsgGetRequest:
    try:
        return MsgGetRequest.from_json(gojson.decode(message.body))
    except (ValueError, ApiError):
        raise _Refused("408 Malformed Request") from None


def _size(message: StoredMessage) -> int:
    return len(message.subject) + len(message.header) + len(message.body)
