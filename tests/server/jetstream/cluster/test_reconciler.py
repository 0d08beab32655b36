"""What the disk refuses to read at a start is left alone, and served as soon as it can be read."""

from __future__ import annotations

import errno
from collections.abc import Callable

import pytest
from lib.stream_cluster import ACCOUNT, STREAM, Site, Sites
from pyjs.server.clock import SECOND
from pyjs.server.jetstream.cluster.inventory import FIRST, LONGEST

KEY = (ACCOUNT, STREAM)


class Refusal:
    """Makes one operation fail on paths that end so, as long as `lasts`; counts how often it did."""

    def __init__(self, site: Site, operation: str, end: str) -> None:
        self.lasts = True
        self.count = 0
        real: Callable[..., object] = getattr(site.disk, operation)

        def refused(path: str, **options: bool) -> object:
            if self.lasts and path.endswith(end):
                self.count += 1
                raise OSError(errno.EMFILE, "Too many open files", path)
            return real(path, **options)

        setattr(site.disk, operation, refused)


WHERE = [("open", "/S/meta.json"), ("names", "/jetstream/A/streams")]


def restarted(sites: Sites, name: str, where: tuple[str, str]) -> Refusal:
    sites[name].stop()
    refusal = Refusal(sites[name], *where)
    sites[name].start()
    return refusal


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("names", [("two",), ("one", "two", "three")])
def test_it_is_served_once_it_can_be_read(names: tuple[str, ...], where: tuple[str, str]) -> None:
    sites = Sites().start()
    sites.create(*names)
    sites.stored("a", "b")
    sites.settle()
    refusal = restarted(sites, "two", where)
    site = sites["two"]
    sites.run(FIRST / SECOND / 2)
    assert (refusal.count, site.local) == (1, None)
    assert "Too many open files" in site.reconciler.failures[KEY]
    refusal.lasts = False
    sites.run(FIRST / SECOND)
    assert site.reconciler.failures == {}
    assert [body for _, _, body in sites.settle()] == [b"a", b"b"]
    assert not any("lost.msgs" in path for path in site.disk.seen)
    assert not any("begun anew" in line or "begins empty" in line for line in site.log.lines)


def test_the_attempts_become_rarer() -> None:
    sites = Sites().start()
    sites.create("two")
    sites.stored("a")
    refusal = restarted(sites, "two", WHERE[0])
    counts = []
    for _ in range(4):
        sites.run(LONGEST / SECOND)
        counts.append(refusal.count)
    assert counts == [7, 8, 9, 10]


@pytest.mark.parametrize("where", WHERE)
def test_what_is_decided_meanwhile_counts_once_it_can_be_read(where: tuple[str, str]) -> None:
    sites = Sites().start()
    sites.create("two")
    sites.stored("a")
    refusal = restarted(sites, "two", where)
    site = sites["two"]
    sites.delete()
    assert any(path.endswith("/S/meta.json") for path in site.disk.seen)
    refusal.lasts = False
    sites.run(2 * FIRST / SECOND)
    assert not any(path.endswith("/S/meta.json") for path in site.disk.seen)
    assert site.reconciler.failures == {}


def test_a_damaged_one_is_not_read_again() -> None:
    sites = Sites().start()
    sites.create("two")
    sites.stored("a")
    site = sites["two"]
    site.stop()
    for path in [path for path in site.disk.seen if "/S/meta.json" in path]:
        site.disk.flip(path, 20)
    site.start()
    before = site.clock.clock.pending()
    sites.run(LONGEST / SECOND)
    assert "checksum mismatch" in site.reconciler.failures[KEY]
    assert sum("cannot be opened" in line for line in site.log.lines) == 1
    assert site.clock.clock.pending() <= before


@pytest.mark.parametrize("where", WHERE)
def test_a_server_that_stops_reads_nothing_again(where: tuple[str, str]) -> None:
    sites = Sites().start()
    sites.create("two")
    refusal = restarted(sites, "two", where)
    sites["two"].reconciler.stop(lambda: None)
    sites.run(LONGEST / SECOND)
    assert refusal.count == 1
