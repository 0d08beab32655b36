"""A leader refuses publishes while as many are under way as the configuration allows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pyjs.server.cluster.proposals import ProposalLostError
from pyjs.server.jetstream.overload import StreamQueue
from pyjs.server.jetstream.replication.group_log import GroupLog


class Group:
    """A group that decides when the test says so."""

    def __init__(self) -> None:
        self.waiting: list[Callable[[int | Exception], None]] = []

    def propose(self, data: Sequence[bytes], done: Callable[[int | Exception], None]) -> None:
        del data
        self.waiting.append(done)


def test_bytes_and_publishes_under_way_have_a_limit_each() -> None:
    group, outcomes = Group(), list[Any]()
    fake: Any = group
    log = GroupLog(lambda: fake, StreamQueue(10, 3))
    log.propose([b"1234", b"56789"], outcomes.append, publishes=2)
    assert not log.full
    log.propose([b"0"], outcomes.append)  # no publish, and it counts as bytes
    assert log.full
    group.waiting.pop(0)(1)
    assert not log.full
    log.propose([b"1"], outcomes.append, publishes=3)
    assert log.full
    group.waiting.pop()(ProposalLostError("gone"))  # refused or lost, it is under way no more
    assert not log.full and outcomes[0] == 1


def test_what_is_not_positive_has_its_default() -> None:
    assert StreamQueue.of(0, -1) == StreamQueue() and StreamQueue.of(5, 6) == (5, 6)
