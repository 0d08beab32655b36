"""Quotas: what an account refuses, and what the server refuses."""

from __future__ import annotations

from pyjs.server.jetstream.quota import MARGIN, Quota


def code(quota: Quota, size: int) -> int:
    refusal = quota.refusal(size)
    return refusal.err_code if refusal is not None else 0


def test_usage_counts_in_the_account_and_in_the_server() -> None:
    server = Quota()
    one, two = Quota(-1, server), Quota(-1, server)
    one.add(5)
    two.add(7)
    one.add(-2)
    assert (one.used, two.used, server.used) == (3, 7, 10)


def test_an_account_is_refused_what_would_pass_its_limit() -> None:
    quota = Quota(10, Quota())
    quota.add(6)
    assert (code(quota, 4), code(quota, 5)) == (0, 10002)


def test_a_full_server_refuses_everyone() -> None:
    server = Quota(10)
    quota = Quota(-1, server)
    quota.add(10)
    assert code(quota, 1) == 0
    quota.add(1)
    assert code(quota, 1) == 10023


def test_reservations_are_kept_within_both_limits() -> None:
    server = Quota(100)
    quota = Quota(50, server)
    other = Quota(-1, server)
    assert quota.can_reserve(50)
    assert not quota.can_reserve(51)
    other.reserve(80)
    assert not quota.can_reserve(21)
    other.reserve(-80)
    assert quota.can_reserve(21)


def test_usage_is_watched_closely_only_near_a_limit() -> None:
    server = Quota(10 * MARGIN)
    assert not Quota(-1, server).guarded
    assert Quota(5, server).guarded
    server.used = 9 * MARGIN + 1
    assert Quota(-1, server).guarded


def test_what_other_servers_use_counts_and_what_comes_counts_for_them_too() -> None:
    """Three copies of 10 bytes were reported; here 2 more have come since, and so has each of the others."""
    quota = Quota(60, Quota())
    quota.add(10)
    quota.set_reported(20, 10)
    quota.add(2)
    assert [quota.refusal(size, 3) is None for size in (8, 9)] == [True, False]
    assert [quota.refusal(size) is None for size in (28, 29)] == [True, False]
