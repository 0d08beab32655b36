"""Files that the disk refuses to read at a start are left alone, and served as soon as they can be read."""

from __future__ import annotations

import errno
from collections.abc import Callable

import pytest
from lib.stream_cluster import ACCOUNT, STREAM, StreamCluster, StreamServer
from pyjs.server.clock import SECOND
from pyjs.server.jetstream.cluster.inventory import FIRST, LONGEST

KEY = (ACCOUNT, STREAM)


class Refusal:
    """Makes one operation fail on paths that end so, as long as `lasts`; counts how often it did."""

    def __init__(self, server: StreamServer, operation: str, end: str) -> None:
        self.lasts = True
        self.count = 0
        real: Callable[..., object] = getattr(server.disk, operation)

        def refused(path: str, **options: bool) -> object:
            if self.lasts and path.endswith(end):
                self.count += 1
                raise OSError(errno.EMFILE, "Too many open files", path)
            return real(path, **options)

        setattr(server.disk, operation, refused)


WHERE = [("open", "/S/meta.json"), ("names", "/jetstream/A/streams")]


def restarted(cluster: StreamCluster, name: str, where: tuple[str, str]) -> Refusal:
    cluster[name].stop()
    refusal = Refusal(cluster[name], *where)
    cluster[name].start()
    return refusal


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("names", [("two",), ("one", "two", "three")])
def test_it_is_served_once_it_can_be_read(names: tuple[str, ...], where: tuple[str, str]) -> None:
    cluster = StreamCluster().start()
    cluster.create(*names)
    cluster.stored("a", "b")
    cluster.converge()
    refusal = restarted(cluster, "two", where)
    server = cluster["two"]
    cluster.run(FIRST / SECOND / 2)
    assert (refusal.count, server.local) == (1, None)
    assert "Too many open files" in server.reconciler.failures[KEY]
    refusal.lasts = False
    cluster.run(FIRST / SECOND)
    assert server.reconciler.failures == {}
    assert [body for _, _, body in cluster.converge()] == [b"a", b"b"]
    assert not any("lost.msgs" in path for path in server.disk.seen)
    assert not any("started again" in line or "begins empty" in line for line in server.log.lines)


def test_the_attempts_become_rarer() -> None:
    cluster = StreamCluster().start()
    cluster.create("two")
    cluster.stored("a")
    refusal = restarted(cluster, "two", WHERE[0])
    counts = []
    for _ in range(4):
        cluster.run(LONGEST / SECOND)
        counts.append(refusal.count)
    assert counts == [7, 8, 9, 10]


@pytest.mark.parametrize("where", WHERE)
def test_what_is_decided_meanwhile_counts_once_it_can_be_read(where: tuple[str, str]) -> None:
    cluster = StreamCluster().start()
    cluster.create("two")
    cluster.stored("a")
    refusal = restarted(cluster, "two", where)
    server = cluster["two"]
    cluster.delete()
    assert any(path.endswith("/S/meta.json") for path in server.disk.seen)
    refusal.lasts = False
    cluster.run(2 * FIRST / SECOND)
    assert not any(path.endswith("/S/meta.json") for path in server.disk.seen)
    assert server.reconciler.failures == {}


def test_a_damaged_one_is_not_read_again() -> None:
    cluster = StreamCluster().start()
    cluster.create("two")
    cluster.stored("a")
    server = cluster["two"]
    server.stop()
    for path in [path for path in server.disk.seen if "/S/meta.json" in path]:
        server.disk.flip(path, 20)
    server.start()
    before = server.clock.clock.pending()
    cluster.run(LONGEST / SECOND)
    assert "checksum mismatch" in server.reconciler.failures[KEY]
    assert sum("cannot be opened" in line for line in server.log.lines) == 1
    assert server.clock.clock.pending() <= before


@pytest.mark.parametrize("where", WHERE)
def test_a_server_that_stops_reads_nothing_again(where: tuple[str, str]) -> None:
    cluster = StreamCluster().start()
    cluster.create("two")
    refusal = restarted(cluster, "two", where)
    cluster["two"].reconciler.stop(lambda: None)
    cluster.run(LONGEST / SECOND)
    assert refusal.count == 1
