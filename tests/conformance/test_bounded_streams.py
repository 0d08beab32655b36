"""Big streams delay nobody: requests about 20,000 subjects, or that remove them, are done in slices.

As in test_bounded_work.py the server's callbacks are measured, and the reference runs the same requests.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from lib.callbacks import Callbacks
from lib.eventually import eventually
from lib.jetstream import ALONE, SECOND, JetStream
from lib.process import ServerProcess

SUBJECTS = 20_000
PAGE = 100_000  # subjects in one answer
MARKED = 6_000


@pytest.fixture
def server(callbacks: Callbacks, launch: Callable[[str], ServerProcess]) -> ServerProcess:
    """A measured server of the test's own."""
    return launch(ALONE)


def fill(js: JetStream, name: str, subjects: int = SUBJECTS, rounds: int = 1, already: int = 0) -> None:
    """Messages on w.<group>.<number>, 100 numbers in each group, in a stream that has some already."""
    for _ in range(rounds):
        for start in range(0, subjects, 1000):
            names = (f"{name}.{number // 100}.{number}" for number in range(start, start + 1000))
            js.wire.send("".join([f"PUB {one} 1\r\nx\r\n" for one in names]))
    wanted = subjects * rounds + already
    eventually(lambda: js.state(name)["messages"] == wanted, seconds=30)


def test_what_is_found_among_many_subjects(
    server: ServerProcess, js: JetStream, callbacks: Callbacks
) -> None:
    js.create("w", subjects=["w.>"], allow_direct=True)
    fill(js, "w")
    with callbacks.bounded(server):
        whole = js.info("w", subjects_filter=">")
        assert whole["total"] == len(whole["state"]["subjects"]) == SUBJECTS
        rest = js.info("w", subjects_filter=">", offset=SUBJECTS - 2)
        assert sorted(rest["state"]["subjects"]) == ["w.99.9998", "w.99.9999"]
        assert js.get("w", last_by_subj="w.7.*")["seq"] == 800
        assert js.get("w", next_by_subj="*.8.*", seq=805)["seq"] == 805
        assert js.get("w", last_by_subj="w.*.*")["seq"] == SUBJECTS
        few = js.info("w", subjects_filter="w.7.*")
        assert (few["total"], few["state"]["subjects"]["w.7.700"]) == (100, 1)
        assert js.consumer("w", "few", filter_subject="w.9.*")["num_pending"] == 100
        assert js.consumer("w", "many", filter_subject="w.*.*")["num_pending"] == SUBJECTS
        two = js.consumer("w", "two", filter_subjects=["w.1.*", "w.2.>"], deliver_policy="last_per_subject")
        assert two["num_pending"] == 200
        js.publish("w.9.new")
        assert js.consumer_info("w", "few")["num_pending"] == 101


def test_more_subjects_than_a_page_holds(server: ServerProcess, js: JetStream, callbacks: Callbacks) -> None:
    js.create("w", subjects=["w.>"])
    fill(js, "w", PAGE + 1000)
    for pattern in (">", "w.*.*"):
        with callbacks.bounded(server):
            pages = [js.info("w", subjects_filter=pattern, offset=start) for start in (0, PAGE, PAGE + 2000)]
        assert [page["total"] for page in pages] == [PAGE + 1000] * 3
        assert [page["offset"] for page in pages] == [0, PAGE, PAGE + 2000]
        names = [page["state"].get("subjects", {}) for page in pages]
        assert [len(one) for one in names] == [PAGE, 1000, 0]
        assert len({*names[0], *names[1]}) == PAGE + 1000


def test_all_deleted_sequences_of_a_stream(
    server: ServerProcess, js: JetStream, callbacks: Callbacks
) -> None:
    js.create("w", subjects=["w.>"], max_msgs_per_subject=1)
    js.publish("w.first")
    js.wire.send("PUB w.again 1\r\nx\r\n" * SUBJECTS)
    eventually(lambda: js.state("w")["last_seq"] == SUBJECTS + 1, seconds=30)
    with callbacks.bounded(server):
        state = js.info("w", deleted_details=True)["state"]
    assert state["deleted"] == list(range(2, SUBJECTS + 1))
    assert state["num_deleted"] == SUBJECTS - 1


def test_a_gap_that_no_list_holds(
    implementation: str, server: ServerProcess, js: JetStream, callbacks: Callbacks
) -> None:
    """A purge to a high sequence leaves it in a mirror; nats-server cannot list it."""
    high = 1 << 40
    js.create("o", subjects=["o"], storage="file")
    js.create("m", subjects=None, storage="file", mirror={"name": "o"})
    js.publish("o")
    eventually(lambda: js.state("m")["messages"] == 1)
    js.call("STREAM.PURGE.o", {"seq": high})
    with callbacks.bounded(server):
        js.publish("o")
        eventually(lambda: js.state("m")["messages"] == 2)
        assert js.state("m")["num_deleted"] == high - 2
        consumer = js.consumer("m", "c", ack_policy="explicit")
        assert consumer["num_pending"] == 2
        if implementation == "pyjs":
            state = js.info("m", deleted_details=True)["state"]
            assert state["deleted"] == list(range(2, 100_002))
            assert state["num_deleted"] == high - 2


