"""nats-py on streams with three replicas while servers are killed and come back."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import nats
import nats.errors
import nats.js.errors
import pytest
from lib.eventually import found, until
from lib.jetstream_cluster import JetMesh
from nats.aio.client import Client
from nats.js import JetStreamContext
from nats.js.api import ConsumerConfig, RetentionPolicy, StreamInfo, StreamSource
from pyjs.protocol import dead_letters

Body = Callable[[Client, JetStreamContext], Awaitable[None]]
FAULTS = (nats.errors.Error, asyncio.TimeoutError)
EVENTUAL_SECONDS = 40.0  # seconds: machines that run tests are busy
SIZE = 5  # messages of a batch
PACE = 0.01  # seconds between two messages: as many as come at full speed would prove no more


@pytest.fixture(scope="module", params=["reference", "pyjs"])
def mesh(request: pytest.FixtureRequest) -> Iterator[JetMesh]:
    found = JetMesh(request.param)
    yield found
    found.close()


@asynccontextmanager
async def client(mesh: JetMesh) -> AsyncIterator[Client]:
    async def quiet(_: Exception) -> None:
        return

    connection = await nats.connect(
        mesh.url().split(","),
        user="acc",
        password="acc",
        error_cb=quiet,
        max_reconnect_attempts=-1,
        reconnect_time_wait=0.1,
    )
    try:
        yield connection
    finally:
        await connection.close()


def run(mesh: JetMesh, body: Body) -> None:
    """Run with a connection; afterwards all servers run, and there is no stream."""

    async def main() -> None:
        async with client(mesh) as connection:
            js = connection.jetstream(timeout=5)
            try:
                await body(connection, js)
            finally:
                for server in mesh.servers:
                    if server.process is not None and server.process.poll() is not None:
                        server.launch()
                mesh.ready()
                for info in await eventually(js.streams_info):
                    await js.delete_stream(info.config.name or "")

    asyncio.run(main())


async def eventually(ask: Callable[[], Awaitable[Any]]) -> Any:
    """What `ask` gives once that is something, and no error."""
    return await found(ask, *FAULTS, seconds=EVENTUAL_SECONDS)


async def whole(js: JetStreamContext, name: str, others: int = 2) -> StreamInfo:
    """The stream's info, once it is led and all its replicas are current."""

    async def look() -> StreamInfo | None:
        info = await js.stream_info(name)
        cluster = info.cluster
        replicas = (cluster.replicas or []) if cluster else []
        good = all(replica.current and not replica.offline for replica in replicas)
        return info if cluster and cluster.leader and len(replicas) == others and good else None

    found: StreamInfo = await eventually(look)
    return found


async def leader(js: JetStreamContext, name: str) -> str:
    info = await whole(js, name)
    assert info.cluster is not None and info.cluster.leader is not None
    return info.cluster.leader


class Publisher:
    """Publishes numbers, each until it is acknowledged, with an id so that none is stored twice."""

    def __init__(self, js: JetStreamContext, subject: str) -> None:
        self.js = js
        self.subject = subject
        self.sequences: list[int] = []
        self.ending = asyncio.Event()

    async def one(self) -> None:
        number = len(self.sequences)

        async def attempt() -> int:
            headers = {"Nats-Msg-Id": f"{self.subject}-{number}"}
            ack = await self.js.publish(self.subject, b"%d" % number, timeout=0.5, headers=headers)
            return ack.seq

        self.sequences.append(await eventually(attempt))

    async def go_on(self) -> None:
        while not self.ending.is_set():
            await self.one()
            with suppress(TimeoutError):
                await asyncio.wait_for(self.ending.wait(), PACE)


async def contents(js: JetStreamContext, name: str, info: StreamInfo) -> list[bytes]:
    found = []
    for sequence in range(info.state.first_seq, info.state.last_seq + 1):
        message = await eventually(lambda sequence=sequence: js.get_msg(name, sequence))  # type: ignore[misc]
        found.append(message.data or b"")
    return found


def test_publishes_go_on_when_the_leader_is_killed_and_none_gets_lost(mesh: JetMesh) -> None:
    async def body(_: Client, js: JetStreamContext) -> None:
        await js.add_stream(name="S", subjects=["s.>"], num_replicas=3)
        publisher = Publisher(js, "s.a")
        going = asyncio.create_task(publisher.go_on())
        for _turn in range(2):
            await _more(publisher, 50)
            name = await leader(js, "S")
            mesh[name].kill()
            await _more(publisher, 50)
            mesh[name].launch()
        await _more(publisher, 50)
        publisher.ending.set()
        await going
        info = await whole(js, "S")
        assert publisher.sequences == list(range(1, len(publisher.sequences) + 1))
        assert await contents(js, "S", info) == [b"%d" % n for n in range(len(publisher.sequences))]

    run(mesh, body)


