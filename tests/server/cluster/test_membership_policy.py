"""How a group gets from the members it has to those it is to have."""

from __future__ import annotations

from random import Random

import pytest
from lib.examples import seeds
from pyjs.raft import Members
from pyjs.server.cluster.announce import Announce
from pyjs.server.cluster.membership_policy import MembershipView, next_members, surplus


def announcement(member: str) -> Announce:
    return Announce("G", f"name of {member[0]}", f"server {member}", "", member)


def way(voters: str, wanted: str | None, *, leader: str = "a", away: str = "", learners: str = "") -> str:
    """The steps until there are no more; who is not away is caught up at once. Nodes are letters."""

    def ids(nodes: str) -> list[str]:
        return [f"{node}-1" for node in nodes]

    members = Members.of(ids(voters), ids(learners))
    seen = [shown(members)]
    fewest = min(len(set(voters) - set(away)), len(set(wanted or voters) - set(away)))
    for _ in range(40):
        alive = frozenset(member for member in members.all if member[0] not in away)
        there = tuple(announcement(m) for m in ids(wanted or voters) if m[0] not in away and m[0] != leader)
        view = MembershipView(
            f"{leader}-1",
            members,
            alive - {f"{leader}-1"},
            members.learners & alive,
            there,
            None if wanted is None else frozenset(wanted),
        )
        change = next_members(view)
        if change is None and surplus(view):
            leader = min(m[0] for m in members.voters & alive if m[0] in (wanted or ""))
            seen.append(f"to {leader}")
            continue
        if change is None:
            return " ".join(seen)
        members.check_next(change)
        members = change
        assert len(members.voters & alive) >= min(members.quorum, len(alive)), seen
        assert len(members.voters & alive) >= fewest, seen
        seen.append(shown(members))
    raise AssertionError(seen)


def shown(members: Members) -> str:
    learners = "".join(sorted(member[0] for member in members.learners))
    return "".join(sorted(member[0] for member in members.voters)) + (f"+{learners}" if learners else "")


@pytest.mark.parametrize(
    ("voters", "wanted", "steps"),
    [
        ("abc", None, "abc"),
        ("abc", "abc", "abc"),
        ("a", "abc", "a a+bc ab+c abc"),
        ("abc", "a", "abc ac a"),
        ("abc", "b", "abc ab to b b"),
        ("a", "b", "a a+b ab to b b"),
        ("abc", "abd", "abc abc+d abcd abd"),  # who lives stays until its successor votes
    ],
)
def test_the_way(voters: str, wanted: str | None, steps: str) -> None:
    assert way(voters, wanted) == steps


def test_a_dead_voter_goes_before_its_successor_votes() -> None:
    assert way("abc", "abd", away="c") == "abc ab ab+d abd"


def test_a_living_voter_stays_while_its_successor_is_away() -> None:
    assert way("abc", "abd", away="d") == "abc"
    assert way("a", "b", away="b") == "a"


def test_a_move_hands_over_when_all_of_the_new_ones_vote() -> None:
    assert way("abc", "def").endswith("abcdef acdef adef to d def")


def test_a_learner_nobody_wants_goes() -> None:
    assert way("abc", "abc", learners="d") == "abc+d abc"


def test_another_life_takes_the_place_of_a_dead_one() -> None:
    members = Members.of(["a-1", "b-1", "c-1"])
    view = MembershipView("a-1", members, frozenset({"b-1"}), frozenset(), (announcement("c-2"),))
    assert next_members(view) == Members.of(["a-1", "b-1"])
    alive = MembershipView("a-1", members, frozenset({"b-1", "c-1"}), frozenset(), (announcement("c-2"),))
    assert next_members(alive) is None
    stuck = MembershipView("a-1", members, frozenset(), frozenset(), (announcement("c-2"),))
    assert next_members(stuck) is None


@seeds(20)
def test_any_way_ends_and_never_has_fewer_copies_than_before_or_after(seed: int) -> None:
    rng = Random(seed)
    for _ in range(10):
        voters = "".join(rng.sample("abcdefg", rng.choice([1, 3, 5])))
        wanted = "".join(rng.sample("abcdefg", rng.choice([1, 3, 5])))
        minority = voters[1:][: (len(voters) - 1) // 2]
        away = "".join(one for one in minority if rng.random() < 0.5 and one not in wanted)
        assert way(voters, wanted, leader=voters[0], away=away).split()[-1] == "".join(sorted(wanted))
