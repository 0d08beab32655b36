"""What a stream still knows after a restart."""

from __future__ import annotations

from pathlib import Path

import pytest
from lib.streams import JetStreamFixture, Spy
from pyjs.protocol.errors import ApiError
from pyjs.store.meta_file import directory_name

SECOND = 1_000_000_000


def restart(fixture: JetStreamFixture) -> None:
    fixture.api.stop()
    fixture.js.stop()
    fixture.storage.close()
    fixture.open()


def test_streams_come_back_with_messages_and_configuration(fixture: JetStreamFixture) -> None:
    before = fixture.stream(subjects=["s.*"], storage="file", max_msgs=5, metadata={"a": "b"})
    fixture.publish("s.a", b"hello")
    restart(fixture)
    after = fixture.js.lookup("S")
    assert after is not before
    assert (after.config, after.created) == (before.config, before.created)
    assert [(m.subject, m.body) for m in fixture.messages(after)] == [("s.a", b"hello")]
    assert fixture.publish("s.b") == b'{"stream":"S","seq":2}'
    assert fixture.js.limits.files.used == after.store.bytes


def test_memory_streams_do_not_come_back(fixture: JetStreamFixture) -> None:
    fixture.stream(subjects=["s"])
    restart(fixture)
    assert fixture.js.streams == {}


def test_message_ids_are_known_after_a_restart_as_long_as_the_window(fixture: JetStreamFixture) -> None:
    fixture.stream(subjects=["s"], storage="file", duplicate_window=10 * SECOND)
    fixture.publish("s", Nats_Msg_Id="a")
    fixture.clock.advance(6 * SECOND)
    restart(fixture)
    assert b'"seq":1,"duplicate": true' in fixture.publish("s", Nats_Msg_Id="a")
    assert fixture.publish("s", Nats_Expected_Last_Msg_Id="a") == b'{"stream":"S","seq":2}'
    fixture.clock.advance(6 * SECOND)
    assert fixture.publish("s", Nats_Msg_Id="a") == b'{"stream":"S","seq":3}'


def test_lifetimes_and_ages_go_on_after_a_restart(fixture: JetStreamFixture) -> None:
    fixture.stream("T", subjects=["t"], storage="file", allow_msg_ttl=True)
    fixture.stream("A", subjects=["a"], storage="file", max_age=10 * SECOND)
    fixture.publish("t", Nats_TTL="10s")
    fixture.publish("a")
    fixture.clock.advance(4 * SECOND)
    restart(fixture)
    fixture.clock.advance(5 * SECOND)
    assert [s.store.messages for s in fixture.js.streams.values()] == [1, 1]
    fixture.clock.advance(2 * SECOND)
    assert [s.store.messages for s in fixture.js.streams.values()] == [0, 0]


def test_what_is_too_old_at_a_start_goes_at_once(fixture: JetStreamFixture) -> None:
    fixture.stream(subjects=["s"], storage="file", max_age=10 * SECOND)
    fixture.publish("s")
    fixture.js.stop()
    fixture.storage.close()
    fixture.clock.advance(60 * SECOND)
    fixture.open()
    fixture.clock.advance(SECOND)
    assert fixture.js.lookup("S").store.messages == 0


@pytest.mark.parametrize("name", ["S", "long" * 60])
def test_a_damaged_configuration_is_reported_and_left_alone(
    fixture: JetStreamFixture, tmp_path: Path, name: str
) -> None:
    fixture.stream(name, subjects=["s"], storage="file")
    fixture.publish("s")
    (meta,) = tmp_path.rglob(f"{directory_name(name)}/meta.json")
    broken = meta.read_bytes().replace(b"limits", b"limitz")
    meta.write_bytes(broken)
    meta.with_name("meta.json.copy").write_bytes(broken)
    restart(fixture)
    assert list(fixture.js.offline) == [directory_name(name)]
    for call in (
        fixture.js.lookup,
        fixture.js.delete,
        lambda name: fixture.stream(name, subjects=["s"], storage="file"),
    ):
        with pytest.raises(ApiError) as refused:
            call(name)
        assert refused.value.err_code == 10194
    assert meta.read_bytes() == broken
    listed = fixture.call("STREAM.LIST")
    assert list(listed["offline"]) == [directory_name(name)]


def test_a_deleted_stream_leaves_nothing_behind(fixture: JetStreamFixture, tmp_path: Path) -> None:
    fixture.stream(subjects=["s"], storage="file")
    fixture.publish("s")
    fixture.js.delete("S")
    assert not list(tmp_path.rglob("S"))
    assert (fixture.js.limits.files.used, fixture.js.limits.files.reserved) == (0, 0)
    assert fixture.publish("s") == b""
    fixture.stream(subjects=["s"], storage="file")
    assert fixture.publish("s") == b'{"stream":"S","seq":1}'


def test_what_was_acked_before_a_crash_leaves_the_work_queue_at_the_start(fixture: JetStreamFixture) -> None:
    stream = fixture.stream(subjects=["s"], storage="file", retention="workqueue")
    config = {"durable_name": "C", "ack_policy": "explicit"}
    fixture.call("CONSUMER.CREATE.S.C", {"stream_name": "S", "config": config})
    for body in (b"1", b"2", b"3"):
        fixture.publish("s", body)
    spy = Spy(fixture.account, "inbox")
    fixture.account.publish("$JS.API.CONSUMER.MSG.NEXT.S.C", b"2", reply="inbox", own=True)
    fixture.clock.advance(0)  # on a slow machine it is delivered in later turns
    stream.store.remove = lambda *_args, **_more: None  # type: ignore[method-assign] # the crash came first
    fixture.account.publish(spy.messages[0].reply, b"", own=True)
    fixture.clock.advance(SECOND)
    del stream.store.remove
    assert stream.store.messages == 3
    restart(fixture)
    assert [m.body for m in fixture.messages(fixture.js.lookup("S"))] == [b"2", b"3"]


def test_a_damaged_message_is_reported_and_the_others_are_served(
    fixture: JetStreamFixture, tmp_path: Path
) -> None:
    fixture.stream(subjects=["s"], storage="file", max_msgs_per_subject=5)
    for body in (b"first", b"second", b"third"):
        fixture.publish("s", body)
    restart(fixture)
    fixture.api.stop()
    fixture.js.stop()
    fixture.storage.close()
    (block,) = tmp_path.rglob("msgs/*.blk")
    block.write_bytes(block.read_bytes().replace(b"second", b"sEcond"))
    fixture.open()
    stream = fixture.js.lookup("S")
    assert [m.body for m in fixture.messages(stream)] == [b"first", b"third"]
    assert fixture.call("STREAM.INFO.S")["state"]["lost"]["msgs"] == [2]
    assert fixture.call("STREAM.MSG.GET.S", {"seq": 2})["error"]["err_code"] == 10051
    assert fixture.publish("s") == b'{"stream":"S","seq":4}'


def test_a_source_s_message_with_an_unreadable_lifetime_does_not_keep_its_stream_from_coming_back(
    fixture: JetStreamFixture,
) -> None:
    stream = fixture.stream(subjects=["s"], storage="file", allow_msg_ttl=True)
    stream.ingest.store(
        "s", b"NATS/1.0\r\nNats-TTL: soon\r\nNats-Stream-Source: A 1\r\n\r\n", b"", sourced=True
    )
    restart(fixture)
    assert fixture.js.lookup("S").store.messages == 1
