"""The JetStream API as requests: a subject and JSON in, JSON out.

`JsApi.request("STREAM.INFO.ORDERS")` asks `<prefix>.STREAM.INFO.ORDERS`. Promises: an error answer raises
RemoteError with code, err_code and a hint; no answer and missing JetStream raise errors that say so. It does
not interpret the documents.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

from ..client import ClientError, NoResponders, TimedOut
from .blocking import ask
from .errors import (
    CliError,
    NotFoundError,
    RefusedError,
    RemoteError,
    UnavailableError,
    close_matches,
    of_client,
)
from .proposal import in_hint
from .render import log

STREAM_NOT_FOUND = 10059
CONSUMER_NOT_FOUND = 10014
NOT_ENABLED = 10039
RESERVED_METADATA = "_nats."  # starts the names of what servers write into metadata
NO_TIER = 10120  # the account has no limits for so many replicas
UNAVAILABLE = 10008  # there is no leader, of the stream or of the cluster
_FORBIDDEN = frozenset(" \t\r\n\f.*>/\\")


def is_name(text: str) -> bool:
    """Return whether a stream or consumer may have this name, which becomes part of the API's subjects."""
    return _FORBIDDEN.isdisjoint(text)


def stream_is_gone(error: CliError) -> bool:
    """Return whether an error says that the stream does not exist (any more)."""
    return isinstance(error, RemoteError) and error.err_code == STREAM_NOT_FOUND


