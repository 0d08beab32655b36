"""What is written before the port of a listener."""

from __future__ import annotations

import pytest
from pyjs.server.connection.addresses import dialable


@pytest.mark.parametrize(
    ("host", "written"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("localhost", "localhost"),
        ("0.0.0.0", "127.0.0.1"),
        ("::", "127.0.0.1"),
        ("", "127.0.0.1"),
        ("::1", "[::1]"),
    ],
)
def test_how_this_machine_reaches_a_listener(host: str, written: str) -> None:
    assert dialable(host) == written
