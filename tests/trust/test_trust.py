"""A few rounds of faults on three whole servers; `make trust` plays many more of each, on five, too.

A failure shows the seed and what was done.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from lib.trust import plans
from lib.trust.scenario import Fault, Plan, Scenario

SEED = 102
Play = Callable[[Scenario, int], Fault]


def in_turn(*plays: tuple[Play, int]) -> Play:
    """Each (play, number of its round) for one round."""

    def play(scenario: Scenario, number: int) -> Fault:
        chosen, variant = plays[number - 1]
        return chosen(scenario, variant)

    return play


# The leader and another one are killed; the leader is cut off; a block is damaged, and one of those that have
# it whole is killed; the power goes everywhere. So it is with this seed, and without long pauses.
ROUNDS = [(plans.kill, 3), (plans.partition, 1), (plans.damaged, 1), (plans.power, 3)]


@pytest.mark.timeout(240)
def test_what_was_acknowledged_is_there() -> None:
    plan = Plan("short", "one round of each kind", in_turn(*ROUNDS), rounds=len(ROUNDS), faulty=True)
    reported: list[str] = []
    try:
        report = Scenario(plan, seed=SEED, rate=10, log=reported.append).play(plan.rounds)
        assert report.findings.good, "\n".join(report.findings.notes)
        assert report.acked > 100
    except Exception as fault:
        raise AssertionError(f"seed {SEED}, after {reported}: {fault}") from fault
