"""What a run broke: what was promised, against what every replica and every server says at the end."""

from __future__ import annotations

import base64
import json
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

from lib.eventually import eventually
from lib.process import ServerProcess

from .faulty_cluster import FaultyCluster, is_led
from .publishers import EXPECTED, waits
from .values import BUCKET, CONSUMER, JOBS, STREAM, Outcome, Value, Values
from .worker import Handled, Worker

QUIET_SECONDS = 120.0
ANSWER_SECONDS = 5.0
WINDOW = 400
NO_MESSAGE = 10037


class Stored(NamedTuple):
    """One message as the API returns it."""

    subject: str
    header: bytes
    body: bytes


Content = dict[int, Stored]


@dataclass
class Findings:
    """Counts of broken promises; every one must be 0.

    lost: acknowledged, and nowhere
    hidden: acknowledged, and missing when one server leads
    moved: acknowledged at a sequence where something else is
    strange: never published, or changed
    twice: stored again in spite of its id
    returned: reported as refused, and stored
    chains: does not follow what it had to follow
    differing: a replica or a server reports something else than the first
    consumer: wrong deliveries or counts of a consumer
    notes: the broken promises in words
    """

    lost: int = 0
    hidden: int = 0
    moved: int = 0
    strange: int = 0
    twice: int = 0
    returned: int = 0
    chains: int = 0
    differing: int = 0
    consumer: int = 0
    notes: list[str] = field(default_factory=list)

    def note(self, kind: str, text: str) -> None:
        setattr(self, kind, getattr(self, kind) + 1)
        if getattr(self, kind) <= 5:
            self.notes.append(f"{kind}: {text}")

    @property
    def counts(self) -> dict[str, int]:
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name != "notes"}

    @property
    def good(self) -> bool:
        return not any(self.counts.values())


def judge(cluster: FaultyCluster, values: Values, handled: Sequence[Handled]) -> Findings:
    """Wait until all is quiet, and check everything. Raises AssertionError if it never gets quiet."""
    findings = Findings()
    streams = (STREAM, JOBS, BUCKET)
    eventually(lambda: all(map(cluster.is_whole, streams)), QUIET_SECONDS)
    for one in handled:
        drain(cluster, one, findings)
    by_stream = {one.stream: one for one in handled}
    for stream in streams:
        _judge_stream(cluster, stream, values, by_stream.get(stream), findings)
    for server in cluster.servers:
        listed = set(cluster.call("STREAM.NAMES", through=server)["streams"] or [])
        if listed != set(streams):
            findings.note("differing", f"{server.name} lists {sorted(listed)}")
    return findings


# --- streams


def _judge_stream(
    cluster: FaultyCluster, stream: str, values: Values, handled: Handled | None, findings: Findings
) -> None:
    first: Content | None = None
    for number, name in enumerate(cluster.members(stream)):
        cluster.lead(stream, name)
        entry = cluster.servers[number % len(cluster.servers)]
        content = read(cluster, entry, stream)
        if first is None:
            first = content
            if stream == JOBS and handled is not None:
                judge_jobs(content, handled, values, findings)
            else:
                judge_content(stream, content, values, findings)
            if stream == STREAM and handled is not None:
                judge_deliveries(content, handled, findings)
        elif content != first:
            odd = sorted(s for s in first.keys() | content.keys() if first.get(s) != content.get(s))
            findings.note("differing", f"{stream} led by {name}: {len(odd)} sequences, from {odd[0]}")
            for value in values.acked(stream):
                if value.seq in first and value.seq not in content:
                    findings.note("hidden", f"{value.name} at {value.seq} when {name} leads")
        _judge_infos(cluster, stream, name, content, findings)


def read(cluster: FaultyCluster, entry: ServerProcess, stream: str) -> Content:
    """Return all messages that the stream's leader returns, asked through `entry`."""
    state = cluster.call(f"STREAM.INFO.{stream}", through=entry, fits=is_led)["state"]
    content: Content = {}
    left = deque(range(state["first_seq"], state["last_seq"] + 1))

    def is_read() -> bool:
        """Request some messages; those without an answer are requested again, as leaders may still change."""
        asked: dict[str, int] = {}
        while left and len(asked) < WINDOW:
            reply = wire.inbox()
            asked[reply] = left.popleft()
            wire.pub(f"$JS.API.STREAM.MSG.GET.{stream}", json.dumps({"seq": asked[reply]}), reply)
        while asked and waits(wire, ANSWER_SECONDS):
            answer = wire.msg()
            if answer.subject in asked:
                seq = asked.pop(answer.subject)
                said = {} if answer.status else answer.json()
                if "message" in said:
                    content[seq] = _stored(said["message"])
                elif said.get("error", {}).get("err_code") != NO_MESSAGE:
                    left.append(seq)
        left.extend(asked.values())
        return not left

    with cluster.wire(entry) as wire:
        eventually(is_read, QUIET_SECONDS)
    return dict(sorted(content.items()))


def _stored(message: dict[str, Any]) -> Stored:
    decode = base64.b64decode
    return Stored(message["subject"], decode(message.get("hdrs", "")), decode(message.get("data", "")))


