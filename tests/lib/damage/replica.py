"""A replica of three with one damaged file, again and again: what is served, what is told.

One cluster without sockets plays all cases: a server ends (in good order, or killed), one of its files is
damaged, the others go on, it comes back. Then all three must have the same, and all that was acknowledged.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from unittest import mock

from lib.assets import STREAM, Site, Sites
from lib.damage.harm import HARMS
from lib.damage.server import BLOCK_SIZE
from lib.fake_disk import Inode
from pyjs.store import meta
from pyjs.store.file import FileStream

CONSUMER = "C"
KEPT = ("/lost.", "/damaged.")  # what was set aside


class Play:
    """The cluster. `cases` plays them after one end, `all_cases` after both."""

    def __init__(self) -> None:
        self.sites = Sites()
        self.site: Site = self.sites["three"]
        self.bodies: list[str] = []
        self.acked: set[bytes] = set()

    def cases(self, end: str) -> Iterator[tuple[str, str, list[str], list[str]]]:
        """(kind of file, harm, promises broken, lines of the log) of every file and harm."""
        with mock.patch.object(meta, "FileStream", partial(FileStream, block_size=BLOCK_SIZE)):
            sites = self.sites.start()
            sites.create()
            sites.consumer(CONSUMER)
            for _ in range(12):
                self.publish()
            self.acked |= set(sites.fetch(CONSUMER, 20))
            sites.settle()
            for kind in self.kinds():
                for name in HARMS:
                    broken, lines = self.case(end, kind, name)
                    yield kind, name, broken, lines

    @staticmethod
    def all_cases() -> Iterator[tuple[str, str, list[str], list[str]]]:
        """See `cases`."""
        for end in ("kill", "stop"):
            yield from Play().cases(end)

    def publish(self) -> None:
        """Three messages more, acknowledged."""
        more = [f"message {len(self.bodies) + number} " * 4 for number in range(3)]
        assert len(self.sites.stored(*more)) == 3
        self.bodies += more

    def files(self) -> list[str]:
        """The files of the server that is damaged."""
        return sorted(path for path in self.site.disk.seen if not any(kept in path for kept in KEPT))

    def kinds(self) -> list[str]:
        """Their kinds, in order."""
        return sorted(set(map(kind_of, self.files())))

    def case(self, end: str, kind: str, harm: str) -> tuple[list[str], list[str]]:
        """Play one case; (promises broken, lines of the log)."""
        site, sites = self.site, self.sites
        before = len(site.log.lines)
        if end == "stop":
            site.stop()
        else:
            site.kill()
        path = [path for path in self.files() if kind_of(path) == kind][-1]
        harmed = HARMS[harm](bytes(site.disk.seen[path].seen))
        for names in (site.disk.seen, site.disk.safe):
            names.pop(path, None)
            if harmed is not None:
                names[path] = Inode(bytearray(harmed), harmed)
        self.publish()
        site.start()
        found = [body.decode() for _, _, body in sites.settle()]
        broken = [] if found == self.bodies else [f"{len(found)} messages of {len(self.bodies)}"]
        got = set(sites.fetch(CONSUMER, 2))
        if got & self.acked or len(got) != 2:
            broken.append(f"{STREAM} > {CONSUMER}: delivered {sorted(got)}")
        self.acked |= got
        return broken, [line for line in site.log.lines[before:] if re.search(TELLING, line)]


TELLING = "^(warning|error): |written anew|damaged"


def kind_of(path: str) -> str:
    """What kind of file it is, for the table."""
    name = re.sub(r"^log\.\d+$", "log.<n>", path.rpartition("/")[2])
    name = re.sub(r"^\d{10}-\d+", "<block>", name)
    return f"{'Raft group' if '/cluster/' in path else 'replica'}: {name}"
