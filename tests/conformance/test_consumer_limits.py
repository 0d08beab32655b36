"""How many consumers a stream may have: by its own limit, its account's, and the server's default."""

from __future__ import annotations

import json
from collections.abc import Callable
from urllib.request import urlopen

import pytest
from lib.jetstream import ApiFailureError, JetStream
from lib.process import ServerProcess

CONFIG = """
listen: 127.0.0.1:<client>
http: 127.0.0.1:<http>
server_name: S
jetstream { store_dir: "<store>", max_mem: 100MB, max_file: 100MB%s }
accounts {
  FREE { jetstream: enabled, users: [{ user: free, password: free }] }
  FIVE { jetstream: { max_mem: 10MB, max_consumers: 5 }, users: [{ user: five, password: five }] }
  TWO { jetstream: { max_mem: 10MB, max_consumers: 2 }, users: [{ user: two, password: two }] }
}
"""


def most(server: ServerProcess, user: str, max_consumers: int) -> int:
    """How many consumers a stream gets, up to six."""
    with JetStream.of(server, user=user, **{"pass": user}) as js:
        js.create("S", subjects=["s"], max_consumers=max_consumers)
        try:
            for number in range(6):
                try:
                    js.consumer("S", f"c{number}")
                except ApiFailureError as error:
                    assert error.err_code == 10026
                    return number
            return 6
        finally:
            js.call("STREAM.DELETE.S")


def shown(server: ServerProcess) -> int:
    """What varz says of the default."""
    with urlopen(f"http://127.0.0.1:{server.ports['http']}/varz") as answer:
        return int(json.load(answer)["jetstream"]["limits"]["default_max_consumers"])


@pytest.mark.parametrize(("configured", "free"), [(3, 3), (-1, 6), (0, 6)])
def test_the_default_is_for_streams_that_nobody_limits(
    launch: Callable[[str], ServerProcess], configured: int, free: int
) -> None:
    server = launch(CONFIG % f", limits: {{ default_max_consumers: {configured} }}")
    assert [most(server, user, -1) for user in ("free", "five", "two")] == [free, 5, 2]
    assert [most(server, user, 4) for user in ("free", "five")] == [4, 4]
    assert shown(server) == (configured or 1000)


def test_the_default_is_a_thousand(launch: Callable[[str], ServerProcess]) -> None:
    assert shown(launch(CONFIG % "")) == 1000
