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


def heard(lines: list[str], send: Any) -> tuple[bytes, int, int]:
    fixture = ClientsFixture()
    client = fixture.connected()
    client.says("".join(f"{line}\r\n" for line in lines))
    account = fixture.registry.global_account
    send(account, [(b"inbox.1", b"one"), (b"inbox.2", b"two"), (b"inbox.1", b""), (b"other", b"x")])
    fixture.clock.advance(1)
    connection = client.connection
    return client.says("PING\r\n"), connection.out_msgs, connection.out_bytes


def one_by_one(account: Any, messages: list[tuple[bytes, bytes]]) -> None:
    for subject, body in messages:
        account.publish(subject.decode(), body)


@pytest.mark.parametrize("lines", SUBSCRIPTIONS.values(), ids=SUBSCRIPTIONS.keys())
def test_each_is_received_as_if_sent_alone(lines: list[str]) -> None:
    together = heard(lines, lambda account, messages: account.publish_each(messages))
    assert together == heard(lines, one_by_one)
