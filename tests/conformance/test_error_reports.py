"""`connect_error_reports`: which failed attempts to reach other servers are errors in the log."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from lib.eventually import eventually
from lib.process import ServerProcess

LEAF = 'leafnodes { reconnect: 1, remotes: [ { url: "nats-leaf://127.0.0.1:<gone>" } ] }'
GATEWAY = """gateway { name: C, listen: 127.0.0.1:<gateway>
  gateways: [ { name: D, url: "nats://127.0.0.1:<gone>" } ] }"""
ROUTE = 'cluster { name: C, listen: 127.0.0.1:<cluster>, routes: [ "nats://127.0.0.1:<gone>" ] }'


def attempts(server: ServerProcess, level: str) -> list[int]:
    """Return the attempts that the log has at a level. nats-server may dial several at once."""
    text = r"Error (?:trying to connect|connecting) .*\(attempt (\d+)\)"
    found = re.findall(rf"\[{level}\] .*{text}", server.log())
    return sorted({int(number) for number in found})


@pytest.mark.parametrize("block", [LEAF, ROUTE, GATEWAY], ids=["leaf", "route", "gateway"])
@pytest.mark.parametrize(("every", "shown"), [(1, [1, 2, 3]), (2, [1, 2])])
def test_every_so_many_attempts_are_errors(
    launch: Callable[[str], ServerProcess], block: str, every: int, shown: list[int]
) -> None:
    server = launch(f"listen: 127.0.0.1:<client>\ndebug: true\nconnect_error_reports: {every}\n{block}\n")
    eventually(lambda: len({*attempts(server, "ERR"), *attempts(server, "DBG")}) >= 3)
    assert attempts(server, "ERR")[: len(shown)] == shown
    assert (3 in attempts(server, "ERR")) is (3 in shown)
