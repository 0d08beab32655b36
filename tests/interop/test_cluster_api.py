"""nats-py on three servers: data with three replicas is kept when leaders move and stop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, suppress

import nats
import nats.errors
import nats.js.errors
import pytest
from lib.eventually import found
from lib.jetstream_cluster import JetMesh
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js import JetStreamContext
from nats.js.api import ObjectStoreConfig, StreamConfig

SECONDS = 60.0


@pytest.fixture(scope="module", params=["reference", "pyjs"])
def mesh(request: pytest.FixtureRequest) -> Iterator[JetMesh]:
    found = JetMesh(request.param)
    yield found
    found.close()


@asynccontextmanager
async def client(mesh: JetMesh) -> AsyncIterator[Client]:
    connection = await nats.connect(mesh.url().split(","), reconnect_time_wait=0.1)
    try:
        yield connection
    finally:
        await connection.close()


def run(mesh: JetMesh, body: Callable[[Client, JetStreamContext], Awaitable[None]]) -> None:
    """Run `body` with a connection to any server, and its JetStream context."""

    async def main() -> None:
        async with client(mesh) as connection:
            await asyncio.wait_for(body(connection, connection.jetstream(timeout=3)), SECONDS)

    asyncio.run(main())


async def leader(js: JetStreamContext, stream: str, but: str = "") -> str:
    """The leader of a stream, once there is one that is not `but`."""

    async def known() -> str | None:
        cluster = (await js.stream_info(stream)).cluster
        name = "" if cluster is None else cluster.leader
        return name if name and name != but else None

    return await found(known, nats.errors.TimeoutError, nats.js.errors.APIError, seconds=SECONDS)


async def move(nc: Client, js: JetStreamContext, stream: str) -> None:
    """Let another server lead."""
    before = await leader(js, stream)
    await nc.request(f"$JS.API.STREAM.LEADER.STEPDOWN.{stream}", timeout=5)
    await leader(js, stream, before)


async def publish(js: JetStreamContext, subject: str, number: int) -> None:
    """Publish a number until it is acknowledged; it is stored once."""
    block = {"Nats-Msg-Id": f"{subject}.{number}"}
    await found(
        lambda: js.publish(subject, b"%d" % number, headers=block),
        nats.errors.TimeoutError,
        nats.js.errors.NoStreamResponseError,
        seconds=SECONDS,
    )


def test_buckets_and_objects_with_replicas(mesh: JetMesh, unique: str) -> None:
    async def body(nc: Client, js: JetStreamContext) -> None:
        bucket = await js.create_key_value(bucket=unique, replicas=3, history=3)
        for number in range(9):
            await bucket.put(f"k{number % 3}", b"%d" % number)
        await move(nc, js, f"KV_{unique}")
        found = await bucket.get("k2")
        assert (found.value, found.revision) == (b"8", 9)
        with pytest.raises(nats.js.errors.KeyWrongLastSequenceError):
            await bucket.update("k2", b"x", last=6)
        assert await bucket.update("k2", b"9", last=9) == 10
        await bucket.delete("k0")
        assert sorted(await bucket.keys()) == ["k1", "k2"]
        objects = await js.create_object_store(unique, config=ObjectStoreConfig(replicas=3))
        await objects.put("blob", b"x" * 300_000)
        await move(nc, js, f"OBJ_{unique}")
        assert (await objects.get("blob")).data == b"x" * 300_000
        await js.delete_key_value(unique)
        await js.delete_object_store(unique)

    run(mesh, body)


def test_push_and_ordered_consumers_go_on_with_another_leader(mesh: JetMesh, unique: str) -> None:
    async def body(nc: Client, js: JetStreamContext) -> None:
        await js.add_stream(StreamConfig(name=unique, subjects=[unique], num_replicas=3))
        seen: set[int] = set()
        complete = asyncio.Event()

        async def take(message: Msg) -> None:
            seen.add(int(message.data))
            await message.ack()
            if seen == set(range(20)):
                complete.set()

        await js.subscribe(unique, durable="d", cb=take, manual_ack=True)
        ordered = await js.subscribe(unique, ordered_consumer=True)
        for number in range(10):
            await publish(js, unique, number)
        got = [int((await ordered.next_msg(5)).data) for _ in range(10)]
        await move(nc, js, unique)
        for number in range(10, 20):
            await publish(js, unique, number)
        got += [int((await ordered.next_msg(SECONDS)).data) for _ in range(10)]
        assert got == list(range(20))
        await complete.wait()  # the last acks before the move may be asked for again
        await js.delete_stream(unique)

    run(mesh, body)


def test_what_was_acknowledged_outlives_the_leader(mesh: JetMesh, unique: str) -> None:
    """The leader's process ends; a client goes on, pulls all, and loses nothing."""

    async def body(nc: Client, js: JetStreamContext) -> None:
        await js.add_stream(StreamConfig(name=unique, subjects=[unique], num_replicas=3))
        pull = await js.pull_subscribe(unique, durable="d")
        for number in range(10):
            await publish(js, unique, number)
        before = await leader(js, unique)
        mesh[before].process.kill()  # type: ignore[union-attr]
        for number in range(10, 20):
            await publish(js, unique, number)
        assert await leader(js, unique) != before
        got: list[int] = []
        while len(got) < 20:
            with suppress(nats.errors.TimeoutError, nats.js.errors.APIError):
                for message in await pull.fetch(5, timeout=1):
                    await message.ack_sync(timeout=5)
                    got.append(int(message.data))
        assert got == list(range(20))
        info = await js.consumer_info(unique, "d")
        assert info.ack_floor is not None and info.ack_floor.stream_seq == 20

    run(mesh, body)
