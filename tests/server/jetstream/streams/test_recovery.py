"""What a stream still knows after a restart."""

from __future__ import annotations

from pathlib import Path

from lib.streams import Spy, World
from pyjs.protocol.errors import ApiError

SECOND = 1_000_000_000


def restart(world: World) -> None:
    world.api.stop()
    world.js.stop()
    world.storage.close()
    world.open()


def test_streams_come_back_with_messages_and_configuration(world: World) -> None:
    before = world.stream(subjects=["s.*"], storage="file", max_msgs=5, metadata={"a": "b"})
    world.publish("s.a", b"hello")
    restart(world)
    after = world.js.lookup("S")
    assert after is not before
    assert (after.config, after.created) == (before.config, before.created)
    assert [(m.subject, m.body) for m in world.messages(after)] == [("s.a", b"hello")]
    assert world.publish("s.b") == b'{"stream":"S","seq":2}'
    assert world.js.limits.files.used == after.store.bytes


def test_memory_streams_do_not_come_back(world: World) -> None:
    world.stream(subjects=["s"])
    restart(world)
    assert world.js.streams == {}


def test_message_ids_are_known_after_a_restart_as_long_as_the_window(world: World) -> None:
    world.stream(subjects=["s"], storage="file", duplicate_window=10 * SECOND)
    world.publish("s", Nats_Msg_Id="a")
    world.clock.advance(6 * SECOND)
    restart(world)
    assert b'"seq":1,"duplicate": true' in world.publish("s", Nats_Msg_Id="a")
    assert world.publish("s", Nats_Expected_Last_Msg_Id="a") == b'{"stream":"S","seq":2}'
    world.clock.advance(6 * SECOND)
    assert world.publish("s", Nats_Msg_Id="a") == b'{"stream":"S","seq":3}'


def test_lifetimes_and_ages_go_on_after_a_restart(world: World) -> None:
    world.stream("T", subjects=["t"], storage="file", allow_msg_ttl=True)
    world.stream("A", subjects=["a"], storage="file", max_age=10 * SECOND)
    world.publish("t", Nats_TTL="10s")
    world.publish("a")
    world.clock.advance(4 * SECOND)
    restart(world)
    world.clock.advance(5 * SECOND)
    assert [s.store.messages for s in world.js.streams.values()] == [1, 1]
    world.clock.advance(2 * SECOND)
    assert [s.store.messages for s in world.js.streams.values()] == [0, 0]


def test_what_is_too_old_at_a_start_goes_at_once(world: World) -> None:
    world.stream(subjects=["s"], storage="file", max_age=10 * SECOND)
    world.publish("s")
    world.js.stop()
    world.storage.close()
    world.clock.advance(60 * SECOND)
    world.open()
    world.clock.advance(SECOND)
    assert world.js.lookup("S").store.messages == 0


def test_a_damaged_configuration_is_reported_and_left_alone(world: World, tmp_path: Path) -> None:
    world.stream(subjects=["s"], storage="file")
    world.publish("s")
    (meta,) = tmp_path.rglob("S/meta.json")
    broken = meta.read_bytes().replace(b"limits", b"limitz")
    meta.write_bytes(broken)
    meta.with_name("meta.json.copy").write_bytes(broken)
    restart(world)
    assert "S" in world.js.offline
    for call in (world.js.lookup, world.js.delete, lambda _: world.stream(subjects=["s"], storage="file")):
        try:
            call("S")
        except ApiError as error:
            assert error.err_code == 10194
        else:
            raise AssertionError("not refused")
    assert meta.read_bytes() == broken
    listed = world.call("STREAM.LIST")
    assert list(listed["offline"]) == ["S"]


def test_a_deleted_stream_leaves_nothing_behind(world: World, tmp_path: Path) -> None:
    world.stream(subjects=["s"], storage="file")
    world.publish("s")
    world.js.delete("S")
    assert not list(tmp_path.rglob("S"))
    assert (world.js.limits.files.used, world.js.limits.files.reserved) == (0, 0)
    assert world.publish("s") == b""
    world.stream(subjects=["s"], storage="file")
    assert world.publish("s") == b'{"stream":"S","seq":1}'


def test_what_was_acked_before_a_crash_leaves_the_work_queue_at_the_start(world: World) -> None:
    stream = world.stream(subjects=["s"], storage="file", retention="workqueue")
    config = {"durable_name": "C", "ack_policy": "explicit"}
    world.call("CONSUMER.CREATE.S.C", {"stream_name": "S", "config": config})
    for body in (b"1", b"2", b"3"):
        world.publish("s", body)
    spy = Spy(world.account, "inbox")
    world.account.publish("$JS.API.CONSUMER.MSG.NEXT.S.C", b"2", reply="inbox", own=True)
    stream.store.remove = lambda *_args, **_more: None  # type: ignore[method-assign] # the crash came first
    world.account.publish(spy.messages[0].reply, b"", own=True)
    world.clock.advance(SECOND)
    del stream.store.remove
    assert stream.store.messages == 3
    restart(world)
    assert [m.body for m in world.messages(world.js.lookup("S"))] == [b"2", b"3"]


def test_a_damaged_message_is_told_and_the_others_are_served(world: World, tmp_path: Path) -> None:
    world.stream(subjects=["s"], storage="file", max_msgs_per_subject=5)
    for body in (b"first", b"second", b"third"):
        world.publish("s", body)
    restart(world)
    world.api.stop()
    world.js.stop()
    world.storage.close()
    (block,) = tmp_path.rglob("msgs/*.blk")
    block.write_bytes(block.read_bytes().replace(b"second", b"sEcond"))
    world.open()
    stream = world.js.lookup("S")
    assert [m.body for m in world.messages(stream)] == [b"first", b"third"]
    assert world.call("STREAM.INFO.S")["state"]["lost"]["msgs"] == [2]
    assert world.call("STREAM.MSG.GET.S", {"seq": 2})["error"]["err_code"] == 10051
    assert world.publish("s") == b'{"stream":"S","seq":4}'


def test_a_source_s_message_with_an_unreadable_lifetime_does_not_keep_its_stream_from_coming_back(
    world: World,
) -> None:
    stream = world.stream(subjects=["s"], storage="file", allow_msg_ttl=True)
    stream.ingest.store(
        "s", b"NATS/1.0\r\nNats-TTL: soon\r\nNats-Stream-Source: A 1\r\n\r\n", b"", sourced=True
    )
    restart(world)
    assert world.js.lookup("S").store.messages == 1
