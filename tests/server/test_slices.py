"""Slices: one step in each turn, one outcome."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator

import pytest
from lib.streams import HandRunner
from pyjs.server import slices
from pyjs.server.jetstream.api.raw_json import RawJson, is_long, to_text, writing
from pyjs.server.slices import (
    SerialQueue,
    Slices,
    TurnScheduler,
    at_once,
    in_order,
    map_in_steps,
    matching,
    paced,
)


class Turns(HandRunner):
    """Keeps what is to run in the next turn."""

    def __init__(self) -> None:
        super().__init__()
        self.next: list[Callable[[], None]] = []

    def soon(self, callback: Callable[[], None]) -> None:
        self.next.append(callback)

    def turn(self) -> None:
        due, self.next = self.next, []
        for callback in due:
            callback()


def steps(said: list[int], count: int, fault: Exception | None = None) -> Generator[None, None, str]:
    for number in range(count):
        said.append(number)
        yield
    if fault is not None:
        raise fault
    return "end"


def test_one_step_in_each_turn() -> None:
    runner, said, ended = Turns(), list[int](), list[object]()
    Slices(runner, steps(said, 3), ended.append, ended.append)
    for done in ([0], [0, 1], [0, 1, 2]):
        assert (said, ended) == (done, [])
        runner.turn()
    assert (ended, runner.next) == (["end"], [])


def test_what_takes_one_step_is_done_at_once() -> None:
    runner, ended = Turns(), list[object]()
    Slices(runner, steps([], 0), ended.append, ended.append)
    assert (ended, runner.next) == (["end"], [])


def test_a_fault_ends_it() -> None:
    runner, ended, fault = Turns(), list[object](), ValueError("x")
    Slices(runner, steps([], 1, fault), lambda _: ended.append("done"), ended.append)
    runner.turn()
    assert ended == [fault]


def test_nobody_is_notified_of_what_was_stopped() -> None:
    runner, said, ended = Turns(), list[int](), list[object]()
    Slices(runner, steps(said, 5), ended.append, ended.append).stop()
    runner.turn()
    assert (said, ended, runner.next) == ([0], [], [])


def test_a_runner_that_runs_at_once_needs_no_deep_stack() -> None:
    ended: list[object] = []
    Slices(HandRunner(), steps([], 5000), ended.append, ended.append)
    assert ended == ["end"]
    assert at_once(steps([], 3)) == "end"


def test_a_part_that_is_written_already_stands_in_its_place() -> None:
    text = to_text({"a": "x", "b": {"c": RawJson('{"d":1}'), "e": [RawJson("2")]}})
    assert text == '{"a":"x","b":{"c":{"d":1},"e":[2]}}'
    assert json.loads(text)["b"]["e"] == [2]


def test_short_steps_become_longer_ones() -> None:
    runner, said, ended = Turns(), list[int](), list[object]()
    Slices(runner, paced(steps(said, 1000)), ended.append, ended.append)
    turns = 0
    while runner.next:
        runner.turn()
        turns += 1
    assert (len(said), ended) == (1000, ["end"])
    assert turns < 100


def test_lists_are_made_step_by_step() -> None:
    numbers = [(number * 7919) % 1000 for number in range(3000)]
    assert at_once(map_in_steps(numbers, str)) == [str(number) for number in numbers]
    assert at_once(matching(numbers, lambda number: number > 990)) == [n for n in numbers if n > 990]


def test_sorting_keeps_the_order_of_equals() -> None:
    rows = [((number * 7919) % 10, number) for number in range(3000)]
    for downwards in (False, True):
        found = at_once(in_order(rows, lambda row: row[0], downwards=downwards))
        assert found == sorted(rows, key=lambda row: row[0], reverse=downwards)
    assert at_once(in_order([], str)) == []


class Watch:
    """A clock that moves when work says how long it took."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        self.done: list[str] = []
        monkeypatch.setattr(slices, "perf_counter", lambda: self.now)

    def work(self, name: str, seconds: float) -> Callable[[], None]:
        def work() -> None:
            self.done.append(name)
            self.now += seconds

        return work


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Watch:
    return Watch(monkeypatch)


def test_work_of_many_takes_no_more_in_a_turn_than_work_of_one(watch: Watch) -> None:
    turns = Turns()
    line = TurnScheduler(turns.soon)
    for name in "abcdefg":
        line.soon(watch.work(name, slices.SECONDS * (0.4 if name < "e" else 1)))
    for done in ("abc", "abcde", "abcdef", "abcdefg"):
        turns.turn()
        assert "".join(watch.done) == done
    assert (len(line), turns.next) == (0, [])


def test_what_comes_while_others_work_waits_for_the_next_turn() -> None:
    turns, done = Turns(), list[int]()
    line = TurnScheduler(turns.soon)

    def again() -> None:
        done.append(len(done))
        if len(done) < 3:
            line.soon(again)

    line.soon(again)
    for count in (1, 2, 3):
        turns.turn()
        assert len(done) == count
    assert turns.next == []


