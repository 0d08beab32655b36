"""Consumers with very many outstanding acks delay nobody: work that concerns all of them goes in slices.

As in test_bounded_work.py the server's callbacks are measured, and the reference runs the same requests.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from lib.callbacks import Callbacks
from lib.eventually import eventually
from lib.jetstream import ALONE, SECOND, JetStream
from lib.process import ServerProcess

MANY = 15_000


@pytest.fixture
def server(callbacks: Callbacks, launch: Callable[[str], ServerProcess]) -> ServerProcess:
    """A measured server of the test's own."""
    return launch(ALONE)


def fill(js: JetStream, count: int = MANY, **config: Any) -> None:
    js.create("w", subjects=["w"], **config)
    for _ in range(0, count, 1000):
        js.wire.send("PUB w 1\r\nx\r\n" * 1000)
    eventually(lambda: js.state("w")["messages"] == count, seconds=30)


def deliver(server: ServerProcess, js: JetStream, count: int = MANY, **config: Any) -> str:
    """Let a push consumer deliver all, and then nobody listens. Gives the last ack subject."""
    with JetStream.of(server) as other:
        other.wire.sub("deliver")
        js.consumer("w", "c", deliver_subject="deliver", max_ack_pending=-1, **config)
        last = other.wire.msgs(count)[-1].reply
    assert js.consumer_info("w", "c")["num_ack_pending"] == count
    return last


def test_one_ack_of_all(server: ServerProcess, js: JetStream, callbacks: Callbacks) -> None:
    fill(js, storage="file")
    last = deliver(server, js, ack_policy="all")
    tokens, middle = last.split("."), str(MANY // 2)
    half = ".".join([*tokens[:-4], middle, middle, *tokens[-2:]])
    with callbacks.bounded(server):
        js.wire.request(half, "+ACK")
        info = js.consumer_info("w", "c")
        assert (info["num_ack_pending"], info["ack_floor"]["stream_seq"]) == (MANY - MANY // 2, MANY // 2)
        js.wire.request(last, "+ACK")
        info = js.consumer_info("w", "c")
        assert (info["num_ack_pending"], info["ack_floor"]["stream_seq"]) == (0, MANY)
        assert info["ack_floor"]["consumer_seq"] == MANY


def test_waits_that_end_together(server: ServerProcess, js: JetStream, callbacks: Callbacks) -> None:
    fill(js)
    deliver(server, js, ack_wait=3600 * SECOND)
    with callbacks.bounded(server), JetStream.of(server) as other:
        js.consumer("w", "c", deliver_subject="deliver", max_ack_pending=-1, ack_wait=2 * SECOND)
        other.wire.sub("deliver")
        again = [message.reply.split(".") for message in other.wire.msgs(MANY)]
        assert sorted(int(tokens[-4]) for tokens in again) == list(range(1, MANY + 1))
        assert {tokens[-5] for tokens in again} == {"2"}


def test_all_of_them_are_out_of_deliveries(
    server: ServerProcess, js: JetStream, callbacks: Callbacks
) -> None:
    count = 8000
    fill(js, count)
    deliver(server, js, count, ack_wait=3600 * SECOND, max_deliver=1)
    with callbacks.bounded(server):
        js.consumer("w", "c", deliver_subject="deliver", max_ack_pending=-1, ack_wait=SECOND, max_deliver=1)
        eventually(lambda: js.consumer_info("w", "c")["num_ack_pending"] == 0, seconds=20)


def test_other_waits_for_all_of_them(server: ServerProcess, js: JetStream, callbacks: Callbacks) -> None:
    fill(js)
    deliver(server, js, ack_wait=3600 * SECOND)
    config: dict[str, Any] = {"deliver_subject": "deliver", "max_ack_pending": -1}
    with callbacks.bounded(server):
        js.consumer("w", "c", **config, backoff=[3000 * SECOND, 3600 * SECOND], max_deliver=5)
        assert js.consumer_info("w", "c")["num_ack_pending"] == MANY
        js.consumer("w", "c", **config, ack_wait=1800 * SECOND)
        assert js.consumer_info("w", "c")["num_ack_pending"] == MANY


def test_a_reset(server: ServerProcess, js: JetStream, callbacks: Callbacks) -> None:
    fill(js, storage="file")
    deliver(server, js)
    with callbacks.bounded(server):
        js.call("CONSUMER.RESET.w.c", {"seq": 1})
        info = js.consumer_info("w", "c")
        assert (info["num_ack_pending"], info["num_pending"]) == (0, MANY)


@pytest.mark.parametrize("storage", ["file", "memory"])
def test_purges(server: ServerProcess, js: JetStream, callbacks: Callbacks, storage: str) -> None:
    fill(js, storage=storage)
    deliver(server, js)
    with callbacks.bounded(server):
        js.call("STREAM.PURGE.w", {"seq": MANY - 1000})
        assert js.consumer_info("w", "c")["num_ack_pending"] == 1001
        js.call("STREAM.PURGE.w")
        info = js.consumer_info("w", "c")
        assert (info["num_ack_pending"], info["ack_floor"]["stream_seq"]) == (0, MANY)


@pytest.mark.parametrize("storage", ["file", "memory"])
def test_acks_out_of_order_and_the_end(
    server: ServerProcess, js: JetStream, callbacks: Callbacks, storage: str
) -> None:
    fill(js, storage=storage)
    tokens = deliver(server, js).split(".")
    with callbacks.bounded(server):
        for start in range(2, MANY - 1000, 1000):
            each = (
                ".".join([*tokens[:-4], str(seq), str(seq), *tokens[-2:]])
                for seq in range(start, start + 1000)
            )
            js.wire.send("".join([f"PUB {subject} 0\r\n\r\n" for subject in each]))
        js.wire.sync()
        eventually(lambda: js.consumer_info("w", "c")["num_ack_pending"] == 1000)
        assert js.consumer_info("w", "c")["ack_floor"]["stream_seq"] == 0
        js.wire.request(".".join([*tokens[:-4], "1", "1", *tokens[-2:]]), "+ACK")
        assert js.consumer_info("w", "c")["ack_floor"]["stream_seq"] == MANY - 999
        js.call("CONSUMER.DELETE.w.c")
