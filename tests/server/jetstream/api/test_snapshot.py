"""Backups that do not complete: a receiver that is absent or stops, and damaged data."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

from lib.streams import JetStreamFixture, Spy
from pyjs.protocol.archive.entries import END, MAGIC, ArchiveEntry
from pyjs.protocol.s2 import begin, chunk
from pyjs.server.clock import SECOND
from pyjs.server.jetstream.account.backup import restore, sender

CONFIG = {"name": "R", "subjects": ["r"], "storage": "file"}
STATE = {"messages": 2, "first_seq": 3, "last_seq": 9, "consumer_count": 0}


def archive(*entries: ArchiveEntry) -> bytes:
    first = ArchiveEntry("state.json", body=json.dumps(STATE).encode())
    return begin() + chunk(MAGIC + b"".join(entry.encode() for entry in (first, *entries)))


def asked(fixture: JetStreamFixture, **request: Any) -> tuple[dict[str, Any], Spy]:
    spy = Spy(fixture.account, "deliver")
    return fixture.call(
        "STREAM.SNAPSHOT.S", {"deliver_subject": "deliver", "chunk_size": 1024} | request
    ), spy


def test_who_acknowledges_nothing_gets_a_window_and_an_end(fixture: JetStreamFixture) -> None:
    stream = fixture.stream()
    bodies = Random(1)  # an archive is compressed
    for _ in range(10):
        fixture.publish("S", bodies.randbytes(1000))
    assert stream.store.messages == 10
    answer, spy = asked(fixture, window_size=3000)
    assert answer["state"]["messages"] == 10
    assert [len(body) for body in spy.bodies] == [1024, 1024]
    fixture.account.publish(spy.messages[0].reply, own=True)
    assert len(spy.bodies) == 3
    fixture.clock.advance(sender.ACK_TIMEOUT)
    assert spy.messages[-1].header.startswith(b"NATS/1.0 408 No Flow Response")
    assert len(spy.bodies) == 4


def test_a_backup_waits_for_what_is_on_its_way_to_the_disk(fixture: JetStreamFixture) -> None:
    fixture.stream(storage="file")
    fixture.runner.paused = True
    fixture.account.publish("S", b"not synced yet", own=True)
    answer, data = Spy(fixture.account, "answer"), Spy(fixture.account, "deliver")
    request = json.dumps({"deliver_subject": "deliver"}).encode()
    fixture.account.publish("$JS.API.STREAM.SNAPSHOT.S", request, reply="answer", own=True)
    assert answer.bodies == []
    fixture.runner.release()
    assert json.loads(answer.bodies[0])["state"]["messages"] == 1
    assert b"not synced yet" in b"".join(data.bodies)


def test_nothing_is_sent_to_nobody(fixture: JetStreamFixture) -> None:
    fixture.stream()
    ended = Spy(fixture.account, "$JS.EVENT.ADVISORY.STREAM.SNAPSHOT_COMPLETE.S")
    fixture.call("STREAM.SNAPSHOT.S", {"deliver_subject": "nobody"})
    fixture.clock.advance(sender.INTEREST)
    assert json.loads(ended.bodies[0])["error"] == "408 No Interest"


def test_what_is_damaged_ends_a_backup_and_the_next_one_goes_without(fixture: JetStreamFixture) -> None:
    fixture.stream(storage="file")
    for number in range(3):
        fixture.publish("S", b"message %d" % number)
    fixture.close()
    fixture.open()
    [block] = Path(fixture.directory).rglob("*.blk")
    block.write_bytes(block.read_bytes().replace(b"message 1", b"massage 1"))
    _, spy = asked(fixture)
    assert spy.messages[-1].header.startswith(b"NATS/1.0 500 1 messages are damaged")
    answer, spy = asked(fixture)
    assert spy.messages[-1].header == b"NATS/1.0 204\r\n\r\n"
    assert answer["state"]["lost"]["msgs"] == [2]


def begun(fixture: JetStreamFixture) -> str:
    return str(fixture.call("STREAM.RESTORE.R", {"config": CONFIG, "state": STATE})["deliver_subject"])


def left(fixture: JetStreamFixture) -> list[str]:
    return [path.name for path in Path(fixture.directory).rglob(".restoring/streams/*")]


def test_a_restore_that_stalls_leaves_nothing(fixture: JetStreamFixture) -> None:
    subject = begun(fixture)
    assert fixture.call("STREAM.RESTORE.R", {"config": CONFIG})["error"]["err_code"] == 10062
    assert fixture.publish(subject, archive(ArchiveEntry("r", SECOND, 5, b"", b"x"))) == b""
    assert left(fixture) == ["R"]
    fixture.clock.advance(restore.CHUNK_TIMEOUT)
    assert (left(fixture), fixture.js.streams, fixture.js.restores) == ([], {}, {})


def test_a_server_that_stops_meanwhile_knows_nothing_of_it(fixture: JetStreamFixture) -> None:
    fixture.publish(begun(fixture), archive(ArchiveEntry("r", SECOND, 5, b"", b"x")))
    fixture.close()
    fixture.open()
    assert (left(fixture), fixture.js.streams) == ([], {})


def test_a_restored_stream_keeps_its_gaps_over_a_restart(fixture: JetStreamFixture) -> None:
    subject = begun(fixture)
    entries = (
        ArchiveEntry("r", SECOND, 5, b"NATS/1.0\r\nA: b\r\n\r\n", b"x"),
        ArchiveEntry("r", 2 * SECOND, 7, b"", b"y"),
        END,
    )
    fixture.publish(subject, archive(*entries))
    made = json.loads(fixture.publish(subject, b""))
    assert (made["type"], made["state"]["last_seq"]) == ("io.nats.jetstream.api.v1.stream_create_response", 9)
    fixture.close()
    fixture.open()
    stream = fixture.js.streams["R"]
    assert [(m.seq, m.time, m.header, m.body) for m in fixture.messages(stream)] == [
        (entry.seq, entry.time, entry.header, entry.body) for entry in entries[:2]
    ]
    assert stream.store.last_seq == 9


def test_sequences_that_go_back_and_subjects_that_cannot_be_are_refused(fixture: JetStreamFixture) -> None:
    for wrong in (
        (ArchiveEntry("r", 1, 5), ArchiveEntry("r", 2, 5)),
        (ArchiveEntry("r", 1, 1),),
        (ArchiveEntry("r.*", 1, 5),),
        (ArchiveEntry("consumers/C", body=b"{}"),),
        (END, ArchiveEntry("r", 1, 5)),
    ):
        answer = json.loads(fixture.publish(begun(fixture), archive(*wrong)))
        assert answer["error"]["err_code"] == 10062, wrong
        assert (left(fixture), fixture.js.streams) == ([], {})
