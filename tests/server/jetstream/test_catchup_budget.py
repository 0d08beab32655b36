"""What one server sends to replicas that catch up has a bound, over all streams."""

from __future__ import annotations

from collections.abc import Callable

from lib.fake_clock import FakeClock
from pyjs.server.jetstream.catchup_budget import PATIENCE, CatchupBudget

PIECE = 10


def sends(sent: list[str], what: str, size: int = PIECE) -> Callable[[], int]:
    def send() -> int:
        sent.append(what)
        return size

    return send


def test_a_question_waits_until_an_answer_has_arrived() -> None:
    clock, sent = FakeClock(), list[str]()
    budget = CatchupBudget(clock, 2 * PIECE)
    for stream in "abcd":
        budget.asked((stream, "n"), sends(sent, stream))
    assert sent == ["a", "b"]
    budget.asked(("b", "n"), sends(sent, "b2"))  # what waits for longer comes first
    assert sent == ["a", "b", "c"]
    budget.asked(("a", "n"), sends(sent, "a2"))
    budget.asked(("c", "n"), sends(sent, "c2"))
    assert sent == ["a", "b", "c", "d", "b2"]


def test_one_answer_is_always_allowed_and_a_refusal_takes_no_room() -> None:
    clock, sent = FakeClock(), list[str]()
    budget = CatchupBudget(clock, 1)
    budget.asked(("a", "n"), sends(sent, "refused", 0))
    budget.asked(("b", "n"), sends(sent, "b"))
    budget.asked(("c", "n"), sends(sent, "c"))
    assert sent == ["refused", "b"]


def test_who_asks_no_further_and_who_has_asked_elsewhere_is_forgotten() -> None:
    clock, sent = FakeClock(), list[str]()
    budget = CatchupBudget(clock, 1)
    budget.asked(("a", "n"), sends(sent, "a"))
    budget.asked(("b", "n"), sends(sent, "b"))
    clock.advance(PATIENCE)
    budget.asked(("c", "n"), sends(sent, "c"))
    assert sent == ["a", "c"]


def test_what_waits_for_a_group_that_this_server_has_left_is_not_sent() -> None:
    clock, sent = FakeClock(), list[str]()
    budget = CatchupBudget(clock, 1)
    budget.asked(("a", "n"), sends(sent, "a"))
    budget.asked(("b", "n"), sends(sent, "b"))
    budget.left("b")
    budget.asked(("a", "n"), sends(sent, "a2"))
    assert sent == ["a", "a2"]