def test_what_is_short_runs_at_once_until_it_adds_up(watch: Watch) -> None:
    turns = Turns()
    line = TurnScheduler(turns.soon)
    for name in "abcd":
        line.now(watch.work(name, slices.SECONDS * 0.5))
    assert ("".join(watch.done), len(line)) == ("ab", 2)
    turns.turn()
    line.now(watch.work("e", 0))
    assert ("".join(watch.done), turns.next) == ("abcde", [])


def test_what_was_spent_in_turns_before_does_not_delay_what_comes_now(watch: Watch) -> None:
    turns = Turns()
    line = TurnScheduler(turns.soon)
    for number in range(100):
        line.now(watch.work(str(number), slices.SECONDS * (0.3 if number % 2 else 0.05)))
        line.now(watch.work("more", slices.SECONDS * 0.4))
        assert len(watch.done) == 2 * (number + 1)
        turns.turn()
    assert turns.next == []


def test_what_is_short_asks_for_no_turn_each_time(watch: Watch) -> None:
    turns = Turns()
    line = TurnScheduler(turns.soon)
    for _ in range(12):
        line.now(watch.work("a", slices.SECONDS * 0.02))
    assert turns.next == []
    line.now(watch.work("b", slices.SECONDS * 0.02))
    assert len(turns.next) == 1


def test_one_after_another_as_long_as_there_is_time(watch: Watch) -> None:
    turns = Turns()
    line = TurnScheduler(turns.soon)

    def work(part: float) -> None:
        watch.work("x", slices.SECONDS * part)()

    assert line.now_each(work, [0.1, 0.2]) == 2
    assert line.now_each(work, [0.4, 0.2, 0.5, 0.1, 0.1]) == 3  # the third one exceeds the share
    assert line.now_each(work, [0.1]) == 0
    turns.turn()
    assert line.now_each(work, [0.1]) == 1


def test_one_after_another_until_something_waits(watch: Watch) -> None:
    turns, done = Turns(), list[int]()
    line = TurnScheduler(turns.soon)

    def work(number: int) -> None:
        done.append(number)
        if number == 1:
            line.soon(watch.work("waits", 0))

    assert line.now_each(work, [0, 1, 2]) == 2
    assert line.now_each(work, [3]) == 0
    turns.turn()
    assert (done, watch.done) == ([0, 1], ["waits"])
    assert line.now_each(work, [4]) == 1


def test_a_fault_does_not_stop_the_line() -> None:
    turns, done = Turns(), list[int]()
    line = TurnScheduler(turns.soon)

    def fail() -> None:
        raise ValueError("x")

    line.soon(fail)
    line.soon(lambda: done.append(1))
    with pytest.raises(ValueError, match="x"):
        turns.turn()
    turns.turn()
    assert done == [1]


def test_work_in_line_needs_no_deep_stack_where_the_next_turn_is_at_once() -> None:
    ended: list[object] = []
    line = TurnScheduler(HandRunner().soon)
    Slices(line, steps([], 5000), ended.append, ended.append)
    assert ended == ["end"]


class Reported:
    """Pieces of work of some turns each, one after another, and what is told of them."""

    def __init__(self) -> None:
        self.turns = Turns()
        self.said: list[object] = []
        self.work = SerialQueue(self.turns)

    def add(self, name: str, count: int, fault: Exception | None = None) -> None:
        def piece() -> Generator[None, None, str]:
            self.said.append(f"{name} begins")
            yield from steps([], count, fault)
            return name

        self.work.add(piece(), self.said.append, self.said.append)

    def finish(self) -> None:
        while self.turns.next:
            self.turns.turn()


def test_pieces_in_order_begin_at_once_when_nothing_is_under_way() -> None:
    reported = Reported()
    reported.add("a", 0)
    reported.add("b", 0)
    assert reported.said == ["a begins", "a", "b begins", "b"]
    assert not reported.turns.next


def test_each_piece_waits_for_those_before_it() -> None:
    reported = Reported()
    reported.add("a", 3)
    reported.add("b", 1)
    assert (reported.said, len(reported.work)) == (["a begins"], 1)
    reported.finish()
    assert reported.said == ["a begins", "a", "b begins", "b"]


def test_the_fault_of_a_piece_is_reported_and_the_next_one_follows() -> None:
    reported, fault = Reported(), ValueError("no")
    reported.add("a", 2, fault)
    reported.add("b", 0)
    reported.finish()
    assert reported.said == ["a begins", fault, "b begins", "b"]


def test_no_piece_goes_on_after_the_end() -> None:
    reported = Reported()
    reported.add("a", 3)
    reported.add("b", 0)
    reported.work.stop()
    reported.add("c", 0)
    reported.finish()
    assert reported.said == ["a begins"]


def test_a_long_response_is_written_in_steps_as_a_short_one_is() -> None:
    rows = [{"name": f"é{number}", "tags": ["a", None, 1.5, {"b": RawJson("[2]")}]} for number in range(3000)]
    for response in (rows, {"rows": rows, "deep": {"text": "x" * 500_000, "empty": {}}, "none": []}, {}, []):
        assert is_long(response) == bool(response)
        count = 0
        writer = writing(response)
        try:
            while True:
                next(writer)
                count += 1
        except StopIteration as end:
            assert end.value == to_text(response)
        assert not response or count > 5