def judge_content(stream: str, content: Content, values: Values, findings: Findings) -> None:
    found: dict[str, list[int]] = {}
    chains: dict[str, int] = {}
    for seq, stored in content.items():
        value = values.of(stored.body)
        if value is None or (value.stream, value.subject) != (stream, stored.subject):
            findings.note("strange", f"{stream} {seq}: {stored.subject} {stored.body[:40]!r}")
            continue
        found.setdefault(value.name, []).append(seq)
        if value.outcome is Outcome.REFUSED:
            findings.note("returned", f"{value.name} at {seq} was refused: {value.why}")
        if value.expected >= 0:
            if chains.get(value.subject, 0) != value.expected or EXPECTED.encode() not in stored.header:
                findings.note(
                    "chains",
                    f"{value.name} at {seq} was to follow {value.expected}, "
                    f"and follows {chains.get(value.subject, 0)}",
                )
            chains[value.subject] = seq
    for name, places in found.items():
        if len(places) > 1:
            findings.note("twice", f"{name} at {places}")
    if stream == BUCKET:
        judge_keys(content, values, findings)
        return
    for value in values.acked(stream):
        if value.name not in found:
            findings.note("lost", f"{value.name}, acknowledged at {value.seq}")
        elif value.seq not in found[value.name]:
            findings.note("moved", f"{value.name}, acknowledged at {value.seq}, is at {found[value.name]}")


def judge_keys(content: Content, values: Values, findings: Findings) -> None:
    """Check that each key has its last acknowledged value or one that came later."""
    last = {stored.subject: (seq, stored) for seq, stored in content.items()}
    newest: dict[str, Value] = {}
    for value in values.acked(BUCKET):
        if value.subject not in newest or newest[value.subject].seq < value.seq:
            newest[value.subject] = value
    for subject, value in newest.items():
        seq, stored = last.get(subject, (0, None))
        if stored is None or seq < value.seq:
            findings.note("lost", f"{value.name} of {subject}, acknowledged at {value.seq}; there is {seq}")
        elif seq == value.seq and stored.body != value.body:
            findings.note("moved", f"{value.name} of {subject}, acknowledged at {seq}: {stored.body[:40]!r}")
    for subject, count in Counter(stored.subject for stored in content.values()).items():
        if count > 1:
            findings.note("twice", f"{subject} has {count} values")


def _judge_infos(
    cluster: FaultyCluster, stream: str, leader: str, content: Content, findings: Findings
) -> None:
    """Check that every server reports the same about the stream and its consumer."""
    for server in cluster.servers:
        state = cluster.call(f"STREAM.INFO.{stream}", through=server, fits=is_led)["state"]
        reported = state["messages"], state["first_seq"] if content else 0, state["last_seq"]
        real = len(content), min(content, default=0), max(content, default=state["last_seq"])
        if reported != real:
            findings.note(
                "differing", f"{stream} led by {leader}, through {server.name}: {reported}, read {real}"
            )
        if stream != BUCKET:
            _judge_consumer(cluster, server, stream, leader, state["last_seq"], findings)


# --- the consumer


def drain(cluster: FaultyCluster, handled: Handled, findings: Findings) -> None:
    """Process what the consumer has, to its end; a message that was confirmed before is an error."""
    before = set(handled.confirmed)
    delivered = len(handled.again)
    worker = Worker("drain", cluster.servers[0], handled)
    info: dict[str, Any] = {}

    def empty() -> bool:
        nonlocal info
        try:
            with cluster.wire(cluster.servers[0]) as wire:
                while worker.pull(wire, batch=200, seconds=0.5):
                    pass
        except (OSError, EOFError):
            return False
        info = cluster.call(f"CONSUMER.INFO.{handled.stream}.{CONSUMER}", fits=is_led)
        return not info["num_pending"] and not info["num_ack_pending"]

    try:
        eventually(empty, QUIET_SECONDS)
    except AssertionError:
        findings.note("consumer", f"never at its end: {json.dumps(info)}")
    for seq, _ in handled.again[delivered:]:
        if seq in before:
            findings.note(
                "consumer", f"{seq} was delivered again when all was quiet, after its ack was confirmed"
            )


def judge_deliveries(content: Content, handled: Handled, findings: Findings) -> None:
    """Check that what was delivered is what is stored, and that all of it was."""
    for text in handled.changed:
        findings.note("consumer", text)
    for seq, value in handled.seen.items():
        if value is None or seq not in content or content[seq].body != value.body:
            name = value.name if value else "something unknown"
            findings.note("consumer", f"{name} was delivered as {seq}, where something else is")
    for seq in content.keys() - handled.seen.keys():
        findings.note("consumer", f"{seq} was never delivered")


def judge_jobs(content: Content, handled: Handled, values: Values, findings: Findings) -> None:
    """Check a work queue: everything was delivered, from where it was acknowledged, and nothing is left."""
    for seq in content:
        findings.note("consumer", f"{handled.stream} {seq} is still there")
    for text in handled.changed:
        findings.note("consumer", text)
    places: dict[str, list[int]] = {}
    for seq, value in handled.seen.items():
        if value is None:
            findings.note("strange", f"{handled.stream} {seq} was delivered, and never published")
        else:
            places.setdefault(value.name, []).append(seq)
            if value.outcome is Outcome.REFUSED:
                findings.note("returned", f"{value.name} at {seq} was refused: {value.why}")
    for value in values.acked(handled.stream):
        if value.name not in places:
            findings.note("lost", f"{value.name}, acknowledged at {value.seq}, was never delivered")
        elif value.seq not in places[value.name]:
            findings.note("moved", f"{value.name}, acknowledged at {value.seq}, is at {places[value.name]}")


def _judge_consumer(
    cluster: FaultyCluster, server: ServerProcess, stream: str, leader: str, last: int, findings: Findings
) -> None:
    info = cluster.call(f"CONSUMER.INFO.{stream}.{CONSUMER}", through=server, fits=is_led)
    reported = info["num_pending"], info["num_ack_pending"], info["ack_floor"]["stream_seq"]
    delivered = info["delivered"]["stream_seq"]
    if reported != (0, 0, last) or delivered != last:
        findings.note(
            "consumer",
            f"{stream} led by {leader}, through {server.name}: pending, unacknowledged, floor {reported}, "
            f"delivered {delivered}; the stream ends at {last}",
        )
