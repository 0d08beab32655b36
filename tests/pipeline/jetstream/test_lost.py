"""Reading while servers die and connections are cut continues without gap or duplicate, or names the gap."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack

import pytest
from lib.cuttable_proxy import Cuttable
from lib.jetstream import ALONE
from lib.process import ServerProcess, free_port
from lib.ranges import create, fill, listed
from pyjs.client import BlockingConnection, ConnectionLost, ConnectionOptions
from pyjs.client.receive_buffer import ReceiveBuffer
from pyjs.pipeline.jetstream import JetStreamRequests, ShortRead, StreamRange, read
from pyjs.pipeline.jetstream.columns import MessageRange
from pyjs.pipeline.jetstream.direct import DirectReader

# More than a reader has under way, or the kernel holds for it.
MESSAGES, SIZE = 3000, 12_000
ALL = list(range(1, MESSAGES + 1))
WAYS = {"consumer": {}, "direct": {"retention": "workqueue", "allow_direct": True}}


@pytest.mark.parametrize("way", WAYS)
def test_a_killed_server_that_comes_back_is_read_on(launch: Callable[[str], ServerProcess], way: str) -> None:
    server = launch(ALONE)
    with BlockingConnection.open(ConnectionOptions((server.url,))) as connection:
        api = JetStreamRequests(connection)
        create(api, "S", storage="file", **WAYS[way])
        fill(api, "S", MESSAGES, SIZE)
        reading = read(
            connection, api, StreamRange("S", 1, MESSAGES + 1), batch=100, retries=1, retry_interval=0
        )
        batches = [next(reading)]
        server.crash()
        with pytest.raises(ShortRead, match=f"sequences [0-9]+ to {MESSAGES} could not be read") as failed:
            batches.extend(reading)
        done = listed(batches, "sequence")
        assert done == list(range(1, failed.value.first))
        assert len(done) < MESSAGES
        server.launch()
        batches += read(
            connection, api, StreamRange("S", failed.value.first, MESSAGES + 1), batch=100, retries=60
        )
        assert listed(batches, "sequence") == ALL
        assert [int(data) for data in listed(batches, "data")] == [seq - 1 for seq in ALL]


def test_a_server_killed_and_started_between_two_batches_goes_unnoticed(
    launch: Callable[[str], ServerProcess],
) -> None:
    server = launch(ALONE)
    with BlockingConnection.open(ConnectionOptions((server.url,))) as connection:
        api = JetStreamRequests(connection)
        create(api, "S", storage="file")
        fill(api, "S", MESSAGES, SIZE)
        reading = read(connection, api, StreamRange("S", 1, MESSAGES + 1), batch=100, retry_interval=0)
        batches = [next(reading)]
        server.crash()
        server.launch()
        batches.extend(reading)
        assert listed(batches, "sequence") == ALL


@pytest.fixture
def cuttable(server: ServerProcess) -> Iterator[Cuttable]:
    with Cuttable(server.port) as line:
        yield line


@pytest.mark.parametrize("way", WAYS)
def test_a_line_cut_again_and_again_loses_nothing(cuttable: Cuttable, unique: str, way: str) -> None:
    with BlockingConnection.open(ConnectionOptions((f"nats://127.0.0.1:{cuttable.port}",))) as connection:
        api = JetStreamRequests(connection)
        create(api, unique, **WAYS[way])
        fill(api, unique, MESSAGES, SIZE)
        batches, cuts = [], 0
        for batch in read(
            connection, api, StreamRange(unique, 1, MESSAGES + 1), batch=100, retries=3, retry_interval=0
        ):
            batches.append(batch)
            if len(batches) % 8 == 1:
                cuts += cuttable.cut()
        assert cuts > 2
        assert listed(batches, "sequence") == ALL


def test_another_server_of_the_list_is_taken(server: ServerProcess, unique: str) -> None:
    with ExitStack() as line:
        first = line.enter_context(Cuttable(server.port))
        urls = (f"127.0.0.1:{free_port()}", f"nats://127.0.0.1:{first.port}", server.url)
        with BlockingConnection.open(ConnectionOptions(urls)) as connection:
            api = JetStreamRequests(connection)
            create(api, unique)
            fill(api, unique, MESSAGES, SIZE)
            reading = read(connection, api, StreamRange(unique, 1, MESSAGES + 1), batch=100, retry_interval=0)
            batches = [next(reading)]
            line.close()
            batches.extend(reading)
            assert connection.url == server.url
            assert listed(batches, "sequence") == ALL


def test_a_consumer_that_is_taken_away_is_made_again(api: JetStreamRequests, unique: str) -> None:
    create(api, unique)
    fill(api, unique, MESSAGES, SIZE)
    reading = read(api.connection, api, StreamRange(unique, 1, MESSAGES + 1), batch=100, retry_interval=0)
    batches = [next(reading)]
    (consumer,) = api.call(f"CONSUMER.NAMES.{unique}")["consumers"]
    api.call(f"CONSUMER.DELETE.{unique}.{consumer}")
    batches.extend(reading)
    assert listed(batches, "sequence") == ALL


def test_what_a_late_replica_lacks_comes_from_the_leader(
    api: JetStreamRequests, unique: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(api, unique, **WAYS["direct"])
    fill(api, unique, 350)
    whole = DirectReader.ranges

    def late(direct: DirectReader) -> Iterator[MessageRange]:
        """As of a replica that has a hundred messages, then three hundred."""
        direct._end = 101 if direct._position < 150 else 301
        yield from whole(direct)

    monkeypatch.setattr(DirectReader, "ranges", late)
    batches = list(read(api.connection, api, StreamRange(unique, 1, 351), retries=0))
    assert listed(batches, "sequence") == list(range(1, 351))


def test_a_delivery_that_did_not_arrive_is_fetched_again(
    api: JetStreamRequests, unique: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(api, unique)
    fill(api, unique, 500)
    receive = BlockingConnection._receive_into
    dropped: list[bytes] = []

    def lossy(connection: BlockingConnection, buffer: ReceiveBuffer, needed: int, deadline: float) -> None:
        """Receive, and drop the eighth delivery."""
        receive(connection, buffer, needed, deadline)
        found = re.search(rb"MSG [^\r\n]*\.8\.\d+\.\d+ (\d+)\r\n", buffer.data[buffer.start : buffer.end])
        if not dropped and found is not None and len(buffer) > buffer.start + found.end() + int(found[1]) + 2:
            data = buffer.clear()
            dropped.append(data[found.start() : found.end() + int(found[1]) + 2])
            buffer.append(data.replace(dropped[0], b"", 1))

    monkeypatch.setattr(BlockingConnection, "_receive_into", lossy)
    batches = list(read(api.connection, api, StreamRange(unique, 1, 501), retry_interval=0))
    assert dropped
    assert listed(batches, "sequence") == list(range(1, 501))


def test_a_reader_that_stops_early_leaves_the_link_usable(api: JetStreamRequests, unique: str) -> None:
    create(api, unique)
    fill(api, unique, 2000, 1000)
    reading = read(api.connection, api, StreamRange(unique, 1, 2001), batch=10)
    next(reading)
    assert isinstance(reading, Generator)
    reading.close()
    assert api.stream(unique).messages == 2000
    assert listed(list(read(api.connection, api, StreamRange(unique, 1, 2001))), "sequence") == list(
        range(1, 2001)
    )


def test_a_link_that_was_closed_says_so(api: JetStreamRequests) -> None:
    api.connection.close()
    with pytest.raises(ConnectionLost, match="closed"):
        api.call("INFO")
    api.connection.reopen()
    assert json.dumps(api.call("INFO"))
