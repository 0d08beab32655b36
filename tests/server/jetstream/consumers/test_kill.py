"""kill -9 while a pull consumer works: a confirmed ack holds, and no message is lost, given up or not."""

from __future__ import annotations

import base64
import random
from collections.abc import Iterator

import pytest
from lib import pyjs_server
from lib.eventually import eventually
from lib.jetstream import SECOND, JetStream
from lib.process import ServerProcess
from lib.wire import Msg
from pyjs.protocol import dead_letters

ROUNDS = 6
MESSAGES = 200
CONFIG = 'listen: 127.0.0.1:<client>\njetstream { store_dir: "<store>" }\n'


@pytest.fixture
def server() -> Iterator[ServerProcess]:
    running = pyjs_server.start(CONFIG)
    yield running
    running.stop()


def sequence(message: Msg) -> int:
    return int(message.reply.split(".")[5])


def work(js: JetStream, acks: int, rng: random.Random, confirmed: set[int]) -> int:
    """Pull and acknowledge until `acks` were answered; leaves some in flight. Gives how many were seen."""
    seen = 0
    while acks > 0:
        messages, status = js.pull("S", "C", rng.randint(1, 30), expires=SECOND // 2)
        for message in messages:
            seen += 1
            assert sequence(message) not in confirmed, "an acknowledged message came again"
            if rng.random() < 0.3:
                continue
            js.ack(message)
            confirmed.add(sequence(message))
            acks -= 1
            if not acks:
                return seen
        if status and not messages:
            return seen
    return seen


def test_answered_acks_survive_kills_and_the_rest_comes_again(server: ServerProcess) -> None:
    rng = random.Random(7)
    confirmed: set[int] = set()
    with JetStream.of(server) as js:
        js.create("S", subjects=["s"], storage="file")
        js.fill("s", MESSAGES)
        js.consumer("S", "C", ack_wait=2 * SECOND, max_ack_pending=50)
    for _ in range(ROUNDS):
        with JetStream.of(server) as js:
            work(js, rng.randint(1, 40), rng, confirmed)
        server.kill()
        server.restart()
    with JetStream.of(server) as js:
        while len(confirmed) < MESSAGES:
            messages, _ = js.pull("S", "C", 50, expires=SECOND)
            for message in messages:
                assert sequence(message) not in confirmed
                js.ack(message)
                confirmed.add(sequence(message))
        info = js.consumer_info("S", "C")
        assert info["num_ack_pending"] == info["num_pending"] == 0
        assert info["ack_floor"]["stream_seq"] == info["delivered"]["stream_seq"] == MESSAGES


def test_what_is_given_up_around_kills_is_a_dead_letter_once(server: ServerProcess) -> None:
    rng, letters = random.Random(8), dead_letters.queue_subjects("S")
    with JetStream.of(server) as js:
        js.create("S", subjects=["s"], retention="workqueue", storage="file")
        js.create("DLQ_S", subjects=letters, storage="file", duplicate_window=SECOND // 10)
        js.fill("s", MESSAGES)
        js.consumer("S", "C", ack_policy="explicit", ack_wait=SECOND // 10, max_deliver=1)
    for _ in range(ROUNDS):
        with JetStream.of(server) as js:
            for message in js.pull("S", "C", rng.randint(10, 40), expires=SECOND // 2)[0]:
                if rng.random() < 0.5:  # the others run out of deliveries
                    js.wire.pub(message.reply, "+TERM")
            js.info("S")  # the server has read all of it
        server.kill()
        server.restart()
    with JetStream.of(server) as js:

        def all_given_up() -> bool:
            for message in js.pull("S", "C", 100, expires=SECOND // 5)[0]:
                js.wire.pub(message.reply, "+TERM")
            counted = js.info("DLQ_S", subjects_filter="$PYJS.DLQ.>")["state"].get("subjects") or {}
            sequences = sorted(int(subject.rpartition(".")[2]) for subject in counted)
            assert {*counted.values()} <= {1}
            assert len(sequences) == len({*sequences})
            return (
                sequences == list(range(1, MESSAGES + 1))
                and js.consumer_info("S", "C")["num_ack_pending"] == 0
            )

        eventually(all_given_up, seconds=20)
        for sequence in (1, MESSAGES):
            found = js.get("DLQ_S", last_by_subj=f"$PYJS.DLQ.S.C.*.{sequence}")
            assert base64.b64decode(found["data"]) == b"%d" % sequence
