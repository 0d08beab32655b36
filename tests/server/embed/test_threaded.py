"""The synchronous server for test suites and notebooks."""

from __future__ import annotations

import socket
import threading
from pathlib import Path

import pytest
from lib.wire import Wire
from pyjs.server.embed import ThreadedServer, serve


def threads() -> set[str]:
    return {thread.name for thread in threading.enumerate()}


def test_a_client_can_talk_to_it_while_the_block_runs() -> None:
    with serve() as server, Wire.connected(server.port) as wire:
        wire.sub("greet")
        wire.pub("greet", "hello")
        assert wire.msg().body == b"hello"
        assert server.url == f"nats://127.0.0.1:{server.port}"


def test_nothing_is_left_after_the_block() -> None:
    before = threads()
    with serve(jetstream=True) as server:
        port = server.port
        store = Path(server.call(lambda s: s.options.jetstream.store_dir))
        assert store.is_dir()
    assert threads() == before
    assert not store.exists()
    with pytest.raises(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port), timeout=1):
        pass


def test_a_given_store_is_kept_and_found_again(tmp_path: Path) -> None:
    with serve(store_dir=tmp_path) as server, Wire.connected(server.port) as wire:
        assert "error" not in wire.request("$JS.API.STREAM.CREATE.S", {"name": "S"}).json()
        assert wire.request("S", b"kept").json()["seq"] == 1
    with serve(store_dir=tmp_path) as server, Wire.connected(server.port) as wire:
        assert wire.request("$JS.API.STREAM.INFO.S").json()["state"]["messages"] == 1


def test_a_start_that_fails_raises_in_the_caller_and_leaves_no_thread() -> None:
    before = threads()
    with serve() as first:
        second = ThreadedServer(port=first.port)
        with pytest.raises(OSError, match="address already in use"):
            second.start()
    assert threads() == before


def test_an_unknown_option_is_refused() -> None:
    with pytest.raises(TypeError, match="no such option: 'jetsream'"):
        serve(jetsream=True).start()


def test_it_can_be_started_again_where_clients_know_it() -> None:
    server = serve()
    ports = set()
    for _ in range(2):
        with server, Wire.connected(server.port) as wire:
            assert wire.sync() == []
            ports.add(server.port)
    assert len(ports) == 1
    with pytest.raises(RuntimeError, match="not running"):
        _ = server.url
