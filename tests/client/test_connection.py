"""A connection to real servers: requests, limits, refusals, and what happens when it is cut."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator

import pytest
from lib.cuttable_proxy import Cuttable
from lib.eventually import eventually
from lib.process import ServerProcess, free_port
from pyjs.client import (
    BlockingConnection,
    ConnectionLost,
    ConnectionOptions,
    NoResponders,
    NoServers,
    NotPermitted,
    TimedOut,
    TooLarge,
)
from pyjs.protocol import headers

CONFIG = """
listen: 127.0.0.1:<client>
max_payload: 100000
authorization {
  users = [
    {user: all, password: all}
    {user: some, password: some, permissions: {publish: {deny: "secret.>"}, subscribe: "_some.>"}}
  ]
}
"""


@pytest.fixture
def server(serve: Callable[[str], ServerProcess]) -> ServerProcess:
    return serve(CONFIG)


@pytest.fixture
def connection(server: ServerProcess) -> Iterator[BlockingConnection]:
    with BlockingConnection.open(
        ConnectionOptions((server.url,), user="all", password="all", timeout=60)
    ) as opened:
        yield opened


def test_requests_are_answered_and_others_messages_kept(
    connection: BlockingConnection, server: ServerProcess
) -> None:
    heard = connection.subscribe("told")
    asked = connection.subscribe("ask")
    inbox = connection.new_inbox()
    assert inbox.startswith("_INBOX.")
    with BlockingConnection.open(ConnectionOptions((server.url,), user="all", password="all")) as other:
        connection.flush()
        other.publish("told", b"\x00\r\n", headers=headers.encode({"A": ["1", "2"]}))
        other.publish("ask", b"?", reply=inbox)
        other.flush()
        first, second = connection.receive(), connection.receive()
    assert (first.subject, first.payload, first.reply) == ("told", b"\x00\r\n", "")
    assert headers.decode(first.header) == {"A": ["1", "2"]}
    assert (second.subject, second.reply) == ("ask", inbox)
    connection.unsubscribe(heard)
    connection.unsubscribe(asked)
    connection.publish("told", b"again")
    with pytest.raises(NoResponders, match=r"nobody.here"):
        connection.request("nobody.here", b"")
    with pytest.raises(TimedOut):
        connection.receive(0.01)


def test_an_answer_passes_what_came_before_it(connection: BlockingConnection) -> None:
    connection.subscribe("mine.>")
    for number in range(5):
        connection.publish("mine.before", b"%d" % number)
    with pytest.raises(TimedOut, match=r"mine.silent"):
        connection.request("mine.silent", b"5", timeout=0.05)
    taken = connection.take()
    assert taken.payloads == [b"0", b"1", b"2", b"3", b"4", b"5"]


def test_messages_are_counted_without_keeping_them(connection: BlockingConnection) -> None:
    block = headers.encode({"N": ["1"]})
    connection.subscribe("mine.>")
    connection.publish("mine.first", b"kept")
    connection.flush()  # reads it
    for number in range(3000):
        connection.publish("mine.a", b"x" * (number % 7), headers=b"" if number % 3 else block)
        if number % 500 == 0:
            connection.send(b"PING\r\n")
    count = size = 0
    while count < 3001:
        more, further = connection.skim()
        count, size = count + more, size + further
    assert count == 3001
    assert size == 4 + sum(number % 7 for number in range(3000)) + 1000 * len(block)
    with pytest.raises(TimedOut):
        connection.skim(0)


def test_a_poll_does_not_wait(connection: BlockingConnection) -> None:
    connection.poll()
    connection.subscribe("mine.>")
    connection.publish("mine.a", b"1")
    with BlockingConnection.open(connection.address) as other:
        other.flush()

    def polled() -> int:
        connection.poll()
        return len(connection._frames)

    eventually(polled)
    assert connection.take(0).payloads == [b"1"]
    with pytest.raises(TimedOut):  # and what comes after it waits
        connection.receive(0.02)
    connection.flush()


def test_members_of_a_queue_group_divide_messages(connection: BlockingConnection) -> None:
    connection.subscribe("mine", queue="q")
    connection.subscribe("mine", queue="q", limit=1)
    for _ in range(20):
        connection.publish("mine", b"")
    connection.flush()
    assert connection.skim() == (20, 0)


def test_what_is_too_large_is_not_sent(connection: BlockingConnection) -> None:
    assert connection.max_payload == 100_000
    with pytest.raises(TooLarge, match="100001 bytes, the server takes 100000"):
        connection.publish("a", b"x" * 99_987, headers=b"NATS/1.0\r\n\r\n" + b"xx")
    connection.subscribe("a", limit=1)
    connection.publish("a", b"x" * 100_000)
    assert len(connection.receive().payload) == 100_000


def test_a_refused_subject_is_an_error_and_the_connection_stays_open(server: ServerProcess) -> None:
    address = ConnectionOptions((server.url,), user="some", password="some", inbox_prefix="_some.in")
    with BlockingConnection.open(address) as connection:
        with pytest.raises(NoResponders):
            connection.request("open", b"")
        with pytest.raises(NotPermitted, match=r"(?i)publish to \"secret.a\""):
            connection.request("secret.a", b"")
        connection.subscribe("_other.>")
        with pytest.raises(NotPermitted, match=r"(?i)subscription to \"_other.>\""):
            connection.flush()
        connection.flush()
    address = ConnectionOptions((server.url,), user="some", password="some")
    with BlockingConnection.open(address) as connection, pytest.raises(NotPermitted, match="_INBOX"):
        connection.request("open", b"")


def test_a_cut_line_is_an_error_until_it_is_opened_again(server: ServerProcess) -> None:
    with (
        Cuttable(server.port) as line,
        BlockingConnection.open(
            ConnectionOptions((f"127.0.0.1:{line.port}",), user="all", password="all")
        ) as connection,
    ):
        connection.subscribe("a")
        connection.flush()
        line.cut()
        for _ in range(2):
            with pytest.raises(ConnectionLost, match=f"127.0.0.1:{line.port}"):
                connection.receive()
        connection.reopen()
        connection.subscribe("b")
        connection.publish("a", b"1")
        connection.publish("b", b"2")
        assert connection.receive().payload == b"2"


def test_a_server_that_ends_is_reported(launch: Callable[[str], ServerProcess]) -> None:
    server = launch("listen: 127.0.0.1:<client>")
    with BlockingConnection.open(ConnectionOptions((server.url,))) as connection:
        server.kill()
        with pytest.raises(ConnectionLost):
            connection.flush()
        with pytest.raises(NoServers, match="refused"):
            connection.reopen()
        with pytest.raises(ConnectionLost, match="refused"):
            connection.publish("a")
        server.launch()
        connection.reopen()
        connection.flush()


def test_servers_are_tried_in_turn(server: ServerProcess) -> None:
    gone = f"nats://127.0.0.1:{free_port()}"
    with BlockingConnection.open(
        ConnectionOptions((gone, server.url), user="all", password="all")
    ) as connection:
        assert connection.url == server.url
        assert connection.server_info["server_id"]
        assert json.dumps(connection.server_info)
    with pytest.raises(NoServers, match=r"127.0.0.1:\d+: Connection refused"):
        BlockingConnection.open(ConnectionOptions((gone,)))
    with pytest.raises(NoServers, match="no address was given"):
        BlockingConnection.open(ConnectionOptions(()))
    for wrong in ("ws://127.0.0.1:1", "nats://", "nats://127.0.0.1:x"):
        with pytest.raises(NoServers):
            BlockingConnection.open(ConnectionOptions((wrong,)))


def test_a_port_where_no_nats_server_is() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = ConnectionOptions((f"127.0.0.1:{silent.getsockname()[1]}",), timeout=0.05)
        with pytest.raises(NoServers, match=r"in time|timed out"):
            BlockingConnection.open(address)
