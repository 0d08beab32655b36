"""Backups of streams that one implementation made are restored by the other, unchanged."""

from __future__ import annotations

import pytest
from lib.backups import Saved, load, save
from lib.eventually import eventually
from lib.jetstream import ALONE, SECOND, ApiFailureError, JetStream
from lib.pool import Pool

BODIES = [b"", b"x", b"abc" * 400, bytes(range(256)) * 40, b"\0" * 300_000]


def fill(js: JetStream, name: str, storage: str) -> None:
    """A stream with gaps at the begin, inside and at the end, and a consumer in the middle of it."""
    js.create(name, subjects=[f"{name}.>"], storage=storage, allow_direct=True, max_msgs_per_subject=-1)
    for number in range(40):
        headers = {"Kind": str(number)} if number % 3 == 0 else None
        js.publish(f"{name}.{number % 4}", BODIES[number % 5] + b"%d" % number, headers)
    for sequence in (1, 2, 17, 18, 30, 39, 40):
        js.call(f"STREAM.MSG.DELETE.{name}", {"seq": sequence})
    js.consumer(name, "C", filter_subject=f"{name}.1", ack_wait=600_000_000_000)
    got, _ = js.pull(name, "C", 6)
    for message in (got[0], got[1], got[3]):
        js.ack(message)
    js.wire.request(got[4].reply, "-NAK")
    js.pull(name, "C", 1)


def contents(js: JetStream, name: str) -> dict[int, tuple[object, ...]]:
    found = {}
    for sequence in range(1, 41):
        try:
            message = js.get(name, seq=sequence)
        except ApiFailureError:
            continue
        found[sequence] = tuple(message.get(key) for key in ("subject", "data", "hdrs", "time"))
    return found


STATE = ("messages", "first_seq", "last_seq", "first_ts", "num_subjects", "num_deleted", "consumer_count")
PROGRESS = ("delivered", "ack_floor", "num_ack_pending", "num_redelivered", "num_pending")


@pytest.mark.parametrize("target", ["reference", "pyjs"])
@pytest.mark.parametrize("storage", ["file", "memory"])
def test_a_backup_comes_back_as_it_was(
    pool: Pool, implementation: str, target: str, storage: str, unique: str
) -> None:
    with JetStream.of(pool.get(implementation, ALONE)) as one, JetStream.of(pool.get(target, ALONE)) as other:
        fill(one, unique, storage)
        saved = save(one, unique, chunk_size=50_000)
        before, seen = one.info(unique)["state"], contents(one, unique)
        progress = one.consumer_info(unique, "C")
        if implementation == target:
            one.call(f"STREAM.DELETE.{unique}")
        made = load(other, unique, saved)
        assert made["config"]["subjects"] == [f"{unique}.>"]
        after = other.state(unique)
        assert [after[key] for key in STATE] == [before[key] for key in STATE]
        assert contents(other, unique) == seen
        found = other.consumer_info(unique, "C")
        keys = [key for key in PROGRESS if key in ("num_ack_pending", "num_redelivered", "num_pending")]
        assert [found[key] for key in keys] == [progress[key] for key in keys]
        for key in ("delivered", "ack_floor"):
            for sequence in ("consumer_seq", "stream_seq"):
                assert found[key][sequence] == progress[key][sequence]
        assert other.publish(f"{unique}.1", "next")["seq"] == 41
        assert other.pull(unique, "C")[0][0].body.endswith(b"37")


