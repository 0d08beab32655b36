"""Requests of the system account are served by one leader, also around an election or a hand-over."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from lib.api_fixture import ApiFixture
from pyjs.server.accounts.subscription import Message
from pyjs.server.clock import SECOND
from pyjs.server.jetstream.api.cluster.system_router import SystemApiRouter
from pyjs.server.jetstream.api.cluster.waiting import LONGEST_WAIT, MOST_WAITING
from pyjs.server.jetstream.meta.responder import MetaRole
from pyjs.server.jetstream.meta.responder_rule import ResponderRule

Ask = Callable[..., None]
SUBJECT = "$JS.API.META.LEADER.STEPDOWN"


@pytest.fixture
def fixture(tmp_path: Path) -> Iterator[ApiFixture]:
    made = ApiFixture(str(tmp_path))
    yield made
    made.close()


@pytest.fixture
def served() -> list[str]:
    return []


@pytest.fixture
def ask(fixture: ApiFixture, served: list[str]) -> Ask:
    router = SystemApiRouter(fixture.cluster.context)

    def asked(reply: str, rule: ResponderRule = ResponderRule.SYSTEM) -> None:
        router.admit(rule, Message(SUBJECT, reply, b"", b"", None), lambda: served.append(reply))

    return asked


def lead(fixture: ApiFixture, leader: str = "") -> None:
    cluster = fixture.cluster
    cluster.leader = leader or cluster.me
    cluster.meta = MetaRole.FOLLOWER if leader else MetaRole.LEADER
    fixture.clock.advance(SECOND)


def test_a_leader_that_has_not_applied_everything_yet_lets_them_wait(
    fixture: ApiFixture, ask: Ask, served: list[str]
) -> None:
    fixture.cluster.meta, fixture.cluster.leader = MetaRole.FOLLOWER, fixture.cluster.me
    ask("1")
    ask("2")
    fixture.clock.advance(SECOND)
    assert served == []
    lead(fixture)
    assert served == ["1", "2"]
    ask("3")
    assert served == ["1", "2", "3"]


def test_they_are_left_to_another_leader_once_it_was_heard(
    fixture: ApiFixture, ask: Ask, served: list[str]
) -> None:
    lead(fixture, "n3")
    ask("1")
    fixture.clock.advance(SECOND)
    fixture.cluster.silent = 1000
    ask("2")
    fixture.clock.advance(SECOND)
    lead(fixture)
    assert served == ["2"]


def test_what_the_former_leader_served_is_not_served_again(
    fixture: ApiFixture, ask: Ask, served: list[str]
) -> None:
    ask("1")
    lead(fixture, "n3")
    ask("1")  # as the next leader receives it
    ask("2")
    fixture.cluster.served.tell()
    ask("1")  # or after it was told that the former one served it
    lead(fixture)
    assert served == ["1", "2"]
    fixture.clock.advance(SECOND)
    ask("1")  # somebody asks the same again
    assert served == ["1", "2", "1"]


def test_they_wait_for_so_long_and_so_many_wait(fixture: ApiFixture, ask: Ask, served: list[str]) -> None:
    fixture.cluster.meta, fixture.cluster.leader = MetaRole.FOLLOWER, ""
    ask("late")
    fixture.clock.advance(LONGEST_WAIT)
    for number in range(MOST_WAITING + 5):
        ask(str(number))
    lead(fixture)
    assert served == [str(number) for number in range(MOST_WAITING)]


def test_what_is_for_all_servers_is_served_by_each(ask: Ask, served: list[str]) -> None:
    ask("1", ResponderRule.EVERYBODY)
    assert served == ["1"]
