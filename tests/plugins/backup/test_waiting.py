"""What a backup asks while its stream has no leader is asked again, and nothing else is."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest
from pyjs.cli.connection import NatsConnection
from pyjs.cli.errors import CliError, RemoteError, UnavailableError
from pyjs.plugins.backup import fetch

INFO = {"config": {}, "state": {"num_deleted": 0, "deleted": [2, 3]}}
NO_LEADER = RemoteError(503, 10008, "JetStream system temporarily unavailable")
GONE = RemoteError(404, 10059, "stream not found")


def connection(*outcomes: CliError) -> NatsConnection:
    """A connection on which questions fail in this way, one after the other, and are answered then."""
    left = list(outcomes)

    async def stream_info(name: str, query: Any = None) -> dict[str, Any]:
        if left:
            raise left.pop(0)
        return INFO

    js = SimpleNamespace(stream_info=stream_info)
    return cast(NatsConnection, SimpleNamespace(js=js, nc=SimpleNamespace(is_closed=False)))


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "RETRY_WAIT", 0)


def test_it_asks_again_without_a_leader() -> None:
    asked = connection(UnavailableError("nats: timeout"), NO_LEADER, UnavailableError("no responders"))
    assert asyncio.run(fetch.gaps(asked, "ORDERS")) == [(2, 3)]


def test_a_stream_that_is_gone_is_told_at_once() -> None:
    with pytest.raises(RemoteError, match="stream not found"):
        asyncio.run(fetch.live_info(connection(NO_LEADER, GONE, NO_LEADER), "ORDERS"))


def test_it_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "OUTAGE_SECONDS", -1)
    with pytest.raises(fetch.CutError, match="timeout"):
        asyncio.run(fetch.live_info(connection(UnavailableError("nats: timeout")), "ORDERS"))
