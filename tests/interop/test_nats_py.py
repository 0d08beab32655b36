"""The public Python client, nats-py, as its users use it: each server must serve it in the same way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import nats
import nats.errors
import nats.js.api
import nats.js.errors
import pytest
from lib.process import ServerProcess
from nats.aio.client import Client
from nats.js import JetStreamContext

CONFIG = """
listen: 127.0.0.1:<client>
server_name: S
jetstream { store_dir: "<store>", max_mem: 100MB, max_file: 100MB }
"""


@pytest.fixture
def server(serve: Callable[[str], ServerProcess]) -> ServerProcess:
    return serve(CONFIG)


@asynccontextmanager
async def client(server: ServerProcess, **options: Any) -> AsyncIterator[Client]:
    connection = await nats.connect(server.url, **options)
    try:
        yield connection
    finally:
        await connection.close()


def run(server: ServerProcess, body: Callable[[Client, JetStreamContext], Awaitable[None]]) -> None:
    """Run `body` with a connection and its JetStream context."""

    async def main() -> None:
        async with client(server) as connection:
            await asyncio.wait_for(body(connection, connection.jetstream(timeout=20)), 60)

    asyncio.run(main())


def test_publish_and_subscribe(server: ServerProcess, unique: str) -> None:
    async def body(nc: Client, js: JetStreamContext) -> None:
        sub = await nc.subscribe(f"{unique}.*")
        await nc.publish(f"{unique}.a", b"hello", headers={"A": "b"})
        message = await sub.next_msg(5)
        assert (message.subject, message.data, message.headers) == (f"{unique}.a", b"hello", {"A": "b"})
        await sub.unsubscribe()

    run(server, body)


def test_queue_and_callback(server: ServerProcess, unique: str) -> None:
    async def body(nc: Client, js: JetStreamContext) -> None:
        got: list[bytes] = []
        whole = asyncio.Event()

        async def heard(message: Any) -> None:
            got.append(message.data)
            if len(got) == 10:
                whole.set()

        for _ in range(2):
            await nc.subscribe(unique, queue="q", cb=heard)
        for i in range(10):
            await nc.publish(unique, str(i).encode())
        await asyncio.wait_for(whole.wait(), 60)
        assert sorted(got) == [str(i).encode() for i in range(10)]

    run(server, body)


def test_request_and_reply(server: ServerProcess, unique: str) -> None:
    async def body(nc: Client, js: JetStreamContext) -> None:
        async def answer(message: Any) -> None:
            await message.respond(message.data.upper())

        await nc.subscribe(unique, cb=answer)
        replies = await asyncio.gather(*(nc.request(unique, b"abc", timeout=20) for _ in range(20)))
        assert {r.data for r in replies} == {b"ABC"}
        with pytest.raises(nats.errors.NoRespondersError):
            await nc.request(f"{unique}.nobody", b"", timeout=20)

    run(server, body)


def test_automatic_unsubscribe_and_drain(server: ServerProcess, unique: str) -> None:
    async def body(nc: Client, js: JetStreamContext) -> None:
        sub = await nc.subscribe(unique)
        await sub.unsubscribe(limit=2)
        for _ in range(5):
            await nc.publish(unique)
        assert [m.data async for m in _first(sub, 2)] == [b"", b""]
        await nc.flush()

        got: list[bytes] = []

        async def heard(message: Any) -> None:
            got.append(message.data)

        await nc.subscribe(f"{unique}.drain", cb=heard)
        for _ in range(100):
            await nc.publish(f"{unique}.drain")
        await nc.drain()
        assert len(got) == 100
        assert nc.is_closed

    run(server, body)


async def _first(sub: Any, count: int) -> AsyncIterator[Any]:
    for _ in range(count):
        yield await sub.next_msg(5)


def test_reconnect(launch: Callable[[str], ServerProcess], unique: str) -> None:
    server = launch(CONFIG)

    async def main() -> None:
        again, lost = asyncio.Event(), asyncio.Event()

        async def reconnected() -> None:
            again.set()

        async def disconnected() -> None:
            lost.set()

        async with client(
            server,
            reconnect_time_wait=0.05,
            max_reconnect_attempts=200,
            reconnected_cb=reconnected,
            disconnected_cb=disconnected,
            error_cb=_ignore,
        ) as nc:
            sub = await nc.subscribe(unique)
            await nc.flush()
            await asyncio.to_thread(server.kill)
            await asyncio.wait_for(lost.wait(), 60)
            await asyncio.to_thread(server.launch)
            await asyncio.wait_for(again.wait(), 60)
            await nc.publish(unique, b"after")
            assert (await sub.next_msg(5)).data == b"after"

    asyncio.run(main())


async def _ignore(error: Exception) -> None:
    """nats-py reports the cut connection; that is what the test does to it."""


def test_authentication_errors_are_understood(launch: Callable[[str], ServerProcess]) -> None:
    server = launch("listen: 127.0.0.1:<client>\nauthorization { user: u, password: p }\n")

    async def main() -> None:
        wrong = Client()
        with pytest.raises(nats.errors.Error, match=r"(?i)authorization violation"):
            await wrong.connect(
                server.url, user="u", password="wrong", allow_reconnect=False, error_cb=_ignore
            )
        await wrong.close()
        nc = await nats.connect(server.url, user="u", password="p")
        await nc.flush()
        await nc.close()

    asyncio.run(main())


def test_stream_management(server: ServerProcess, unique: str) -> None:
    async def body(nc: Client, js: JetStreamContext) -> None:
        info = await js.add_stream(name=unique, subjects=[f"{unique}.*"], description="d")
        assert info.config.name == unique
        config = info.config
        config.max_msgs = 10
        assert (await js.update_stream(config)).config.max_msgs == 10
        ack = await js.publish(f"{unique}.a", b"x", headers={"Nats-Msg-Id": "1"})
        assert (ack.stream, ack.seq, ack.duplicate) == (unique, 1, None)
        again = await js.publish(f"{unique}.a", b"x", headers={"Nats-Msg-Id": "1"})
        assert again.duplicate is True
        assert await js.find_stream_name_by_subject(f"{unique}.a") == unique
        assert unique in [s.config.name for s in await js.streams_info()]
        message = await js.get_msg(unique, seq=1)
        assert (message.subject, message.data) == (f"{unique}.a", b"x")
        assert (await js.get_last_msg(unique, f"{unique}.a")).seq == 1
        assert await js.delete_msg(unique, 1)
        assert await js.purge_stream(unique)
        assert (await js.stream_info(unique)).state.messages == 0
        assert (await js.account_info()).streams >= 1
        assert await js.delete_stream(unique)
        with pytest.raises(nats.js.errors.NotFoundError):
            await js.stream_info(unique)

    run(server, body)


def test_publishing_where_no_stream_listens(server: ServerProcess, unique: str) -> None:
    async def body(nc: Client, js: JetStreamContext) -> None:
        with pytest.raises(nats.js.errors.NoStreamResponseError):
            await js.publish(unique, b"x")

    run(server, body)


def test_asynchronous_publishing(server: ServerProcess, unique: str) -> None:
    async def body(nc: Client, js: JetStreamContext) -> None:
        await js.add_stream(name=unique, subjects=[unique])
        acks = [await js.publish_async(unique, str(i).encode()) for i in range(200)]
        assert sorted(a.seq for a in await asyncio.gather(*acks)) == list(range(1, 201))

    run(server, body)


def test_consumer_management(server: ServerProcess, unique: str) -> None:
    async def body(nc: Client, js: JetStreamContext) -> None:
        await js.add_stream(name=unique, subjects=[unique])
        info = await js.add_consumer(unique, durable_name="d", ack_policy="explicit")
        assert (info.name, info.config.durable_name) == ("d", "d")
        assert [c.name for c in await js.consumers_info(unique)] == ["d"]
        assert (await js.consumer_info(unique, "d")).num_pending == 0
        assert await js.delete_consumer(unique, "d")
        with pytest.raises(nats.js.errors.NotFoundError):
            await js.consumer_info(unique, "d")

    run(server, body)


def test_pull_subscribe(server: ServerProcess, unique: str) -> None:
    async def body(nc: Client, js: JetStreamContext) -> None:
        await js.add_stream(name=unique, subjects=[unique])
        for i in range(25):
            await js.publish(unique, str(i).encode())
        sub = await js.pull_subscribe(unique, durable="d")
        got: list[int] = []
        while len(got) < 25:
            for message in await sub.fetch(10, timeout=20):
                got.append(int(message.data))
                await message.ack_sync(5)
        assert got == list(range(25))
        with pytest.raises(nats.errors.TimeoutError):
            await sub.fetch(1, timeout=0.2)
        info = await sub.consumer_info()
        assert (info.num_pending, info.num_ack_pending) == (0, 0)
        assert info.ack_floor is not None
        assert info.ack_floor.stream_seq == 25

    run(server, body)


def test_pull_acks_of_each_kind(server: ServerProcess, unique: str) -> None:
    async def body(nc: Client, js: JetStreamContext) -> None:
        await js.add_stream(name=unique, subjects=[unique])
        for i in range(3):
            await js.publish(unique, str(i).encode())
        sub = await js.pull_subscribe(unique, durable="d")
        one, two, three = await sub.fetch(3, timeout=20)
        await one.in_progress()
        await one.nak()
        await two.term()
        await three.ack_sync(5)
        (again,) = await sub.fetch(1, timeout=20)
        assert (again.data, again.metadata.num_delivered) == (b"0", 2)
        assert again.metadata.sequence.stream == 1
        await again.ack_sync(5)
        assert (await sub.consumer_info()).num_ack_pending == 0

    run(server, body)


def test_push_subscribe(server: ServerProcess, unique: str) -> None:
    async def body(nc: Client, js: JetStreamContext) -> None:
        await js.add_stream(name=unique, subjects=[f"{unique}.*"])
        await js.publish(f"{unique}.a", b"1")
        sub = await js.subscribe(f"{unique}.*", durable="d", manual_ack=True)
        message = await sub.next_msg(5)
        assert (message.subject, message.data, message.metadata.num_pending) == (f"{unique}.a", b"1", 0)
        await message.ack()
        await js.publish(f"{unique}.b", b"2")
        message = await sub.next_msg(5)
        assert message.data == b"2"
        await message.ack()
        await sub.unsubscribe()

    run(server, body)


def test_push_queue(server: ServerProcess, unique: str) -> None:
    async def body(nc: Client, js: JetStreamContext) -> None:
        await js.add_stream(name=unique, subjects=[unique])
        got: list[bytes] = []
        whole = asyncio.Event()

        async def heard(message: Any) -> None:
            got.append(message.data)
            if len(got) == 20:
                whole.set()

        for _ in range(2):
            await js.subscribe(unique, queue="workers", durable="workers", cb=heard)
        for i in range(20):
            await js.publish(unique, str(i).encode())
        await asyncio.wait_for(whole.wait(), 60)
        assert sorted(map(int, got)) == list(range(20))

    run(server, body)


def test_ordered_consumer_with_flow_control(server: ServerProcess, unique: str) -> None:
    async def body(nc: Client, js: JetStreamContext) -> None:
        await js.add_stream(name=unique, subjects=[unique])
        for i in range(500):
            await nc.publish(unique, str(i).encode() + b" " * 10_000)
        await js.publish(unique, b"500")
        sub = await js.subscribe(unique, ordered_consumer=True)
        got = [int((await sub.next_msg(5)).data) for _ in range(501)]
        assert got == list(range(501))
        await sub.unsubscribe()

    run(server, body)


def test_key_value(server: ServerProcess, unique: str) -> None:
    async def body(nc: Client, js: JetStreamContext) -> None:
        kv = await js.create_key_value(bucket=unique, history=3)
        assert await kv.put("a", b"1") == 1
        assert await kv.put("a", b"2") == 2
        entry = await kv.get("a")
        assert (entry.value, entry.revision) == (b"2", 2)
        assert (await kv.get("a", revision=1)).value == b"1"
        assert await kv.create("b", b"x") == 3
        with pytest.raises(nats.js.errors.KeyWrongLastSequenceError):
            await kv.create("b", b"y")
        assert await kv.update("b", b"z", last=3) == 4
        with pytest.raises(nats.js.errors.KeyWrongLastSequenceError):
            await kv.update("b", b"w", last=3)
        assert sorted(await kv.keys()) == ["a", "b"]
        assert [e.value for e in await kv.history("a")] == [b"1", b"2"]
        await kv.delete("a")
        with pytest.raises(nats.js.errors.KeyNotFoundError):
            await kv.get("a")
        await kv.purge("b")
        with pytest.raises(nats.js.errors.NotFoundError):
            await kv.get("none")
        assert (await kv.status()).values == 4
        await js.delete_key_value(unique)

    run(server, body)


def test_key_value_watch(server: ServerProcess, unique: str) -> None:
    async def body(nc: Client, js: JetStreamContext) -> None:
        kv = await js.create_key_value(bucket=unique)
        await kv.put("a.1", b"x")
        watcher: Any = await kv.watch("a.*")  # its methods have no types
        first = await watcher.updates(5)
        assert first is not None
        assert (first.key, first.value) == ("a.1", b"x")
        assert await watcher.updates(5) is None
        await kv.put("a.2", b"y")
        await kv.put("b.1", b"z")
        await kv.delete("a.1")
        second, third = await watcher.updates(5), await watcher.updates(5)
        assert second is not None
        assert third is not None
        assert (second.key, third.key, third.operation) == ("a.2", "a.1", "DEL")
        await watcher.stop()

    run(server, body)


def test_object_store(server: ServerProcess, unique: str) -> None:
    async def body(nc: Client, js: JetStreamContext) -> None:
        store = await js.create_object_store(unique)
        data = bytes(range(256)) * 2000
        info = await store.put("big", data)
        assert (info.size, info.chunks) == (len(data), 4)
        assert (await store.get("big")).data == data
        await store.put("big", b"small")
        assert (await store.get("big")).data == b"small"
        assert [i.name for i in await store.list()] == ["big"]
        await store.delete("big")
        with pytest.raises(nats.js.errors.NotFoundError):
            await store.get("big")
        await js.delete_object_store(unique)

    run(server, body)
