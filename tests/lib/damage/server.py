"""Stores with one damaged file, opened again: what is served, what is reported, and what was promised.

A store is built once for each end (a clean stop, kill -9) and kept as files in memory; each case takes a
copy, damages one file in one way and opens it. `judge` compares what is served with what had been confirmed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from types import SimpleNamespace
from typing import Any
from unittest import mock

from lib.damage.harm import DIRECTORY, FOREIGN, HARMS, OLDER, is_kept_twice
from lib.fake_disk import FakeDisk, Inode
from lib.sealed_disk import SealedFakeDisk
from lib.streams import JetStreamFixture, Spy
from pyjs.server.monitor.healthz import healthz
from pyjs.server.slices import at_once
from pyjs.store import configs
from pyjs.store.file import FileStream
from pyjs.store.fs import FileSystem

SECOND = 1_000_000_000
BLOCK_SIZE = 3000  # bytes, so that the stream `S` has several blocks

Files = dict[str, bytes]  # by path; one with a slash at the end is an empty directory


class Lines:
    """A log that remembers warnings, errors and repairs."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def debug(self, text: str) -> None:
        """Drop a line."""

    trace = debug

    def info(self, text: str) -> None:
        """Keep a line about a repair."""
        if "rewritten" in text or "damaged" in text:
            self.lines.append(text)

    def warning(self, text: str) -> None:
        """Keep a line."""
        self.lines.append(text)

    error = warning


@dataclass
class Promised:
    """What was confirmed: messages by stream and sequence, deletes, last sequences, ack floors."""

    messages: dict[str, dict[int, bytes]] = field(default_factory=dict)
    deleted: dict[str, set[int]] = field(default_factory=dict)
    last: dict[str, int] = field(default_factory=dict)
    acked: dict[tuple[str, str], set[int]] = field(default_factory=dict)


@dataclass
class Findings:
    """The outcome of a case.

    broken: promises that were broken
    lost: messages that are reported as lost
    lines: lines of the log
    """

    broken: list[str] = field(default_factory=list)
    lost: int = 0
    lines: list[str] = field(default_factory=list)


def in_the_clear(disk: FakeDisk, log: Lines) -> FileSystem:
    """Return the disk as it is."""
    return disk


def encrypted(disk: FakeDisk, log: Lines) -> FileSystem:
    """Return the disk with encryption above it."""
    return SealedFakeDisk(disk, warn=log.warning)


above = in_the_clear  # what is above the disk that holds the files; tests replace it


def opened(files: Files) -> tuple[JetStreamFixture, Lines]:
    """Open a single server over a copy of these files; return it and its log."""
    disk = FakeDisk()
    for path, data in files.items():
        disk.make_directory(path.rpartition("/")[0])
        if path.endswith("/"):
            continue
        disk.seen[path] = Inode(bytearray(data), bytes(data))
    disk.safe = dict(disk.seen)
    log = Lines()
    with mock.patch.object(configs, "FileStream", partial(FileStream, block_size=BLOCK_SIZE)):
        return JetStreamFixture("/d", fs=above(disk, log), log=log), log


def files_of(fixture: JetStreamFixture) -> Files:
    """Return the files as a process that is killed now leaves them."""
    assert isinstance(fixture.fs, FakeDisk | SealedFakeDisk)
    return {path: bytes(inode.seen) for path, inode in fixture.fs.seen.items()}


