"""Direct gets: single messages, batches, the last of many subjects, and the statuses when there is none."""

from __future__ import annotations

import errno
import itertools
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lib.streams import HandRunner, JetStreamFixture, Spy
from pyjs.native import read_gets
from pyjs.protocol import gojson, headers
from pyjs.protocol.api.messages import MsgGetRequest
from pyjs.protocol.subject import has_wildcard
from pyjs.server import slices
from pyjs.server.accounts.account import Account, HeadedAnswer
from pyjs.server.accounts.subscription import Message
from pyjs.server.clock import SECOND
from pyjs.server.jetstream.overload import RequestQueues
from pyjs.server.jetstream.streams import direct
from pyjs.server.logging import NullLogger


class Errors(NullLogger):
    """Keeps the errors."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def error(self, text: str) -> None:
        self.lines.append(text)


@pytest.fixture
def filled(fixture: JetStreamFixture) -> JetStreamFixture:
    fixture.stream(subjects=["s.*"], allow_direct=True)
    for number, name in enumerate("abcab", 1):
        fixture.publish(f"s.{name}", str(number).encode(), Mine="x")
    return fixture


def ask(fixture: JetStreamFixture, body: Any = b"", subject: str = "") -> list[Message]:
    """All answers to one request."""
    reply = f"_INBOX.{fixture.host.new_id()}"
    spy = Spy(fixture.account, reply)
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    fixture.account.publish(f"$JS.API.DIRECT.GET.S{subject}", data, reply=reply, own=True)
    return spy.messages


def status(message: Message) -> str:
    code, text = headers.status(message.header)
    return f"{code} {text}"


def test_a_message_comes_with_where_it_is_behind_its_own_headers(filled: JetStreamFixture) -> None:
    (message,) = ask(filled, {"seq": 2})
    assert message.body == b"2"
    lines = message.header.decode().split("\r\n")
    assert lines[1:5] == ["Mine: x", "Nats-Stream: S", "Nats-Subject: s.b", "Nats-Sequence: 2"]


def test_the_last_of_a_subject_is_read_by_the_requests_subject(filled: JetStreamFixture) -> None:
    assert [m.body for m in ask(filled, subject=".s.a")] == [b"4"]


def test_a_batch_ends_with_what_is_left(filled: JetStreamFixture) -> None:
    *messages, end = ask(filled, {"next_by_subj": "s.>", "batch": 3})
    assert [m.body for m in messages] == [b"1", b"2", b"3"]
    assert status(end) == "204 EOB"
    assert headers.get(end.header, b"Nats-Num-Pending") == b"2"
    assert headers.get(end.header, b"Nats-Last-Sequence") == b"3"


def test_the_last_of_many_subjects_come_in_order(filled: JetStreamFixture) -> None:
    *messages, end = ask(filled, {"multi_last": ["s.*"]})
    assert [m.body for m in messages] == [b"3", b"4", b"5"]
    assert headers.get(end.header, b"Nats-UpTo-Sequence") == b"5"
    *messages, _ = ask(filled, {"multi_last": ["s.*"], "up_to_seq": 3})
    assert [m.body for m in messages] == [b"1", b"2", b"3"]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"", "408 Empty Request"),
        (b"{}", "408 Empty Request"),
        (b"nonsense", "408 Malformed Request"),
        ({"seq": 1, "last_by_subj": "s.a"}, "408 Bad Request"),
        ({"last_by_subj": "s.a", "batch": 2}, "408 Bad Request"),
        ({"seq": 99}, "404 Message Not Found"),
        ({"last_by_subj": "other"}, "404 Message Not Found"),
        ({"multi_last": ["other"]}, "404 No Results"),
    ],
)
def test_what_cannot_be_given_is_said_in_a_status(filled: JetStreamFixture, body: Any, expected: str) -> None:
    (answer,) = ask(filled, body)
    assert status(answer) == expected


def test_too_many_results_are_refused(filled: JetStreamFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(direct, "MOST_RESULTS", 2)
    (answer,) = ask(filled, {"multi_last": ["s.*"]})
    assert status(answer) == "413 Too Many Results"


@pytest.mark.parametrize(
    ("method", "body"),
    [("get", {"seq": 1}), ("next_run", {"seq": 1, "batch": 2}), ("matching", {"multi_last": ["s.*"]})],
)
def test_an_unexpected_error_is_answered_and_logged(
    filled: JetStreamFixture, monkeypatch: pytest.MonkeyPatch, method: str, body: Any
) -> None:
    def broken(*_: object) -> Any:
        raise OSError(errno.EIO, "Input/output\r\nerror")

    log = Errors()
    filled.host.log = log
    monkeypatch.setattr(filled.js.lookup("S").store, method, broken)
    (answer,) = ask(filled, body)
    assert status(answer) == "500 [Errno 5] Input/output error"
    assert answer.header.endswith(b"error\r\n\r\n")
    (line,) = log.lines
    assert "can not serve a direct get" in line
    monkeypatch.undo()
    assert ask(filled, body)[0].body


def test_an_error_in_the_middle_of_a_batch_ends_it_with_its_status(
    filled: JetStreamFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(direct, "_AHEAD", 1)
    store = filled.js.lookup("S").store
    next_run = store.next_run

    def broken(filters: Any, sequence: int, *rest: Any) -> Any:
        if sequence == 3:
            raise AssertionError
        return next_run(filters, sequence, *rest)

    monkeypatch.setattr(store, "next_run", broken)
    *messages, end = ask(filled, {"next_by_subj": "s.>", "batch": 5})
    assert [m.body for m in messages] == [b"1", b"2"]
    assert status(end) == "500 AssertionError"


def together(fixture: JetStreamFixture, *requests: tuple[str, Any]) -> list[str]:
    """What is answered to requests (subject, body) of one read, in order: the body or the status of each."""
    reply = f"_INBOX.{fixture.host.new_id()}"
    spy = Spy(fixture.account, reply)
    run = []
    for subject, asked in requests:
        body = asked if isinstance(asked, bytes) else json.dumps(asked).encode()
        tail = b"%b %d\r\n%b\r\n" % (reply.encode(), len(body), body)
        run.append((f"$JS.API.DIRECT.GET.S{subject}".encode(), reply.encode(), 0, len(body), tail))
    (group,) = fixture.account.plan(run[0][0]).groups
    assert group.members[0].batch_callback is not None
    group.members[0].batch_callback(run)
    return [message.body.decode() or status(message) for message in spy.messages]


MIXED = [
    ("", {"seq": 2}),
    (".s.a", b""),
    ("", {"last_by_subj": "s.b"}),
    ("", {"seq": 9}),
    ("", {"seq": 1, "no_hdr": True}),
    ("", {"next_by_subj": "s.b", "seq": 3}),
    (".s.*", b""),
    ("", {"last_by_subj": "s.>"}),
    ("", b"nonsense"),
    (".none", b""),
    (".s.c", b""),
]
ANSWERED = ["2", "4", "5", "404 Message Not Found", "1", "5", "5", "5", "408 Malformed Request"]
ANSWERED += ["404 Message Not Found", "3"]


def test_what_comes_together_is_answered_in_order(filled: JetStreamFixture) -> None:
    assert together(filled, *MIXED) == ANSWERED


def test_the_answers_to_what_comes_together_are_sent_together(
    filled: JetStreamFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[list[HeadedAnswer]] = []
    monkeypatch.setattr(filled.js.lookup("S").output, "send_answers", sent.append)
    together(filled, *MIXED[:4])
    assert [[body for _, _, body in answers] for answers in sent] == [[b"2", b"4", b"5", b""]]


class LaterRunner(HandRunner):
    """Keeps what is to run in a later turn."""

    def __init__(self) -> None:
        super().__init__()
        self.next: list[Callable[[], None]] = []

    def soon(self, callback: Callable[[], None]) -> None:
        self.next.append(callback)

    def turn(self) -> None:
        due, self.next = self.next, []
        for callback in due:
            callback()


@pytest.mark.parametrize("busy", [False, True])
def test_what_there_is_no_time_for_is_answered_in_later_turns_and_in_order(
    filled: JetStreamFixture, monkeypatch: pytest.MonkeyPatch, busy: bool
) -> None:
    seconds = [0.0]
    monkeypatch.setattr(slices, "perf_counter", lambda: seconds[0])
    runner = LaterRunner()
    filled.host.turns = slices.TurnScheduler(runner.soon)
    store = filled.js.lookup("S").store
    get = store.get

    def slow(sequence: int) -> Any:
        seconds[0] += slices.SECONDS * 0.4
        return get(sequence)

    monkeypatch.setattr(store, "get", slow)
    if busy:
        filled.host.turns.soon(lambda: None)
    reply = "_INBOX.x"
    spy = Spy(filled.account, reply)
    for numbers in ((1, 2), (3, 4), (5, 1)):
        run = []
        for number in numbers:
            body = b'{"seq":%d}' % number
            run.append((b"$JS.API.DIRECT.GET.S", reply.encode(), 0, len(body), body + b"\r\n"))
        (group,) = filled.account.plan(run[0][0]).groups
        assert group.members[0].batch_callback is not None
        group.members[0].batch_callback(run)
    counts = [len(spy.messages)]
    while runner.next:
        runner.turn()
        counts.append(len(spy.messages))
    assert [message.body for message in spy.messages] == [b"1", b"2", b"3", b"4", b"5", b"1"]
    assert counts == ([0, 3, 6] if busy else [3, 6])


def test_a_request_that_would_wait_behind_too_many_is_refused(filled: JetStreamFixture) -> None:
    filled.host.queues = RequestQueues(2)
    filled.host.system = Account("SYS", filled.account.flusher)
    heard = Spy(filled.host.system, "$JS.EVENT.ADVISORY.API.LIMIT_REACHED")
    filled.host.turns = slices.TurnScheduler(LaterRunner().soon)
    for _ in range(2):
        filled.host.turns.soon(lambda: None)
    assert together(filled, ("", {"seq": 1})) == ["503 Insufficient Resources"]
    assert together(filled, (".s.a", b"")) == ["503 Insufficient Resources"]
    (answer,) = ask(filled, {"seq": 1})
    assert status(answer) == "503 Insufficient Resources"
    (event,) = map(json.loads, heard.bodies)  # the others are heard of a second later
    assert (event["type"], event["dropped"]) == ("io.nats.jetstream.advisory.v1.api_limit_reached", 1)
    filled.clock.advance(SECOND)
    ask(filled, {"seq": 1})
    assert json.loads(heard.bodies[1])["dropped"] == 3


@pytest.mark.parametrize("count", [1, 3])
def test_nobody_is_answered_without_a_reply(filled: JetStreamFixture, count: int) -> None:
    everything = Spy(filled.account, ">")
    (group,) = filled.account.plan(b"$JS.API.DIRECT.GET.S").groups
    assert group.members[0].batch_callback is not None
    group.members[0].batch_callback([(b"$JS.API.DIRECT.GET.S", b"", 0, 9, b'9\r\n{"seq":1}\r\n')] * count)
    assert everything.messages == []


def read(body: bytes, before: bytes) -> int | str | None:
    """What a request with this body asks for. before: what precedes it in its frame, after the subject."""
    publish = (b"$JS.API.DIRECT.GET.S", b"r", 0, len(body), before + body + b"\r\n")
    return read_gets([publish])[0]


sequences = st.integers(0, 7) | st.sampled_from([10**18, 10**19, 2**64 - 1, 2**64, -1])
words = st.sampled_from(["s.a", "s.b", "s.none", "s.*", ">", "", "s.\u00e9", 's."', "s.\\", "s.\x7f", "s. a"])
bodies = st.one_of(
    st.builds(lambda seq: {"seq": seq}, sequences),
    st.builds(lambda word: {"last_by_subj": word}, words),
    st.builds(lambda seq, word: {"seq": seq, "last_by_subj": word}, sequences, words),
    st.sampled_from([{"SEQ": 2}, {"seq": "2"}, {"seq": 1.0}, {"last_by_subj": 1}, {"seq": True}]),
)
spaces = st.sampled_from([(", ", ": "), (",", ":"), (" ,", " : ")])


@given(bodies, spaces, st.booleans(), st.sampled_from(["", " ", "\n"]))
def test_what_is_read_without_decoding_is_what_decoding_reads(
    asked: Any, separators: tuple[str, str], ascii_only: bool, around: str
) -> None:
    body = (around + json.dumps(asked, separators=separators, ensure_ascii=ascii_only) + around).encode()
    wanted = read(body, b"r %d\r\n" % len(body))
    if wanted is None:
        return
    request = MsgGetRequest.from_json(gojson.decode(body))
    assert request == (
        MsgGetRequest(last_by_subj=wanted) if isinstance(wanted, str) else MsgGetRequest(seq=wanted)
    )
    assert wanted and not (isinstance(wanted, str) and has_wildcard(wanted))


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        (b'{"seq":2}', 2),
        (b'{"seq": 2}', 2),
        (b'{ "last_by_subj": "s.a" }', "s.a"),
        (b'{"seq":0}', None),
        (b'{"seq":02}', None),
        (b'{"last_by_subj":"s.*"}', None),
        (b"", None),
    ],
)
def test_which_requests_are_read_without_decoding(body: bytes, wanted: str | int | None) -> None:
    assert read(body, b"9\r\n") == wanted


def test_many_large_messages_are_sent_in_steps(filled: JetStreamFixture) -> None:
    runner = LaterRunner()
    filled.host.turns = slices.TurnScheduler(runner.soon)
    for name in "defgh":
        filled.publish(f"s.{name}", b"x" * direct._AHEAD_SIZE)
    reply = "_INBOX.many"
    spy = Spy(filled.account, reply)
    filled.account.publish(
        "$JS.API.DIRECT.GET.S", json.dumps({"multi_last": ["s.*"]}).encode(), reply=reply, own=True
    )
    counts = [len(spy.messages)]
    while runner.next:
        runner.turn()
        counts.append(len(spy.messages))
    assert [after - before for before, after in itertools.pairwise(counts)] == [0, 4, 1, 1, 1, 2]
    assert status(spy.messages[-1]) == "204 EOB"


def test_a_stream_that_forbids_it_does_not_listen(filled: JetStreamFixture) -> None:
    filled.js.update(filled.js.lookup("S").config.replace(allow_direct=False))
    assert not filled.account.has_interest("$JS.API.DIRECT.GET.S")


def test_a_mirror_answers_for_its_origin_once_it_has_caught_up(filled: JetStreamFixture) -> None:
    mirror = filled.stream("M", mirror={"name": "S"})
    assert mirror.config.mirror_direct
    assert "S" not in mirror.direct_get.names
    filled.clock.advance(1_000_000_000)
    assert "S" in mirror.direct_get.names
    (message,) = ask(filled, {"seq": 5})
    assert message.body == b"5"
