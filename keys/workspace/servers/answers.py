"""The answers of servers to a request that goes to all of them."""

from __future__ import annotations

import re
from dataclasses import field
from typing import Any

from ....protocol import gojson
from ....protocol.lazy_dataclass import dataclass

_TOKEN = re.compile(r"eyJ[\w-]+\.[\w-]+\.[\w-]+")


@dataclass(frozen=True, slots=True)
class ServerResponse:
    """One server's answer.

    server: its name.
    id: its key, or its name if the answer has none.
    data, error: the content of the answer; it has one of them.
    raw: the bytes as received; an answer that is not a JSON document has only these.
    """

    server: str = ""
    id: str = ""
    data: Any = None
    error: str = ""
    raw: bytes = b""

    @property
    def message(self) -> str:
        """The server's message about what it did."""
        said = self.data.get("message") if isinstance(self.data, dict) else self.data
        return printable(str(said))


def read(raw: bytes) -> ServerResponse:
    """Parse an answer as servers write it: `server`, and `data` or `error`."""
    try:
        document = gojson.decode(raw)
    except gojson.JsonError:
        document = None
    if not isinstance(document, dict):
        return ServerResponse(error=f"failed to parse response: data: {_shown(raw)}", raw=raw)
    server = document.get("server")
    name = server.get("name") if isinstance(server, dict) else None
    if not isinstance(server, dict) or not isinstance(name, str) or not name:
        return ServerResponse(error=f"server responded without server name in info: {_shown(raw)}", raw=raw)
    name, key = printable(name), str(server.get("id") or name)
    error, data = document.get("error"), document.get("data")
    if isinstance(error, dict):
        said = printable(str(error.get("description") or f"code {error.get('code')}"))
        return ServerResponse(name, key, error=f"server {name} responded with error: {said}", raw=raw)
    if data is None:
        return ServerResponse(
            name, key, error=f"server {name} responded without data: {_shown(raw)}", raw=raw
        )
    return ServerResponse(name, key, data, raw=raw)


@dataclass(slots=True)
class ServerResponses:
    """All answers to one request, in the order of their arrival.

    error: why nothing (more) can come, "" if nothing is known to be wrong.
    silent: names of known servers that did not answer in time.
    unheard: how many more servers there are according to others.
    plain: whether the answers name no server; then they are only counted.
    expected: how many answers there should be to a plain request.
    """

    subject: str
    plain: bool = False
    expected: int = 0
    answers: list[ServerResponse] = field(default_factory=list)
    error: str = ""
    silent: list[str] = field(default_factory=list)
    unheard: int = 0

    def take(self, raw: bytes) -> ServerResponse | None:
        """Add an answer and return it; return None if that server had answered already."""
        answer = ServerResponse(raw=raw) if self.plain else read(raw)
        if answer.id and answer.id in self.servers:
            return None
        self.answers.append(answer)
        return answer

    @property
    def servers(self) -> set[str]:
        """The keys of the servers that answered."""
        return {answer.id for answer in self.answers if answer.id}

    @property
    def good(self) -> list[ServerResponse]:
        """The answers that are not errors."""
        return [answer for answer in self.answers if not answer.error]


def _shown(raw: bytes) -> str:
    """Return the beginning of bytes that are not an answer, on one line."""
    text = printable(" ".join(raw.decode("utf-8", "replace").split()))
    return text if len(text) <= 200 else f"{text[:200]}…"


def printable(text: str) -> str:
    """Return a server's text without control sequences for a terminal, and without tokens."""
    return _TOKEN.sub("<token>", "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text))
