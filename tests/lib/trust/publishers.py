"""Publishers of unique values: each a thread with a connection to one server, made again whenever it ends.

Plain ones send a value once. Once-only ones send it with a message id, again and again until it is answered.
Chains publish to one subject only what follows the last value they know there, two of them against each
other. Keys put values into a bucket.
"""

from __future__ import annotations

import contextlib
import json
import re
import select
import threading
import time
from collections.abc import Callable
from random import Random

from lib.process import ServerProcess
from lib.wire import Msg, Wire

from .values import BUCKET, JOB, JOBS, KEYS, STREAM, SUBJECT, Outcome, Value, Values

ACK_SECONDS = 4.0
SOCKET_SECONDS = 5.0
PAUSE = 0.05
ID, EXPECTED = "Nats-Msg-Id", "Nats-Expected-Last-Subject-Sequence"
WRONG_LAST = 10071
KEY_COUNT = 5

Connect = Callable[[ServerProcess, float], Wire]


def connect(server: ServerProcess, seconds: float = SOCKET_SECONDS) -> Wire:
    """Return a client of account ACC. Raises OSError or EOFError if the server does not answer."""
    wire = Wire(server.port, seconds)
    try:
        wire.login(user="acc", **{"pass": "acc"})
        wire.sync()
    except BaseException:
        wire.close()
        raise
    return wire


def waits(wire: Wire, seconds: float) -> bool:
    """Return whether something can be read, now or within `seconds`."""
    return b"\r\n" in wire.buffer or bool(select.select([wire.sock], [], [], seconds)[0])


class Client(threading.Thread):
    """A thread that has a session on a server, again and again until `end`. `busy`: it has work to do."""

    def __init__(self, name: str, server: ServerProcess) -> None:
        super().__init__(name=name, daemon=True)
        self.server = server
        self.ending = threading.Event()
        self.fault: BaseException | None = None
        self.sessions = 0

    def run(self) -> None:
        try:
            while not self.ending.is_set():
                try:
                    with contextlib.closing(connect(self.server)) as wire:
                        self.sessions += 1
                        self.session(wire)
                except (OSError, EOFError):  # TimeoutError is an OSError
                    self.cut_off()
                    self.ending.wait(PAUSE)
        except BaseException as fault:
            self.fault = fault
            raise

    def session(self, wire: Wire) -> None:
        raise NotImplementedError

    def cut_off(self) -> None:
        """Handle the loss of the connection."""

    def end(self) -> None:
        """Stop the thread and wait for it."""
        self.ending.set()
        self.join(4 * SOCKET_SECONDS)
        assert not self.is_alive(), self.name
        if self.fault is not None:
            raise self.fault


class Publisher(Client):
    """Publishes values.

    rate: values per second
    window: how many may be unanswered
    """

    def __init__(
        self,
        name: str,
        server: ServerProcess,
        values: Values,
        *,
        stream: str = STREAM,
        once: bool = False,
        rate: float = 100.0,
        window: int = 32,
    ) -> None:
        super().__init__(name, server)
        self.values = values
        self.stream, self.once = stream, once
        self.rate, self.window = rate, window
        self.number = 0
        self.acks = 0
        self.in_flight: dict[str, tuple[Value, float]] = {}
        self.again: list[Value] = []

    def session(self, wire: Wire) -> None:
        due = time.monotonic()
        while not self.ending.is_set():
            now = time.monotonic()
            while len(self.in_flight) < self.window and due <= now:
                self._send(wire, now)
                due += 1 / self.rate
            due = max(due, now - 1)
            if waits(wire, min(max(due - now, 0.001), PAUSE)):
                frame = wire.next()
                if isinstance(frame, Msg):
                    self._answered(frame)
            self._expire(now)
        deadline = time.monotonic() + ACK_SECONDS
        while self.in_flight and time.monotonic() < deadline:
            if waits(wire, PAUSE) and isinstance(frame := wire.next(), Msg):
                self._answered(frame)
        self.cut_off()

    def cut_off(self) -> None:
        for value, _ in self.in_flight.values():
            self._lost(value)
        self.in_flight.clear()

    def _lost(self, value: Value) -> None:
        if self.once:
            self.again.append(value)

    def _expire(self, now: float) -> None:
        while self.in_flight:
            reply, (value, sent) = next(iter(self.in_flight.items()))
            if now - sent < ACK_SECONDS:
                return
            del self.in_flight[reply]
            self._lost(value)

    def _next(self) -> Value:
        if self.again:
            return self.again.pop(0)
        self.number += 1
        name = f"{self.name}.{self.number}"
        subjects = {
            STREAM: f"{SUBJECT}.{self.name}",
            JOBS: f"{JOB}.{self.name}",
            BUCKET: f"{KEYS}.{self.name}k{self.number % KEY_COUNT}",
        }
        return self.values.new(name, self.stream, subjects[self.stream], once=self.once)

    def _send(self, wire: Wire, now: float) -> None:
        value = self._next()
        value.sends += 1
        value.outcome = Outcome.UNKNOWN  # also if it was refused before
        reply = wire.inbox()
        self.in_flight[reply] = value, now
        wire.pub(value.subject, value.body, reply, {ID: value.name} if self.once else None)

    def _answered(self, answer: Msg) -> None:
        value, _ = self.in_flight.pop(answer.subject, (None, 0))
        if value is None:
            return  # given up long ago
        if take(value, answer):
            self.acks += 1
        elif self.once and not self.ending.is_set():
            self.again.append(value)


def take(value: Value, answer: Msg) -> bool:
    """Note what an answer says about a value; return whether it is acknowledged."""
    said = {} if answer.status or not answer.body else json.loads(answer.body)
    if said.get("seq"):
        value.outcome, value.seq = Outcome.ACKED, said["seq"]
        return True
    if value.sends == 1:  # one that was sent before may have been stored then
        value.outcome = Outcome.REFUSED
    value.why = answer.status or str(said.get("error"))
    return False


class Chain(Client):
    """Publishes to `subject` only what follows the last value it knows there, one at a time."""

    def __init__(self, name: str, server: ServerProcess, values: Values, subject: str, rng: Random) -> None:
        super().__init__(name, server)
        self.values = values
        self.subject = subject
        self.rng = rng
        self.number = 0
        self.acks = 0

    def session(self, wire: Wire) -> None:
        last: int | None = None
        while not self.ending.is_set():
            if last is None:
                last = self._look(wire)
                continue
            self.number += 1
            value = self.values.new(f"{self.name}.{self.number}", STREAM, self.subject, expected=last)
            value.sends = 1
            answer = wire.request(self.subject, value.body, {EXPECTED: str(last)})
            if take(value, answer):
                self.acks += 1
                last = value.seq
            else:
                found = re.search(rb"wrong last sequence: (\d+)", answer.body)
                last = int(found[1]) if found else None
            self.ending.wait(self.rng.random() * 2 * PAUSE)

    def _look(self, wire: Wire) -> int | None:
        """Return the subject's last sequence; None if there is no answer."""
        self.ending.wait(PAUSE)
        answer = wire.request(f"$JS.API.STREAM.MSG.GET.{STREAM}", {"last_by_subj": self.subject})
        said = {} if answer.status else answer.json()
        if said.get("error", {}).get("err_code") == 10037:  # no message found
            return 0
        return said["message"]["seq"] if "message" in said else None
