"""Which subjects are requests to the server's services, and that an answer is never taken for one."""

from __future__ import annotations

from typing import Any

import pytest
from lib.fake_wire import ClientsFixture
from pyjs.server.accounts.plan import is_request
from pyjs.server.jetstream.consumers.delivery_state import DeliveryState
from pyjs.server.jetstream.consumers.message_selector import NumPending
from pyjs.server.jetstream.consumers.sender import MessageSender
from pyjs.store.memory import MemoryStream
from pyjs.store.message import StoredMessage

API = "$JS.API.STREAM.DELETE.V"


@pytest.mark.parametrize(
    ("subject", "expected"),
    [
        ("$JS.API.INFO", True),
        ("$JS.hub.API.STREAM.DELETE.S", True),
        ("$JS.ACK.S.C.1.1.1.1.0", True),
        ("$JS.FC.S.C.x", True),
        ("$SYS.REQ.SERVER.PING", True),
        ("$SYS.DEBUG.SUBSCRIBERS", True),
        ("$SYS.ACCOUNT.A.CLAIMS.UPDATE", True),
        ("$SYS.ACCOUNT.A.CONNECT", False),
        ("$JS.EVENT.ADVISORY.API", False),
        ("$JS.M.x", False),
        ("$JSC.R.x", False),
        ("$KV.b.k", False),
        ("$SYS._INBOX.x", False),
        ("_INBOX.x", False),
        ("JS.API.INFO", False),
        ("$", False),
    ],
)
def test_which_subjects_are_requests(subject: str, expected: bool) -> None:
    assert is_request(subject.encode()) is expected


def _again_and_again(account: Any) -> None:
    """The second time the plan is known."""
    account.publish_each([(API.encode(), b""), (API.encode(), b"")])


def _deliver(account: Any) -> bool:
    """A consumer delivers a message to it."""
    num_pending = NumPending(MemoryStream(), ())
    sender = MessageSender(account, "r.", DeliveryState(track=False), num_pending)
    return sender.send(StoredMessage(1, "shown", b"", b"", 1), 1, API, b"", 1)


@pytest.mark.parametrize("subscribed", [API, "$JS.API.>", ">"])
@pytest.mark.parametrize(
    "send",
    [
        lambda account: account.publish(API, b"x"),
        lambda account: account.publish(API, b"", reply="r", header=b"NATS/1.0\r\n\r\n"),
        lambda account: account.publish(API, b"x", show_as="shown"),
        _again_and_again,
        _deliver,
    ],
)
def test_no_answer_is_received_as_a_request(send: Any, subscribed: str) -> None:
    fixture = ClientsFixture()
    client = fixture.connected()
    client.says(f"PING\r\nSUB {subscribed} 1\r\n")
    account = fixture.registry.global_account
    taken: list[Any] = []
    account.subscribe(API, taken.append)
    assert not account.has_interest(API)
    assert not send(account)
    fixture.clock.advance(1)
    assert (client.says("PING\r\n"), taken) == (b"PONG\r\n", [])
    assert account.has_interest(API, own=True)
    assert account.publish(API, b"x", own=True) == 2
    assert len(taken) == 1
