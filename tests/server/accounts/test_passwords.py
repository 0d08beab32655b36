"""Checks of bcrypt passwords: turns by address, the latest first, none for one known to be right."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import bcrypt
from pyjs.server.accounts.passwords import PasswordChecks, VerifiedPasswords, check_for

HASHED = bcrypt.hashpw(b"of this test", bcrypt.gensalt(4)).decode()
OTHER = bcrypt.hashpw(b"of this test", bcrypt.gensalt(4)).decode()


class Threads:
    """Runs what is given to it when told to."""

    def __init__(self) -> None:
        self.given: list[tuple[Callable[[], bool], Callable[[bool], None]]] = []
        self.order: list[str] = []
        self.checks = PasswordChecks(lambda check, done: self.given.append((check, done)))

    def asks(self, name: str, address: str) -> None:
        self.checks(lambda: True, partial(self._answered, name), address)

    def _answered(self, name: str, passed: bool) -> None:
        assert passed
        self.order.append(name)

    def work(self) -> list[str]:
        while self.given:
            check, done = self.given.pop(0)
            done(check())
        return self.order


def test_who_comes_last_has_a_turn_soon() -> None:
    threads = Threads()
    for number in range(200):
        threads.asks(f"flood {number}", "1.1.1.1")
    threads.asks("good", "1.1.1.1")
    assert len(threads.checks) == 199
    order = threads.work()
    assert order[2] == "good"
    assert sorted(order) == sorted(["good", *(f"flood {number}" for number in range(200))])
    assert len(threads.checks) == 0


def test_who_waits_longest_is_not_forgotten() -> None:
    threads = Threads()
    for number in range(6):
        threads.asks(f"early {number}", "1.1.1.1")
    for number in range(40):
        check, done = threads.given.pop(0)
        done(check())
        threads.asks(f"late {number}", "1.1.1.1")
    assert {f"early {number}" for number in range(6)} <= set(threads.order)


def test_addresses_take_turns() -> None:
    threads = Threads()
    for number in range(200):
        threads.asks(f"flood {number}", "1.1.1.1")
    for number in range(3):
        threads.asks(f"good {number}", "2.2.2.2")
    order = threads.work()
    assert {"good 0", "good 1", "good 2"} <= set(order[:9])


def test_what_was_right_is_not_checked_again() -> None:
    first, same = check_for(HASHED, "of this test"), check_for(HASHED, "of this test")
    assert first is not None
    assert same is not None, "it is known only when it was found right"
    assert first()
    assert same()
    assert check_for(HASHED, "of this test") is None
    assert check_for(OTHER, "of this test") is not None, "another hash of the same password"
    wrong = check_for(HASHED, "of this tesT")
    assert wrong is not None
    assert not wrong()
    assert check_for(HASHED, "of this tesT") is not None


def test_what_is_known_is_bounded() -> None:
    known = VerifiedPasswords(b"secret")
    known.add(HASHED, "kept")
    for number in range(5000):
        known.add(HASHED, str(number))
        assert known.has(HASHED, "kept")
    assert not known.has(HASHED, "0")
    assert known.has(HASHED, "4999")
    assert not VerifiedPasswords(b"other").has(HASHED, "4999")
