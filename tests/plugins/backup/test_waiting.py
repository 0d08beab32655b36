"""What a backup asks while its stream has no leader is asked again, and nothing else is."""

from __future__ import annotations

import asyncio
from itertools import count
from types import SimpleNamespace
from typing import Any, cast

import pytest
from pyjs.cli.connection import NatsConnection
from pyjs.cli.errors import CliError, RemoteError, UnavailableError
from pyjs.plugins.backup import fetch

INFO: dict[str, Any] = {"config": {}, "state": {"num_deleted": 0, "deleted": [2, 3]}}
NO_LEADER = RemoteError(503, 10008, "JetStream system temporarily unavailable")
GONE = RemoteError(404, 10059, "stream not found")


def connection(*outcomes: CliError) -> NatsConnection:
    """A connection on which questions fail in this way, one after the other, and are answered then."""
    left = list(outcomes)

    async def stream_info(name: str, query: Any = None) -> dict[str, Any]:
        if left:
            raise left.pop(0)
        return INFO

    async def request(name: str, query: dict[str, Any]) -> dict[str, Any]:
        assert name == "STREAM.SNAPSHOT.ORDERS" and query["deliver_subject"] == subscribed[-1]
        return await stream_info(name)

    async def subscribe(inbox: str) -> Any:
        async def unsubscribe() -> None:
            subscribed.remove(inbox)

        subscribed.append(inbox)
        return SimpleNamespace(unsubscribe=unsubscribe)

    inboxes, subscribed = count(), list[str]()
    js = SimpleNamespace(stream_info=stream_info, request=request)
    nc = SimpleNamespace(
        is_closed=False,
        stats={"reconnects": 0},
        new_inbox=lambda: f"_INBOX.{next(inboxes)}",
        subscribe=subscribe,
        subscribed=subscribed,
    )
    return cast(NatsConnection, SimpleNamespace(js=js, nc=nc))


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "RETRY_WAIT", 0)


def test_it_asks_again_without_a_leader() -> None:
    asked = connection(UnavailableError("nats: timeout"), NO_LEADER, UnavailableError("no responders"))
    assert asyncio.run(fetch.gaps(asked, "ORDERS")) == [(2, 3)]


def test_a_whole_stream_is_asked_for_again_each_time_with_another_inbox() -> None:
    asked = connection(NO_LEADER, UnavailableError("nats: timeout"), NO_LEADER)
    snapshot = asyncio.run(fetch.StreamSnapshot.ask(asked, "ORDERS", fetch.SnapshotOptions()))
    assert snapshot.state == INFO["state"]
    assert asked.nc.subscribed == ["_INBOX.3"]


def test_a_stream_that_is_gone_is_told_at_once() -> None:
    with pytest.raises(RemoteError, match="stream not found"):
        asyncio.run(fetch.live_info(connection(NO_LEADER, GONE, NO_LEADER), "ORDERS"))


def test_it_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "OUTAGE_SECONDS", -1)
    with pytest.raises(fetch.CutError, match="timeout"):
        asyncio.run(fetch.live_info(connection(UnavailableError("nats: timeout")), "ORDERS"))
