"""The publisher's window and acknowledgements, and what happens without them, against a fake stream."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from lib.fake_stream import FakeStream, refused, stored
from lib.jetstream import ALONE, JetStream
from lib.process import ServerProcess
from lib.wire import Msg
from pyjs.client import ConnectionOptions
from pyjs.pipeline.sink import RowRejected, Unacknowledged, publisher
from pyjs.pipeline.sink.publisher import FramePublisher

PLAIN = "listen: 127.0.0.1:<client>\n"


@pytest.fixture
def plain(serve: Callable[[str], ServerProcess]) -> ServerProcess:
    """A server without JetStream: only the test answers."""
    return serve(PLAIN)


@pytest.fixture
def publish(unique: str) -> Iterator[Callable[..., FramePublisher]]:
    """publish(server, count, **options): the publisher, when `count` frames to `unique` are acknowledged."""
    opened: list[FramePublisher] = []

    def run(
        server: ServerProcess, count: int, stream: str = "", size: int = 0, **options: Any
    ) -> FramePublisher:
        address = ConnectionOptions((server.url,), timeout=5.0)
        made = FramePublisher(address, called=lambda row: f"row {row}", **({"seconds": 20.0} | options))
        opened.append(made)
        made.stream = stream
        bodies = [b"%d" % number + b"x" * size for number in range(count)]
        made.publish(
            [
                b"PUB %b %b.%d %d\r\n%b\r\n" % (unique.encode(), made.inbox.encode(), row, len(body), body)
                for row, body in enumerate(bodies)
            ]
        )
        made.finish()
        return made

    yield run
    for made in opened:
        made.connection.close()


def test_frames_go_out_in_order_and_each_once(plain: ServerProcess, publish: Any, unique: str) -> None:
    with FakeStream(plain, unique, lambda _m, _c: stored("FAKE")) as fake:
        made = publish(plain, 500, window=64)
        assert fake.bodies == [str(number) for number in range(500)]
    assert (made.sent, made.stored, made.duplicates) == (500, 500, 0)


@pytest.mark.parametrize(("window", "size", "most"), [(10, 0, 10), (1, 0, 1), (1000, 1 << 20, 8)])
def test_never_more_in_flight_than_the_window_and_the_bytes_allow(
    plain: ServerProcess, publish: Any, unique: str, window: int, size: int, most: int
) -> None:
    unanswered: list[Msg] = []
    depth: list[int] = []

    def release() -> None:
        answered, unanswered[:] = list(unanswered), []
        for message in answered:
            fake.say(message, stored("FAKE"))

    def answer(message: Msg, _count: int) -> None:
        unanswered.append(message)
        depth.append(len(unanswered))
        if len(unanswered) == min(most, 40 - len(depth) + len(unanswered)):
            threading.Timer(0.02, release).start()  # what should not come would come now

    with FakeStream(plain, unique, answer) as fake:
        publish(plain, 40, window=window, size=size and size - 100)
    assert len(depth) == 40
    assert max(depth) == most


def test_duplicates_are_counted(plain: ServerProcess, publish: Any, unique: str) -> None:
    with FakeStream(plain, unique, lambda m, _c: stored("FAKE", duplicate=m.body in {b"1", b"3"})):
        assert publish(plain, 5).duplicates == 2


def test_what_gets_no_answer_is_sent_again_and_only_that(
    plain: ServerProcess, publish: Any, unique: str
) -> None:
    def answer(message: Msg, count: int) -> dict[str, Any] | None:
        return None if message.body in {b"3", b"7"} and count == 1 else stored("FAKE")

    with FakeStream(plain, unique, answer) as fake:
        made = publish(plain, 10, seconds=2.0)
    assert sorted(fake.bodies) == sorted([*map(str, range(10)), "3", "7"])
    assert made.stored == 10


@pytest.mark.parametrize(
    "passing",
    [
        refused(429, 10167, "too many requests"),
        refused(503, 10008, "JetStream system temporarily unavailable"),
        refused(409, 10158, "duplicate message id is in process"),
    ],
)
def test_a_refusal_that_passes_is_tried_again(
    plain: ServerProcess, publish: Any, unique: str, passing: dict[str, Any]
) -> None:
    def answer(message: Msg, count: int) -> dict[str, Any]:
        return passing if message.body == b"2" and count < 3 else stored("FAKE")

    with FakeStream(plain, unique, answer) as fake:
        made = publish(plain, 5)
    assert fake.bodies.count("2") == 3
    assert len(fake.bodies) == 7
    assert made.stored == 5


def test_a_late_answer_of_the_first_copy_counts_and_that_of_the_second_is_ignored(
    plain: ServerProcess, publish: Any, unique: str
) -> None:
    unanswered: list[Msg] = []

    def answer(message: Msg, count: int) -> dict[str, Any] | None:
        if message.body != b"0":
            return stored("FAKE")
        unanswered.append(message)
        if count == 1:
            return None
        fake.say(message, stored("FAKE"))
        return refused(400, 10071, "wrong last sequence: 5")

    with FakeStream(plain, unique, answer) as fake:
        assert publish(plain, 3, seconds=2.0).stored == 3
    assert len(unanswered) == 2


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (
            refused(503, 10077, "maximum messages exceeded"),
            "maximum messages exceeded: the stream is full and",
        ),
        (refused(400, 10071, "wrong last sequence: 5"), "wrong last sequence: 5 (10071)"),
        (b"thanks", "what answered is no stream"),
        (b"", "what answered is no stream"),
        (b"17", "what answered is no stream"),
        (stored("OTHER"), "stored by stream OTHER, not by FAKE: see the option stream"),
    ],
)
def test_what_no_other_try_will_change_is_an_error_that_names_row_and_subject(
    plain: ServerProcess, publish: Any, unique: str, answer: Any, text: str
) -> None:
    with (
        FakeStream(plain, unique, lambda m, _c: answer if m.body == b"3" else stored("FAKE")),
        pytest.raises(RowRejected) as raised,
    ):
        publish(plain, 10, stream="FAKE")
    assert str(raised.value).startswith(f"row 3, subject {unique}: ")
    assert text in str(raised.value)


def test_silence_to_the_end_is_an_error_that_says_for_how_long(
    plain: ServerProcess, publish: Any, unique: str
) -> None:
    def answer(message: Msg, _count: int) -> dict[str, Any] | None:
        return None if int(message.body) > 7 else stored("FAKE")

    with FakeStream(plain, unique, answer) as fake, pytest.raises(Unacknowledged) as raised:
        publish(plain, 10, seconds=0.4)
    text = f"row 8, subject {unique}: no acknowledgement within 0.4 s (2 rows are without one); see delivery"
    assert str(raised.value).startswith(text)
    assert 2 <= fake.bodies.count("8") <= publisher.TRIES


def test_what_never_passes_says_what_the_server_said(plain: ServerProcess, publish: Any, unique: str) -> None:
    def answer(_message: Msg, _count: int) -> dict[str, Any]:
        return refused(429, 10167, "too many requests")

    with FakeStream(plain, unique, answer), pytest.raises(Unacknowledged, match="one\\): too many requests;"):
        publish(plain, 2, seconds=0.5)


def test_without_jetstream_a_subject_nobody_receives_is_waited_for(
    plain: ServerProcess, publish: Any, unique: str
) -> None:
    with pytest.raises(Unacknowledged, match="nobody answers"):
        publish(plain, 2, seconds=0.5)


def test_a_subject_that_no_stream_stores_is_an_error_at_once(
    serve: Callable[[str], ServerProcess], publish: Any, unique: str
) -> None:
    with pytest.raises(RowRejected, match=f"row 0, subject {unique}: no stream stores this subject"):
        publish(serve(ALONE), 2, seconds=60.0)


def test_a_stream_that_appears_in_time_gets_the_rows(
    serve: Callable[[str], ServerProcess], publish: Any, unique: str
) -> None:
    """As after a restart: neither the stream nor the API answers yet."""
    server = serve(ALONE)
    with JetStream.of(server) as js:
        js.create(unique, subjects=["nothing.here"])
        timer = threading.Timer(0.3, lambda: js.update(unique, subjects=[unique]))
        timer.start()
        made = publish(server, 3, prefix="$JS.nowhere.API")
        timer.join()
        assert made.stored == js.state(unique)["messages"] == 3


def test_nobody_at_the_address_is_an_error_after_its_time(publish: Any, plain: ServerProcess) -> None:
    nowhere = ConnectionOptions(("nats://127.0.0.1:1",), timeout=1.0)
    with pytest.raises(Unacknowledged, match=r"nowhere to write to within 0\.3 s: .*refused"):
        FramePublisher(nowhere, called=str, seconds=0.3)


def test_a_lost_connection_is_made_again_and_what_has_no_answer_sent_again(
    launch: Callable[[str], ServerProcess], publish: Any, unique: str
) -> None:
    """The server answers half, ends, and is back; another subscriber plays the stream then."""
    server = launch(PLAIN)
    gone, done = threading.Event(), threading.Event()
    first, second = [], []

    def half(message: Msg, _count: int) -> dict[str, Any] | None:
        first.append(int(message.body))
        if len(first) == 10:
            gone.set()
        return stored("FAKE") if int(message.body) % 2 == 0 else None

    def rest(message: Msg, _count: int) -> dict[str, Any]:
        second.append(int(message.body))
        return stored("FAKE")

    def play() -> None:
        with FakeStream(server, unique, half):
            assert gone.wait(20)
        server.restart()
        with FakeStream(server, unique, rest):
            assert done.wait(60)

    thread = threading.Thread(target=play)
    thread.start()
    try:
        made = publish(server, 10, seconds=60.0)
    finally:
        done.set()
        thread.join()
    assert made.stored == 10
    assert sorted(set(second)) == [1, 3, 5, 7, 9]