def _pull(fixture: JetStreamFixture, stream: str, consumer: str, count: int) -> list[Any]:
    inbox = f"inbox.{stream}.{consumer}"
    spy = Spy(fixture.account, inbox)
    request = json.dumps({"batch": count, "no_wait": True}).encode()
    fixture.account.publish(f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{consumer}", request, reply=inbox, own=True)
    fixture.clock.advance(0)
    return [message for message in spy.messages if message.reply.startswith("$JS.ACK")]


def _ack(fixture: JetStreamFixture, message: Any) -> None:
    """Acknowledge a message, and check that this is confirmed."""
    spy = Spy(fixture.account, "confirmed")
    fixture.account.publish(message.reply, b"+ACK", reply="confirmed", own=True)
    fixture.clock.advance(SECOND // 20)
    assert spy.messages, "the ack was not confirmed"


def build() -> tuple[Files, Files, Files, Promised]:
    """Build a store.

    Returns its files as a kill leaves them, the same after a clean stop, older copies of its files, and what
    was confirmed in it.
    """
    fixture, _ = opened({})
    promised, older = Promised(), dict[str, bytes]()
    with mock.patch.object(configs, "FileStream", partial(FileStream, block_size=BLOCK_SIZE)):
        for name, retention in (("S", "limits"), ("ONE", "limits"), ("W", "workqueue")):
            fixture.stream(name, storage="file", subjects=[f"{name}.*"], retention=retention)
            count = 60 if name == "S" else 12
            promised.messages[name] = {}
            promised.deleted[name] = set()
            for number in range(1, count + 1):
                body = f"{name} message {number} ".encode() * 5
                answer = json.loads(fixture.publish(f"{name}.{number % 5}", body))
                promised.messages[name][answer["seq"]] = body
                if number == 40:  # of the first block, noted in the second
                    _delete(fixture, promised, name, 4)
                if number == count * 3 // 4:
                    _keep(fixture, name, older)
            promised.last[name] = count
            consumer = {"durable_name": "C", "ack_policy": "explicit"}
            fixture.call(
                f"CONSUMER.CREATE.{name}.C", {"stream_name": name, "config": {**consumer, "name": "C"}}
            )
            acked = promised.acked[name, "C"] = set()
            for message in _pull(fixture, name, "C", 50 if name == "S" else 9):
                sequence = int(message.reply.split(".")[5])
                if sequence != 6:
                    _ack(fixture, message)
                    acked.add(sequence)
                    _keep(fixture, name, older)
                if name == "W" and sequence != 6:
                    del promised.messages[name][sequence]
                    promised.deleted[name].add(sequence)
            for sequence in (3, 7, 10, count - 1) if name != "W" else (11,):
                _delete(fixture, promised, name, sequence)
            _describe(fixture, name)
        fixture.clock.advance(SECOND)
        killed = files_of(fixture)
        fixture.close()
        return killed, files_of(fixture), older, promised


def _keep(fixture: JetStreamFixture, name: str, older: Files) -> None:
    """Copy the files of a stream that have no copy yet."""
    for path, data in files_of(fixture).items():
        if f"/{name}/" in path:
            older.setdefault(path, data)


def _describe(fixture: JetStreamFixture, name: str) -> None:
    """Write the stream's and the consumer's configurations again."""
    for request, info in (
        (f"STREAM.UPDATE.{name}", fixture.call(f"STREAM.INFO.{name}")),
        (f"CONSUMER.CREATE.{name}.C", fixture.call(f"CONSUMER.INFO.{name}.C")),
    ):
        config = {**info["config"], "description": "newer"}
        asked = {"stream_name": name, "config": config} if request.startswith("CONSUMER") else config
        assert fixture.call(request, asked)["config"]["description"] == "newer"


def _delete(fixture: JetStreamFixture, promised: Promised, name: str, sequence: int) -> None:
    assert fixture.call(f"STREAM.MSG.DELETE.{name}", {"seq": sequence}).get("success")
    del promised.messages[name][sequence]
    promised.deleted[name].add(sequence)


def judge(files: Files, promised: Promised, damaged: str = "") -> Findings:
    """Open a store, compare it with what was promised, use it further, and open it again.

    damaged: the stream that is opened again, "" for all. The others are as in a store that is not damaged.
    """
    findings = Findings()
    with mock.patch.object(configs, "FileStream", partial(FileStream, block_size=BLOCK_SIZE)):
        fixture, log = opened(files)
        findings.lines = log.lines
        lost = _compare(fixture, promised, findings)
        findings.lost = sum(map(len, lost.values()))
        healthy = at_once(healthz(_monitored(fixture)))[0] == 200
        if findings.lost and healthy:
            findings.broken.append("a loss is not told in healthz")
        if findings.lost and not log.lines:
            findings.broken.append("a loss is not told in the log")
        if not findings.lost and not healthy:
            findings.broken.append("healthz tells of a loss, and the streams do not")
        _go_on(fixture, promised, findings, damaged)
    return findings


def _monitored(fixture: JetStreamFixture) -> Any:
    engine = SimpleNamespace(
        running=True, cluster=None, accounts={"$G": fixture.js}, recovering=fixture.recovery.progress
    )
    return SimpleNamespace(jetstream=engine, options=None, accepting=True)


def _compare(fixture: JetStreamFixture, promised: Promised, findings: Findings) -> dict[str, set[int]]:
    broken = findings.broken
    lost: dict[str, set[int]] = {}
    for name, messages in promised.messages.items():
        lost[name] = set()
        info = fixture.call(f"STREAM.INFO.{name}")
        if "error" in info:
            broken.append(f"stream {name} is not served: {info['error']['description']}")
            continue
        stream = fixture.js.streams[name]
        assert isinstance(stream.store, FileStream)
        stream.store.verify(limit=1 << 20)  # what reads find is reported from then on
        state = fixture.call(f"STREAM.INFO.{name}")["state"]
        lost[name] = set((state.get("lost") or {}).get("msgs") or ())
        there = {one.seq: one.body for one in fixture.messages(stream)}
        missing = {seq for seq in messages if seq not in there}
        if any(messages.get(seq, body) != body for seq, body in there.items()):
            broken.append(f"{name} serves something wrong")
        if back := sorted(set(there) & promised.deleted[name]):
            broken.append(f"{name}: deletes are undone: {back}")
        if untold := sorted(missing - lost[name]):
            broken.append(f"{name}: missing and not in state.lost: {untold}")
        if phantom := sorted(lost[name] & promised.deleted[name]):
            broken.append(f"{name}: deleted ones are told as lost: {phantom}")
        if state["last_seq"] < promised.last[name]:
            broken.append(f"{name}: sequences are given again from {state['last_seq'] + 1}")
        _consumer(fixture, name, promised, findings)
    return lost


def _consumer(fixture: JetStreamFixture, name: str, promised: Promised, findings: Findings) -> None:
    info = fixture.call(f"CONSUMER.INFO.{name}.C")
    if "error" in info:
        findings.broken.append(f"consumer {name} > C is not served: {info['error']['description']}")
        return
    pulled = _pull(fixture, name, "C", 1000)
    again = {int(message.reply.split(".")[5]) for message in pulled} & promised.acked[name, "C"]
    if again:
        findings.broken.append(f"{name} > C: {len(again)} confirmed acks are undone")
    if info["ack_floor"]["stream_seq"] < 5 or info["delivered"]["stream_seq"] < max(
        promised.acked[name, "C"]
    ):
        findings.broken.append(f"{name} > C: went back to {info['delivered']}, {info['ack_floor']}")


def _go_on(fixture: JetStreamFixture, promised: Promised, findings: Findings, damaged: str) -> None:
    """Publish once more, stop, open again: everything must be as before, and the loss still reported."""
    for name in list(fixture.js.streams):
        answer = json.loads(fixture.publish(f"{name}.1", b"after"))
        if "error" in answer or answer["seq"] <= promised.last[name]:
            findings.broken.append(f"{name}: after the damage a publish gets {answer}")
    names = {damaged or name for name in fixture.js.streams} & set(fixture.js.streams)
    state = {name: fixture.call(f"STREAM.INFO.{name}")["state"] for name in names}
    for end in ("kill", "stop"):
        if end == "stop":
            fixture.close()
        files = files_of(fixture)
        again, _ = opened({path: files[path] for path in files if not damaged or stream_of(path) == damaged})
        for name, before in state.items():
            now = again.call(f"STREAM.INFO.{name}")
            if "error" in now or any(now["state"].get(one) != before.get(one) for one in FIGURES):
                after = now.get("error") or {one: now["state"].get(one) for one in FIGURES}
                wanted = {one: before.get(one) for one in FIGURES}
                findings.broken.append(f"{name}: opened again after a {end}: {after}, not {wanted}")
        again.close()


def stream_of(path: str) -> str:
    """Return the name of the stream to which a file belongs, "" of none."""
    found = re.search(r"/streams/(\w+)/", path)
    return found[1] if found else ""


FIGURES = ("messages", "bytes", "first_seq", "last_seq", "lost")


@dataclass(frozen=True, slots=True)
class Case:
    """One file damaged in one way, after one end."""

    end: str
    path: str
    harm: str
    files: Files = field(repr=False, compare=False)

    @property
    def kind(self) -> str:
        """The kind of the file, for the table."""
        folder, _, name = self.path.rpartition("/")
        if not name.endswith(".blk"):
            name = re.sub(r"\d{10}-\d+", "<block>", name)
            if name.startswith("meta"):
                return f"{'consumer' if '/consumers/' in folder else 'stream'}: {name}"
            return f"{'consumer' if name.startswith('state') else 'stream'}: {name}"
        others = [path for path in self.files if path.startswith(f"{folder}/") and path.endswith(".blk")]
        newest = max([*others, self.path])
        return "stream: <block>.blk" if self.path < newest else "stream: <block>.blk, the newest"

    @property
    def may_be_quiet(self) -> bool:
        """Whether the damage may be in bytes that nobody reads before they are asked for, or ever again.

        An older manifest is as a power cut leaves it: its content is true. An older copy of a block that was
        full by then differs in messages that were removed since.
        """
        if self.harm == OLDER:
            return self.kind in {"stream: manifest", "stream: <block>.blk"}
        return self.path.endswith(".blk") and self.harm.startswith("a bit")


def _another(path: str, files: Files) -> bytes:
    """Return a file of another stream or consumer that could be mistaken for this one, or a neighbour."""
    other = "W" if "/ONE/" in path else "ONE"
    there = re.sub("/(ONE|S|W)/", f"/{other}/", path)
    folder, kind = path.rpartition("/")[0], path[-4:]
    neighbours = (one for one in sorted(files) if one.startswith(folder) and one[-4:] == kind and one != path)
    return files[there if there in files else next(neighbours)]


def cases(end: str, files: Files, older: Files) -> Iterator[Case]:
    """Yield a case for every file and harm that changes it; of kinds that all streams have, those of one."""
    for path, data in sorted(files.items()):
        if "/ONE/" not in path and not ("/msgs/" in path or path.endswith("W/consumers/C/state")):
            continue
        harms = {name: harm(data) if data else None for name, harm in HARMS.items()}
        harms |= {FOREIGN: _another(path, files), OLDER: older.get(path, data)}
        for name, harmed in harms.items():
            if harmed == data:
                continue
            left = {one: content for one, content in files.items() if one != path}
            if harmed is not None:
                left[path] = harmed
            yield Case(end, path, name, left)
        if is_kept_twice(path, files):
            left = {one: content for one, content in files.items() if one != path}
            yield Case(end, path, DIRECTORY, {**left, f"{path}/": b""})


def swapped(files: Files, folder: str) -> Files:
    """Return the files with a folder of the streams ONE and W exchanged, "" for all they have."""
    streams = "/d/jetstream/$G/streams"
    one, other = f"{streams}/ONE/{folder}", f"{streams}/W/{folder}"

    def place(path: str) -> str:
        if path.startswith(one):
            return other + path.removeprefix(one)
        return one + path.removeprefix(other) if path.startswith(other) else path

    return {place(path): data for path, data in files.items()}


def after(files: Files) -> Files:
    """Return the files as a server leaves them that has read them, and ended."""
    fixture, _ = opened(files)
    fixture.close()
    return files_of(fixture)


def play(every: int = 1) -> Iterator[tuple[Case, Findings]]:
    """Yield all cases, after both ends, or one of so many; before them, the store that is not damaged."""
    killed, stopped, older, promised = build()
    for end, files in (("kill", killed), ("stop", stopped)):
        yield Case(end, "", "nothing", files), judge(files, promised)
        for case in islice(cases(end, files, older), 0, None, every):
            yield case, judge(case.files, promised, stream_of(case.path))
