"""Mirrors and sources: copies without gap and without duplicate."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
from lib.streams import Spy, World
from pyjs.protocol import headers
from pyjs.protocol.api.stream import StreamConfig
from pyjs.server import slices
from pyjs.server.accounts.subscription import Message
from pyjs.server.jetstream.consumers.core import Consumer
from pyjs.server.jetstream.streams.core import Stream
from pyjs.server.jetstream.streams.origin_consumer import Origin
from pyjs.server.slices import at_once

SECOND = 1_000_000_000
MILLISECOND = 1_000_000


def fill(world: World, subject: str, count: int, start: int = 1) -> None:
    for number in range(start, start + count):
        world.publish(subject, str(number).encode())


def run(world: World, seconds: int = 1) -> None:
    for _ in range(seconds * 10):
        world.clock.advance(100 * MILLISECOND)


def bodies(world: World, stream: Stream[Consumer]) -> list[bytes]:
    return [message.body for message in world.messages(stream)]


def origin_of(stream: Stream[Consumer]) -> Origin:
    assert stream.sourcing is not None
    found = stream.sourcing._mirror or next(iter(stream.sourcing._sources.values()))
    assert found is not None
    return found


def lose(followed: Origin, wanted: Callable[[Message], bool]) -> list[Message]:
    """Let the messages that `wanted` selects vanish on their way to the origin."""
    lost: list[Message] = []
    subscription = followed._subscription
    assert subscription is not None

    def arrived(message: Message) -> None:
        if wanted(message):
            lost.append(message)
        else:
            followed._arrived(message)

    subscription.callback = arrived
    return lost


def test_a_mirror_has_the_sequences_times_and_gaps_of_its_origin(world: World) -> None:
    origin = world.stream("O", subjects=["o.*"])
    fill(world, "o.a", 2)
    world.clock.advance(SECOND)
    fill(world, "o.b", 2)
    origin.delete_message(2, erase=False)
    mirror = world.stream("M", mirror={"name": "O"})
    run(world)
    assert world.messages(mirror) == world.messages(origin)
    assert mirror.store.last_seq == 4
    fill(world, "o.c", 1)
    run(world)
    assert world.messages(mirror) == world.messages(origin)


def test_a_mirror_starts_where_it_is_told(world: World) -> None:
    world.stream("O", subjects=["o"])
    fill(world, "o", 5)
    mirror = world.stream("M", mirror={"name": "O", "opt_start_seq": 3})
    run(world)
    assert (mirror.store.first_seq, bodies(world, mirror)) == (3, [b"3", b"4", b"5"])


def test_a_filtered_mirror_skips_what_it_does_not_copy(world: World) -> None:
    world.stream("O", subjects=["o.*"])
    for subject in ("o.a", "o.b", "o.a"):
        world.publish(subject)
    mirror = world.stream("M", mirror={"name": "O", "filter_subject": "o.a"})
    run(world)
    assert [m.seq for m in world.messages(mirror)] == [1, 3]


def test_a_source_tells_where_each_copy_came_from(world: World) -> None:
    origin = world.stream("O", subjects=["o.*"])
    fill(world, "o.a", 2)
    copy = world.stream("C", sources=[{"name": "O", "filter_subject": "o.a"}])
    run(world)
    values = [headers.get(m.header, b"Nats-Stream-Source") for m in world.messages(copy)]
    identity = origin.identity.encode()
    assert values == [b"O 1 o.a > o.a " + identity, b"O 2 o.a > o.a " + identity]


def test_a_source_transforms_subjects_and_tells_the_original(world: World) -> None:
    world.stream("O", subjects=["o.*"])
    world.publish("o.a")
    transform = {"src": "o.*", "dest": "copy.{{wildcard(1)}}"}
    copy = world.stream("C", sources=[{"name": "O", "subject_transforms": [transform]}])
    run(world)
    (message,) = world.messages(copy)
    assert message.subject == "copy.a"
    assert b" o.* copy.{{wildcard(1)}} o.a " in message.header


def test_a_message_lost_on_the_way_is_asked_for_again(world: World) -> None:
    world.stream("O", subjects=["o"])
    copy = world.stream("C", sources=[{"name": "O"}])
    mirror = world.stream("M", mirror={"name": "O"})
    run(world)
    for stream in (copy, mirror):
        lose(origin_of(stream), lambda message: message.body == b"2")
    fill(world, "o", 4)
    run(world, 5)
    expected = [b"1", b"2", b"3", b"4"]
    assert (bodies(world, copy), bodies(world, mirror)) == (expected, expected)


def test_a_lost_last_message_is_noticed_by_the_next_heartbeat(world: World) -> None:
    world.stream("O", subjects=["o"])
    mirror = world.stream("M", mirror={"name": "O"})
    run(world)
    fill(world, "o", 1)
    lost = lose(origin_of(mirror), lambda message: message.body == b"2")
    fill(world, "o", 1, start=2)
    assert len(lost) == 1
    run(world, 6)
    assert bodies(world, mirror) == [b"1", b"2"]


def test_an_origin_that_falls_silent_is_asked_anew(world: World) -> None:
    world.stream("O", subjects=["o"])
    copy = world.stream("C", sources=[{"name": "O"}])
    run(world)
    first = origin_of(copy)._consumer
    lose(origin_of(copy), lambda _: True)
    fill(world, "o", 3)
    run(world, 15)
    assert origin_of(copy)._consumer != first
    assert bodies(world, copy) == [b"1", b"2", b"3"]


def test_a_first_question_that_nobody_answers_is_soon_put_again_and_then_seldom(world: World) -> None:
    asked: list[int] = []
    world.account.subscribe("$JS.far.API.CONSUMER.>", lambda _: asked.append(world.clock.now()))
    world.stream("M", mirror={"name": "O", "external": {"api": "$JS.far.API"}})
    run(world, 60)
    apart = [round((after - before) / SECOND) for before, after in itertools.pairwise(asked)]
    assert apart == [2, 20, 30]  # seconds: the patience, and the pause after a failure


def test_a_source_goes_on_where_it_was_after_a_restart(world: World) -> None:
    world.stream("O", subjects=["o"], storage="file")
    fill(world, "o", 3)
    world.stream("C", sources=[{"name": "O"}], storage="file")
    run(world)
    world.api.stop()
    world.js.stop()
    world.storage.close()
    world.open()
    fill(world, "o", 2, start=4)
    run(world)
    assert bodies(world, world.js.lookup("C")) == [b"1", b"2", b"3", b"4", b"5"]


def test_a_purged_copy_does_not_copy_everything_again(world: World) -> None:
    world.stream("O", subjects=["o"], storage="file")
    fill(world, "o", 3)
    copy = world.stream("C", sources=[{"name": "O"}], storage="file")
    run(world)
    copy.purge()
    world.api.stop()
    world.js.stop()
    world.storage.close()
    world.open()
    fill(world, "o", 1, start=4)
    run(world)
    assert bodies(world, world.js.lookup("C")) == [b"4"]


def test_positions_are_found_in_the_copies_after_a_crash(world: World) -> None:
    world.stream("O", subjects=["o"], storage="file")
    fill(world, "o", 3)
    copy = world.stream("C", sources=[{"name": "O"}], storage="file")
    run(world)
    copy.config.sources = []  # so that the stop saves nothing, as a crash would
    world.api.stop()
    world.js.stop()
    world.storage.close()
    world.open()
    fill(world, "o", 1, start=4)
    run(world)
    assert bodies(world, world.js.lookup("C")) == [b"1", b"2", b"3", b"4"]


def test_a_recreated_origin_is_copied_from_its_beginning(world: World) -> None:
    world.stream("O", subjects=["o"])
    fill(world, "o", 3)
    copy = world.stream("C", sources=[{"name": "O"}])
    run(world)
    world.js.delete("O")
    world.clock.advance(SECOND)
    world.stream("O", subjects=["o"])
    fill(world, "o", 2, start=7)
    run(world, 30)
    assert bodies(world, copy) == [b"1", b"2", b"3", b"7", b"8"]


def test_an_origin_that_is_not_there_is_an_error_in_the_info_until_it_comes(world: World) -> None:
    mirror = world.stream("M", mirror={"name": "O"})
    run(world)
    info = origin_of(mirror).info()
    assert info.error is not None
    assert (info.error.err_code, info.active) == (10059, -1)
    world.stream("O", subjects=["o"])
    fill(world, "o", 1)
    run(world, 4)
    assert origin_of(mirror).info().error is None
    assert bodies(world, mirror) == [b"1"]


def test_lag_and_activity_are_told(world: World) -> None:
    world.stream("O", subjects=["o"])
    copy = world.stream("C", sources=[{"name": "O"}])
    run(world)
    fill(world, "o", 2)
    world.clock.advance(300 * MILLISECOND)
    info = origin_of(copy).info()
    assert (info.lag, info.seq, info.error) == (0, 2, None)
    assert 0 <= info.active <= SECOND


def test_a_full_copy_takes_up_where_it_was_refused(world: World) -> None:
    world.stream("O", subjects=["o"])
    fill(world, "o", 3)
    copy = world.stream("C", sources=[{"name": "O"}], max_msgs=2, discard="new")
    run(world)
    error = origin_of(copy).info().error
    assert error is not None
    assert error.err_code == 10077
    copy.purge()
    run(world, 5)
    assert bodies(world, copy) == [b"3"]


def test_a_promoted_mirror_takes_messages_of_its_own(world: World) -> None:
    world.stream("O", subjects=["o"])
    fill(world, "o", 2)
    mirror = world.stream("M", mirror={"name": "O"})
    run(world)
    world.js.update(mirror.config.replace(mirror=None, subjects=["m"]))
    assert world.publish("m") == b'{"stream":"M","seq":3}'
    fill(world, "o", 1)
    run(world)
    assert mirror.store.messages == 3


def test_an_added_source_is_followed_and_a_removed_one_left(world: World) -> None:
    world.stream("O", subjects=["o"])
    world.stream("P", subjects=["p"])
    copy = world.stream("C", sources=[{"name": "O"}])
    run(world)
    world.js.update(
        copy.config.replace(sources=[*copy.config.sources, origin_of(copy).source.replace(name="P")])
    )
    world.publish("p", b"p")
    run(world)
    assert bodies(world, copy) == [b"p"]
    world.js.update(copy.config.replace(sources=copy.config.sources[1:]))
    fill(world, "o", 1)
    run(world)
    assert bodies(world, copy) == [b"p"]


def test_thousands_of_sources_are_opened_one_after_the_other(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slices, "SECONDS", 0.0)
    asked = Spy(world.account, "$JS.API.CONSUMER.CREATE.>")
    world.stream("A", subjects=["A"])
    fill(world, "A", 2)
    copy = world.stream("C", sources=[*({"name": f"N{n}"} for n in range(500)), {"name": "A"}])
    counts: list[int] = []

    def turn() -> None:
        counts.append(len(asked.messages))
        if counts[-1] <= 500:
            world.clock.call_later(0, turn)

    turn()
    world.clock.advance(0)
    assert counts == sorted(counts)
    assert {later - earlier for earlier, later in itertools.pairwise(counts)} <= {0, 1}
    run(world)
    assert bodies(world, copy) == [b"1", b"2"]


def test_an_origin_that_waits_for_its_turn_may_be_stopped(world: World) -> None:
    asked = Spy(world.account, "$JS.API.CONSUMER.CREATE.>")
    world.stream("A", subjects=["A"])
    copy = world.stream("C", sources=[{"name": "N"}, {"name": "A"}])
    world.js.update(StreamConfig.from_json({"name": "C", "storage": "memory", "sources": [{"name": "N"}]}))
    run(world)
    assert [message.subject.split(".")[4] for message in asked.messages] == ["N"]
    assert copy.sourcing is not None
    assert [info.name for info in at_once(copy.sourcing.source_infos())] == ["N"]
