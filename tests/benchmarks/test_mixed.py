"""The benchmark with mixed traffic: what it sends, and that each scenario ends with what it promises."""

import itertools

import pytest
from pyjs.benchmarks import traffic, turns
from pyjs.benchmarks.turns import Case

_FILES = "max_mem: 64M"
_READ_BY = ("subject", "last", "sequence")
_FAN = {"headed": 0.5, "wildcards": 2, "members": 4}
_CASES = {
    "core": Case("", "core", {"count": 200, **_FAN}),
    "route": Case("", "core", {"count": 200}, where="route"),
    "leaf": Case("", "core", {"count": 200}, where="leaf"),
    "spread": Case("", "spread", {"count": 200, "connections": 5, "subscriptions": 3}),
    "requests": Case("", "requests", {"count": 200}),
    "stored": Case("", "stored", {"count": 200, "window": 50}, _FILES, _FILES),
    "filled": Case("", "stored", {"count": 200, "filled": True, "subjects": 300}, _FILES, _FILES),
    "awaited": Case("", "stored", {"count": 200, "window": 1, "clients": 8}, _FILES, _FILES),
    "pulled": Case("", "pulled", {"count": 400}, _FILES, _FILES),
    "filtered": Case("", "filtered", {"count": 200, "subjects": 4000}, _FILES, _FILES),
    "consumed": Case("", "consumed", {"count": 200, "consumers": 3}, _FILES, _FILES),
    "mirror": Case("", "copied", {"count": 200, "kind": "mirror"}, _FILES, _FILES),
    "source": Case("", "copied", {"count": 200, "kind": "source"}, _FILES, _FILES),
    **{by: Case("", "got", {"count": 200, "by": by, "keys": 50}, _FILES, _FILES) for by in _READ_BY},
    "repeated": Case("", "request_reply", {"size": 16, "count": 50}, load="load"),
}


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
@pytest.mark.parametrize("key", _CASES)
def test_scenarios_measure_both_servers(name, key):
    measured = turns.measure(_CASES[key], name)
    assert measured.rate > 0
    assert not measured.cut
    assert (measured.p99 >= measured.p50 > 0) == (key in {"awaited", "repeated"})
    assert (measured.cpu > 0) == (key != "repeated")


@pytest.mark.parametrize("name", ["pyjs", "reference"])
def test_a_scenario_without_time_left_says_so(name):
    case = Case("", "filtered", {"count": 200, "subjects": 2000, "seconds": 0.0001}, _FILES, _FILES)
    assert turns.measure(case, name).cut
