"""The benchmark with mixed traffic: what it sends, and that each scenario ends with what it promises."""

import itertools

import pytest
from pyjs.benchmarks import applications, traffic
from pyjs.benchmarks.applications import Case

_FILES = "max_mem: 64M"
_READ_BY = ("subject", "last", "sequence")


def test_no_message_is_like_the_one_before():
    made = traffic.frames(traffic.subjects(20, "bench"), 500, inbox="_INBOX.a", headed=0.5)
    assert all(
        one.subject != two.subject and len(one.body) != len(two.body) for one, two in itertools.pairwise(made)
    )
    assert len({frame.reply for frame in made}) == 500
    assert 150 < len({frame.header for frame in made}) - 1 < 350


def test_frames_are_as_long_as_they_say():
    frame = traffic.Frame(b"a.b", b"r", b"NATS/1.0\r\n\r\n", b"body")
    assert frame.bytes == b"HPUB a.b r 12 16\r\nNATS/1.0\r\n\r\nbody\r\n"
    assert frame.delivered(b"1") == len(b"HMSG a.b 1 r 12 16\r\nNATS/1.0\r\n\r\nbody\r\n")
    made = traffic.frames(traffic.subjects(5, "bench"), 50)
    assert b"".join(traffic.chunks(made, 1000)) == b"".join(frame.bytes for frame in made)


@pytest.mark.parametrize("name", ["pyjs", "reference"])
@pytest.mark.parametrize(
    ("case", "latencies"),
    [
        (Case("", "core", {"count": 200, "headed": 0.5, "wildcards": 2, "members": 4}), False),
        (Case("", "core", {"count": 200}, servers=2), False),
        (Case("", "requests", {"count": 200}), False),
        (Case("", "stored", {"count": 200, "window": 50}, _FILES, _FILES), False),
        (Case("", "stored", {"count": 200, "window": 1, "clients": 8}, _FILES, _FILES), True),
        (Case("", "pulled", {"count": 400}, _FILES, _FILES), False),
        *((Case("", "got", {"count": 200, "by": by, "keys": 50}, _FILES, _FILES), False) for by in _READ_BY),
    ],
    ids=["core", "across", "requests", "stored", "awaited", "pulled", *_READ_BY],
)
def test_scenarios_measure_both_servers(name, case, latencies):
    measured = applications.measure(case, name)
    assert measured.rate > 0
    assert (measured.p99 >= measured.p50 > 0) == latencies


def test_a_busy_machine_is_a_part_of_its_time():
    assert 0 <= applications.busy() <= 1
