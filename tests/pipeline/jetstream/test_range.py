"""Ranges of streams: each way of reading returns what was stored, complete and in order."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest
from lib.eventually import eventually
from lib.ranges import ODD_PAYLOADS, create, delete, fill, listed, rows, sequences, store
from pyjs.pipeline.jetstream import DataLoss, JetStreamRequests, StreamRange, UnknownStream, read
from pyjs.pipeline.jetstream.columns import COLUMNS, OF_BUCKETS

# Each makes another way of reading the one that is taken: a consumer, direct gets, the leader one by one.
WAYS = {
    "consumer": {},
    "direct": {"retention": "workqueue", "allow_direct": True},
    "leader": {"retention": "interest", "consumer_kept": True},
}


@pytest.fixture(params=WAYS)
def stream(request: pytest.FixtureRequest, api: JetStreamRequests, unique: str) -> str:
    """A stream that is read in one of the ways."""
    config = dict(WAYS[request.param])
    kept = config.pop("consumer_kept", False)
    create(api, unique, **config)
    if kept:  # without a consumer an interest stream keeps nothing
        durable = {"durable_name": "keeper", "ack_policy": "explicit"}
        api.call(f"CONSUMER.CREATE.{unique}.keeper", {"stream_name": unique, "config": durable})
    return unique


def test_every_message_comes_as_it_was_stored(api: JetStreamRequests, stream: str) -> None:
    for payload in ODD_PAYLOADS:
        store(api, f"{stream}.x", payload)
    store(api, f'{stream}.ünïcode.$x."q"', b"1", {"A": ["1", "2"], "Empty": "", "Colon": "a:b"})
    store(api, f"{stream}.y", b"2", {"Nats-Stream": "mine", "Nats-Sequence": "9", "Nats-Num-Pending": "1"})
    found = rows(api, StreamRange(stream, 1, 9), headers=True, domain="D")
    assert [row["data"] for row in found] == [*ODD_PAYLOADS, b"1", b"2"]
    assert [row["sequence"] for row in found] == list(range(1, 9))
    assert [row["subject"] for row in found[5:]] == [f"{stream}.x", f'{stream}.ünïcode.$x."q"', f"{stream}.y"]
    assert {(row["stream"], row["domain"]) for row in found} == {(stream, "D")}
    assert [row["headers"] for row in found[:6]] == [[]] * 6
    assert found[6]["headers"] == [("A", ["1", "2"]), ("Empty", [""]), ("Colon", ["a:b"])]
    own = [("Nats-Stream", ["mine"]), ("Nats-Sequence", ["9"]), ("Nats-Num-Pending", ["1"])]
    assert found[7]["headers"] == own
    assert [row["size"] for row in found[:6]] == [len(payload) for payload in ODD_PAYLOADS]
    assert found[6]["size"] == len(b"NATS/1.0\r\nA: 1\r\nA: 2\r\nEmpty: \r\nColon: a:b\r\n\r\n") + 1
    now = datetime.now(UTC)
    assert all(now - timedelta(minutes=2) < row["timestamp"] <= now for row in found)


def test_times_are_the_servers_cut_to_microseconds(api: JetStreamRequests, stream: str) -> None:
    fill(api, stream, 5)
    found = rows(api, StreamRange(stream, 1, 6))
    reported = [api.call(f"STREAM.MSG.GET.{stream}", {"seq": seq})["message"]["time"] for seq in range(1, 6)]
    assert [row["timestamp"].strftime("%Y-%m-%dT%H:%M:%S.%f") for row in found] == [
        (text.rstrip("Z").ljust(26, "0") if "." in text else f"{text.rstrip('Z')}.000000")[:26]
        for text in reported
    ]


def test_ranges_end_before_their_end(api: JetStreamRequests, stream: str) -> None:
    fill(api, stream, 30)
    assert sequences(api, StreamRange(stream, 4, 17)) == list(range(4, 17))
    assert sequences(api, StreamRange(stream, 30, 31)) == [30]
    assert sequences(api, StreamRange(stream, 5, 5)) == []


def test_deleted_messages_inside_are_no_loss(api: JetStreamRequests, stream: str) -> None:
    fill(api, stream, 30)
    delete(api, stream, 4, 10, 11, 12, 28, 29, 30)
    left = [seq for seq in range(2, 31) if seq not in {4, 10, 11, 12, 28, 29, 30}]
    assert sequences(api, StreamRange(stream, 2, 31)) == left
    assert sequences(api, StreamRange(stream, 10, 13)) == []
    assert sequences(api, StreamRange(stream, 28, 31)) == []


def test_only_messages_on_the_subjects_come(api: JetStreamRequests, stream: str) -> None:
    fill(api, stream, 20)
    store(api, f"{stream}.c", b"c")
    assert sequences(api, StreamRange(stream, 1, 22, (f"{stream}.b",))) == list(range(2, 21, 2))
    assert sequences(api, StreamRange(stream, 3, 22, (f"{stream}.b", f"{stream}.c"))) == [
        *range(4, 21, 2),
        21,
    ]
    assert sequences(api, StreamRange(stream, 1, 22, (f"{stream}.none",))) == []


def test_many_messages_come_in_bounded_batches(api: JetStreamRequests, stream: str) -> None:
    fill(api, stream, 1200)
    batches = list(read(api.connection, api, StreamRange(stream, 1, 1201), batch=250))
    assert listed(batches, "data") == [b"%d" % number for number in range(1200)]
    assert max(batch.num_rows for batch in batches) <= 250


def test_large_messages_come_in_bounded_batches(api: JetStreamRequests, unique: str) -> None:
    create(api, unique)
    size = api.connection.max_payload
    for _ in range(24):
        store(api, f"{unique}.x", b"x" * size)
    batches = list(read(api.connection, api, StreamRange(unique, 1, 25)))
    assert sum(batch.num_rows for batch in batches) == 24
    assert max(batch.nbytes for batch in batches) < 12 * size


def test_columns_are_chosen_and_ordered(api: JetStreamRequests, unique: str) -> None:
    create(api, unique)
    fill(api, unique, 2)
    (batch,) = read(api.connection, api, StreamRange(unique, 1, 3), columns=["size", "sequence"])
    assert batch.schema == pa.schema([("size", pa.int64()), ("sequence", pa.int64())])
    (batch,) = read(api.connection, api, StreamRange(unique, 1, 3), headers=True)
    assert batch.schema == pa.schema([column for column in COLUMNS.items() if column[0] not in OF_BUCKETS])
    (batch,) = read(api.connection, api, StreamRange(unique, 1, 3))
    assert "headers" not in batch.schema.names


def test_reading_leaves_nothing_behind(api: JetStreamRequests, stream: str) -> None:
    fill(api, stream, 10)
    before = api.call(f"CONSUMER.NAMES.{stream}")["total"]
    assert len(sequences(api, StreamRange(stream, 1, 11))) == 10
    eventually(lambda: api.call(f"CONSUMER.NAMES.{stream}")["total"] == before)
    assert api.stream(stream).messages == 10


def test_a_full_house_of_consumers_leaves_direct_gets(api: JetStreamRequests, unique: str) -> None:
    create(api, unique, max_consumers=1, allow_direct=True)
    fill(api, unique, 10)
    durable = {"durable_name": "only", "ack_policy": "explicit"}
    api.call(f"CONSUMER.CREATE.{unique}.only", {"stream_name": unique, "config": durable})
    assert sequences(api, StreamRange(unique, 1, 11)) == list(range(1, 11))


def test_what_the_limits_took_is_reported(api: JetStreamRequests, stream: str) -> None:
    fill(api, stream, 20)
    api.call(f"STREAM.PURGE.{stream}", {"seq": 8})
    with pytest.raises(DataLoss, match="sequences 3 to 7 are gone") as failed:
        sequences(api, StreamRange(stream, 3, 21))
    assert (failed.value.stream, failed.value.first, failed.value.last) == (stream, 3, 7)
    assert sequences(api, StreamRange(stream, 3, 21), tolerate_loss=True) == list(range(8, 21))
    assert sequences(api, StreamRange(stream, 8, 21)) == list(range(8, 21))


def test_a_purge_while_reading_is_reported(api: JetStreamRequests, stream: str) -> None:
    fill(api, stream, 900)
    for tolerate in (False, True):
        reading = read(
            api.connection,
            api,
            StreamRange(stream, 1, 901),
            batch=50,
            retry_interval=0,
            tolerate_loss=tolerate,
        )
        seen = next(reading).column("sequence").to_pylist()
        if not tolerate:
            api.call(f"STREAM.PURGE.{stream}", {"seq": 890})
            with pytest.raises(DataLoss, match=r"sequences \d+ to 889 are gone"):
                for batch in reading:
                    seen += batch.column("sequence").to_pylist()
            assert seen == list(range(1, seen[-1] + 1))
        else:
            seen += [seq for batch in reading for seq in batch.column("sequence").to_pylist()]
            assert seen == list(range(890, 901))


def test_an_end_that_the_stream_does_not_have_is_reported(api: JetStreamRequests, stream: str) -> None:
    fill(api, stream, 5)
    with pytest.raises(DataLoss, match="sequences 6 to 9 are gone: the stream ends at 5"):
        sequences(api, StreamRange(stream, 1, 10), retries=1, retry_interval=0)
    assert sequences(api, StreamRange(stream, 1, 10), retries=1, retry_interval=0, tolerate_loss=True) == [
        1,
        2,
        3,
        4,
        5,
    ]


def test_a_stream_made_again_is_another_one(api: JetStreamRequests, unique: str) -> None:
    create(api, unique)
    fill(api, unique, 5)
    created = api.stream(unique).created
    api.call(f"STREAM.DELETE.{unique}")
    create(api, unique)
    fill(api, unique, 5)
    with pytest.raises(DataLoss, match="created again"):
        sequences(api, StreamRange(unique, 1, 6, created=created))
    assert sequences(api, StreamRange(unique, 1, 6, created=api.stream(unique).created)) == [1, 2, 3, 4, 5]
    api.call(f"STREAM.DELETE.{unique}")
    with pytest.raises(UnknownStream, match=unique):
        sequences(api, StreamRange(unique, 1, 6))
