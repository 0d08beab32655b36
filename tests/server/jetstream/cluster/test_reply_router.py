"""An answer that goes through a stream's leader arrives, whatever that leader knows already."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from lib.streams import JetStreamFixture, Spy
from pyjs.protocol.identifier import name_hash
from pyjs.server.clock import SECOND
from pyjs.server.jetstream.cluster.reply_router import INTEREST_TIMEOUT, MOST_WAITING, ReplyRouter


class Two(JetStreamFixture):
    """The server that answers, and the leader by whose way it does."""

    def open(self) -> None:
        super().open()
        accounts = {"$G": self.js}
        self.near, self.leader = (
            ReplyRouter(name_hash(name), self.account, accounts, self.clock) for name in ("near", "leader")
        )
        self.near.start()
        self.leader.start()

    def answer(self, way: str = "leader", body: bytes = b"done") -> None:
        self.near.send(way, "$G", "inbox", b"", body)


@pytest.fixture
def two(tmp_path: Path) -> Iterator[Two]:
    made = Two(str(tmp_path))
    yield made
    made.near.stop()
    made.leader.stop()
    made.close()


def test_it_goes_by_way_of_the_leader(two: Two) -> None:
    inbox, way = Spy(two.account, "inbox"), Spy(two.account, "$JSC.ANSWER.>")
    two.answer()
    assert (inbox.bodies, len(way.bodies)) == ([b"done"], 1)


def test_who_waits_may_be_heard_of_a_little_later_than_the_answer(two: Two) -> None:
    two.answer()
    two.clock.advance(SECOND)
    inbox = Spy(two.account, "inbox")
    two.clock.advance(SECOND)
    assert inbox.bodies == [b"done"]
    two.clock.advance(INTEREST_TIMEOUT)
    assert inbox.bodies == [b"done"]


def test_who_does_not_wait_any_more_is_forgotten(two: Two) -> None:
    two.answer()
    two.clock.advance(2 * INTEREST_TIMEOUT)
    inbox = Spy(two.account, "inbox")
    two.clock.advance(INTEREST_TIMEOUT)
    assert inbox.bodies == []


def test_a_leader_that_is_not_reached_is_left_out(two: Two) -> None:
    inbox = Spy(two.account, "inbox")
    two.leader.stop()
    two.answer()
    assert inbox.bodies == [b"done"]


def test_only_so_many_answers_wait(two: Two) -> None:
    for number in range(MOST_WAITING + 5):
        two.answer(body=b"%d" % number)
    inbox = Spy(two.account, "inbox")
    two.clock.advance(INTEREST_TIMEOUT)
    assert inbox.bodies == [b"%d" % number for number in range(MOST_WAITING)]
