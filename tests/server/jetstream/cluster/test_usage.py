"""What servers report of an account, against its limits."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from lib.streams import JetStreamFixture
from pyjs.server.config.options import AccountJetStream
from pyjs.server.jetstream.cluster.usage import count
from pyjs.server.jetstream.meta.usage import TierUsage

REPORTS = {
    "me": {"R1": TierUsage(0, 10), "R3": TierUsage(1, 20)},
    "other": {"R3": TierUsage(1, 20)},
    "third": {"R3": TierUsage(1, 20), "R1": TierUsage(0, 5)},
}


@pytest.fixture
def fixture(tmp_path: Path) -> Iterator[JetStreamFixture]:
    made = JetStreamFixture(str(tmp_path))
    yield made
    made.close()


def room(fixture: JetStreamFixture, storage: str, replicas: int) -> int:
    """The largest message that still has room, of at most 1000 bytes."""
    quota = fixture.js.limits.quota(storage, replicas)
    return max(size for size in range(1000) if quota.refusal(size, replicas) is None)


def test_flat_limits_are_for_all_copies_of_all_streams(fixture: JetStreamFixture) -> None:
    fixture.js.limits.change({"": AccountJetStream(max_memory=30, max_store=300)})
    fixture.js.limits.quota("file").add(30)
    fixture.js.limits.quota("memory").add(1)
    count(fixture.js, REPORTS, "me")
    assert (room(fixture, "file", 1), room(fixture, "file", 3)) == (300 - 75, 75)
    assert room(fixture, "memory", 3) == 9


def test_a_tiers_limits_are_for_each_copy(fixture: JetStreamFixture) -> None:
    tiers = {"R1": AccountJetStream(max_store=100), "R3": AccountJetStream(max_store=100)}
    fixture.js.limits.change(tiers)
    fixture.js.limits.quota("file").add(10)
    fixture.js.limits.quota("file", 3).add(20)
    count(fixture.js, REPORTS, "me")
    assert (room(fixture, "file", 1), room(fixture, "file", 3)) == (100 - 15, 100 - 20)
    assert room(fixture, "file", 5) == 0  # the account has no such tier
    count(fixture.js, {"me": REPORTS["me"]}, "me")  # the others' streams are gone
    assert (room(fixture, "file", 1), room(fixture, "file", 3)) == (90, (300 - 20) // 3)