def test_batches_are_whole_or_not_there_when_their_leader_is_killed(mesh: JetMesh) -> None:
    async def body(connection: Client, js: JetStreamContext) -> None:
        config = {"name": "S", "subjects": ["s.>"], "num_replicas": 3, "allow_atomic": True}
        answer = await connection.request("$JS.API.STREAM.CREATE.S", json.dumps(config).encode(), timeout=10)
        assert "error" not in json.loads(answer.data)
        acknowledged: set[str] = set()
        for turn in range(2):
            name = await leader(js, "S")
            sent = [asyncio.create_task(batch(connection, f"{turn}-{number}")) for number in range(40)]
            await until(lambda sent=sent: sum(one.done() for one in sent) >= 5, EVENTUAL_SECONDS)  # type: ignore[misc]
            mesh[name].kill()
            acknowledged.update(filter(None, await asyncio.gather(*sent)))
            mesh[name].launch()
        info = await whole(js, "S")
        found = [body.decode().split() for body in await contents(js, "S", info)]
        stored = [found[at : at + SIZE] for at in range(0, len(found), SIZE)]
        assert all(one == [[one[0][0], str(n)] for n in range(1, SIZE + 1)] for one in stored)
        assert acknowledged <= {one[0][0] for one in stored}

    run(mesh, body)


def test_schedules_go_on_when_their_leader_is_killed(mesh: JetMesh) -> None:
    async def body(connection: Client, js: JetStreamContext) -> None:
        config = {"name": "S", "subjects": ["s.>"], "num_replicas": 3, "allow_msg_schedules": True}
        answer = await connection.request("$JS.API.STREAM.CREATE.S", json.dumps(config).encode(), timeout=10)
        assert "error" not in json.loads(answer.data)
        given = {"Nats-Schedule": "@every 1s", "Nats-Schedule-Target": "s.ticks"}
        await eventually(lambda: js.publish("s.when", b"tick", headers=given))
        name = await leader(js, "S")
        assert await eventually(lambda: js.get_last_msg("S", "s.ticks"))
        mesh[name].kill()
        before: int = (await eventually(lambda: js.get_last_msg("S", "s.ticks"))).seq
        await eventually(lambda: _later(js, before))
        mesh[name].launch()
        last = (await whole(js, "S")).state.last_seq
        ticks = [await eventually(lambda seq=seq: js.get_msg("S", seq)) for seq in range(2, last + 1)]  # type: ignore[misc]
        assert {(tick.subject, tick.data) for tick in ticks} == {("s.ticks", b"tick")}
        assert len({tick.headers["Nats-Schedule-Next"] for tick in ticks}) == len(ticks)

    run(mesh, body)


async def _later(js: JetStreamContext, sequence: int) -> bool:
    """Whether a schedule has brought two messages after that sequence."""
    return ((await js.get_last_msg("S", "s.ticks")).seq or 0) > sequence + 1


async def batch(connection: Client, name: str) -> str:
    """Send an atomic batch of `SIZE` messages; return its name if it was acknowledged, else ""."""
    answer = b""
    for place in range(1, SIZE + 1):
        headers = {"Nats-Batch-Id": name, "Nats-Batch-Sequence": str(place)}
        if place == SIZE:
            headers["Nats-Batch-Commit"] = "1"
        try:
            message = await connection.request("s.b", f"{name} {place}".encode(), 2, headers=headers)
        except FAULTS:
            return ""
        answer = message.data
    return name if json.loads(answer or b"{}").get("count") == SIZE else ""


async def _more(publisher: Publisher, count: int) -> None:
    """Wait until that many more have come."""
    wanted = len(publisher.sequences) + count
    await until(lambda: len(publisher.sequences) >= wanted, EVENTUAL_SECONDS)


def test_a_consumer_goes_on_where_it_was(mesh: JetMesh) -> None:
    async def body(_: Client, js: JetStreamContext) -> None:
        await js.add_stream(name="S", subjects=["s.>"], num_replicas=3)
        await js.add_stream(name="W", subjects=["w"], num_replicas=3, retention=RetentionPolicy.WORK_QUEUE)
        for stream, subject in (("S", "s.a"), ("W", "w")):
            publisher = Publisher(js, subject)
            for _turn in range(20):
                await publisher.one()

            async def made(subject: str = subject, stream: str = stream) -> Any:
                return await js.pull_subscribe(subject, durable="C", stream=stream)

            # Asked while the meta group's leader may be the server that was just killed.
            reader = await eventually(made)
            first = await reader.fetch(10, timeout=5)
            for message in first:
                await message.ack_sync(timeout=5)
            mesh[await leader(js, stream)].kill()

            async def rest(reader: Any = reader) -> Any:
                return await reader.fetch(10, timeout=1)

            second = await eventually(rest)
            assert [message.data for message in first + second] == [b"%d" % n for n in range(20)]
            for server in mesh.servers:
                if server not in mesh.alive():
                    server.launch()
        info = await whole(js, "W")
        assert info.state.messages == 10

    run(mesh, body)


