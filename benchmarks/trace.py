"""`python -m benchmarks.trace`: the calls that a message causes inside the server, as a picture.

A server runs in this process, with one client on a real socket. Shown are a publish to a file stream until
its acknowledgement, a pull of one message, a consumer's acknowledgement until it is confirmed, and a core
publish until it is delivered. Each line is one call of a Python function of pyjs, below the call that made
it, with its file where that changes. Left out are calls of other libraries, and of `native/`, which are no
Python functions where they are compiled. `‖` marks what a worker thread
does.

Nothing is timed. Each path is taken several times and the shortest trace counts, because a timer may fire
meanwhile. `--check` compares the counts with BUDGET and exits with 1 if one is above it. `--write` updates
the picture in ARCHITECTURE.md.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import threading
from pathlib import Path
from types import CodeType, FrameType
from typing import NamedTuple

from pyjs.server.app import Server

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "ARCHITECTURE.md"
WARM = 2  # rounds that do something for the first time
ROUNDS, MOST_ROUNDS = 3, 15  # more on a busy machine: there timers fire in the middle of a path
QUIET = 0.1  # seconds without a call, after which nothing of the previous path is left to do
# Calls and files of each path on the event loop; a number may only fall. It is the larger count where a timer
# that a path arms may be armed already, or a worker thread may be done before the message is read.
BUDGET = {
    "publish": (41, 23),
    "pull": (49, 23),
    "ack": (35, 17),
    "core publish": (9, 8),
}
SHOWN = ("core publish", "publish", "pull")  # in ARCHITECTURE.md
TITLES = {
    "publish": "JetStream publish until its acknowledgement",
    "pull": "pull of one message until it is delivered",
    "ack": "acknowledgement until it is confirmed",
    "core publish": "core publish until it is delivered",
}
CONNECT = b'CONNECT {"verbose":false,"pedantic":false,"headers":true,"no_responders":true,"protocol":1}\r\n'


class Call(NamedTuple):
    """One call: its file below the root, the function, how deep it is nested, whether on the event loop."""

    file: str
    function: str
    depth: int
    loop: bool


class Trace(NamedTuple):
    """The calls of one path, in their order."""

    calls: list[Call]

    @property
    def counts(self) -> tuple[int, int]:
        """The number of calls on the event loop, and of the files that they go through."""
        files = [call.file for call in self.calls if call.loop]
        return len(files), len(set(files))

    def picture(self) -> str:
        """Return a line for each call, indented below its caller."""
        lines = []
        before = ""
        for call in self.calls:
            mark = "" if call.loop else "‖ "
            name = f"{'  ' * call.depth}{mark}{call.function}"
            lines.append(f"{name:<64}{call.file if call.file != before else ''}".rstrip())
            before = call.file
        return "\n".join(lines)


class Recorder:
    """Records calls of pyjs in every thread that starts after it, while it is `on`."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.count = 0  # of all calls, including those that are not recorded
        self.on = False
        self._loop = threading.get_ident()
        self._depth: dict[int, int] = {}
        self._files: dict[CodeType, str] = {}

    def __call__(self, frame: FrameType, event: str, _arg: object) -> None:
        if event not in {"call", "return"}:
            return
        file = self._file(frame.f_code)
        if not file:
            return
        thread = threading.get_ident()
        depth = self._depth.get(thread, 0)
        self._depth[thread] = max(0, depth + (1 if event == "call" else -1))
        if event == "call":
            self.count += 1
            if self.on:
                name = frame.f_code.co_qualname.replace("<locals>.", "")
                self.calls.append(Call(file, name, depth, thread == self._loop))

    def _file(self, code: CodeType) -> str:
        file = self._files.get(code)
        if file is None:
            path = Path(code.co_filename)
            inside = path.is_absolute() and path.is_relative_to(ROOT)
            file = path.relative_to(ROOT).as_posix() if inside else ""
            file = "" if file.startswith(("benchmarks/", "native/", "tests/", ".venv/")) else file
            self._files[code] = file
        return file

    async def quiet(self) -> None:
        """Return when nothing more happens."""
        before = -1
        while before != self.count:
            before = self.count
            await asyncio.sleep(QUIET)


