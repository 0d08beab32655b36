"""The publish path: answers, checks and their order, message ids, rollups, republish."""

from __future__ import annotations

import json
from typing import Any

import pytest
from lib.streams import JetStreamFixture, Spy

SECOND = 1_000_000_000


def error(answer: bytes) -> int:
    """The err_code of an answer."""
    return int(json.loads(answer)["error"]["err_code"])


def test_an_answer_reads_byte_for_byte_as_the_reference_writes_it(fixture: JetStreamFixture) -> None:
    fixture.stream(subjects=["s"])
    assert fixture.publish("s") == b'{"stream":"S","seq":1}'


def test_an_answer_names_the_domain_before_the_sequence(tmp_path: Any) -> None:
    fixture = JetStreamFixture(str(tmp_path), domain="hub")
    fixture.stream(subjects=["s"])
    assert fixture.publish("s") == b'{"stream":"S","domain":"hub","seq":1}'
    fixture.close()


def test_a_duplicate_gets_the_first_sequence_with_the_references_blank(fixture: JetStreamFixture) -> None:
    fixture.stream(subjects=["s"])
    fixture.publish("s", Nats_Msg_Id="a")
    assert fixture.publish("s", Nats_Msg_Id="a") == b'{"stream":"S","seq":1,"duplicate": true}'


def test_a_message_id_is_forgotten_after_the_window(fixture: JetStreamFixture) -> None:
    fixture.stream(subjects=["s"], duplicate_window=SECOND)
    fixture.publish("s", Nats_Msg_Id="a")
    fixture.clock.advance(2 * SECOND)
    assert fixture.publish("s", Nats_Msg_Id="a") == b'{"stream":"S","seq":2}'


@pytest.mark.parametrize(
    ("header", "code"),
    [
        ({"Nats_Expected_Stream": "T"}, 10060),
        ({"Nats_TTL": "5s"}, 10166),
        ({"Nats_Expected_Last_Subject_Sequence": "7"}, 10071),
        ({"Nats_Expected_Last_Subject_Sequence_Subject": "s"}, 10193),
        ({"Nats_Expected_Last_Sequence": "7"}, 10071),
        ({"Nats_Stream_Source": "X 1"}, 10227),
        ({"Nats_Expected_Last_Msg_Id": "b"}, 10070),
        ({"Nats_Rollup": "sub"}, 10111),
        ({"Nats_Incr": "+1"}, 10168),
        ({"Nats_Incr": "x"}, 10171),
        ({"Nats_Schedule": "@every 1s"}, 10188),
        ({"Nats_Batch_Id": "b"}, 10174),
    ],
)
def test_a_condition_that_does_not_hold_refuses_and_changes_nothing(
    fixture: JetStreamFixture, header: dict[str, str], code: int
) -> None:
    stream = fixture.stream(subjects=["s"])
    fixture.publish("s", Nats_Msg_Id="a")
    assert error(fixture.publish("s", b"x", **header)) == code
    assert (stream.store.messages, stream.store.last_seq) == (1, 1)


def test_an_id_seen_before_is_answered_before_a_rollup_is_refused(fixture: JetStreamFixture) -> None:
    fixture.stream(subjects=["s"])
    fixture.publish("s", Nats_Msg_Id="a")
    assert b'"duplicate": true' in fixture.publish("s", Nats_Msg_Id="a", Nats_Rollup="sub")


def test_conditions_that_hold_let_a_message_in(fixture: JetStreamFixture) -> None:
    fixture.stream(subjects=["s.*"])
    fixture.publish("s.a", Nats_Msg_Id="a")
    answer = fixture.publish(
        "s.b",
        Nats_Expected_Stream="S",
        Nats_Expected_Last_Sequence="1",
        Nats_Expected_Last_Msg_Id="a",
        Nats_Expected_Last_Subject_Sequence="1",
        Nats_Expected_Last_Subject_Sequence_Subject="s.>",
    )
    assert answer == b'{"stream":"S","seq":2}'


def test_a_rollup_replaces_what_the_subject_held(fixture: JetStreamFixture) -> None:
    stream = fixture.stream(subjects=["s.*"], allow_rollup_hdrs=True)
    for subject in ("s.a", "s.a", "s.b"):
        fixture.publish(subject)
    fixture.publish("s.a", b"whole", Nats_Rollup="sub")
    assert [(m.subject, m.body) for m in fixture.messages(stream)] == [("s.b", b"x"), ("s.a", b"whole")]
    fixture.publish("s.c", b"all", Nats_Rollup="all")
    assert fixture.subjects(stream) == ["s.c"]


def test_a_message_larger_than_allowed_is_refused(fixture: JetStreamFixture) -> None:
    fixture.stream(subjects=["s"], max_msg_size=4)
    assert error(fixture.publish("s", b"12345")) == 10054
    assert fixture.publish("s", b"1234") == b'{"stream":"S","seq":1}'


def test_a_header_of_more_than_64k_is_refused(fixture: JetStreamFixture) -> None:
    fixture.stream(subjects=["s"])
    assert error(fixture.publish("s", A="x" * 70_000)) == 10097


def test_without_acks_nothing_is_answered(fixture: JetStreamFixture) -> None:
    stream = fixture.stream(subjects=["s"], no_ack=True)
    assert fixture.publish("s") == b""
    assert stream.store.messages == 1


def test_a_transform_changes_the_subject_that_is_stored(fixture: JetStreamFixture) -> None:
    stream = fixture.stream(
        subjects=["in.*"], subject_transform={"src": "in.*", "dest": "out.{{wildcard(1)}}"}
    )
    fixture.publish("in.a")
    assert fixture.subjects(stream) == ["out.a"]


def test_a_republish_shows_where_the_message_is(fixture: JetStreamFixture) -> None:
    fixture.stream(subjects=["s.*"], republish={"src": "s.*", "dest": "again.{{wildcard(1)}}"})
    spy = Spy(fixture.account, "again.>")
    fixture.publish("s.a")
    fixture.publish("s.a")
    header = spy.messages[1].header.decode()
    assert spy.messages[1].subject == "again.a"
    assert "Nats-Stream: S\r\nNats-Subject: s.a\r\nNats-Sequence: 2\r\n" in header
    assert "Nats-Last-Sequence: 1\r\n" in header


def test_a_republish_of_headers_only_shows_the_size(fixture: JetStreamFixture) -> None:
    fixture.stream(subjects=["s"], republish={"dest": "again.>", "headers_only": True})
    spy = Spy(fixture.account, "again.>")
    fixture.publish("s", b"hello")
    assert spy.bodies == [b""]
    assert b"Nats-Msg-Size: 5\r\n" in spy.messages[0].header


def test_the_header_that_shows_who_asked_is_not_stored(fixture: JetStreamFixture) -> None:
    stream = fixture.stream(subjects=["s"])
    fixture.publish("s", Nats_Request_Info="{}", A="b")
    assert fixture.messages(stream)[0].header == b"NATS/1.0\r\nA: b\r\n\r\n"


def test_a_sealed_stream_takes_nothing(fixture: JetStreamFixture) -> None:
    stream = fixture.stream(subjects=["s"])
    fixture.publish("s")
    fixture.js.update(stream.config.replace(sealed=True))
    assert error(fixture.publish("s")) == 10109
