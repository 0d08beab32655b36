"""Names, subjects and headers of dead letters."""

from __future__ import annotations

import pytest
from pyjs.protocol import dead_letters, headers
from pyjs.protocol.dead_letters import DeadLetterEvent

EVENT = DeadLetterEvent(
    dead_letters.TERMINATED,
    "ORDERS",
    "work",
    7,
    3,
    "bad\r\nNats-Rollup: all",
    "orders.1",
    1_700_000_000_123_456_789,
)


def test_what_happened_is_read_back() -> None:
    values = {k: v[0] for k, v in headers.decode(dead_letters.letter_header(EVENT, b"")).items()}
    assert dead_letters.read_letter(values) == EVENT._replace(detail="bad Nats-Rollup: all")


@pytest.mark.parametrize(
    "lines",
    [
        [b"a: 1", b"a: 2", b"b:"],
        [b"Nats-TTL: 1s", b"nats-rollup: all", b"NATS-Expected-Last-Sequence: 0"],
        [b"Pyjs-Dead-Letter-Reason: terminated", b"Pyjs-Dead-Letter-Header-Nats-TTL: 1s"],
        [b"no colon at all", b": no name", "ü: \udcff".encode("utf-8", "surrogateescape")],
    ],
)
def test_the_header_of_a_message_comes_back_byte_by_byte_and_is_not_obeyed(lines: list[bytes]) -> None:
    block = b"\r\n".join([b"NATS/1.0", *lines, b"", b""])
    kept = dead_letters.letter_header(EVENT, block)
    assert dead_letters.restored_header(kept) == block
    assert not any(line.lower().startswith(b"nats-") for line in kept.split(b"\r\n"))
    assert headers.get(kept, b"Pyjs-Dead-Letter-Consumer") == b"work"
    again = dead_letters.letter_header(EVENT._replace(stream="DLQ_ORDERS"), kept)  # a letter given up itself
    assert dead_letters.restored_header(dead_letters.restored_header(again)) == block


def test_a_message_without_headers_gets_none_back() -> None:
    assert dead_letters.restored_header(dead_letters.letter_header(EVENT, b"")) == b""


def test_subjects() -> None:
    subject = dead_letters.message_subject(EVENT, "abcd")
    assert dead_letters.takes([dead_letters.message_filter("ORDERS", "work")], "ORDERS", "work")
    assert dead_letters.takes(dead_letters.queue_subjects("ORDERS"), "ORDERS", "work")
    assert not dead_letters.takes(dead_letters.queue_subjects("ORDERS", "other"), "ORDERS", "work")
    assert subject == "$PYJS.DLQ.ORDERS.work.abcd.7"
    assert dead_letters.source_of("DLQ_ORDERS", dead_letters.queue_subjects("ORDERS", "work")) == "ORDERS"
    assert dead_letters.source_of("DLQ_ORDERS", ["orders.>"]) == ""
    assert dead_letters.source_of("ORDERS", dead_letters.queue_subjects("ORDERS")) == ""


@pytest.mark.parametrize("document", [None, [], "x", {}, {"type": "io.nats.jetstream.advisory.v1.nak"}])
def test_what_is_no_advisory_about_a_dead_letter_is_refused(document: object) -> None:
    with pytest.raises(ValueError, match="not an advisory"):
        dead_letters.read_advisory(document)


@pytest.mark.parametrize("without", ["Reason", "Stream", "Sequence", "Time"])
def test_a_letter_that_lacks_a_field_is_refused(without: str) -> None:
    values = {k: v[0] for k, v in headers.decode(dead_letters.letter_header(EVENT, b"")).items()}
    del values[f"Pyjs-Dead-Letter-{without}"]
    with pytest.raises(ValueError, match=without):
        dead_letters.read_letter(values)
