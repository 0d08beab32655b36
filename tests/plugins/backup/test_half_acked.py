"""Consumers that acknowledged some messages and others not: exactly the others come again after a restore.

What a consumer was given and did with it is noted here, as a client sees it, and compared with what comes
from the restored stream: no message that was acknowledged or terminated, each other one once, with the count
of its deliveries going on.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from lib.cli import Cli
from lib.eventually import eventually
from lib.jetstream import SECOND, JetStream
from lib.pool import Pool
from lib.wire import Msg

from ..conftest import CONFIG

MESSAGES = 60


@dataclass
class Given:
    """What a consumer was given.

    deliveries: how often, by sequence.
    done: what it need not be given again.
    """

    name: str
    config: dict[str, Any] = field(default_factory=dict)
    deliveries: dict[int, int] = field(default_factory=dict)
    done: set[int] = field(default_factory=set)

    def note(self, message: Msg) -> int:
        """Note that a message came; return its sequence."""
        _, _, _, _, count, sequence, *_ = message.reply.split(".")
        self.deliveries[int(sequence)] = int(count)
        return int(sequence)

    def wanted(self, last: int) -> set[int]:
        """Return the sequences that have to come yet."""
        step = 3 if "filter_subject" in self.config else 1
        return set(range(step, last + 1, step)) - self.done


EXPLICIT = Given("EXPLICIT")
FILTERED = Given("FILTERED", {"filter_subject": "third"})
ALL = Given("ALL", {"ack_policy": "all"})


def publish(js: JetStream, stream: str, first: int, last: int) -> None:
    """Publish messages, each third one on a subject of its own."""
    for number in range(first, last + 1):
        js.publish(f"{stream}.{'third' if number % 3 == 0 else 'other'}", str(number))


def work(js: JetStream, stream: str, consumer: Given, chance: random.Random) -> None:
    """Take messages in several pulls, and do with each of them what clients do."""
    for _ in range(4):
        got, _ = js.pull(stream, consumer.name, chance.randint(1, 6))
        for message in got:
            sequence = consumer.note(message)
            answer = chance.choice(("+ACK", "+ACK", "-NAK", "+TERM", "+WPI", ""))
            if answer:
                js.ack(message, answer)
            if answer in ("+ACK", "+TERM") and consumer.config.get("ack_policy") == "all":
                consumer.done |= {each for each in consumer.deliveries if each <= sequence}
            elif answer in ("+ACK", "+TERM"):
                consumer.done.add(sequence)
    for message in js.pull(stream, consumer.name, 2)[0]:
        consumer.note(message)
    waiting = len(set(consumer.deliveries) - consumer.done)
    # nats-server takes acknowledgements after it answered
    eventually(lambda: js.consumer_info(stream, consumer.name)["num_ack_pending"] == waiting)


def come(js: JetStream, stream: str, name: str, count: int) -> list[Msg]:
    """Return messages until so many different ones have come."""
    found: list[Msg] = []
    while len({message.reply.split(".")[5] for message in found}) < count:
        got, status = js.pull(stream, name, 1, expires=10 * SECOND)
        assert not status, f"{status} after {len(found)} of {count} messages"
        found += got
    return found


def nothing_left(js: JetStream, stream: str, name: str) -> None:
    """Wait until a consumer waits for no acknowledgement, and check that it has nothing more to give."""
    eventually(lambda: js.consumer_info(stream, name)["num_ack_pending"] == 0)
    info = js.consumer_info(stream, name)
    assert (info["num_pending"], info["num_redelivered"]) == (0, 0)


@pytest.fixture(params=["reference", "pyjs"])
def target(request: pytest.FixtureRequest, pool: Pool) -> Any:
    """The server that it is restored on."""
    return pool.get(request.param, CONFIG)


@pytest.mark.parametrize("retention", ["limits", "interest", "workqueue"])
def test_exactly_what_was_not_acknowledged_comes_again(
    cli: Cli, server: Any, target: Any, unique: str, tmp_path: Path, retention: str
) -> None:
    chance = random.Random(f"{retention} {server.name} {target.name}")
    chosen = [EXPLICIT] if retention == "workqueue" else [EXPLICIT, FILTERED, ALL]
    consumers = [Given(each.name, dict(each.config)) for each in chosen]
    with JetStream.of(server) as js:
        js.create(unique, subjects=[f"{unique}.*"], storage="file", retention=retention)
        for each in consumers:
            if "filter_subject" in each.config:
                each.config["filter_subject"] = f"{unique}.third"
            js.consumer(unique, each.name, ack_wait=SECOND, **each.config)
        publish(js, unique, 1, MESSAGES)
        for each in consumers:
            work(js, unique, each, chance)
            assert each.done, "the seed has no acknowledgement"
            assert set(each.deliveries) - each.done, "the seed leaves nothing to come again"
        cli.ok("stream", "backup", unique, "saved")
        cli.ok("stream", "rm", unique, "-f")
    Cli(tmp_path, "--server", target.url).ok("stream", "restore", "saved")
    with JetStream.of(target) as js:
        publish(js, unique, MESSAGES + 1, MESSAGES + 3)
        for each in consumers:
            wanted = each.wanted(MESSAGES + 3)
            assert js.consumer_info(unique, each.name)["ack_floor"]["stream_seq"] < min(wanted)
            earlier = dict(each.deliveries)
            for message in come(js, unique, each.name, len(wanted)):
                known = each.deliveries.get(int(message.reply.split(".")[5]), 0)
                sequence = each.note(message)
                assert sequence in wanted, f"{each.name} was given {sequence} again"
                assert each.deliveries[sequence] == known + 1
                assert message.body == str(sequence).encode()
                if "ack_policy" not in each.config:
                    js.ack(message)
            assert set(each.deliveries) == wanted | set(earlier)
            if "ack_policy" not in each.config:
                nothing_left(js, unique, each.name)
        js.call(f"STREAM.DELETE.{unique}")


def test_a_floor_below_the_first_message(
    cli: Cli, server: Any, target: Any, unique: str, tmp_path: Path
) -> None:
    with JetStream.of(server) as js:
        js.create(unique, subjects=[f"{unique}.*"], storage="file")
        js.consumer(unique, "C", ack_wait=SECOND, filter_subject=f"{unique}.third")
        publish(js, unique, 1, 12)
        js.ack(js.pull(unique, "C", 3)[0][1])
        eventually(lambda: js.consumer_info(unique, "C")["num_ack_pending"] == 2)
        for gone in (1, 2):
            js.call(f"STREAM.MSG.DELETE.{unique}", {"seq": gone})
        cli.ok("stream", "backup", unique, "saved")
        cli.ok("stream", "rm", unique, "-f")
    Cli(tmp_path, "--server", target.url).ok("stream", "restore", "saved")
    with JetStream.of(target) as js:
        assert js.consumer_info(unique, "C")["num_ack_pending"] == 2
        found = {int(message.reply.split(".")[5]) for message in come(js, unique, "C", 3)}
        assert found == {3, 9, 12}
        js.call(f"STREAM.DELETE.{unique}")


def test_an_increment_has_what_was_not_acknowledged(cli: Cli, server: Any, unique: str) -> None:
    each, chance = Given("EXPLICIT"), random.Random(7)
    with JetStream.of(server) as js:
        js.create(unique, subjects=[f"{unique}.*"], storage="file")
        publish(js, unique, 1, 30)
        js.consumer(unique, each.name, ack_wait=SECOND)
        cli.ok("stream", "backup", unique, "saved", "--incremental")
        work(js, unique, each, chance)
        publish(js, unique, 31, 40)
        cli.ok("stream", "backup", unique, "saved", "--incremental")
        floor = js.consumer_info(unique, each.name)["ack_floor"]["stream_seq"]
        assert floor < max(each.done) and set(each.deliveries) - each.done
        cli.ok("stream", "rm", unique, "-f")
        cli.ok("stream", "restore", "saved")
        wanted = each.wanted(40)
        found = come(js, unique, each.name, len(wanted))
        assert {int(message.reply.split(".")[5]) for message in found} == wanted
