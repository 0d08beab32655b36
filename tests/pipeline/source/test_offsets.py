"""Offsets, and the messages between two of them; ranges cut into tasks."""

from __future__ import annotations

import dataclasses
import json
import random

import pytest
from pyjs.pipeline.jetstream import StreamStatus
from pyjs.pipeline.source import offsets
from pyjs.pipeline.source.loss import Recreated, lost, resumed
from pyjs.pipeline.source.offsets import StreamOffset
from pyjs.pipeline.source.partitions import MESSAGES, cut, find_cuts

OLD, NEW = "2026-11-22T08:00:00Z", "2026-11-23T08:00:00Z"


def facts(first: int, last: int, created: str = OLD, retention: str = "limits") -> StreamStatus:
    state = {
        "first_seq": first,
        "last_seq": last,
        "messages": last - first + 1,
        "bytes": 0,
        "first_ts": OLD,
        "last_ts": OLD,
    }
    return StreamStatus.of("S", {"created": created, "state": state, "config": {"retention": retention}})


def test_an_offset_is_json_of_plain_values_and_the_same_for_the_same_marks() -> None:
    some = {"B": StreamOffset(7, OLD), "A": StreamOffset(3, NEW, 2)}
    written = offsets.write(some)
    assert written == {"A": {"next": 3, "created": NEW, "since": 2}, "B": {"next": 7, "created": OLD}}
    assert json.dumps(written) == json.dumps(offsets.write(dict(reversed(some.items()))))
    assert offsets.read(json.loads(json.dumps(written))) == some


@pytest.mark.parametrize("strange", [{"A": 5}, {"A": {"next": "x", "created": ""}}, {"A": {"next": 5}}])
def test_the_checkpoint_of_another_source_is_refused(strange: dict[str, dict[str, object]]) -> None:
    with pytest.raises(ValueError, match="use another folder"):
        offsets.read(strange)


def test_between_two_offsets_lie_the_sequences_from_one_to_the_other() -> None:
    start = {
        "A": StreamOffset(5, OLD),
        "B": StreamOffset(9, OLD),
        "C": StreamOffset(4, OLD),
        "D": StreamOffset(50, OLD),
    }
    end = {
        "A": StreamOffset(8, OLD),
        "B": StreamOffset(9, OLD),  # nothing new
        "C": StreamOffset(3, NEW, 2),  # another stream now
        "D": StreamOffset(7, OLD),  # it shrank
        "E": StreamOffset(12, OLD, 10),  # was not there before
    }
    assert offsets.ranges(start, end) == {"A": (5, 8), "C": (2, 3), "E": (10, 12)}


def test_a_limited_batch_is_shared_by_what_waits_and_comes_to_the_end() -> None:
    seed = random.randrange(2**32)
    rng = random.Random(seed)
    for _ in range(200):
        names = "ABCDE"[: rng.randint(1, 5)]
        at = {name: StreamOffset(rng.randint(1, 50), OLD) for name in names}
        end = {
            name: StreamOffset(mark.next + rng.choice([0, 1, 3, 100, 9999]), OLD) for name, mark in at.items()
        }
        end["new"] = StreamOffset(30, OLD, 10)
        most = rng.randint(1, 500)
        batches = 0
        while offsets.ranges(at, end):
            waiting = sum(high - low for low, high in offsets.ranges(at, end).values())
            after = offsets.between(at, end, most)
            taken = sum(high - low for low, high in offsets.ranges(at, after).values())
            assert taken == min(most, waiting), f"seed {seed}"
            assert all(after[name].next <= end[name].next for name in end), f"seed {seed}"
            at, batches = after, batches + 1
        assert batches < 60_000


def test_without_a_limit_a_batch_takes_all() -> None:
    end = {"A": StreamOffset(100, OLD)}
    assert offsets.between({"A": StreamOffset(1, OLD)}, end, 0) == end


@pytest.mark.parametrize(("least", "most"), [(0, 0), (1, 0), (7, 0), (0, 10), (3, 40), (500, 1)])
def test_pieces_cover_every_sequence_once(least: int, most: int) -> None:
    ranges = {"B": (11, 111), "A": (5, 6), "C": (1, 54)}
    pieces = cut(ranges, least=least, most=most)
    assert pieces == sorted(pieces)
    for stream, (start, end) in ranges.items():
        covered = [n for name, low, high in pieces if name == stream for n in range(low, high)]
        assert covered == list(range(start, end))
    assert not most or max(high - low for _, low, high in pieces) <= most
    assert all(low < high for _, low, high in pieces)


