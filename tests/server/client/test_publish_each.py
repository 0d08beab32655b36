"""Messages that the server sends in a run are received as if it sent them one by one."""

from __future__ import annotations

from typing import Any

import pytest
from lib.fake_wire import ClientsFixture

SUBSCRIPTIONS = {
    "nobody": [],
    "a literal": ["SUB inbox.1 1"],
    "a pattern": ["SUB inbox.* 1"],
    "a pattern for a while": ["SUB inbox.* 1", "UNSUB 1 2"],
    "two patterns": ["SUB inbox.* 1", "SUB inbox.> 2"],
    "a pattern and a literal": ["SUB inbox.* 1", "SUB inbox.1 2"],
    "a group": ["SUB inbox.* g 1"],
    "everything": ["SUB > 1"],
}


MESSAGES = [(b"inbox.1", b"one"), (b"inbox.2", b"two"), (b"inbox.1", b""), (b"other", b"x")]
BLOCK = b"NATS/1.0\r\nA: b\r\n\r\n"
ANSWERS = [(subject, BLOCK if place % 3 else b"", body) for place, (subject, body) in enumerate(MESSAGES * 2)]


def heard(lines: list[str], send: Any, messages: Any, **connect: Any) -> tuple[bytes, int, int]:
    fixture = ClientsFixture()
    client = fixture.connected(**connect)
    client.says("".join(f"{line}\r\n" for line in lines))
    account = fixture.registry.global_account
    send(account, messages)
    fixture.clock.advance(1)
    connection = client.connection
    return client.says("PING\r\n"), connection.out_msgs, connection.out_bytes


def one_by_one(account: Any, messages: list[tuple[bytes, bytes]]) -> None:
    for subject, body in messages:
        account.publish(subject.decode(), body)


@pytest.mark.parametrize("lines", SUBSCRIPTIONS.values(), ids=SUBSCRIPTIONS.keys())
def test_each_is_received_as_if_sent_alone(lines: list[str]) -> None:
    together = heard(lines, lambda account, messages: account.publish_each(messages), MESSAGES)
    assert together == heard(lines, one_by_one, MESSAGES)


def answers_one_by_one(account: Any, answers: list[tuple[bytes, bytes, bytes]]) -> None:
    for subject, header, body in answers:
        account.publish(subject.decode(), body, header=header)


@pytest.mark.parametrize("lines", SUBSCRIPTIONS.values(), ids=SUBSCRIPTIONS.keys())
@pytest.mark.parametrize("headers", [False, True])
def test_each_answer_is_received_as_if_sent_alone(lines: list[str], headers: bool) -> None:
    def together(account: Any, answers: list[tuple[bytes, bytes, bytes]]) -> None:
        account.publish_answers(answers)

    found = heard(lines, together, ANSWERS, headers=headers)
    assert found == heard(lines, answers_one_by_one, ANSWERS, headers=headers)
    assert (BLOCK in found[0]) == (headers and bool(lines))
