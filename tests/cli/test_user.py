"""Who one is: only what the own server says counts."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace
from typing import Any

import pytest
from pyjs.cli.user import user_info


class Client:
    """A client that gets these answers in order; None: none comes, until it asks again."""

    def __init__(self, *answers: bytes | None) -> None:
        self.answers = list(answers)
        self.subscribed = False
        self.asked = 0

    def new_inbox(self) -> str:
        return "_INBOX.x"

    async def subscribe(self, _subject: str) -> Client:
        self.subscribed = True
        return self

    async def publish(self, *_message: object) -> None:
        assert self.subscribed
        self.asked += 1

    async def next_msg(self, timeout: float) -> Any:
        assert timeout > 0
        answer = self.answers.pop(0) if self.answers else None
        if answer is None:
            raise TimeoutError
        return SimpleNamespace(data=answer)

    async def unsubscribe(self) -> None:
        self.subscribed = False


def answer(server: str, user: str) -> bytes:
    return json.dumps({"server": {"id": server}, "data": {"user": user}}).encode()


@pytest.mark.parametrize(
    ("answers", "user"),
    [
        ([answer("OWN", "me")], "me"),
        ([answer("OTHER", "the leaf"), answer("OWN", "me")], "me"),
        ([answer("OTHER", "the leaf"), None, answer("OWN", "me")], "me"),
        ([answer("OTHER", "the leaf")], None),
        ([b'{"server": 5}', answer("OWN", "me")], "me"),
        ([b""], None),  # there are no responders
        ([b"[]"], None),
    ],
)
def test_another_servers_answer_is_passed_over(answers: list[bytes | None], user: str | None) -> None:
    client = Client(*answers)
    connection: Any = SimpleNamespace(nc=client, greeting={"server_id": "OWN"}, errors=[])
    found = asyncio.run(user_info(connection, 0.05))
    assert (found.get("data") or {}).get("user") == user
    assert not client.subscribed
    assert client.asked == 1 + answers.count(None) or user is None


def test_who_is_refused_does_not_ask_again() -> None:
    client = Client()
    refusal = Exception('nats: permissions violation for publish to "$SYS.REQ.USER.INFO"')
    connection: Any = SimpleNamespace(nc=client, greeting={"server_id": "OWN"}, errors=[refusal])
    assert asyncio.run(user_info(connection, 60)) == {}
    assert client.asked == 1
