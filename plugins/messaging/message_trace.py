"""The trace of a message: the events that servers send about it, put together and in words.

Source: ADR-41; nats-server's server/msgtrace.go, jsm.go's tracing package. Each server that a traced message
passes sends one event: where the message came in, what it was mapped to, where it went. One that went on to
another server has a hop, which the event of that server names; `1.2` is below `1`.

Promises: the events come from others, and no shape of them raises anything but TraceError.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ...cli import render, words

Event = dict[str, Any]

CLIENT, ROUTER, GATEWAY, LEAF, JETSTREAM = 0, 1, 2, 4, 5
# By kind of connection: its name, what its id is called, and its arrow.
KINDS = {
    CLIENT: ("Client", "cid", "--C"),
    ROUTER: ("Router", "rid", "-->"),
    GATEWAY: ("Gateway", "gid", "==>"),
    3: ("System", "id", ""),
    LEAF: ("Leafnode", "lid", "~~>"),
    JETSTREAM: ("JetStream", "id", "--J"),
    6: ("Account", "id", ""),
}
INGRESS, MAPPING, SERVICE, EXPORT, STORED, EGRESS = "in", "sm", "si", "se", "js", "eg"
DEPTH = 50  # servers that one message passes, one after the other
LEGEND = "Legend: Client: --C Router: --> Gateway: ==> Leafnode: ~~> JetStream: --J Error: --X"


class TraceError(ValueError):
    """What a server sent is no event of a trace."""


@dataclass
class MessageTrace:
    """The events of one message, by hop; that of the server that took it from its client has none."""

    events: dict[str, Event] = field(default_factory=dict)

    def add(self, data: bytes) -> None:
        """Add the event that a server sent. Raises TraceError."""
        try:
            event = json.loads(data)
            ingress = event["events"][0]
            hops = event.get("request", {}).get("header", {}).get("Nats-Trace-Hop") or [""]
            if ingress["type"] != INGRESS or not isinstance(hops[0], str) or hops[0].count(".") > DEPTH:
                raise TraceError("the event does not say where the message came in")
            for each in event["events"]:
                if not isinstance(each["type"], str) or not isinstance(each.get("hop", ""), str):
                    raise TraceError("the event has an entry without a type")
            if not isinstance(event["server"], dict):
                raise TraceError("the event names no server")
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            raise TraceError(f"{data[:100]!r} is no event of a trace: {error}") from None
        self.events[hops[0]] = event

    @property
    def complete(self) -> bool:
        """Whether every server that the message went to has sent its event."""
        return "" in self.events and not list(self.missing())

    def missing(self) -> Iterator[tuple[str, str]]:
        """Yield hop and name of each server whose event has not come."""
        if "" not in self.events:
            yield "", "the server that took the message"
        for event in self.events.values():
            for egress in _of(event, EGRESS):
                hop = egress.get("hop", "")
                if hop and hop not in self.events:
                    yield hop, str(egress.get("name", "?"))

    def roots(self) -> list[str]:
        """Return the hops that stand at the top: the origin, and those whose sender is not known."""
        known = {egress.get("hop") for event in self.events.values() for egress in _of(event, EGRESS)}
        return sorted(hop for hop in self.events if not hop or hop not in known)

    def document(self, hop: str) -> Event:
        """Return an event with those that follow it, each as `link` of the entry that leads there."""
        event = self.events[hop]
        entries = [
            {**entry, "link": self.document(next_hop)} if self.follows(next_hop, hop) else entry
            for entry in event["events"]
            for next_hop in (entry.get("hop", ""),)
        ]
        return {**event, "events": entries}

    def follows(self, hop: str, after: str) -> bool:
        """Return whether a hop is known and lies below another, so that there are no circles."""
        return hop in self.events and hop.startswith(f"{after}." if after else "") and hop != after

    def text(self, *, stamped: bool) -> str:
        """Return the trace in the form of `nats trace`.

        stamped: whether each line has the time since the message came in.
        """
        lines: list[str] = []
        counts: dict[str, int] = {}
        for hop in self.roots():
            lines += _Page(self, stamped, _time(self.events[hop]["events"][0])).of(hop, 0, counts)
        lines += ["", LEGEND, ""]
        if counts:
            ordered = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
            lines += [
                "Egress Count:",
                "",
                render.fields([(name, words.number(count)) for name, count in ordered]),
                "",
            ]
        streams = counts.get(KINDS[JETSTREAM][0], 0)
        if streams > 1:
            lines.append(f"WARNING: The message was received by {streams} streams")
        return "\n".join(lines)


class _Page:
    """Makes the lines of one trace."""

    def __init__(self, trace: MessageTrace, stamped: bool, start: int | None) -> None:
        self._trace = trace
        self._stamped = stamped
        self._start = start

    def of(self, hop: str, depth: int, counts: dict[str, int]) -> list[str]:
        """Return the lines of an event and all that follow it, and count where the message went."""
        event = self._trace.events[hop]
        lines = [
            line
            for kind in (INGRESS, MAPPING, SERVICE, EXPORT, STORED)
            for entry in _of(event, kind)
            for line in self._stamp(entry, _entry_lines(event, entry))
        ]
        for _ in _of(event, STORED):
            _count(counts, JETSTREAM)
        egresses = _of(event, EGRESS)
        ingress = event["events"][0]
        if not egresses and not _of(event, STORED) and ingress.get("kind", 0) == CLIENT:
            lines += [] if ingress.get("error") else ["--X No active interest"]
        indented = ["    " * depth + line for line in lines]
        for egress in egresses:
            _count(counts, egress.get("kind"))
            shown = self._stamp(egress, _entry_lines(event, egress))
            indented += ["    " * depth + line for line in shown]
            following = egress.get("hop", "")
            if self._trace.follows(following, hop):
                indented += self.of(following, depth + 1, counts)
            elif following:
                indented.append("    " * (depth + 1) + "!!! no trace came from there")
        return indented

    def _stamp(self, entry: Event, lines: list[str]) -> list[str]:
        if not self._stamped:
            return lines
        moment = _time(entry)
        if moment is None or self._start is None:
            return [f"[?] {line}" for line in lines]
        since = moment - self._start
        text = "Skew" if since < 0 else words.go_span(since // 1000 * 1000)
        return [f"[{text}] {line}" for line in lines]


def _of(event: Event, kind: str) -> list[Event]:
    return [entry for entry in event["events"] if entry["type"] == kind]


def _time(entry: Event) -> int | None:
    from ...protocol.timestamp import TimestampError, parse_rfc3339

    try:
        return parse_rfc3339(str(entry.get("ts", "")))
    except TimestampError:
        return None


def _count(counts: dict[str, int], kind: object) -> None:
    name = _kind(kind)[0]
    counts[name] = counts.get(name, 0) + 1


def _kind(kind: object) -> tuple[str, str, str]:
    return KINDS.get(kind if isinstance(kind, int) else -1, ("Unknown Kind", "id", "-->"))


def _quoted(values: dict[str, object]) -> str:
    return "".join(
        f" {name}:{json.dumps(str(value), ensure_ascii=False)}" for name, value in values.items() if value
    )


def _connection(entry: Event) -> str:
    name, identity, _ = _kind(entry.get("kind"))
    called = f" {json.dumps(str(entry['name']), ensure_ascii=False)}" if entry.get("name") else ""
    return f"{name}{called} {identity}:{entry.get('cid', 0)}"


def _entry_lines(event: Event, entry: Event) -> list[str]:
    """Return the line of an entry, and one for its error."""
    server, kind = event["server"], entry["type"]
    told: dict[str, object]
    if kind == INGRESS:
        cluster = server.get("cluster") if entry.get("kind", 0) in (CLIENT, GATEWAY) else ""
        told = {"cluster": cluster, "server": server.get("name"), "version": server.get("ver")}
        text = _connection(entry)
    elif kind == MAPPING:
        text, told = "    Mapping", {"subject": entry.get("to")}
    elif kind == SERVICE:
        text = "    Service Import"
        told = {"from": entry.get("from"), "to": entry.get("to"), "account": entry.get("acc")}
    elif kind == EXPORT:
        text, told = "    Stream Export", {"subject": entry.get("to"), "account": entry.get("acc")}
    elif kind == STORED:
        action = "no interest" if entry.get("nointerest") else "stored"
        text = f"{KINDS[JETSTREAM][2]} JetStream"
        told = {"action": action, "stream": entry.get("stream"), "subject": entry.get("subject")}
    else:
        text = f"{_kind(entry.get('kind'))[2]} {_connection(entry)}".lstrip()
        told = {"account": entry.get("acc"), "subject": entry.get("sub"), "queue": entry.get("queue")}
    lines = [text + _quoted(told)]
    if entry.get("error"):
        lines.append(f"{'  ' if kind == EGRESS else ''}--X Error: {entry['error']}")
    return lines