class Client:
    """One client on a real socket, which writes the protocol by itself."""

    def __init__(
        self, recorder: Recorder, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._recorder = recorder
        self._reader = reader
        self._writer = writer

    async def ask(self, data: bytes, *wanted: bytes) -> bytes:
        """Send data; return what arrived until all of `wanted` had."""
        self._writer.write(data)
        found = b""
        while not all(each in found for each in wanted):
            found += await self._reader.read(65536)
        return found

    async def traced(self, data: bytes, *wanted: bytes) -> tuple[Trace, bytes]:
        """Do the same, and return also the calls that it caused until then."""
        await self._recorder.quiet()
        self._recorder.calls = []
        self._recorder.on = True
        found = await self.ask(data, *wanted)
        self._recorder.on = False
        return Trace(self._recorder.calls), found

    async def api(self, subject: str, document: dict[str, object]) -> None:
        """Make a request to the JetStream API that must succeed."""
        body = json.dumps(document).encode()
        answer = await self.ask(
            b"PUB $JS.API.%b _I.a %d\r\n%b\r\n" % (subject.encode(), len(body), body), b"}\r\n"
        )
        assert b'"error"' not in answer, answer

    def close(self) -> None:
        """Close the socket."""
        self._writer.close()


async def record() -> dict[str, Trace]:
    """Return the shortest trace of each path."""
    recorder = Recorder()
    threading.setprofile(recorder)
    sys.setprofile(recorder)
    try:
        with tempfile.TemporaryDirectory() as folder:
            async with Server(jetstream=True, store_dir=folder) as server:
                reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
                client = Client(recorder, reader, writer)
                await _prepare(client)
                for _ in range(WARM):
                    await _round(client)
                shortest = await _round(client)
                for number in range(MOST_ROUNDS):
                    if number >= ROUNDS and not over_budget(shortest):
                        break
                    again = await _round(client)
                    shortest = {path: min(shortest[path], again[path], key=_counts) for path in BUDGET}
                client.close()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return shortest


def _counts(trace: Trace) -> tuple[int, int]:
    return trace.counts


async def _prepare(client: Client) -> None:
    await client.ask(CONNECT + b"SUB _I.> 1\r\nSUB c.> 2\r\nPING\r\n", b"PONG")
    await client.api("STREAM.CREATE.S", {"name": "S", "subjects": ["s.>"]})
    config = {"name": "C", "durable_name": "C", "ack_policy": "explicit"}
    await client.api("CONSUMER.CREATE.S.C", {"stream_name": "S", "config": config})


async def _round(client: Client) -> dict[str, Trace]:
    publish, _ = await client.traced(b"PUB s.a _I.p 1\r\nx\r\n", b'"seq"')
    pull, message = await client.traced(b"PUB $JS.API.CONSUMER.MSG.NEXT.S.C _I.m 1\r\n1\r\n", b"\r\nx\r\n")
    ack, _ = await client.traced(b"PUB %b _I.k 0\r\n\r\n" % message.split(b" ")[3], b"MSG _I.k")
    core, _ = await client.traced(b"PUB c.a 1\r\nx\r\n", b"MSG c.a")
    return {"publish": publish, "pull": pull, "ack": ack, "core publish": core}


def over_budget(traces: dict[str, Trace]) -> list[str]:
    """Return a line for each path that takes more calls, or goes through more files, than it may."""
    lines = []
    for path, trace in traces.items():
        for unit, count, most in zip(("calls", "files"), trace.counts, BUDGET[path], strict=True):
            if count > most:
                lines.append(f"{path}: {count} {unit}, {most} are allowed")
    return lines


def page(traces: dict[str, Trace]) -> str:
    """Return all pictures, each below its counts."""
    parts = []
    for path, trace in traces.items():
        calls, files = trace.counts
        elsewhere = len(trace.calls) - calls
        worker = f", {elsewhere} calls on a worker thread" if elsewhere else ""
        parts.append(f"{TITLES[path]}: {calls} calls through {files} files{worker}\n\n{trace.picture()}")
    return "\n\n".join(parts) + "\n"


def written(document: str, traces: dict[str, Trace]) -> str:
    """Return the document with new pictures: the block after the line `<!-- trace -->`."""
    head, found, rest = document.partition("<!-- trace -->\n```text\n")
    tail = rest.partition("\n```\n")[2]
    assert found, "the document has no place for the picture"
    return f"{head}{found}{page({path: traces[path] for path in SHOWN})}```\n{tail}"


def main() -> None:
    """Print, check or write."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.trace", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("--check", action="store_true", help="compare the counts with the budget")
    parser.add_argument("--write", action="store_true", help="renew the picture in ARCHITECTURE.md")
    parser.add_argument("--only", choices=list(BUDGET), action="append", help="this path")
    asked = parser.parse_args()
    traces = asyncio.run(record())
    if asked.write:
        PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), traces), encoding="utf-8")
    elif asked.check:
        for path, trace in traces.items():
            calls, files = trace.counts
            print(f"{path}: {calls} calls of {BUDGET[path][0]}, {files} files of {BUDGET[path][1]}")
        sys.exit("\n".join(over_budget(traces)))
    else:
        print(page({path: traces[path] for path in asked.only or traces}), end="")


if __name__ == "__main__":
    main()
