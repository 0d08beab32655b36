"""An option that is not served is refused by its name: no stream pretends to have it."""

from __future__ import annotations

import pytest
from lib.wire import Wire
from pyjs.server.embed.threaded import ThreadedServer


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("compression", "s2"),
    ],
)
def test_a_stream_that_asks_for_it_is_not_created(
    jetstream_server: ThreadedServer, field: str, value: object
) -> None:
    with Wire.connected(jetstream_server.port) as wire:
        error = wire.request("$JS.API.STREAM.CREATE.S", {"name": "S", field: value}).json()["error"]
        assert error["err_code"] == 10052
        assert f"({field})" in error["description"]
        assert "not supported by this server" in error["description"]
        assert wire.request("$JS.API.STREAM.NAMES").json()["total"] == 0
