"""kill -9 under load, again and again: everything that was acknowledged is there, in order, byte for byte.

The publisher runs in a thread with many publishes in flight; the process is killed at a moment of the
publisher's progress that the round chooses, started again on the same store, and every acknowledged message
is read back.
"""

from __future__ import annotations

import json
import random
import re
import threading
from collections.abc import Iterator

import pytest
from lib import pyjs_server
from lib.examples import more
from lib.jetstream import JetStream
from lib.process import ServerProcess

ROUNDS = more(12)
WINDOW = 200
SEQUENCE = re.compile(rb'"seq":(\d+)')
CONFIG = 'listen: 127.0.0.1:<client>\njetstream { store_dir: "<store>" }\n'


@pytest.fixture
def server() -> Iterator[ServerProcess]:
    running = pyjs_server.start(CONFIG)
    yield running
    running.stop()


class Publisher:
    """Publishes numbered bodies until its connection is cut; knows which sequence acknowledged which body."""

    def __init__(self, server: ServerProcess, first: int, wanted: int) -> None:
        self.wire = server.connect()
        self.number = first
        self.acknowledged: dict[int, bytes] = {}
        self.in_flight: dict[str, bytes] = {}
        self.enough = threading.Event()
        self.wanted = wanted
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _publish(self, count: int) -> None:
        for _ in range(count):
            self.number += 1
            body = f"message {self.number} ".encode() + b"x" * (self.number % 300)
            reply = self.wire.inbox()
            self.in_flight[reply] = body
            self.wire.pub(f"kill.{self.number % 7}", body, reply)

    def _run(self) -> None:
        try:
            self._publish(WINDOW)
            while True:
                answer = self.wire.msg()
                found = SEQUENCE.search(answer.body)
                assert found, answer
                self.acknowledged[int(found[1])] = self.in_flight.pop(answer.subject)
                if len(self.acknowledged) >= self.wanted:
                    self.enough.set()
                self._publish(1)
        except (EOFError, OSError):
            self.enough.set()
        finally:
            self.wire.close()


@pytest.mark.soak
def test_kills_under_load_lose_no_acknowledged_message(server: ServerProcess) -> None:
    rng = random.Random(20261121)
    with server.connect() as wire:
        config = {"name": "KILL", "subjects": ["kill.*"], "allow_direct": True, "storage": "file"}
        assert "error" not in wire.request("$JS.API.STREAM.CREATE.KILL", config).json()
    last, number = 0, 0
    for turn in range(ROUNDS):
        publisher = Publisher(server, number, wanted=rng.randrange(1, 1500))
        assert publisher.enough.wait(30)
        server.kill()
        publisher.thread.join(30)
        number = publisher.number
        server.launch()
        with server.connect() as wire:
            state = wire.request("$JS.API.STREAM.INFO.KILL").json()["state"]
            acknowledged = publisher.acknowledged
            assert acknowledged, f"round {turn}: nothing was acknowledged"
            assert min(acknowledged) > last, f"round {turn}: a sequence was used twice"
            assert state["last_seq"] >= max(acknowledged), f"round {turn}: {json.dumps(state)}"
            assert not state.get("lost"), f"round {turn}: {json.dumps(state)}"
            stored = JetStream(wire).stored("KILL", min(acknowledged))
            for sequence, body in acknowledged.items():
                assert stored.get(sequence) == body, f"round {turn}, sequence {sequence}"
            last = state["last_seq"]
