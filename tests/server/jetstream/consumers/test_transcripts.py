"""What consumers say, as readable transcripts: tests/golden/consumer/*.txt.

A line without a mark is a command, lines that begin with "<" are what came of it, in order:

    consumer {json}           make the consumer C
    publish <subject> <body>…
    pull <inbox> [body]       a pull request with this reply
    hear <subject>            somebody listens (pull inboxes are heard from their first use)
    deaf <subject>            nobody does any more
    ack <inbox> <n> [body]    answer the nth message that the inbox ever received
    say <subject> [body]      publish, with the reply `answer`
    wait <duration>
    remove <seq>              a message leaves the stream
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from lib.consumer_fixture import ConsumerFixture
from pyjs.protocol import duration, headers
from pyjs.protocol.api.consumer import ConsumerConfig
from pyjs.server.accounts.subscription import Message, Subscription
from pyjs.server.jetstream.consumers import lifecycle
from pyjs.server.jetstream.consumers.info import describe

GOLDEN = Path(__file__).parents[3] / "golden" / "consumer"
ADVISORIES = "$JS.EVENT.>"
SPLITS = {"consumer": 0, "publish": -1, "ack": 2}


class Player:
    """Plays one transcript."""

    def __init__(self) -> None:
        self.fixture = ConsumerFixture()
        self.said: list[str] = []
        self.heard: dict[str, Subscription] = {}
        self.received: dict[str, list[Message]] = {}
        self.fixture.account.subscribe(ADVISORIES, self.advisory)

    def play(self, text: str) -> str:
        lines = []
        for line in text.splitlines():
            if line.startswith("<"):
                continue
            lines.append(line)
            if line and not line.startswith("#"):
                word, _, rest = line.partition(" ")
                getattr(self, "do_" + word)(*rest.split(" ", SPLITS.get(word, 1)))
                self.fixture.clock.advance(0)
                lines += ["< " + one for one in self.said]
                self.said = []
        return "\n".join(lines) + "\n"

    def advisory(self, message: Message) -> None:
        event = json.loads(message.body)
        for known in ("type", "id", "timestamp", "stream", "consumer", "account"):
            event.pop(known, None)
        if "pinned_id" in event:
            event["pinned_id"] = "PIN"
        self.said.append(f"{message.subject} {json.dumps(event)}")

    def listen(self, inbox: str) -> None:
        if inbox not in self.heard:
            self.heard[inbox] = self.fixture.account.subscribe(inbox, lambda m: self.take(inbox, m))

    def take(self, inbox: str, message: Message) -> None:
        code, text = headers.status(message.header) if message.header else (None, "")
        more = {k: v[0] for k, v in headers.decode(message.header).items()} if message.header else {}
        if "Nats-Pin-Id" in more:
            more["Nats-Pin-Id"] = "PIN"
        extra = "".join(f" {k}={v}" for k, v in more.items() if not str(v).startswith("$JS.FC"))
        if code:
            self.said.append(f"{inbox}: {code} {text}{extra}")
            if message.reply:
                self.received.setdefault(inbox, []).append(message)
            return
        self.received.setdefault(inbox, []).append(message)
        place = ".".join(message.reply.split(".")[4:7] + message.reply.split(".")[8:])
        self.said.append(f"{inbox}: {message.subject} {message.body.decode()!r} [{place}]{extra}")

    def do_consumer(self, config: str) -> None:
        made = ConsumerConfig.from_json({"durable_name": "C", "ack_policy": "explicit", **json.loads(config)})
        lifecycle.create(self.fixture.stream, made)

    def do_publish(self, subject: str, *bodies: str) -> None:
        self.fixture.publish(*bodies, subject=subject)

    def do_pull(self, inbox: str, body: str = "") -> None:
        self.listen(inbox)
        pin = self.fixture.stream.consumers["C"].delivery
        body = body.replace("PIN", getattr(getattr(pin, "pin", None), "identifier", ""))
        self.fixture.pull(self.fixture.stream.consumers["C"], body, inbox)

    def do_hear(self, inbox: str) -> None:
        self.listen(inbox)

    def do_deaf(self, inbox: str) -> None:
        self.fixture.account.unsubscribe(self.heard.pop(inbox))

    def do_ack(self, inbox: str, number: str, body: str = "") -> None:
        self.listen("answer")
        self.fixture.ack(self.received[inbox][int(number) - 1], body, "answer" if body != "+WPI" else "")

    def do_say(self, subject: str, body: str = "") -> None:
        self.listen("answer")
        self.fixture.account.publish(subject, body.encode(), reply="answer", own=True)

    def do_wait(self, text: str) -> None:
        self.fixture.clock.advance(duration.parse_go(text))

    def do_remove(self, seq: str) -> None:
        self.fixture.stream.removal.delete_message(int(seq), erase=False)

    def do_pause(self, text: str) -> None:
        until = self.fixture.clock.now() + duration.parse_go(text)
        lifecycle.pause(self.fixture.stream.consumers["C"], until)

    def do_resume(self, _: str = "") -> None:
        lifecycle.pause(self.fixture.stream.consumers["C"], 0)

    def do_unpin(self, group: str) -> None:
        self.fixture.stream.consumers["C"].unpin(group)

    def do_delete(self, _: str = "") -> None:
        self.fixture.stream.consumers["C"].delete()

    def do_info(self, _: str = "") -> None:
        consumer = self.fixture.stream.consumers.get("C")
        if consumer is None:
            self.said.append("no consumer")
            return
        info = describe(consumer)
        self.said.append(
            f"delivered {info.delivered.consumer_seq}/{info.delivered.stream_seq}"
            f" floor {info.ack_floor.consumer_seq}/{info.ack_floor.stream_seq}"
            f" pending {info.num_pending} ack pending {info.num_ack_pending}"
            f" redelivered {info.num_redelivered} waiting {info.num_waiting}"
            f"{' bound' if info.push_bound else ''}{' paused' if info.paused else ''}"
        )


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.txt")), ids=lambda path: path.stem)
def test_a_consumer_says_what_the_transcript_says(path: Path) -> None:
    text = path.read_text("utf-8")
    assert Player().play(text) == text
