"""Backups of streams that one implementation made are restored by the other, unchanged."""

from __future__ import annotations

import pytest
from lib.backups import Saved, load, save
from lib.eventually import eventually
from lib.jetstream import ALONE, ApiFailureError, JetStream
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