def test_the_number_of_pieces_is_about_what_was_asked_for() -> None:
    assert len(cut({"A": (1, 1_000_001)}, least=8)) == 8
    assert len(cut({"A": (1, 1_000_001)})) == -(-1_000_000 // MESSAGES)
    assert len(cut({"A": (1, 4)}, least=8)) == 3
    assert cut({}, least=8) == []


def test_a_bucket_of_a_few_keys_after_very_many_updates_is_one_task_and_more_if_they_are_many() -> None:
    asked = []

    def left(first: int, count: int, end: int, sequence: int) -> int:
        asked.append(sequence)
        return max(0, count - max(0, sequence - first) * count // (end - first))

    few = dataclasses.replace(facts(10**10 - 10**6, 10**10), messages=1000)
    assert find_cuts(few, few.first, few.last + 1, 0, lambda s: left(few.first, 1000, 10**10, s)) == (
        10**10 + 1,
    )
    many = dataclasses.replace(facts(1, 10**10), messages=10**6)
    edges = find_cuts(many, 1, many.last + 1, 0, lambda s: left(1, 10**6, 10**10, s))
    assert len(edges) == 10
    assert all(abs(edge / 10**9 - at) < 0.2 for at, edge in enumerate(edges, 1))
    assert len(asked) < 100
    huge = dataclasses.replace(facts(1, 10**12), messages=10**10)
    asked.clear()
    assert len(find_cuts(huge, 1, huge.last + 1, 0, lambda s: left(1, 10**10, 10**12, s))) == 10**5
    assert len(asked) < 5_000
    silent = find_cuts(many, 1, many.last + 1, 0, lambda _: None)  # no replica answers
    assert len(silent) == 10
    assert find_cuts(few, 1, few.last + 1, 0, lambda s: left(few.first, 1000, 10**10, s)) == (10**10 + 1,)
    assert [low for _, low, _ in cut({"S": (1, 10**10 + 1)}, {"S": edges})] == [1, *edges[:-1]]


def test_an_offset_keeps_where_its_batch_is_cut_and_when_its_messages_were_stored() -> None:
    mark = StreamOffset(9, OLD, after=5, cuts=(4, 9))
    assert offsets.read(json.loads(json.dumps(offsets.write({"S": mark})))) == {"S": mark}
    start, end = {"S": StreamOffset(1, OLD, after=5)}, {"S": StreamOffset(11, OLD, after=9)}
    assert offsets.between(start, end, 4)["S"] == StreamOffset(5, OLD, after=5)
    assert offsets.between(start, end, 10)["S"] == end["S"]


def test_a_stream_that_has_what_is_next_has_lost_nothing() -> None:
    assert lost(StreamOffset(5, OLD), facts(1, 9)) is None
    assert lost(StreamOffset(5, OLD), facts(5, 9)) is None
    assert lost(StreamOffset(10, OLD), facts(1, 9)) is None
    assert lost(StreamOffset(10, OLD), facts(10, 9)) is None  # all was purged after it was read


def test_losses_name_stream_and_sequences() -> None:
    cases = {
        "stream S: sequences 5 to 6 are gone": (StreamOffset(5, OLD), facts(7, 9)),
        "the stream ends at sequence 9, before 20": (StreamOffset(20, OLD), facts(1, 9)),
        f"recreated on {NEW}": (StreamOffset(5, OLD), facts(1, 9, created=NEW)),
    }
    for text, (mark, now) in cases.items():
        found = str(lost(mark, now))
        assert text in found
        assert "failOnDataLoss" in found
    assert isinstance(lost(StreamOffset(5, OLD), facts(1, 9, created=NEW)), Recreated)


def test_a_work_queue_loses_what_was_acknowledged_and_that_is_no_loss() -> None:
    assert lost(StreamOffset(5, OLD), facts(7, 9, retention="workqueue")) is None
    assert lost(StreamOffset(5, OLD), facts(7, 9, created=NEW, retention="workqueue")) is not None


def test_reading_goes_on_at_what_is_left() -> None:
    assert resumed(StreamOffset(5, OLD), facts(7, 9)) == StreamOffset(
        5, OLD
    )  # the range reader passes what is gone
    assert resumed(StreamOffset(20, OLD), facts(1, 9)) == StreamOffset(10, OLD)
    assert resumed(StreamOffset(20, OLD), facts(3, 9, created=NEW)) == StreamOffset(3, NEW, 3)
