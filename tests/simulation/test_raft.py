"""Raft groups under faults: 60 seeds, each its own run; and canaries that the judges must catch.

A failure names its seed; `PYTHONPATH=tests python -m lib.raft --seed N` prints its trace, `make soak` plays
more.
"""

from __future__ import annotations

import pytest
from lib.raft.canaries import CANARIES, SyncsFail, VotesWhileRecovering
from lib.raft.invariants import CheckedSimulation
from lib.raft.simulation import Simulation
from pyjs.raft.roles import TRANSITIONS, Event, RaftState

SEEDS, CHUNK = 60, 10
# Where to look for the broken rules that are caught seldom: nearer than this, nobody notices them.
FIRST: dict[type[Simulation], int] = {VotesWhileRecovering: 130}


@pytest.mark.parametrize("first", range(0, SEEDS, CHUNK))
def test_no_promise_is_broken(first: int) -> None:
    for seed in range(first, first + CHUNK):
        simulation = Simulation(seed)
        try:
            simulation.run()
        except Exception as error:
            raise AssertionError(f"seed {seed}: {type(error).__name__}: {error}") from error
        assert simulation.acknowledged > 0, f"seed {seed}: nothing was ever acknowledged"


def test_syncs_that_fail_everywhere_lose_nothing() -> None:
    for seed in range(10):
        simulation = SyncsFail(seed)
        simulation.run()
        assert simulation.acknowledged > 0, f"seed {seed}"


@pytest.mark.parametrize("canary", CANARIES)
def test_a_broken_rule_is_caught(canary: type[Simulation]) -> None:
    first = FIRST.get(canary, 0)
    for seed in range(first, first + 300):
        try:
            canary(seed).run()
        except (AssertionError, IndexError):
            return
    raise AssertionError("nobody noticed")


def test_a_seed_gives_the_same_trace_twice() -> None:
    first, second = Simulation(7, trace=True), Simulation(7, trace=True)
    first.run()
    second.run()
    assert first.trace
    assert first.trace == second.trace
    assert first.judges.chains == second.judges.chains


def test_the_fields_of_members_keep_their_invariants_in_all_changes_of_roles() -> None:
    # No fault that Raft is made for brings a second leader of one term.
    missing = set(TRANSITIONS) - {(RaftState.LEADER, Event.CURRENT_LEADER)}
    for seed in range(100):
        simulation = CheckedSimulation(seed)
        simulation.run()
        missing -= simulation.changes
        if not missing and seed > 10:
            return
    raise AssertionError(f"these never happened: {missing}")
