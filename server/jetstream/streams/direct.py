"""Direct get: any replica answers with a stored message, without the API's JSON around it.

Promises:
- Each answer has the stream, subject, sequence and time in headers, unless the request sets no_hdr.
- A batch ends with a `204 EOB`.
- Every request with a reply subject is answered, if only with a status; an unexpected error is answered with
  500 and its text, and logged.
- A stream listens only while its configuration allows it.

Source: ADR-31; stream.go: getDirectRequest, getDirectMulti (the statuses).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ....protocol import gojson, headers
from ....protocol.api.messages import MsgGetRequest
from ....protocol.errors import ApiError
from ....protocol.limits import API_LEVEL
from ....protocol.timestamp import format_rfc3339
from ....store.errors import NotFound, StoreError
from ....store.message import StoredMessage
from ...slices import Slices, Steps
from ..host import MOST_WAITING, serves_level

if TYPE_CHECKING:
    from collections.abc import Callable

    from ....protocol.api.stream import StreamConfig
    from ....store.stream import StreamStore
    from ...accounts.account import Account
    from ...accounts.subscription import Message, Subscription
    from ..host import JetStreamHost
    from .commit import Send

QUEUE = "_sys_"
MOST_RESULTS = 1024
_AHEAD = 128  # messages of a batch read at once
_AHEAD_SIZE = 1 << 18  # or as many bytes of them


class _Refused(Exception):  # noqa: N818 - carries a status, which is an answer
    """A request is refused. The exception's text is the status line."""


