"""A simulation that checks the promises about a member's fields after each of its actions."""

from __future__ import annotations

from random import Random
from typing import Any

from lib.raft.simulation import Simulation
from pyjs.raft import HardState, RaftLog, RaftMessage, RawNode
from pyjs.raft.leader import Leader
from pyjs.raft.progress import Progress, ProgressState
from pyjs.raft.roles import Event, RaftState


class CheckedNode(RawNode):
    """A member that is checked."""

    def __init__(self, *args: Any, changes: set[tuple[RaftState, Event]], **kwargs: Any) -> None:
        self.changes = changes
        self._before: tuple[HardState, int, int] | None = None
        super().__init__(*args, **kwargs)

    def tick(self) -> bool:
        news = super().tick()
        self._check()
        return news

    def step(self, message: RaftMessage) -> None:
        super().step(message)
        self._check()

    def written(self) -> None:
        super().written()
        self._check()

    def messages(self) -> list[RaftMessage]:
        found = super().messages()
        self._check()
        return found

    def _become(self, event: Event, leader: str = "") -> None:
        self.changes.add((self.role.state, event))
        super()._become(event, leader)

    def _check(self) -> None:
        raft, log = self._raft, self.log
        check_log(log)
        state, commit, applied = self._before or (raft.hard_state, log.commit, log.applied)
        assert raft.event is None
        assert raft.outgoing is self.outgoing
        assert raft.hard_state.term >= state.term
        assert raft.hard_state.boot == state.boot
        if raft.hard_state.term == state.term and state.vote:
            assert raft.hard_state.vote == state.vote
        assert raft.durable.term <= raft.hard_state.term
        assert (commit, applied) <= (log.commit, log.applied)
        if isinstance(self.role, Leader):
            assert not raft.hard_state.recovering
            for progress in self.role.followers.values():
                check_progress(progress, log)
        self._before = (raft.hard_state, log.commit, log.applied)


def check_log(log: RaftLog) -> None:
    """Check the invariants of `RaftLog`."""
    assert log.base <= log.snapshot.index <= log.applied <= log.commit <= log.last
    assert log.stable < log.unwritten <= log.last + 1
    terms = [log.base_term] + [entry.term for entry in log.entries]
    assert terms == sorted(terms)


def check_progress(progress: Progress, log: RaftLog) -> None:
    """Check the invariants of `Progress`."""
    assert progress.match < progress.next
    assert progress.match <= log.last
    assert progress.inflight_bytes == sum(size for _, size in progress.inflights)
    assert progress.state is ProgressState.REPLICATE or not progress.inflights
    assert progress.inflights or not progress.unanswered_beats


class CheckedSimulation(Simulation):
    """A simulation of checked members. `changes`: the changes of roles that happened."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.changes: set[tuple[RaftState, Event]] = set()

    def make_node(self, name: str, log: RaftLog, state: HardState, timing: Any, random: Random) -> RawNode:
        return CheckedNode(name, log, state, config=timing, random=random, changes=self.changes)