def test_a_purge_of_many_subjects_keeps_what_comes_meanwhile(
    server: ServerProcess, js: JetStream, callbacks: Callbacks
) -> None:
    js.create("w", subjects=["w.>"])
    fill(js, "w")
    js.consumer("w", "c", filter_subject="w.*.*")
    with callbacks.bounded(server), JetStream.of(server) as other:
        other.wire.pub("$JS.API.STREAM.PURGE.w", '{"filter": "w.*.*", "keep": 100}', reply="purged")
        for number in range(50):
            assert js.publish(f"w.late.{number}.x")["seq"] == SUBJECTS + 1 + number
        eventually(lambda: js.state("w")["messages"] == 150)
        assert js.call("STREAM.PURGE.w", {"filter": "w.*.*"})["purged"] == 100
        assert js.consumer_info("w", "c")["num_pending"] == 0
        assert js.state("w")["first_seq"] == SUBJECTS + 1
        assert js.call("STREAM.PURGE.w")["purged"] == 50
        assert js.state("w")["messages"] == 0


def test_rollups_keep_what_comes_meanwhile(
    server: ServerProcess, js: JetStream, callbacks: Callbacks
) -> None:
    """In a file; the purge above removes as many subjects from memory."""
    js.create("w", subjects=["w.>"], storage="file", allow_rollup_hdrs=True)
    fill(js, "w")
    js.consumer("w", "c", filter_subject="w.*.*")
    with callbacks.bounded(server), JetStream.of(server) as other:
        other.publish("w.0.0", headers={"Nats-Rollup": "sub"})
        assert js.state("w")["messages"] == SUBJECTS
        block = b"NATS/1.0\r\nNats-Rollup: sub\r\n\r\n"
        other.wire.sub("rolled")
        late = b"".join([b"PUB w.late.%d 0\r\n\r\n" % number for number in range(20)])
        other.wire.send(b"HPUB w.*.* rolled %d %d\r\n%b\r\n%b" % (len(block), len(block), block, late))
        assert other.wire.msg().json()["seq"] == SUBJECTS + 2
        other.wire.sync()
        state = js.state("w")
        assert (state["messages"], state["num_subjects"]) == (21, 21)
        assert js.consumer_info("w", "c")["num_pending"] == 21
        fill(js, "w", already=21)
        js.publish("w.all", headers={"Nats-Rollup": "all"})
        assert js.state("w")["messages"] == 1
        js.wire.send("PUB w.one 1\r\nx\r\n" * SUBJECTS)
        js.publish("w.one", headers={"Nats-Rollup": "sub"})
        assert js.state("w")["messages"] == 2
    server.crash()
    server.launch()
    with JetStream.of(server) as again:
        assert again.state("w")["messages"] == 2


@pytest.mark.parametrize("storage", ["file", "memory"])
def test_a_purge_of_all(server: ServerProcess, js: JetStream, callbacks: Callbacks, storage: str) -> None:
    js.create("w", subjects=["w.>"], storage=storage)
    fill(js, "w")
    with callbacks.bounded(server):
        assert js.call("STREAM.PURGE.w", {"seq": 8001})["purged"] == 8000
        assert js.call("STREAM.PURGE.w", {"keep": 8000})["purged"] == SUBJECTS - 16_000
        assert js.call("STREAM.PURGE.w")["purged"] == 8000
        state = js.state("w")
        assert (state["messages"], state["bytes"], state["first_seq"]) == (0, 0, SUBJECTS + 1)


