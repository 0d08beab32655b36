"""nats-py against a server in this process: what its users do with consumers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import nats
import pytest
from nats.aio.client import Client
from nats.errors import TimeoutError as NatsTimeout
from nats.js import JetStreamContext, api
from nats.js.errors import NotFoundError
from pyjs.server import Server


@asynccontextmanager
async def connected(tmp_path: Path) -> AsyncIterator[tuple[Client, JetStreamContext]]:
    async with Server(jetstream=True, store_dir=str(tmp_path)) as server:
        client = await nats.connect(server.url, error_cb=_quiet)
        try:
            yield client, client.jetstream(timeout=20)
        finally:
            await client.close()


async def _quiet(_: Exception) -> None:
    """The tests look for themselves."""


def run(test: Callable[[Client, JetStreamContext], Awaitable[None]], tmp_path: Path) -> None:
    async def main() -> None:
        async with connected(tmp_path) as (client, js):
            await test(client, js)

    asyncio.run(main())


async def filled(js: JetStreamContext, count: int, **config: Any) -> None:
    await js.add_stream(name="S", subjects=["s.>"], **config)
    for n in range(count):
        await js.publish(f"s.{n % 3}", str(n).encode())


def test_fetch_gives_batches_and_times_out_at_the_end(tmp_path: Path) -> None:
    async def test(_: Client, js: JetStreamContext) -> None:
        await filled(js, 25)
        sub = await js.pull_subscribe("s.>", "C")
        got = []
        for count in (10, 10, 5):
            for message in await sub.fetch(count, timeout=20):
                got.append(int(message.data))
                await message.ack_sync()
        assert got == list(range(25))
        with pytest.raises(NatsTimeout):
            await sub.fetch(1, timeout=0.1)
        info = await sub.consumer_info()
        assert info.num_ack_pending == 0
        assert info.ack_floor is not None
        assert info.ack_floor.stream_seq == 25

    run(test, tmp_path)


def test_what_is_not_acked_comes_again(tmp_path: Path) -> None:
    async def test(_: Client, js: JetStreamContext) -> None:
        await filled(js, 3)
        config = api.ConsumerConfig(ack_wait=0.3, max_deliver=2)
        sub = await js.pull_subscribe("s.>", "C", config=config)
        first = await sub.fetch(3, timeout=20)
        await first[1].ack_sync()
        await first[2].nak()
        again = [message for _ in range(2) for message in await sub.fetch(1, timeout=20)]
        places = [message.metadata for message in again]
        assert {place.sequence.stream: place.num_delivered for place in places} == {1: 2, 3: 2}

    run(test, tmp_path)


def test_push_subscriptions_and_queue_groups(tmp_path: Path) -> None:
    async def test(_: Client, js: JetStreamContext) -> None:
        await filled(js, 30)
        sub = await js.subscribe("s.0", durable="P")
        assert [int((await sub.next_msg(5)).data) for _ in range(10)] == list(range(0, 30, 3))
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        got: dict[str, list[int]] = {"a": [], "b": []}

        def member(name: str) -> Callable[[Any], Awaitable[None]]:
            async def take(message: Any) -> None:
                got[name].append(int(message.data))
                await message.ack()
                if sum(map(len, got.values())) == 30:
                    done.set_result(None)

            return take

        for name in got:
            await js.subscribe("s.>", queue="workers", cb=member(name))
        await asyncio.wait_for(done, 5)
        assert sorted(got["a"] + got["b"]) == list(range(30))

    run(test, tmp_path)


def test_an_ordered_consumer_sees_everything_in_order(tmp_path: Path) -> None:
    async def test(_: Client, js: JetStreamContext) -> None:
        await filled(js, 200)
        sub = await js.subscribe("s.>", ordered_consumer=True)
        assert [int((await sub.next_msg(5)).data) for _ in range(200)] == list(range(200))
        await js.publish("s.1", b"200")
        assert (await sub.next_msg(5)).data == b"200"

    run(test, tmp_path)


def test_flow_control_lets_large_messages_through(tmp_path: Path) -> None:
    async def test(_: Client, js: JetStreamContext) -> None:
        await js.add_stream(name="S", subjects=["s"])
        body = b"x" * 200_000
        for _turn in range(40):
            await js.publish("s", body)
        sub = await js.subscribe("s", flow_control=True, idle_heartbeat=0.5)
        for _turn in range(40):
            message = await sub.next_msg(5)
            await message.ack()
            assert len(message.data) == len(body)

    run(test, tmp_path)


def test_a_key_value_watch_hears_the_present_and_the_changes(tmp_path: Path) -> None:
    async def test(_: Client, js: JetStreamContext) -> None:
        kv = await js.create_key_value(bucket="B", history=3)
        await kv.put("a", b"1")
        await kv.put("b", b"1")
        await kv.put("a", b"2")
        watcher: Any = await kv.watchall()  # its methods have no types
        seen = {}
        while (entry := await watcher.updates(timeout=20)) is not None:
            seen[entry.key] = entry.value
        assert seen == {"a": b"2", "b": b"1"}
        await kv.delete("b")
        entry = await watcher.updates(timeout=20)
        assert entry is not None
        assert (entry.key, entry.operation) == ("b", "DEL")
        assert await kv.keys() == ["a"]
        assert [e.value for e in await kv.history("a")] == [b"1", b"2"]
        await watcher.stop()

    run(test, tmp_path)


def test_consumers_are_managed(tmp_path: Path) -> None:
    async def test(_: Client, js: JetStreamContext) -> None:
        await filled(js, 1)
        made = await js.add_consumer("S", durable_name="C", ack_policy=api.AckPolicy.EXPLICIT)
        assert made.name == "C"
        assert [c.name for c in await js.consumers_info("S")] == ["C"]
        assert (await js.consumer_info("S", "C")).num_pending == 1
        assert await js.delete_consumer("S", "C")
        with pytest.raises(NotFoundError):
            await js.consumer_info("S", "C")

    run(test, tmp_path)


def test_an_unused_ephemeral_goes_away(tmp_path: Path) -> None:
    async def test(client: Client, js: JetStreamContext) -> None:
        await filled(js, 1)
        deleted = await client.subscribe("$JS.EVENT.ADVISORY.CONSUMER.DELETED.>")
        config = api.ConsumerConfig(inactive_threshold=0.1, ack_policy=api.AckPolicy.EXPLICIT)
        made = await js.add_consumer("S", config)
        assert (await deleted.next_msg(timeout=5)).subject.endswith(f".S.{made.name}")
        with pytest.raises(NotFoundError):
            await js.consumer_info("S", made.name)

    run(test, tmp_path)
