"""The JetStream API as requests on a connection: JSON in, JSON out.

Errors: ApiError with the server's text, UnknownStream, and the errors of the connection (NoResponders means
that JetStream or the domain is missing). Each request waits for the timeout of the connection's address.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from ...client import BlockingConnection, NoResponders
from ...protocol import headers
from ...protocol.errors import ApiError
from ...protocol.timestamp import format_rfc3339
from .errors import STREAM_NOT_FOUND, UnknownStream
from .stream_status import StreamStatus

PREFIX = "$JS.API"
NO_MESSAGE = 10037
NOT_FOUND, NO_MORE = 404, 204
_FORBIDDEN = frozenset(" \t\r\n\f.*>/\\")


def domain_prefix(domain: str) -> str:
    """Return the API prefix of a domain; without one, the prefix of the server's own JetStream."""
    return f"$JS.{domain}.API" if domain else PREFIX


class JetStreamRequests:
    """The API under `prefix`: `$JS.API`, `$JS.<domain>.API` of a domain, or what an import maps it to."""

    def __init__(self, connection: BlockingConnection, prefix: str = PREFIX) -> None:
        self.connection = connection
        self.prefix = prefix.rstrip(".")

    def call(self, name: str, request: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Request `<prefix>.<name>` with a JSON document or an empty body; return the answer's document."""
        body = json.dumps(request, separators=(",", ":")).encode() if request is not None else b""
        subject = f"{self.prefix}.{name}"
        try:
            answer = self.connection.request(subject, body)
        except NoResponders:
            raise NoResponders(
                f"nobody answers on {subject}: JetStream is not enabled for this account, "
                "or the domain or API prefix is wrong"
            ) from None
        try:
            document = json.loads(answer.payload)
        except ValueError:
            raise ApiError(500, 0, f"the answer of {subject} is not JSON") from None
        if "error" in document:
            raise ApiError.from_json(document["error"])
        return dict(document)

    def stream(self, name: str, *, subjects: str = "") -> StreamStatus:
        """Return the facts of a stream.

        subjects: a filter; the message counts of the subjects that match it are returned too

        Raises UnknownStream.
        """
        if not name or not _FORBIDDEN.isdisjoint(name):
            raise UnknownStream(name)
        request: dict[str, Any] | None = {"subjects_filter": subjects} if subjects else None
        info = self._stream_info(name, request)
        counts = dict(info["state"].get("subjects") or {})
        while request is not None and len(counts) < int(info.get("total") or 0):
            page = self._stream_info(name, {**request, "offset": len(counts)})["state"].get("subjects")
            if not page:
                break
            counts.update(page)
        info["state"]["subjects"] = counts
        return StreamStatus.of(name, info)

    def _stream_info(self, name: str, request: dict[str, Any] | None) -> dict[str, Any]:
        try:
            return self.call(f"STREAM.INFO.{name}", request)
        except ApiError as error:
            if error.err_code == STREAM_NOT_FOUND:
                raise UnknownStream(name) from None
            raise

    def streams(self, subject: str = "") -> list[str]:
        """Return the names of all streams, or of those that store messages on a subject.

        A subject with wildcards finds the streams whose subjects overlap with it.
        """
        found: list[str] = []
        while True:
            request: dict[str, Any] = {"offset": len(found)}
            if subject:
                request["subject"] = subject
            answer = self.call("STREAM.NAMES", request)
            page = answer.get("streams") or []
            found += page
            if not page or len(found) >= int(answer.get("total") or 0):
                return found

    def sequence_at(self, name: str, when: datetime | int) -> int | None:
        """Return the sequence of the first message stored at or after a time, None if there is none.

        The time is an aware datetime, or ns since the epoch. Raises UnknownStream.
        """
        ns = when if isinstance(when, int) else int(when.timestamp()) * 10**9 + when.microsecond * 1000
        ns = min(max(ns, 1), 2**63 - 1)  # nats-server takes what is after 2262 for a time long past
        try:
            answer = self.call(f"STREAM.MSG.GET.{name}", {"start_time": format_rfc3339(ns), "no_hdr": True})
        except ApiError as error:
            if error.err_code == STREAM_NOT_FOUND:
                raise UnknownStream(name) from None
            if error.err_code == NO_MESSAGE:
                return None
            raise
        return int(answer["message"]["seq"])

    def stored_from(self, name: str, sequence: int, subject: str = ">") -> str:
        """Return when the first message on a subject from a sequence on was stored, RFC 3339.

        Empty if there is none. Raises ApiError.
        """
        request = {"seq": sequence, "next_by_subj": subject, "no_hdr": True}
        try:
            return str(self.call(f"STREAM.MSG.GET.{name}", request)["message"]["time"])
        except ApiError as error:
            if error.err_code == NO_MESSAGE:
                return ""
            raise

    def left(self, name: str, sequence: int, subject: str = "") -> int:
        """Return how many messages a stream has from a sequence on, as any of its replicas counts them.

        subject: only those that match it

        The stream must allow direct gets. Raises ApiError.
        """
        request = {"seq": sequence, "batch": 1, "next_by_subj": subject or ">"}
        connection, count = self.connection, 0
        inbox = connection.new_inbox()
        sid = connection.subscribe(inbox)
        try:
            connection.publish(f"{self.prefix}.DIRECT.GET.{name}", json.dumps(request).encode(), reply=inbox)
            while not (answer := connection.receive()).status:
                count = 1 + int(headers.get(answer.header, b"Nats-Num-Pending") or 0)
        finally:
            connection.unsubscribe(sid)
        if answer.status not in {NO_MORE, NOT_FOUND}:
            raise ApiError(answer.status, 0, f"a direct get from stream {name} was refused")
        return count