def test_limits_that_are_lowered(server: ServerProcess, js: JetStream, callbacks: Callbacks) -> None:
    js.create("w", subjects=["w.>"])
    fill(js, "w", SUBJECTS // 2, rounds=2)
    js.consumer("w", "c")
    with callbacks.bounded(server):
        lasts = js.consumer("w", "lasts", deliver_policy="last_per_subject", filter_subject="w.>")
        assert lasts["num_pending"] == SUBJECTS // 2
        js.update("w", max_msgs_per_subject=1)
        assert js.consumer_info("w", "lasts")["num_pending"] == SUBJECTS // 2
        assert js.state("w")["messages"] == SUBJECTS // 2
        js.update("w", max_msgs=8000)
        assert js.state("w")["messages"] == 8000
        js.update("w", max_bytes=js.state("w")["bytes"] // 2)
        assert js.state("w")["messages"] <= 4000
        assert js.consumer_info("w", "c")["num_pending"] == js.state("w")["messages"]
        js.update("w", max_age=SECOND, duplicate_window=SECOND)
        eventually(lambda: js.state("w")["messages"] == 0, seconds=20)


def test_one_message_that_pushes_out_many(server: ServerProcess, js: JetStream, callbacks: Callbacks) -> None:
    js.create("w", subjects=["w.>"], max_bytes=1_500_000)
    fill(js, "w")
    with callbacks.bounded(server):
        js.publish("w.big", b"x" * 340_000)
        js.publish("w.big", b"x" * 340_000)
        js.publish("w.big", b"x" * 340_000)
        js.publish("w.big", b"x" * 340_000)
        eventually(lambda: js.state("w")["bytes"] <= 1_500_000)
        state = js.state("w")
        assert 4 < state["messages"] < 8000
        assert state["last_seq"] == SUBJECTS + 4


def test_the_last_consumer_of_an_interest_stream_leaves(
    server: ServerProcess, js: JetStream, callbacks: Callbacks
) -> None:
    js.create("w", subjects=["w.>"], retention="interest", storage="file")
    js.consumer("w", "all")
    js.consumer("w", "some", filter_subject="w.7.*")
    fill(js, "w")
    with callbacks.bounded(server):
        js.call("CONSUMER.DELETE.w.all")
        eventually(lambda: js.state("w")["messages"] == 100)
        assert js.consumer_info("w", "some")["num_pending"] == 100
        js.call("CONSUMER.DELETE.w.some")
        eventually(lambda: js.state("w")["messages"] == 0)


def test_lifetimes_that_end_together(server: ServerProcess, js: JetStream, callbacks: Callbacks) -> None:
    js.create("w", subjects=["w.>"], allow_msg_ttl=True)
    header = "NATS/1.0\r\nNats-TTL: 2\r\n\r\n"
    size = len(header)
    for start in range(0, 8000, 1000):
        numbers = range(start, start + 1000)
        js.wire.send("".join([f"HPUB w.{one} {size} {size + 1}\r\n{header}x\r\n" for one in numbers]))
    eventually(lambda: js.state("w")["last_seq"] == 8000, seconds=20)
    with callbacks.bounded(server):
        eventually(lambda: js.state("w")["messages"] == 0, seconds=20)


@pytest.mark.parametrize("limit", ["ttl", "age"])
def test_markers_that_are_left_together(
    server: ServerProcess, js: JetStream, callbacks: Callbacks, limit: str
) -> None:
    """The marker of each message's subject is stored while others go."""
    more = {"max_age": SECOND, "duplicate_window": SECOND} if limit == "age" else {}
    js.create("w", subjects=["w.>"], allow_msg_ttl=True, subject_delete_marker_ttl=SECOND, **more)
    header = "NATS/1.0\r\nNats-TTL: 1s\r\n\r\n" if limit == "ttl" else "NATS/1.0\r\n\r\n"
    lines = (f"HPUB w.{n} {len(header)} {len(header)}\r\n{header}\r\n" for n in range(MARKED))
    with callbacks.bounded(server):
        js.wire.send("".join(lines))
        eventually(lambda: js.state("w")["last_seq"] == 2 * MARKED, seconds=30)
        eventually(lambda: js.state("w")["messages"] == 0, seconds=30)


@pytest.mark.parametrize("storage", ["file", "memory"])
def test_the_end_of_a_big_stream(
    server: ServerProcess, js: JetStream, callbacks: Callbacks, storage: str
) -> None:
    js.create("w", subjects=["w.>"], storage=storage)
    fill(js, "w")
    js.consumer("w", "c", filter_subject="w.*.*")
    with callbacks.bounded(server):
        js.call("STREAM.DELETE.w")
        js.create("w", subjects=["w.>"], storage=storage)
        js.publish("w.1")
        assert js.state("w")["messages"] == 1


def test_the_end_of_a_consumer_with_many_outstanding_acks(
    server: ServerProcess, js: JetStream, callbacks: Callbacks
) -> None:
    js.create("w", subjects=["w.>"])
    fill(js, "w")
    with JetStream.of(server) as other:
        other.wire.sub("deliver")
        js.consumer("w", "c", deliver_subject="deliver", max_ack_pending=-1)
        other.wire.msgs(SUBJECTS)
    assert js.consumer_info("w", "c")["num_ack_pending"] == SUBJECTS
    with callbacks.bounded(server):
        js.call("STREAM.PURGE.w", {"filter": "w.7.*"})
        assert js.consumer_info("w", "c")["num_ack_pending"] == SUBJECTS - 100
        js.call("CONSUMER.DELETE.w.c")