@pytest.mark.parametrize("target", ["reference", "pyjs"])
@pytest.mark.parametrize(
    ("gone", "acked", "waiting"),
    [
        (2, {6}, [3, 9]),  # nothing was acknowledged that moves the floor from 0
        (10, {3, 6, 9}, []),  # all is done, and the stream goes on
        (10, {6}, []),  # what waits for an ack is gone
        (12, set(), []),  # so is everything
    ],
)
def test_a_consumer_whose_floor_is_below_the_first_message(
    pool: Pool, target: str, unique: str, gone: int, acked: set[int], waiting: list[int]
) -> None:
    """nats-server drops such a state without a word, so pyjs saves none."""
    with JetStream.of(pool.get("pyjs", ALONE)) as one, JetStream.of(pool.get(target, ALONE)) as other:
        one.create(unique, subjects=[f"{unique}.*"], storage="file")
        one.consumer(unique, "C", ack_wait=600 * SECOND, filter_subject=f"{unique}.0")
        for number in range(1, 13):
            one.publish(f"{unique}.{number % 3}", str(number))
        for message in one.pull(unique, "C", 3)[0]:
            if int(message.body) in acked:
                one.ack(message)
        for seq in range(1, gone + 1):
            one.call(f"STREAM.MSG.DELETE.{unique}", {"seq": seq})
        saved = save(one, unique)
        one.call(f"STREAM.DELETE.{unique}")
        load(other, unique, saved)
        info = other.consumer_info(unique, "C")
        assert info["delivered"]["consumer_seq"] == 3
        assert (info["num_ack_pending"], info["num_pending"]) == (len(waiting), int(gone < 12))
        for number in range(13, 16):
            other.publish(f"{unique}.{number % 3}", str(number))
        # The ack wait does not end in this test: only what was not delivered comes.
        fresh = [12, 15] if gone < 12 else [15]
        messages, _ = other.pull(unique, "C", len(fresh))
        assert [int(message.body) for message in messages] == fresh
        for message in messages:
            other.ack(message)
        for seq in waiting:  # acks of clients that had them before
            other.wire.pub(f"$JS.ACK.{unique}.C.1.{seq}.{seq // 3}.1.0", "+ACK")
        eventually(lambda: other.consumer_info(unique, "C")["num_ack_pending"] == 0)
        floor = other.consumer_info(unique, "C")["ack_floor"]
        assert (floor["consumer_seq"], floor["stream_seq"]) == (3 + len(fresh), 15)


def test_without_consumers_and_with_another_configuration(js: JetStream, unique: str) -> None:
    fill(js, unique, "file")
    saved = save(js, unique, no_consumers=True)
    js.call(f"STREAM.DELETE.{unique}")
    load(js, unique, saved, subjects=["other." + unique], max_msgs=5, storage="memory")
    state = js.state(unique)
    assert (state["messages"], state["consumer_count"], state["last_seq"]) == (5, 0, 40)
    assert js.publish("other." + unique, "x")["seq"] == 41


def refused(js: JetStream, name: str, saved: Saved, **config: object) -> tuple[int, int]:
    with pytest.raises(ApiFailureError) as failure:
        load(js, name, saved, **config)  # type: ignore[arg-type]
    return failure.value.code, failure.value.err_code


def test_what_cannot_be_restored_is_refused_and_leaves_nothing(js: JetStream, unique: str) -> None:
    fill(js, unique, "file")
    document, data = saved = save(js, unique)
    assert refused(js, unique, saved)[1] == 10130
    other = unique + "b"
    assert refused(js, other, saved, subjects=[f"{unique}.x"])[1] in (10065, 10062)
    broken = bytearray(data)
    broken[len(broken) // 2] ^= 1
    for wrong in (b"no archive at all", bytes(broken), data[: len(data) // 2]):
        assert refused(js, other, (document, wrong), subjects=[other])[1] == 10062
    eventually(lambda: js.call("STREAM.NAMES", {"subject": other})["streams"] is None)


def test_requests_that_make_no_sense(js: JetStream, unique: str) -> None:
    js.create(unique)
    assert js.error(f"STREAM.SNAPSHOT.{unique}")[1] == 10003
    assert js.error(f"STREAM.SNAPSHOT.{unique}", {"deliver_subject": "a.*"})[1] == 10015
    assert js.error(f"STREAM.SNAPSHOT.{unique}", {"deliver_subject": ""})[1] == 10015
    assert js.error(f"STREAM.SNAPSHOT.{unique}x", {"deliver_subject": "a"})[1] == 10059
    assert js.error(f"STREAM.RESTORE.{unique}")[1] == 10003
    assert js.error(f"STREAM.RESTORE.{unique}", {"config": {"name": "other"}})[1] == 10056
