"""A few rounds of faults on three whole servers; `make trust` plays many more of each, on five, too.

A failure tells the seed and what was done.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from lib.trust import plans
from lib.trust.membership import members
from lib.trust.story import Fault, Plan, Story

SEED = 20261121
Play = Callable[[Story, int], Fault]


def in_turn(*plays: tuple[Play, int]) -> Play:
    """Each (play, number of its round) for one round."""

    def play(story: Story, number: int) -> Fault:
        chosen, variant = plays[number - 1]
        return chosen(story, variant)

    return play


PROCESSES = in_turn((plans.kill, 3), (plans.partition, 1), (plans.kill, 4))
DISKS = in_turn((plans.power, 3), (plans.damaged, 1), (members, 6))
PLANS = [
    Plan("processes", "kills and a partition, on real disks", PROCESSES, rounds=3),
    Plan("disks", "a power cut of all, damaged files, emptied servers", DISKS, rounds=3, faulty=True),
]


@pytest.mark.timeout(180)
@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan.name)
def test_what_was_acknowledged_is_there(plan: Plan) -> None:
    told: list[str] = []
    try:
        report = Story(plan, seed=SEED, rate=40, tell=told.append).play(plan.rounds)
        assert report.verdict.good, "\n".join(report.verdict.notes)
        assert report.acked > 100
    except Exception as fault:
        raise AssertionError(f"seed {SEED}, after {told}: {fault}") from fault
