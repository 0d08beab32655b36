"""One server with `legacy_api` that the tests of this folder share."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from lib import pyjs_server
from lib.jetstream import JetStream
from lib.process import ServerProcess
from lib.wire import Msg

CONFIG = """
listen: 127.0.0.1:<client>
server_name: S
jetstream { store_dir: "<store>", max_mem: 100MB, max_file: 100MB, legacy_api: true }
"""
Ask = Callable[..., Msg]


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    """Return a server of the module's own."""
    running = pyjs_server.start(CONFIG)
    try:
        yield running
    finally:
        running.stop()


@pytest.fixture
def js(server: ServerProcess) -> Iterator[JetStream]:
    """Return a connection that calls today's API."""
    with JetStream.of(server) as found:
        yield found


@pytest.fixture
def old(js: JetStream) -> Ask:
    """Return a function that makes a request of 2020: the subject after `$JS.`, and the body."""

    def ask(subject: str, body: bytes | str = b"") -> Msg:
        return js.wire.request(f"$JS.{subject}", body)

    return ask
