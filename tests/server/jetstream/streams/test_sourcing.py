"""Mirrors and sources: copies without gap and without duplicate."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
from lib.streams import JetStreamFixture, Spy
from pyjs.protocol import headers
from pyjs.protocol.api.stream import StreamConfig
from pyjs.server import slices
from pyjs.server.accounts.subscription import DeliveredRun, Message, RunSubscription
from pyjs.server.jetstream.consumers.core import Consumer
from pyjs.server.jetstream.streams.core import Stream
from pyjs.server.jetstream.streams.origin_consumer import Origin
from pyjs.server.slices import at_once

SECOND = 1_000_000_000
MILLISECOND = 1_000_000


def fill(fixture: JetStreamFixture, subject: str, count: int, start: int = 1) -> None:
    for number in range(start, start + count):
        fixture.publish(subject, str(number).encode())


def run(fixture: JetStreamFixture, seconds: int = 1) -> None:
    for _ in range(seconds * 10):
        fixture.clock.advance(100 * MILLISECOND)


def bodies(fixture: JetStreamFixture, stream: Stream[Consumer]) -> list[bytes]:
    return [message.body for message in fixture.messages(stream)]


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

    def arrived_together(run: DeliveredRun) -> None:
        for place, (seq, subject, header, body, time) in enumerate(run.messages):
            left = run.pending + len(run.messages) - 1 - place
            reply = f"{run.ack_prefix}{seq}.{run.number + place}.{time}.{left}"
            arrived(Message(subject, reply, header, body, None))

    assert isinstance(subscription, RunSubscription)
    subscription.callback, subscription.run_callback = arrived, arrived_together
    return lost


def test_a_mirror_has_the_sequences_times_and_gaps_of_its_origin(fixture: JetStreamFixture) -> None:
    origin = fixture.stream("O", subjects=["o.*"])
    fill(fixture, "o.a", 2)
    fixture.clock.advance(SECOND)
    fill(fixture, "o.b", 2)
    origin.removal.delete_message(2, erase=False)
    mirror = fixture.stream("M", mirror={"name": "O"})
    run(fixture)
    assert fixture.messages(mirror) == fixture.messages(origin)
    assert mirror.store.last_seq == 4
    fill(fixture, "o.c", 1)
    run(fixture)
    assert fixture.messages(mirror) == fixture.messages(origin)


def test_a_mirror_starts_where_it_is_told(fixture: JetStreamFixture) -> None:
    fixture.stream("O", subjects=["o"])
    fill(fixture, "o", 5)
    mirror = fixture.stream("M", mirror={"name": "O", "opt_start_seq": 3})
    run(fixture)
    assert (mirror.store.first_seq, bodies(fixture, mirror)) == (3, [b"3", b"4", b"5"])


def test_a_filtered_mirror_skips_what_it_does_not_copy(fixture: JetStreamFixture) -> None:
    fixture.stream("O", subjects=["o.*"])
    for subject in ("o.a", "o.b", "o.a"):
        fixture.publish(subject)
    mirror = fixture.stream("M", mirror={"name": "O", "filter_subject": "o.a"})
    run(fixture)
    assert [m.seq for m in fixture.messages(mirror)] == [1, 3]


def test_a_source_shows_where_each_copy_came_from(fixture: JetStreamFixture) -> None:
    origin = fixture.stream("O", subjects=["o.*"])
    fill(fixture, "o.a", 2)
    copy = fixture.stream("C", sources=[{"name": "O", "filter_subject": "o.a"}])
    run(fixture)
    values = [headers.get(m.header, b"Nats-Stream-Source") for m in fixture.messages(copy)]
    identity = origin.identity.encode()
    assert values == [b"O 1 o.a > o.a " + identity, b"O 2 o.a > o.a " + identity]


def test_a_source_transforms_subjects_and_shows_the_original(fixture: JetStreamFixture) -> None:
    fixture.stream("O", subjects=["o.*"])
    fixture.publish("o.a")
    transform = {"src": "o.*", "dest": "copy.{{wildcard(1)}}"}
    copy = fixture.stream("C", sources=[{"name": "O", "subject_transforms": [transform]}])
    run(fixture)
    (message,) = fixture.messages(copy)
    assert message.subject == "copy.a"
    assert b" o.* copy.{{wildcard(1)}} o.a " in message.header


def test_a_message_lost_on_the_way_is_asked_for_again(fixture: JetStreamFixture) -> None:
    fixture.stream("O", subjects=["o"])
    copy = fixture.stream("C", sources=[{"name": "O"}])
    mirror = fixture.stream("M", mirror={"name": "O"})
    run(fixture)
    for stream in (copy, mirror):
        lose(origin_of(stream), lambda message: message.body == b"2")
    fill(fixture, "o", 4)
    run(fixture, 5)
    expected = [b"1", b"2", b"3", b"4"]
    assert (bodies(fixture, copy), bodies(fixture, mirror)) == (expected, expected)


def test_a_lost_last_message_is_noticed_by_the_next_heartbeat(fixture: JetStreamFixture) -> None:
    fixture.stream("O", subjects=["o"])
    mirror = fixture.stream("M", mirror={"name": "O"})
    run(fixture)
    fill(fixture, "o", 1)
    lost = lose(origin_of(mirror), lambda message: message.body == b"2")
    fill(fixture, "o", 1, start=2)
    fixture.clock.advance(0)  # on a slow machine it is delivered in later turns
    assert len(lost) == 1
    run(fixture, 6)
    assert bodies(fixture, mirror) == [b"1", b"2"]


def test_an_origin_that_falls_silent_is_asked_again(fixture: JetStreamFixture) -> None:
    fixture.stream("O", subjects=["o"])
    copy = fixture.stream("C", sources=[{"name": "O"}])
    run(fixture)
    first = origin_of(copy)._consumer
    lose(origin_of(copy), lambda _: True)
    fill(fixture, "o", 3)
    run(fixture, 15)
    assert origin_of(copy)._consumer != first
    assert bodies(fixture, copy) == [b"1", b"2", b"3"]


def test_a_first_question_that_nobody_answers_is_soon_put_again_and_then_seldom(
    fixture: JetStreamFixture,
) -> None:
    asked: list[int] = []
    fixture.account.subscribe("$JS.far.API.CONSUMER.>", lambda _: asked.append(fixture.clock.now()))
    fixture.stream("M", mirror={"name": "O", "external": {"api": "$JS.far.API"}})
    run(fixture, 60)
    apart = [round((after - before) / SECOND) for before, after in itertools.pairwise(asked)]
    assert apart == [2, 20, 30]  # seconds: the patience, and the pause after a failure


def test_a_source_goes_on_where_it_was_after_a_restart(fixture: JetStreamFixture) -> None:
    fixture.stream("O", subjects=["o"], storage="file")
    fill(fixture, "o", 3)
    fixture.stream("C", sources=[{"name": "O"}], storage="file")
    run(fixture)
    fixture.api.stop()
    fixture.js.stop()
    fixture.storage.close()
    fixture.open()
    fill(fixture, "o", 2, start=4)
    run(fixture)
    assert bodies(fixture, fixture.js.lookup("C")) == [b"1", b"2", b"3", b"4", b"5"]


def test_a_purged_copy_does_not_copy_everything_again(fixture: JetStreamFixture) -> None:
    fixture.stream("O", subjects=["o"], storage="file")
    fill(fixture, "o", 3)
    copy = fixture.stream("C", sources=[{"name": "O"}], storage="file")
    run(fixture)
    copy.removal.purge()
    fixture.api.stop()
    fixture.js.stop()
    fixture.storage.close()
    fixture.open()
    fill(fixture, "o", 1, start=4)
    run(fixture)
    assert bodies(fixture, fixture.js.lookup("C")) == [b"4"]


def test_positions_are_found_in_the_copies_after_a_crash(fixture: JetStreamFixture) -> None:
    fixture.stream("O", subjects=["o"], storage="file")
    fill(fixture, "o", 3)
    copy = fixture.stream("C", sources=[{"name": "O"}], storage="file")
    run(fixture)
    copy.config.sources = []  # so that the stop saves nothing, as a crash would
    fixture.api.stop()
    fixture.js.stop()
    fixture.storage.close()
    fixture.open()
    fill(fixture, "o", 1, start=4)
    run(fixture)
    assert bodies(fixture, fixture.js.lookup("C")) == [b"1", b"2", b"3", b"4"]


def test_a_recreated_origin_is_copied_from_its_beginning(fixture: JetStreamFixture) -> None:
    fixture.stream("O", subjects=["o"])
    fill(fixture, "o", 3)
    copy = fixture.stream("C", sources=[{"name": "O"}])
    run(fixture)
    fixture.js.delete("O")
    fixture.clock.advance(SECOND)
    fixture.stream("O", subjects=["o"])
    fill(fixture, "o", 2, start=7)
    run(fixture, 30)
    assert bodies(fixture, copy) == [b"1", b"2", b"3", b"7", b"8"]


def test_an_origin_that_is_not_there_is_an_error_in_the_info_until_it_comes(
    fixture: JetStreamFixture,
) -> None:
    mirror = fixture.stream("M", mirror={"name": "O"})
    run(fixture)
    info = origin_of(mirror).info()
    assert info.error is not None
    assert (info.error.err_code, info.active) == (10059, -1)
    fixture.stream("O", subjects=["o"])
    fill(fixture, "o", 1)
    run(fixture, 4)
    assert origin_of(mirror).info().error is None
    assert bodies(fixture, mirror) == [b"1"]


def test_lag_and_activity_are_reported(fixture: JetStreamFixture) -> None:
    fixture.stream("O", subjects=["o"])
    copy = fixture.stream("C", sources=[{"name": "O"}])
    run(fixture)
    fill(fixture, "o", 2)
    fixture.clock.advance(300 * MILLISECOND)
    info = origin_of(copy).info()
    assert (info.lag, info.seq, info.error) == (0, 2, None)
    assert 0 <= info.active <= SECOND


def test_a_full_copy_takes_up_where_it_was_refused(fixture: JetStreamFixture) -> None:
    fixture.stream("O", subjects=["o"])
    fill(fixture, "o", 3)
    copy = fixture.stream("C", sources=[{"name": "O"}], max_msgs=2, discard="new")
    run(fixture)
    error = origin_of(copy).info().error
    assert error is not None
    assert error.err_code == 10077
    copy.removal.purge()
    run(fixture, 5)
    assert bodies(fixture, copy) == [b"3"]


def test_a_promoted_mirror_takes_messages_of_its_own(fixture: JetStreamFixture) -> None:
    fixture.stream("O", subjects=["o"])
    fill(fixture, "o", 2)
    mirror = fixture.stream("M", mirror={"name": "O"})
    run(fixture)
    fixture.js.update(mirror.config.replace(mirror=None, subjects=["m"]))
    assert fixture.publish("m") == b'{"stream":"M","seq":3}'
    fill(fixture, "o", 1)
    run(fixture)
    assert mirror.store.messages == 3


def test_an_added_source_is_followed_and_a_removed_one_left(fixture: JetStreamFixture) -> None:
    fixture.stream("O", subjects=["o"])
    fixture.stream("P", subjects=["p"])
    copy = fixture.stream("C", sources=[{"name": "O"}])
    run(fixture)
    fixture.js.update(
        copy.config.replace(sources=[*copy.config.sources, origin_of(copy).source.replace(name="P")])
    )
    fixture.publish("p", b"p")
    run(fixture)
    assert bodies(fixture, copy) == [b"p"]
    fixture.js.update(copy.config.replace(sources=copy.config.sources[1:]))
    fill(fixture, "o", 1)
    run(fixture)
    assert bodies(fixture, copy) == [b"p"]


def test_thousands_of_sources_are_opened_one_after_the_other(
    fixture: JetStreamFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slices, "SECONDS", 0.0)
    asked = Spy(fixture.account, "$JS.API.CONSUMER.CREATE.>")
    fixture.stream("A", subjects=["A"])
    fill(fixture, "A", 2)
    copy = fixture.stream("C", sources=[*({"name": f"N{n}"} for n in range(500)), {"name": "A"}])
    counts: list[int] = []

    def turn() -> None:
        counts.append(len(asked.messages))
        if counts[-1] <= 500:
            fixture.clock.call_later(0, turn)

    turn()
    fixture.clock.advance(0)
    assert counts == sorted(counts)
    assert {later - earlier for earlier, later in itertools.pairwise(counts)} <= {0, 1}
    run(fixture)
    assert bodies(fixture, copy) == [b"1", b"2"]


def test_sources_that_wait_for_their_turn_are_shown_as_never_active(
    fixture: JetStreamFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slices, "SECONDS", 0.0)
    names = [f"N{n}" for n in range(5)]
    later: list[Callable[[], None]] = []
    monkeypatch.setattr(fixture.host.executor, "soon", later.append)
    copy = fixture.stream("C", sources=[{"name": name} for name in names])
    assert copy.sourcing is not None
    infos = at_once(copy.sourcing.source_infos())
    assert [(info.name, info.active) for info in infos] == [(name, -1) for name in names]


def test_an_origin_that_waits_for_its_turn_may_be_stopped(fixture: JetStreamFixture) -> None:
    asked = Spy(fixture.account, "$JS.API.CONSUMER.CREATE.>")
    fixture.stream("A", subjects=["A"])
    copy = fixture.stream("C", sources=[{"name": "N"}, {"name": "A"}])
    fixture.js.update(StreamConfig.from_json({"name": "C", "storage": "memory", "sources": [{"name": "N"}]}))
    run(fixture)
    assert [message.subject.split(".")[4] for message in asked.messages] == ["N"]
    assert copy.sourcing is not None
    assert [info.name for info in at_once(copy.sourcing.source_infos())] == ["N"]
