"""Durations, sizes, times and identifiers as text."""

import contextlib
import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyjs.protocol import duration, identifier, size, timestamp
from pyjs.protocol.duration import DAY, HOUR, MINUTE, SECOND, DurationError
from pyjs.protocol.size import SizeError
from pyjs.protocol.timestamp import TimestampError


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("2m0s", 2 * MINUTE),
        ("1d", DAY),
        ("1d12h", 36 * HOUR),
        ("1.5d", 36 * HOUR),
        ("1w", 7 * DAY),
        ("1M", 30 * DAY),
        ("1m", MINUTE),
        ("1y", 365 * DAY),
        ("2Y1D", 731 * DAY),
        ("-1h", -HOUR),
        (".5s", SECOND // 2),
        ("1us", 1000),
        ("1µs", 1000),
        ("100ms", SECOND // 10),
        ("7ns", 7),
    ],
)
def test_durations_of_the_tool(text: str, value: int) -> None:
    assert duration.parse(text) == value


@pytest.mark.parametrize(
    "text", ["", "-", "5", "-1", "1x", "1d5", "1h-1m", "h", "1 h", "1..5s", "300y", "\u0661h", "1e3s"]
)
def test_no_durations(text: str) -> None:
    with pytest.raises(DurationError):
        duration.parse(text)


def test_go_durations_have_no_days() -> None:
    assert duration.parse_go("1h30m") == 90 * MINUTE
    with pytest.raises(DurationError, match='invalid duration "1d"'):
        duration.parse_go("1d")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0s"),
        (120 * SECOND, "2m0s"),
        (1500, "1.5µs"),
        (HOUR, "1h0m0s"),
        (90061 * SECOND, "25h1m1s"),
        (-1, "-1ns"),
    ],
)
def test_go_format(value: int, text: str) -> None:
    assert duration.format_go(value) == text


@given(st.integers(-duration.MAX, duration.MAX))
def test_go_format_reads_back(value: int) -> None:
    assert duration.parse_go(duration.format_go(value)) == value
    assert duration.parse(duration.format_go(value)) == value


@given(st.text(max_size=10))
def test_junk_raises_only_the_named_errors(text: str) -> None:
    for read, error in (
        (duration.parse, DurationError),
        (size.parse, SizeError),
        (timestamp.parse_rfc3339, TimestampError),
    ):
        with contextlib.suppress(error):
            read(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("512", 512),
        ("1k", 1024),
        ("1KB", 1024),
        ("10MiB", 10 << 20),
        ("1GB", 1 << 30),
        ("2TiB", 2 << 40),
        ("5b", 5),
        ("-1", -1),
        ("-x", -1),
    ],
)
def test_sizes(text: str, value: int) -> None:
    assert size.parse(text) == value


@pytest.mark.parametrize("text", ["", "1.5K", "1 K", "1P", "K", "1KiBB", "9000000000000T", "x"])
def test_no_sizes(text: str) -> None:
    with pytest.raises(SizeError):
        size.parse(text)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 B"),
        (45, "45 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (1536, "1.5 KiB"),
        (10240, "10 KiB"),
        (1 << 30, "1.0 GiB"),
        (-98, "-98 B"),
    ],
)
def test_iec(value: int, text: str) -> None:
    assert size.format_iec(value) == text


@given(st.integers(-62135596800 * 10**9 + 1, 253402300799 * 10**9).filter(bool))
def test_times_read_back(ns: int) -> None:
    assert timestamp.parse_rfc3339(timestamp.format_rfc3339(ns)) == ns


def test_times() -> None:
    assert timestamp.format_rfc3339(0) == timestamp.ZERO
    assert timestamp.parse_rfc3339(timestamp.ZERO) == 0
    assert timestamp.format_rfc3339(1_600_000_000_120_000_000) == "2020-09-13T12:26:40.12Z"
    assert timestamp.parse_rfc3339("2020-09-13T14:26:40.12+02:00") == 1_600_000_000_120_000_000
    assert timestamp.parse_rfc3339("2020-09-13t12:26:40z") == 1_600_000_000_000_000_000


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("0001-01-01T00:00:00+14:00", "0000-12-31T10:00:00Z"),
        ("0000-02-29T00:00:00.5Z", "0000-02-29T00:00:00.5Z"),
        ("0000-01-01T00:00:00+14:00", "0000-01-01T09:59:00+23:59"),
        ("9999-12-31T23:59:59-14:00", "9999-12-31T14:00:59-23:59"),
    ],
)
def test_times_at_the_ends_of_what_can_be_written(text: str, written: str) -> None:
    assert timestamp.format_exact(timestamp.parse_exact(text)) == written
    assert timestamp.parse_exact(written) == timestamp.parse_exact(text)


def test_an_offset_of_a_day_is_refused() -> None:
    with pytest.raises(TimestampError):
        timestamp.parse_exact("2024-01-01T00:00:00+24:00")


@pytest.mark.parametrize(
    "text", ["2020-13-01T00:00:00Z", "2020-01-01", "2020-01-01T00:00:00", "2020-02-30T00:00:00Z"]
)
def test_no_times(text: str) -> None:
    with pytest.raises(TimestampError):
        timestamp.parse_rfc3339(text)


def test_ids_are_base62_and_made_of_the_given_bytes() -> None:
    made = identifier.new_id(lambda n: bytes(range(n)))
    assert made == identifier.new_id(lambda n: bytes(range(n)))
    assert len(made) == 22
    assert set(made) <= set(identifier.ALPHABET)
    assert identifier.new_id(lambda n: b"\xff" * n, 8) != identifier.new_id(lambda n: b"\x00" * n, 8)


@given(st.text(max_size=20))
def test_name_hash_is_sha256_modulo_62(text: str) -> None:
    digest = hashlib.sha256(text.encode()).digest()
    assert identifier.name_hash(text) == "".join(identifier.ALPHABET[b % 62] for b in digest[:8])