class JsApi:
    """The JetStream API.

    prefix: `$JS.API`, or that of a domain.
    timeout: seconds for each request.
    """

    def __init__(self, nc: Any, prefix: str, timeout: float, *, trace: bool = False) -> None:
        self.nc = nc
        self.prefix = prefix
        self.timeout = timeout
        self.trace = trace

    def subject(self, name: str) -> str:
        """Return the full subject of an API name such as `STREAM.NAMES`."""
        return f"{self.prefix}.{name}"

    async def request(
        self,
        name: str,
        payload: object = None,
        *,
        timeout: float | None = None,  # noqa: ASYNC109 - handed to the client, which has its own timer
    ) -> dict[str, Any]:
        """Ask `<prefix>.<name>` and return the answer's document.

        payload: None (empty body), bytes, or something that JSON can express.
        timeout: seconds.

        Raises RemoteError for an error answer, CliError if nobody answers.
        """
        subject = self.subject(name)
        body = payload if isinstance(payload, bytes) else b""
        if payload is not None and not isinstance(payload, bytes):
            body = json.dumps(payload, separators=(",", ":"), ensure_ascii=False).encode()
        if self.trace:
            log(f">>> {subject}\n{body.decode(errors='replace')}\n")
        answer = await self._ask(subject, body, timeout or self.timeout)
        if self.trace:
            log(f"<<< {subject}\n{answer.decode(errors='replace')}\n")
        try:
            document = json.loads(answer)
        except ValueError:
            raise CliError(f"the answer of {subject} is not JSON") from None
        if not isinstance(document, dict):
            raise CliError(f"the answer of {subject} is not a JSON object")
        if "error" in document:
            raise self._remote_error(document["error"])
        return document

    async def _ask(self, subject: str, body: bytes, timeout: float) -> bytes:  # noqa: ASYNC109
        try:
            answer = await ask(self.nc, subject, body, timeout)
        except NoResponders:
            raise UnavailableError(
                "nats: no responders available for request",
                f"nobody answers on {self.prefix}: is JetStream enabled for this account"
                + (", and is the domain's name right?" if self.prefix != "$JS.API" else "?"),
            ) from None
        except TimedOut:
            raise UnavailableError(
                "nats: timeout",
                f"no answer on {subject} within {timeout:g}s; --timeout waits longer",
            ) from None
        except ClientError as error:
            raise of_client(error) from None
        data: bytes = answer.data
        return data

    def _remote_error(self, error: dict[str, Any]) -> RemoteError:
        err_code = int(error.get("err_code", 0))
        hint = ""
        if err_code == NOT_ENABLED:
            hint = f"the account has no JetStream: see {in_hint('account info')}"
        elif err_code == UNAVAILABLE:
            hint = "there is no leader just now: most servers of the cluster have to be up"
        elif err_code == NO_TIER:
            hint = f"{in_hint('account info')} shows how many --replicas the account has limits for"
        return RemoteError(
            int(error.get("code", 0)), err_code, str(error.get("description", "unknown error")), hint
        )

    async def level(self) -> int:
        """Return the level of this API, which grows with its features; 0 for servers before 2.11."""
        api = (await self.request("INFO")).get("api")
        return int(api.get("level") or 0) if isinstance(api, dict) else 0

    async def require_level(self, least: int, what: str, release: str) -> None:
        """Raise RefusedError if the level of this API is below `least`.

        what: the feature, in the plural.
        release: the first one of nats-server that has it.
        """
        level = await self.level()
        if level < least:
            raise RefusedError(
                f"this server has no {what}: they need level {least} of the JetStream API, it has {level}",
                f"nats-server has them since {release}",
            )

    async def pages(self, name: str, key: str, payload: dict[str, Any] | None = None) -> AsyncIterator[Any]:
        """Yield every element of `key` in a paged answer (`offset`, `limit`, `total`)."""
        offset = 0
        while True:
            page = await self.request(name, {**(payload or {}), "offset": offset})
            items = page.get(key) or []
            for item in items:
                yield item
            offset += len(items)
            if not items or offset >= int(page.get("total", 0)):
                return

    async def stream_names(self, subject: str = "") -> list[str]:
        """Return the names of all streams, or only of those that capture `subject`, sorted."""
        payload = {"subject": subject} if subject else None
        return sorted([name async for name in self.pages("STREAM.NAMES", "streams", payload)])

    async def stream_of(self, subject: str) -> str:
        """Return the name of the one stream that captures `subject`. Raises NotFoundError if not one does."""
        found = await self.stream_names(subject)
        if len(found) != 1:
            what = "no Stream" if not found else f"{len(found)} Streams ({', '.join(found)})"
            raise NotFoundError(f"{what} found for subject {subject}", "name the Stream with --stream")
        return found[0]

    async def subjects(self, stream: str, pattern: str) -> dict[str, int]:
        """Return the subjects of a stream that match `pattern`, each with the number of its messages."""
        counts: dict[str, int] = {}
        while True:
            info = await self.stream_info(stream, {"subjects_filter": pattern, "offset": len(counts)})
            before = len(counts)
            counts.update(info["state"].get("subjects") or {})
            if len(counts) == before or len(counts) >= int(info.get("total", 0)):
                return counts

    async def streams(self, subject: str = "") -> list[dict[str, Any]]:
        """Return the information of all streams, sorted by name."""
        payload = {"subject": subject} if subject else None
        found = [info async for info in self.pages("STREAM.LIST", "streams", payload)]
        return sorted(found, key=lambda info: str(info["config"]["name"]))

    async def consumer_names(self, stream: str) -> list[str]:
        """Return the names of a stream's consumers, sorted."""
        return sorted([name async for name in self.pages(f"CONSUMER.NAMES.{stream}", "consumers")])

    async def consumers(self, stream: str) -> list[dict[str, Any]]:
        """Return the information of all consumers of a stream, sorted by name."""
        found = [info async for info in self.pages(f"CONSUMER.LIST.{stream}", "consumers")]
        return sorted(found, key=lambda info: str(info["name"]))

    async def stream_info(self, name: str, payload: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return a stream's information. For an unknown name, raises an error with the nearest names."""
        try:
            return await self.request(f"STREAM.INFO.{name}", payload)
        except RemoteError as error:
            raise await self.explained(error, stream=name) from None

    async def consumer_info(self, stream: str, name: str) -> dict[str, Any]:
        """Return a consumer's information. For unknown names, raises an error with the nearest ones."""
        try:
            return await self.request(f"CONSUMER.INFO.{stream}.{name}")
        except RemoteError as error:
            raise await self.explained(error, stream=stream, consumer=name) from None

    async def explained(self, error: RemoteError, *, stream: str, consumer: str = "") -> RemoteError:
        """Return a `not found` error with similar names that exist added.

        Other errors are returned unchanged.
        """
        try:
            if error.err_code == STREAM_NOT_FOUND:
                known = await self.stream_names()
                near = close_matches(stream, known)
                where = f"there is no stream {stream!r} under {self.prefix}"
                return error.while_doing(
                    f"could not load Stream {stream}",
                    near or where,
                    near and f"{in_hint('stream ls')} shows them all",
                )
            if error.err_code == CONSUMER_NOT_FOUND and consumer:
                near = close_matches(consumer, await self.consumer_names(stream))
                return error.while_doing(
                    f"could not load Consumer {stream} > {consumer}",
                    near or f"{in_hint(f'consumer ls {stream}')} shows those there are",
                )
        except CliError:
            return error  # we may not read the list: the first error is the one that matters
        return error
