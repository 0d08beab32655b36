"""Many consumers of one interest stream delay nobody: a message costs by the consumers that select it.

As in test_bounded_work.py the server's callbacks are measured, and the reference runs the same requests. A
message leaves exactly when every consumer that selects it has acknowledged it.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from lib.callbacks import Callbacks
from lib.eventually import eventually
from lib.jetstream import ALONE, JetStream
from lib.process import ServerProcess

CONSUMERS = 200
BURST = 5000


@pytest.fixture
def server(callbacks: Callbacks, launch: Callable[[str], ServerProcess]) -> ServerProcess:
    """A measured server of the test's own."""
    return launch(ALONE)


def burst(js: JetStream, count: int) -> None:
    """Messages on each consumer's subject in turn, sent at once, and waited for."""
    subjects = (f"w.{number % CONSUMERS}" for number in range(count))
    js.wire.send("".join([f"PUB {subject} 1\r\nx\r\n" for subject in subjects]))
    eventually(lambda: js.state("w")["last_seq"] == count, seconds=60)


def send_acks(js: JetStream, replies: list[str]) -> None:
    js.wire.send("".join([f"PUB {reply} 0\r\n\r\n" for reply in replies]))


def left(js: JetStream, count: int) -> None:
    eventually(lambda: js.state("w")["messages"] == count, seconds=30)


def test_each_consumer_has_its_filter(server: ServerProcess, js: JetStream, callbacks: Callbacks) -> None:
    js.create("w", subjects=["w.*"], retention="interest", storage="file")
    for number in range(CONSUMERS):
        js.consumer("w", f"c{number}", filter_subject=f"w.{number}")
    with callbacks.bounded(server):
        burst(js, BURST)
        replies = []
        for number in range(CONSUMERS):
            messages, _ = js.pull("w", f"c{number}", BURST // CONSUMERS)
            replies += [message.reply for message in messages]
        send_acks(js, replies[1:])
        left(js, 1)
        send_acks(js, replies[:1])
        left(js, 0)


def test_no_consumer_has_a_filter(server: ServerProcess, js: JetStream, callbacks: Callbacks) -> None:
    """All of them acknowledge every message; each leaves with the last one's."""
    batch = 100
    js.create("w", subjects=["w.*"], retention="interest")
    for number in range(CONSUMERS):
        js.consumer("w", f"c{number}", ack_policy="all" if number % 2 else "explicit")
    with callbacks.bounded(server):
        burst(js, BURST)
        replies: list[list[str]] = []
        for number in range(CONSUMERS):
            messages, _ = js.pull("w", f"c{number}", batch)
            replies.append([message.reply for message in messages])
        for number in range(2, CONSUMERS):
            send_acks(js, replies[number][-1:] if number % 2 else replies[number])
        send_acks(js, replies[1][-1:])
        assert js.state("w")["messages"] == BURST
        send_acks(js, replies[0][:50])
        left(js, BURST - 50)
        send_acks(js, replies[0][50:])
        left(js, BURST - batch)


def test_consumers_that_changed_their_filters(
    server: ServerProcess, js: JetStream, callbacks: Callbacks
) -> None:
    """A message given under another filter is not waited for any more; what the new one selects is."""
    js.create("w", subjects=["w.*"], retention="interest")
    for number in range(CONSUMERS):
        js.consumer("w", f"c{number}", filter_subject="w.0")
    js.consumer("w", "other", filter_subject="w.0")
    with callbacks.bounded(server):
        js.publish("w.0")
        for number in range(CONSUMERS):
            js.pull("w", f"c{number}")
            js.consumer("w", f"c{number}", filter_subject=f"w.{number + 1}")
        messages, _ = js.pull("w", "other")
        assert js.state("w")["messages"] == 1
        send_acks(js, [messages[0].reply])
        left(js, 0)
        js.publish("w.7")
        assert js.state("w")["messages"] == 1
        messages, _ = js.pull("w", "c6")
        send_acks(js, [messages[0].reply])
        left(js, 0)