def test_an_ephemeral_consumer_goes_on_with_its_stream(mesh: JetMesh) -> None:
    """On nats-server it is on one server, and does nothing while that is away."""
    if mesh.implementation == "reference":
        return

    async def body(_: Client, js: JetStreamContext) -> None:
        await js.add_stream(name="S", subjects=["s.>"], num_replicas=3)
        publisher = Publisher(js, "s.a")
        for _turn in range(10):
            await publisher.one()
        made = await js.add_consumer("S", ConsumerConfig(num_replicas=1, inactive_threshold=60.0))
        assert made.cluster is not None and len(made.cluster.replicas or []) == 2
        reader = await js.pull_subscribe_bind(made.name, "S")
        first = await reader.fetch(5, timeout=5)
        for message in first:
            await message.ack_sync(timeout=5)
        mesh[await leader(js, "S")].kill()

        async def rest() -> Any:
            return await reader.fetch(5, timeout=1)

        second = await eventually(rest)
        assert [message.data for message in first + second] == [b"%d" % n for n in range(10)]

    run(mesh, body)


def test_dead_letters_are_stored_once_while_leaders_change(mesh: JetMesh) -> None:
    if mesh.implementation != "pyjs":
        pytest.skip("nats-server has only advisories about dead letters")
    wanted = range(1, 41)

    async def body(_: Client, js: JetStreamContext) -> None:
        work_queue = RetentionPolicy.WORK_QUEUE
        await js.add_stream(name="W", subjects=["w"], num_replicas=3, retention=work_queue)
        letters = dead_letters.queue_subjects("W")
        await js.add_stream(name="DLQ_W", subjects=letters, num_replicas=3, duplicate_window=0.1)
        publisher = Publisher(js, "w")
        for _turn in wanted:
            await publisher.one()
        config = ConsumerConfig(max_deliver=2, ack_wait=1)
        reader = await js.pull_subscribe("w", durable="C", stream="W", config=config)

        async def terminate_some() -> bool:
            for message in await reader.fetch(10, timeout=1):
                if message.metadata.sequence.stream % 2:
                    await message.term()  # the others run out of deliveries
            return True

        for stream in ("W", "DLQ_W"):
            await eventually(terminate_some)
            name = await leader(js, stream)
            mesh[name].kill()
            await eventually(terminate_some)
            mesh[name].launch()

        async def all_stored() -> bool:
            with suppress(*FAULTS):
                await terminate_some()
            info = await js.stream_info("DLQ_W", subjects_filter="$PYJS.DLQ.>")
            counted = info.state.subjects or {}
            assert {*counted.values()} <= {1}
            sequences = sorted(int(subject.rpartition(".")[2]) for subject in counted)
            assert len({*sequences}) == len(sequences)
            return sequences == [*wanted] and (await js.consumer_info("W", "C")).num_ack_pending == 0

        await eventually(all_stored)

    run(mesh, body)


def test_copies_come_and_go(mesh: JetMesh) -> None:
    async def body(_: Client, js: JetStreamContext) -> None:
        await js.add_stream(name="S", subjects=["s.>"], num_replicas=1)
        publisher = Publisher(js, "s.a")
        going = asyncio.create_task(publisher.go_on())
        for copies in (3, 1, 3):
            await _more(publisher, 20)
            info = await js.stream_info("S")
            await js.update_stream(info.config, num_replicas=copies)
            await whole(js, "S", copies - 1)
        await _more(publisher, 20)
        publisher.ending.set()
        await going
        info = await whole(js, "S")
        assert await contents(js, "S", info) == [b"%d" % n for n in range(len(publisher.sequences))]

    run(mesh, body)


def test_mirrors_and_sources_follow_whoever_leads(mesh: JetMesh) -> None:
    async def body(_: Client, js: JetStreamContext) -> None:
        await js.add_stream(name="O", subjects=["o"], num_replicas=3)
        await js.add_stream(name="M", mirror=StreamSource(name="O"), num_replicas=3)
        await js.add_stream(name="A", sources=[StreamSource(name="O")], num_replicas=3)
        publisher = Publisher(js, "o")
        for round_ in range(2):
            for _turn in range(20):
                await publisher.one()
            for name in ("M", "A"):
                await eventually(lambda name=name: _holds(js, name, len(publisher.sequences)))  # type: ignore[misc]
            if not round_:
                if mesh.implementation == "reference":
                    return  # it does follow, after up to 40 s
                name = await leader(js, "O")
                mesh[name].kill()

    run(mesh, body)


async def _holds(js: JetStreamContext, name: str, count: int) -> bool:
    info = await js.stream_info(name)
    return info.state.messages == count
