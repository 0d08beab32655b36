"""What headers ask to be traced."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyjs.protocol import headers
from pyjs.protocol.tracing import MARK, disabled, is_destination, requested

PARENT = b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-"


def block(*lines: bytes) -> bytes:
    return b"\r\n".join((b"NATS/1.0", *lines, b"", b""))


@pytest.mark.parametrize(
    ("lines", "destination", "only"),
    [
        ([b"Nats-Trace-Dest: a.b"], "a.b", False),
        ([b"Nats-Trace-Dest:\ta.b "], "a.b", False),
        ([b"Nats-Trace-Dest: ", b"Nats-Trace-Dest: second"], "second", False),
        ([b"Nats-Trace-Dest: a", b"Nats-Trace-Dest: second"], "a", False),
        ([b"Nats-Trace-Dest: a", b"Nats-Trace-Only: TRUE"], "a", True),
        ([b"Nats-Trace-Dest: a", b"Nats-Trace-Only: 1"], "a", True),
        ([b"Nats-Trace-Dest: a", b"Nats-Trace-Only: no"], "a", False),
        ([b"Nats-Trace-Dest: trace disabled", b"Nats-Trace-Only: on"], "trace disabled", True),
    ],
)
def test_a_destination_asks_for_a_trace(lines: list[bytes], destination: str, only: bool) -> None:
    found = requested(block(*lines))
    assert found is not None
    assert (found.destination, found.only) == (destination, only)


@pytest.mark.parametrize(
    "given_block",
    [
        b"",
        block(b"A: b"),
        block(b"nats-trace-dest: a"),
        block(b"Nats-Trace-Only: true"),
        block(b"Nats-Trace-Dest: "),
        block(b"Nats-Trace-Dest: trace disabled"),
        block(b"traceparent: " + PARENT + b"01"),
        block(b"Nats-Trace-Dest: a").replace(b"1.0", b"1.1"),
    ],
)
def test_other_headers_do_not(given_block: bytes) -> None:
    assert requested(given_block) is None


@pytest.mark.parametrize(
    ("value", "asks"),
    [
        (PARENT + b"01", True),
        (PARENT + b"7f", True),
        (PARENT + b"02", False),
        (PARENT + b"81", False),  # the reference reads a signed byte
        (PARENT + b"-1", False),
        (PARENT + b"001", False),
        (PARENT + b"xx", False),
        (b"01", False),
    ],
)
def test_a_sampled_parent_asks_where_it_matters(value: bytes, asks: bool) -> None:
    found = requested(block(b"TraceParent: " + value), by_parent=True)
    assert (found is not None) == asks
    assert found is None or (found.destination, found.only) == ("", False)


def test_what_is_disabled_asks_for_nothing() -> None:
    given_block = disabled(block(b"A: b", b"Nats-Trace-Dest: a", b"traceparent: " + PARENT + b"01"))
    assert requested(given_block, by_parent=True) is None
    assert headers.get(given_block, b"A") == b"b"


def test_destinations_are_subjects_of_a_reasonable_length() -> None:
    assert is_destination("a.b")
    assert not any(is_destination(subject) for subject in ("", "a..b", "a.*", ">", "a b", "x" * 5000))


@given(st.binary(max_size=200), st.booleans())
def test_any_bytes_are_read(more: bytes, by_parent: bool) -> None:
    for given_block in (more, b"NATS/1.0" + MARK + b" a" + more, b"NATS/1.0\r\n" + more + MARK + b"\r\n"):
        found = requested(given_block, by_parent=by_parent)
        assert found is None or all(found.values)
