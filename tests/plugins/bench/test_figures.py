"""The figures of a benchmark against plain lists, and the bytes it sends against the parser."""

from __future__ import annotations

import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyjs.client.frames import Frames, parse
from pyjs.plugins.bench.client import ClientPlan
from pyjs.plugins.bench.publications import Publications
from pyjs.plugins.bench.sample import BenchmarkSample, Latencies, total
from pyjs.plugins.bench.settings import BenchmarkSettings

DURATIONS = st.lists(st.integers(0, 10**13), min_size=1, max_size=60)


def latencies(durations: list[int]) -> Latencies:
    made = Latencies()
    for duration in durations:
        made.add(duration)
    return made


@given(DURATIONS, DURATIONS)
def test_latencies_are_those_of_a_list(first: list[int], second: list[int]) -> None:
    merged = latencies(first)
    merged.merge(Latencies())
    merged.merge(latencies(second))
    durations = sorted(first + second)
    figures = merged.figures()
    assert figures["min"] == durations[0] / 1000
    assert figures["max"] == durations[-1] / 1000
    assert figures["avg"] == pytest.approx(statistics.fmean(durations) / 1000)
    for name, percent in (("p50", 50), ("p90", 90), ("p99", 99), ("p99_9", 99.9)):
        exact = durations[math.ceil(percent / 100 * len(durations)) - 1] / 1000
        assert exact * 0.999 <= figures[name] <= exact


def test_latencies_take_bounded_memory() -> None:
    made = latencies([number * 997 for number in range(200_000)])
    assert len(made.buckets) < 20_000
    assert made.figures()["stddev"] == pytest.approx(
        statistics.pstdev(number * 0.997 for number in range(200_000)), rel=1e-6
    )


def test_a_total_spans_all_samples() -> None:
    whole = total(
        [BenchmarkSample(10, 100, 5 * 10**9, 7 * 10**9), BenchmarkSample(20, 300, 4 * 10**9, 6 * 10**9)]
    )
    assert (whole.messages, whole.size, whole.seconds, whole.rate, whole.bytes_rate) == (
        30,
        400,
        3.0,
        10.0,
        400 / 3,
    )
    assert BenchmarkSample(1, 1, 5, 5).rate == 0.0


@given(
    multisubject=st.booleans(),
    most=st.sampled_from([0, 1, 7, 100]),
    dedup=st.booleans(),
    header=st.booleans(),
    offset=st.integers(0, 99),
    first=st.integers(0, 50),
    count=st.integers(1, 20),
)
def test_messages_are_what_the_flags_say(
    multisubject: bool, most: int, dedup: bool, header: bool, offset: int, first: int, count: int
) -> None:
    settings = BenchmarkSettings(
        subject="a.b",
        size=5,
        multisubject=multisubject,
        multisubject_max=most,
        dedup=dedup,
        header=("K: v",) if header else (),
    )
    sent = Publications(settings, ClientPlan(3, 100, offset), "run").frames(first, count, b"_R.1")
    # What a server sends differs from what a client sends only by the verb and the subscription's id.
    frames = Frames()
    assert parse(sent.replace(b"PUB a.b", b"MSG a.b"), frames, []) == (len(sent), 0)
    assert len(frames) == count
    for row in range(count):
        number = offset + first + row
        token = f".{number % most:0{len(str(most))}}" if most else f".{number}"
        message = frames.message(row)
        assert frames.heads[row] == f"a.b{token if multisubject else ''} _R.1".encode()
        assert message.payload == bytes(5)
        expected = ("K: v\r\n" if header else "") + (f"Nats-Msg-Id: run-3-{number}\r\n" if dedup else "")
        assert message.header.decode() == (f"NATS/1.0\r\n{expected}\r\n" if expected else "")
