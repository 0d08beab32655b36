"""Counters beside a model of whole numbers: totals, what sources add, numbers of any size."""

from __future__ import annotations

import json
from random import Random
from time import process_time
from typing import Any

import pytest
from lib.examples import seeds
from lib.streams import JetStreamFixture
from pyjs.protocol import headers
from pyjs.protocol.errors import ApiError
from pyjs.server.jetstream.streams.counter import counted, stored
from pyjs.store.memory import MemoryStream


def count(store: MemoryStream, subject: str, header: dict[str, str], body: bytes = b"") -> tuple[str, Any]:
    """Count and store a message; return the total and what the sources had."""
    block, total = counted(stored(store, subject), subject, headers.encode(header), body)
    store.append(subject, block, total, 1)
    sources = headers.get(block, b"Nats-Counter-Sources")
    return json.loads(total)["val"], json.loads(sources) if sources else {}


@seeds(20)
def test_totals_are_those_of_whole_numbers(seed: int) -> None:
    rng, store = Random(seed), MemoryStream()
    own: dict[str, int] = {}
    copied: dict[str, dict[str, int]] = {}
    for _ in range(60):
        subject = rng.choice("ab")
        number = rng.randint(-(10 ** rng.choice([1, 3, 200])), 10 ** rng.choice([1, 3, 200]))
        if rng.random() < 0.5:
            own[subject] = own.get(subject, 0) + number
            total, _ = count(store, subject, {"Nats-Incr": f"{number:+d}"})
        else:
            origin = rng.choice(["X", "Y"])
            copied.setdefault(subject, {})[origin] = number
            source = {"Nats-Incr": "1", "Nats-Stream-Source": f"{origin} 1 > > in.{subject} id"}
            total, sources = count(store, subject, source, json.dumps({"val": str(number)}).encode())
            assert sources[origin] == {f"in.{subject}": str(number)}
        assert total == str(own.get(subject, 0) + sum(copied.get(subject, {}).values()))


@pytest.mark.parametrize(
    ("body", "sources"),
    [
        (b"", ""),
        (b"5", ""),
        (b"{}", ""),
        (b'{"val":5}', ""),
        (b'{"val":"five"}', ""),
        (b'{"val":"1_0"}', ""),
        (b"[" * 100_000, ""),
        (b'{"val":"5"}', "{"),
        (b'{"val":"5"}', "[]"),
        (b'{"val":"5"}', '{"X":5}'),
        (b'{"val":"5"}', '{"X":{"s":5}}'),
    ],
)
def test_what_is_no_total_is_never_added_to(body: bytes, sources: str) -> None:
    store = MemoryStream()
    store.append("s", headers.encode({"Nats-Counter-Sources": sources}) if sources else b"", body, 1)
    with pytest.raises(ApiError) as refusal:
        counted(stored(store, "s"), "s", headers.encode({"Nats-Incr": "1"}), b"")
    assert refusal.value.err_code == 10172


def test_a_long_number_costs_by_its_digits(fixture: JetStreamFixture) -> None:
    stream = fixture.stream(subjects=["s"], allow_msg_counter=True)
    long = "9" * 60_000
    began = process_time()
    for number in (long, "1", f"-{long}", "-1"):
        fixture.publish("s", b"", Nats_Incr=number)
    assert process_time() - began < 0.1
    last = stream.store.last(">")
    assert last is not None
    assert (last.seq, last.body) == (4, b'{"val":"0"}')
