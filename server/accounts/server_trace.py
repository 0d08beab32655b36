"""ServerTrace: what this server notes of the way of one message, for the event that it sends about it.

Each server that a traced message passes sends one event: where the message came in, what it was mapped to,
through which imports and exports it went, which stream took it, and who received it. Source: ADR-41, and
nats-server's msgtrace.go (MsgTraceEvent).

Promises: an event lists deliveries to clients in about `MOST_DELIVERIES` bytes, and headers in
`MOST_HEADERS`, so its size does not depend on what strangers send or subscribe to. Deliveries that are left
out are counted in it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from ...protocol.timestamp import format_rfc3339

if TYPE_CHECKING:
    from ...protocol.tracing import TraceRequest

MOST_DELIVERIES = 256 << 10
MOST_HEADERS = 64 << 10
_ENTRY = 100  # bytes of an entry without what clients chose
CLIENT, ROUTER, GATEWAY, LEAF = 0, 1, 2, 4  # kinds of connections, as in the events

NO_ECHO = "Not delivered because of no echo"
NOT_PERMITTED = "Not delivered because publish denied for this subject"
DENIED = "Not delivered because subscription denies this subject"
ENDED = "Not delivered because subscription is closed"
CLOSED = "Not delivered because client is closed"
EXCEEDED = "Not delivered because auto-unsubscribe exceeded"
UNSUPPORTED = "Not delivered because remote does not support message tracing"
UNSEEN = (
    "Message delivered but remote does not support message tracing so no trace event generated from there"
)

Entry = dict[str, Any]


class TraceTarget(NamedTuple):
    """Where the traces of an account go that `traceparent` asks for.

    sampling: percent of the messages.
    """

    destination: str
    sampling: int


class TracePoint(NamedTuple):
    """A connection, as traces show it.

    kind: CLIENT, ROUTER, GATEWAY or LEAF.
    name: what the client calls itself, or the name of the server at the other end.
    traces: whether the other end traces messages, too.
    """

    kind: int
    id: int
    name: str
    traces: bool = True

    def entry(self) -> Entry:
        """Return the members that describe it."""
        return {"kind": self.kind, "cid": self.id, **({"name": self.name} if self.name else {})}


class ServerTrace:
    """The trace of one message on this server.

    account: the name of the account in which the message came in.
    destination: where the event goes.
    onward: the destination that the next server is told: another one beyond an import of a service.
    only: whether nobody receives the message.
    encoding: how the event may be compressed.
    hops: how many servers it was sent on to.
    full: whether there is no room for more deliveries; `omitted` counts those that are left out.
    """

    __slots__ = (
        "_now",
        "_request",
        "_room",
        "account",
        "destination",
        "encoding",
        "entries",
        "full",
        "hop",
        "hops",
        "omitted",
        "only",
        "onward",
    )

    def __init__(
        self,
        request: TraceRequest,
        destination: str,
        point: TracePoint,
        account: str,
        subject: str,
        size: int,
        now: Callable[[], int],
    ) -> None:
        self.account = account
        self.destination = self.onward = destination
        self.only = request.only
        self.encoding = request.encoding
        self.hop = "" if point.kind == CLIENT else request.hop
        self.hops = self.omitted = 0
        self.full = False
        self.entries: list[Entry] = []
        self._room = MOST_DELIVERIES
        self._now = now
        self._request = {"header": _shown(request.values), "msgsize": size}
        self._add("in", {**point.entry(), "acc": account, "subj": subject})

    def _add(self, kind: str, members: Entry) -> Entry:
        entry = {"type": kind, "ts": format_rfc3339(self._now()), **members}
        self.entries.append(entry)
        return entry

    def _fits(self, *texts: str) -> bool:
        """Return whether there is room for a delivery that shows these texts; if not, count it."""
        size = _ENTRY + sum(map(len, texts))
        self.full = self.full or size > self._room
        if self.full:
            self.omitted += 1
        else:
            self._room -= size
        return not self.full

    def refuse(self, error: str) -> None:
        """Note why the message was not taken."""
        self.entries[0]["error"] = error

    def mapped(self, to: str) -> None:
        """Note the subject that the message was mapped to."""
        self._add("sm", {"to": to})

    def exported(self, account: str, to: str) -> None:
        """Note that another account imports the message from a stream, under the subject `to`."""
        if self._fits(account, to):
            self._add("se", {"acc": account, "to": to})

    def imported(self, account: str, subject: str, to: str) -> None:
        """Note that the message goes through the import of a service, to `to` in another account."""
        self._add("si", {"acc": account, "from": subject, "to": to})

    def stored(self, stream: str) -> Entry:
        """Note that the message came to a stream. Return the entry, for what becomes of it there."""
        return self._add("js", {"stream": stream})

    def sent(
        self, point: TracePoint, *, account: str = "", subject: str = "", queue: str = "", error: str = ""
    ) -> None:
        """Note a delivery to a client, or why there was none.

        account, subject, queue: of the subscription.
        """
        if not self._fits(point.name, account, subject, queue):
            return
        members = {"acc": account, "sub": subject, "queue": queue, "error": error}
        if account == self.account:
            del members["acc"]
        self._add("eg", point.entry() | {name: text for name, text in members.items() if text})

    def next_hop(self) -> str:
        """Return the hop of a message that goes to another server."""
        self.hops += 1
        return f"{self.hop}.{self.hops}" if self.hop else str(self.hops)

    def passed(self, point: TracePoint, hop: str, *, account: str = "", error: str = "") -> None:
        """Note that the message went to another server, as `hop`, or why it did not."""
        members = {"hop": hop, "acc": account, "error": error}
        if account == self.account or point.kind == ROUTER:
            del members["acc"]
        self._add("eg", point.entry() | {name: text for name, text in members.items() if text})

    def document(self, server: dict[str, Any]) -> dict[str, Any]:
        """Return the event of this server."""
        found: dict[str, Any] = {"server": server, "request": self._request}
        if self.hops:
            found["hops"] = self.hops
        if self.omitted:
            found["omitted"] = self.omitted
        return found | {"events": self.entries}


def _shown(values: dict[str, list[str]]) -> dict[str, list[str]]:
    """Return the headers in the order of their names, those of traces first kept if they are too large."""
    size = sum(len(name) + sum(map(len, each)) for name, each in values.items())
    if size > MOST_HEADERS:
        values = {name: each for name, each in values.items() if name.startswith("Nats-Trace-")}
        values = {name: each[:1] for name, each in values.items() if len(name) + len(each[0]) <= MOST_HEADERS}
        values = dict(list(values.items())[:8])
    return dict(sorted(values.items()))
