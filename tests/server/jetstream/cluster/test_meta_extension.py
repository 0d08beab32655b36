"""Whether a leaf belongs to its hub's JetStream, as far as is known."""

from __future__ import annotations

from lib.fake_disk import FakeDisk
from pyjs.server.jetstream.cluster.meta_group import MetaExtension
from pyjs.server.logging import NullLogger


def extension(disk: FakeDisk, joined: set[str], domain: str = "leaf") -> MetaExtension:
    return MetaExtension(domain, lambda: joined, path="/store", fs=disk, log=NullLogger())


def test_a_leaf_waits_for_the_hub_it_has_never_met() -> None:
    assert extension(FakeDisk(), set()).observes()


def test_a_hub_with_another_domain_leads_nothing_here_even_when_it_is_away() -> None:
    disk, joined = FakeDisk(), {"hub"}
    first = extension(disk, joined)
    assert not first.observes()
    joined.clear()
    assert not first.observes()
    assert not extension(disk, set()).observes()  # also after a restart


def test_a_hub_with_the_same_domain_leads_even_when_it_is_away() -> None:
    disk, joined = FakeDisk(), {"hub"}
    first = extension(disk, joined)
    assert not first.observes()
    joined.clear()
    joined.add("leaf")  # the hub's configuration has changed
    assert first.observes()
    joined.clear()
    assert first.observes() and extension(disk, set()).observes()


def test_one_of_two_hubs_is_enough() -> None:
    assert extension(FakeDisk(), {"other", ""}, domain="").observes()
