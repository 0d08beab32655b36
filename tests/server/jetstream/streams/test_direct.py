"""Direct gets: single messages, batches, the last of many subjects, and the statuses when there is none."""

from __future__ import annotations

import errno
import json
from typing import Any

import pytest
from lib.streams import JetStreamFixture, Spy
from pyjs.protocol import headers
from pyjs.server.accounts.subscription import Message
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