class DirectGet:
    """The direct reads of one stream.

    send: publishes an answer.
    failed: called with a text for the log when a request could not be served.
    """

    def __init__(
        self,
        config: StreamConfig,
        store: StreamStore,
        account: Account,
        host: JetStreamHost,
        send: Send,
        failed: Callable[[str], None],
    ) -> None:
        self._config = config
        self._store = store
        self._account = account
        self._host = host
        self._send = send
        self._failed = failed
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
                account.subscribe(subject, self._on_request, queue=QUEUE),
                account.subscribe(subject + ".>", self._on_last, queue=QUEUE),
            ]

    def mirror_caught_up(self) -> None:
        """Answer for the mirror's origin from now on, because the mirror has (nearly) all of its messages."""
        if not self._caught_up:
            self._caught_up = True
            self.configure(self._config)

    def stop(self) -> None:
        """Unsubscribe."""
        for name in list(self._subscriptions):
            self._forget(name)

    def _forget(self, name: str) -> None:
        for subscription in self._subscriptions.pop(name):
            self._account.unsubscribe(subscription)

    def _on_request(self, message: Message) -> None:
        self._answer(message, self._request)

    def _on_last(self, message: Message) -> None:
        self._answer(message, self._last_by_subject)

    def _answer(self, message: Message, work: Callable[[Message], None]) -> None:
        if not message.reply:
            return
        try:
            if not serves_level(message.header, API_LEVEL):
                raise _Refused("412 Required Api Level")
            work(message)
        except Exception as error:
            self._refuse(message.reply, error)

    def _read(self, message: Message) -> MsgGetRequest:
        try:
            return MsgGetRequest.from_json(gojson.decode(message.body))
        except (ValueError, ApiError):
            raise _Refused("408 Malformed Request") from None

    def _request(self, message: Message) -> None:
        if not message.body:
            raise _Refused("408 Empty Request")
        request = self._read(message)
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
        self._serve(request, message.reply)

    def _last_by_subject(self, message: Message) -> None:
        request = self._read(message) if message.body else MsgGetRequest()
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
        request.last_by_subj = message.subject.split(".", 5)[5]
        self._serve(request, message.reply)

    def _serve(self, request: MsgGetRequest, reply: str) -> None:
        """Answer in slices; the first one runs now, unless others wait."""
        turns = self._host.turns
        if len(turns) >= MOST_WAITING:
            raise _Refused("503 Insufficient Resources")
        refuse = partial(self._refuse, reply)
        turns.now(lambda: Slices(turns, self._serving(request, reply), _nothing, refuse))

    def _serving(self, request: MsgGetRequest, reply: str) -> Steps[None]:
        if request.multi_last:
            yield from self._serve_many(request, reply)
            return
        filters = [one for one in (request.next_by_subj, request.last_by_subj) if one]
        yield from self._store.preparing(filters)
        if request.batch > 0:
            yield from self._serve_batch(request, reply)
            return
        found = self._find(request)
        if found is None:
            raise _Refused("404 Message Not Found")
        self._send_message(found, reply, plain=request.no_hdr)

    def _refuse(self, reply: str, error: Exception) -> None:
        """Answer with the status of a refusal, or with 500 if the error is not one."""
        status = str(error)
        if not isinstance(error, _Refused):
            self._failed(f"can not serve a direct get: {type(error).__name__}: {error}")
            status = f"500 {status or type(error).__name__}"
        self._send(reply, headers.encode(status=status), b"")

    def _find(self, request: MsgGetRequest) -> StoredMessage | None:
        store = self._store
        sequence = store.seq_at(request.start_time) if request.start_time else request.seq
        try:
            if request.next_by_subj:
                return store.next((request.next_by_subj,), sequence)
            if request.last_by_subj:
                return store.last(request.last_by_subj)
            return store.get(sequence)
        except StoreError:
            return None

    def _serve_batch(self, request: MsgGetRequest, reply: str) -> Steps[None]:
        store = self._store
        sequence = store.seq_at(request.start_time) if request.start_time else request.seq
        filters = (request.next_by_subj,) if request.next_by_subj else ()
        pending = store.count(filters, sequence)
        budget = request.max_bytes or self._host.max_pending
        last, sent = 0, 0
        ahead: list[StoredMessage] = []  # the next messages, in reverse order
        for index in range(request.batch):
            if not ahead:
                if index:
                    yield
                most = min(request.batch - index, _AHEAD)
                ahead = store.next_run(filters, sequence, store.last_seq, most, _AHEAD_SIZE)[::-1]
            found = ahead.pop() if ahead else store.next(filters, sequence)
            if found is None:
                if index == 0:
                    raise _Refused("404 Message Not Found")
                break
            sequence = found.seq + 1
            pending = max(pending - 1, 0)
            self._send_message(found, reply, plain=request.no_hdr, batch=(pending, last))
            last = found.seq
            sent += _size(found)
            if sent >= budget:
                break
        self._end(reply, pending, last)

    def _serve_many(self, request: MsgGetRequest, reply: str) -> Steps[None]:
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
            yield
        found.sort()
        if not found:
            raise _Refused("404 No Results")
        if len(found) > MOST_RESULTS:
            raise _Refused("413 Too Many Results")
        budget = request.max_bytes or self._host.max_pending
        last, sent, pending = 0, 0, len(found)
        for index, sequence in enumerate(found, 1):
            if index % _AHEAD == 0:
                yield
            try:
                message = store.get(sequence)
            except NotFound:
                pending -= 1
                continue  # removed since it was found
            except StoreError:
                raise _Refused("404 Message Not Found") from None
            pending -= 1
            self._send_message(message, reply, plain=False, batch=(pending, last))
            last = sequence
            sent += _size(message)
            if sent >= budget or 0 < request.batch <= index:
                break
        self._end(reply, pending, last, up_to)

    def _send_message(
        self, message: StoredMessage, reply: str, *, plain: bool, batch: tuple[int, int] | None = None
    ) -> None:
        if plain:
            self._send(reply, b"", message.body)
            return
        lines = (
            f"Nats-Stream: {self._config.name}\r\nNats-Subject: {message.subject}\r\n"
            f"Nats-Sequence: {message.seq}\r\nNats-Time-Stamp: {format_rfc3339(message.time)}\r\n"
        )
        if batch is not None:
            lines += f"Nats-Num-Pending: {batch[0]}\r\nNats-Last-Sequence: {batch[1]}\r\n"
        start = message.header[:-2] if message.header else b"NATS/1.0\r\n"
        self._send(reply, start + lines.encode("utf-8", "surrogateescape") + b"\r\n", message.body)

    def _end(self, reply: str, pending: int, last: int, up_to: int = 0) -> None:
        text = f"NATS/1.0 204 EOB\r\nNats-Num-Pending: {pending}\r\nNats-Last-Sequence: {last}\r\n"
        if up_to:
            text += f"Nats-UpTo-Sequence: {up_to}\r\n"
        self._send(reply, f"{text}\r\n".encode(), b"")


def _nothing(_: None) -> None:
    """Do nothing: everything was sent."""


def _size(message: StoredMessage) -> int:
    return len(message.subject) + len(message.header) + len(message.body)
