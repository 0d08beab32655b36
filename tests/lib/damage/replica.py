"""A replica of three with one damaged file, again and again: what is served, and what is reported.

One cluster without sockets plays all cases: a server ends (in good order, or killed), one of its files is
damaged, the others continue, and it comes back. Then all three must have the same content, with everything
that was acknowledged.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from unittest import mock

from lib.damage.harm import DIRECTORY, FOREIGN, HARMS, OLDER, is_kept_twice
from lib.damage.server import BLOCK_SIZE
from lib.fake_disk import Inode
from lib.stream_cluster import STREAM, StreamCluster, StreamServer
from pyjs.store import configs
from pyjs.store.file import FileStream

CONSUMER = "C"
KEPT = ("/lost.", "/damaged.")  # damaged files that were set aside


class Play:
    """The cluster. `cases` plays them after one end, `all_cases` after both."""

    def __init__(self) -> None:
        self.cluster = StreamCluster()
        self.server: StreamServer = self.cluster["three"]
        self.bodies: list[str] = []
        self.acked: set[bytes] = set()
        self.older: dict[str, bytes] = {}

    def cases(self, end: str) -> Iterator[tuple[str, str, list[str], list[str]]]:
        """Yield (kind of file, harm, promises broken, lines of the log) of every file and harm."""
        with mock.patch.object(configs, "FileStream", partial(FileStream, block_size=BLOCK_SIZE)):
            cluster = self.cluster.start()
            cluster.create()
            cluster.consumer(CONSUMER)
            for _ in range(12):
                self.publish()
            self.older = {path: bytes(self.server.disk.seen[path].seen) for path in self.files()}
            self.acked |= set(cluster.fetch(CONSUMER, 20))
            cluster.converge()
            for kind in self.kinds():
                more = [FOREIGN, OLDER] if kind.startswith("replica") else []
                if is_kept_twice(kind, self.kinds()):
                    more.append(DIRECTORY)
                for name in [*HARMS, *more]:
                    found = self.case(end, kind, name)
                    if found is not None:
                        yield kind, name, *found

    def exchanged_folder(self) -> tuple[bool, list[str], list[str]]:
        """Give the server another one's messages; return (is all served, lines of the log, what is kept)."""
        server, cluster, folder = self.server, self.cluster.start(), f"/store/jetstream/A/streams/{STREAM}/"
        cluster.create()
        for _ in range(12):
            self.publish()
        cluster.converge()
        others = {path: bytes(inode.seen) for path, inode in cluster["one"].disk.seen.items()}
        server.stop()
        for names in (server.disk.seen, server.disk.safe):
            for path in [path for path in names if path.startswith(f"{folder}msgs/")]:
                del names[path]
            for path in [path for path in others if path.startswith(f"{folder}msgs/")]:
                names[path] = Inode(bytearray(others[path]), others[path])
        server.start()
        found = [body.decode() for _, _, body in cluster.converge()]
        kept = [path for path in server.disk.seen if path.startswith(f"{folder}strange.msgs/")]
        return found == self.bodies, list(server.log.lines), kept

    @staticmethod
    def all_cases() -> Iterator[tuple[str, str, list[str], list[str]]]:
        """Yield what `cases` does, after both ends."""
        for end in ("kill", "stop"):
            yield from Play().cases(end)

    def publish(self) -> None:
        """Publish three more messages, which are acknowledged."""
        more = [f"message {len(self.bodies) + number} " * 4 for number in range(3)]
        assert len(self.cluster.stored(*more)) == 3
        self.bodies += more

    def files(self) -> list[str]:
        """Return the files of the server that is damaged."""
        return sorted(path for path in self.server.disk.seen if not any(kept in path for kept in KEPT))

    def kinds(self) -> list[str]:
        """Return the kinds of these files, in order."""
        return sorted(set(map(kind_of, self.files())))

    def harmed(self, path: str, harm: str) -> bytes | None:
        """Return the damaged content of a file; None if it is deleted."""
        data = bytes(self.server.disk.seen[path].seen)
        if harm in HARMS:
            return HARMS[harm](data)
        if harm == DIRECTORY:
            return None
        if harm == OLDER:
            return [found for one, found in self.older.items() if kind_of(one) == kind_of(path)][-1]
        others = self.cluster["one"].disk.seen
        return [bytes(others[one].seen) for one in sorted(others) if kind_of(one) == kind_of(path)][-1]

    def case(self, end: str, kind: str, harm: str) -> tuple[list[str], list[str]] | None:
        """Play one case; return (promises broken, lines of the log), None if it would change nothing."""
        server, cluster = self.server, self.cluster
        if kind not in self.kinds():  # a manifest comes back with the next commit
            self.publish()
            server.stop()
            server.start()
            cluster.converge()
        before = len(server.log.lines)
        if end == "stop":
            server.stop()
        else:
            server.kill()
        path = [path for path in self.files() if kind_of(path) == kind][-1]
        harmed = self.harmed(path, harm)
        same = harmed == bytes(server.disk.seen[path].seen)
        for names in (server.disk.seen, server.disk.safe):
            names.pop(path, None)
            if harmed is not None:
                names[path] = Inode(bytearray(harmed), harmed)
        if harm == DIRECTORY:
            server.disk.make_directory(path)
        self.publish()
        server.start()
        found = [body.decode() for _, _, body in cluster.converge()]
        broken = [] if found == self.bodies else [f"{len(found)} messages of {len(self.bodies)}"]
        got = set(cluster.fetch(CONSUMER, 2))
        if got & self.acked or len(got) != 2:
            broken.append(f"{STREAM} > {CONSUMER}: delivered {sorted(got)}")
        self.acked |= got
        lines = [line for line in server.log.lines[before:] if re.search(TELLING, line)]
        return None if same else (broken, lines)


TELLING = "^(warning|error): |rewritten|damaged"


def kind_of(path: str) -> str:
    """Return the kind of a file, for the table."""
    name = re.sub(r"^log\.\d+$", "log.<n>", path.rpartition("/")[2])
    name = re.sub(r"^\d{10}-\d+", "<block>", name)
    return f"{'Raft group' if '/cluster/' in path else 'replica'}: {name}"
