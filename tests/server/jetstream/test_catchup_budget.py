"""What one server sends to replicas that catch up has a bound, over all streams."""

from __future__ import annotations

from collections.abc import Callable

from pyjs.server.jetstream.catchup_budget import PATIENCE, CatchupBudget

PIECE = 10


def sends(sent: list[str], what: str, size: int = PIECE) -> Callable[[], int]:
    def send() -> int:
        sent.append(what)
        return size

    return send


def test_a_question_waits_until_an_answer_has_arrived() -> None:
    budget, sent = CatchupBudget(2 * PIECE), list[str]()
    for stream in "abcd":
        budget.asked((stream, "n"), 0, sends(sent, stream))
    assert sent == ["a", "b"]
    budget.asked(("b", "n"), 1, sends(sent, "b2"))  # what waits for longer comes first
    assert sent == ["a", "b", "c"]
    budget.asked(("a", "n"), 1, sends(sent, "a2"))
    budget.asked(("c", "n"), 1, sends(sent, "c2"))
    assert sent == ["a", "b", "c", "d", "b2"]


def test_one_answer_is_always_allowed_and_a_refusal_takes_no_room() -> None:
    budget, sent = CatchupBudget(1), list[str]()
    budget.asked(("a", "n"), 0, sends(sent, "refused", 0))
    budget.asked(("b", "n"), 0, sends(sent, "b"))
    budget.asked(("c", "n"), 0, sends(sent, "c"))
    assert sent == ["refused", "b"]


def test_who_asks_no_further_and_who_has_asked_elsewhere_is_forgotten() -> None:
    budget, sent = CatchupBudget(1), list[str]()
    budget.asked(("a", "n"), 0, sends(sent, "a"))
    budget.asked(("b", "n"), 0, sends(sent, "b"))
    budget.asked(("c", "n"), PATIENCE, sends(sent, "c"))
    assert sent == ["a", "c"]


def test_what_waits_for_a_group_that_this_server_has_left_is_not_sent() -> None:
    budget, sent = CatchupBudget(1), list[str]()
    budget.asked(("a", "n"), 0, sends(sent, "a"))
    budget.asked(("b", "n"), 0, sends(sent, "b"))
    budget.left("b")
    budget.asked(("a", "n"), 1, sends(sent, "a2"))
    assert sent == ["a", "a2"]
