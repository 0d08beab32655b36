"""One simulated machine: a disk that fails, a Raft member on it, and a small application."""

from __future__ import annotations

import errno
import json
from random import Random
from typing import TYPE_CHECKING

from lib.fake_disk import FakeDisk, PowerCut
from lib.raft.judges import link
from pyjs.raft import EntryType, Members, RaftConfig, RaftMessage, RawNode, Snapshot
from pyjs.server.cluster import raft_disk
from pyjs.store.errors import Damaged, NotFound
from pyjs.store.raft import RaftStore, StoredSnapshot

if TYPE_CHECKING:
    from lib.raft.simulation import Simulation

PATH = "/raft"
TIMING = RaftConfig(
    max_size_per_msg=400, max_inflight_msgs=4, max_inflight_bytes=1600, part_bytes=64, part_window=2, keep=5
)
SEGMENT = 600


class Machine:
    """A machine; `name` is the member's id. Its application is a chain of hashes over all data, in order."""

    def __init__(self, name: str, simulation: Simulation) -> None:
        self.name = name
        self.simulation = simulation
        self.disk = FakeDisk()
        self.disk.forgets = True
        self.node: RawNode | None = None
        self.process = 0  # events of an earlier process are dropped
        self.broken = False  # lost its state: the machine must come back under another name
        self.members = Members.of(())  # as it last knew
        self.hurt = False  # its disk was damaged, and it has not recovered
        self.applied = 0
        self.chain = b""
        self.values: dict[int, bytes] = {}
        self.kept: tuple[int, bytes, dict[int, bytes]] = (0, b"", {})  # durable by itself, if `keeps`
        self.waiting: dict[int, tuple[int, bytes]] = {}  # index -> (term, value)
        self._store = self._make_store()
        self._writing = False

    def _make_store(self) -> RaftStore:
        return self.simulation.store(PATH, fs=self.disk, segment_bytes=SEGMENT)

    # --- start and stop

    def create(self, members: Members) -> None:
        """Write the state that all members of the group begin with."""
        raft_disk.create(self._store, Snapshot(0, 0, members, _pack(0, b"", {})))

    def boot(self) -> None:
        """Start the process on what the disk holds."""
        self.process += 1
        self._writing = False
        self._store = self._make_store()
        self.waiting = {}
        try:
            stored = self._store.open()
        except (Damaged, NotFound) as error:
            self.simulation.say(self.name, f"cannot be trusted any more: {error}")
            self.broken = True
            return
        except (OSError, PowerCut) as error:
            self.simulation.say(self.name, f"cannot start: {error}")
            self._gone(power=isinstance(error, PowerCut))
            self.simulation.restart_later(self)
            return
        last = 0 if stored.state.recovering else stored.base + len(stored.entries)
        log, state = raft_disk.load(stored, min(self.kept[0], last))
        if stored.lost:
            self.simulation.say(self.name, f"lost something: {stored.lost}")
        self.node = self.simulation.make_node(
            self.name, log, state, TIMING, Random(self.simulation.random.random())
        )
        if self.kept[0] and self.kept[0] >= log.snapshot.index:
            self.applied, self.chain, self.values = self.kept[0], self.kept[1], dict(self.kept[2])
            self.simulation.judges.installs(self.name, self.applied, self.chain)
        else:
            self._load(log.snapshot)
        self.simulation.say(self.name, f"starts, boot {state.boot}, log {log.base}..{log.last}, {state}")
        self._tick_later()

    def kill(self, *, power: bool) -> None:
        """Kill the process, or cut its power."""
        if self.node is not None:
            self.simulation.say(self.name, "loses power" if power else "is killed")
            self._gone(power=power)

    def _gone(self, *, power: bool) -> None:
        self.process += 1
        self.node = None
        if power:
            self.disk.crash(self._choose, lose_sectors=self.simulation.random.random() < 0.3)
        else:
            self.disk.kill()

    def _choose(self, most: int) -> int:
        return self.simulation.random.randint(0, most)

    @property
    def vouching(self) -> bool:
        """Whether it is whole: a group survives as long as a majority is."""
        if self.broken:
            return False
        if self.hurt and self.node is not None and not self.node.durable.recovering:
            self.hurt = False
        return not self.hurt

    # --- the loop

    def receive(self, message: RaftMessage) -> None:
        """Receive a message from the network."""
        if self.node is not None:
            self.node.step(message)
            self.pump()

    def propose(self, value: bytes) -> None:
        """Propose for a client; a machine that does not lead drops the proposal."""
        node = self.node
        if node is None or not node.is_leader or self.simulation.refused(node):
            return
        first, term = node.propose([value])
        self.waiting[first] = (term, value)
        self.pump()

    def pump(self) -> None:
        """Send, write and apply what the core produces."""
        node = self.node
        if node is None:
            return
        self.members = node.members
        if node.is_leader:
            self.simulation.judges.leads(self.name, node.term)
        for message in node.messages():
            self.simulation.network.send(message)
        if not self._writing:
            write = node.write()
            if write is not None:
                self._writing = True
                self.simulation.later(self.simulation.disk_delay(), self._alive(self._finish))
                self._write = write
            for message in node.messages():
                self.simulation.network.send(message)
        self._apply()

    def _finish(self) -> None:
        node = self.node
        assert node is not None
        try:
            self.simulation.persist(self._store, self._write)
        except PowerCut:
            self.simulation.say(self.name, "loses power in a write")
            self._gone(power=True)
            self.simulation.restart_later(self)
            return
        except OSError as error:
            self._fail(error)
            return
        self._writing = False
        node.written()
        self.pump()

    def _fail(self, error: OSError) -> None:
        """Handle a refusal of the disk: the member stops, and its machine is started again after a while."""
        node = self.node
        assert node is not None
        self.simulation.say(self.name, f"fails: {errno.errorcode.get(error.errno or 0, error)}")
        node.fail(str(error))
        for message in node.messages():
            self.simulation.network.send(message)
        if self.simulation.random.random() < 0.5:
            self._gone(power=True)
        else:  # the process continues, and sees what a failed sync left though it is nowhere
            self.process += 1
            self.node = None
            self._store.close()
            self.disk._failures.clear()
        self.simulation.restart_later(self)

    def _alive(self, action: object) -> object:
        process = self.process

        def run() -> None:
            if self.process == process and self.node is not None:
                action()  # type: ignore[operator]

        return run

    def _tick_later(self) -> None:
        self.simulation.later(self.simulation.tick_length(self.name), self._alive(self._tick))

    def _tick(self) -> None:
        assert self.node is not None
        self.node.tick()
        self.pump()
        self._tick_later()

    # --- the application

    def _apply(self) -> None:
        node = self.node
        assert node is not None
        judges = self.simulation.judges
        while (ready := node.committed(most_bytes=300)) is not None:
            if ready.snapshot is not None and ready.snapshot.index > self.applied:
                self._load(ready.snapshot)
            index = ready.first
            for entry in ready.entries:
                if index <= self.applied:  # its own state is ahead of its log, which had lost something
                    judges.repeats(self.name, index, entry.term, entry.data)
                    index += 1
                    continue
                if entry.kind == EntryType.DATA:
                    self.chain = link(self.chain, entry.data)
                    self.values[index] = entry.data
                judges.applies(self.name, index, self.applied, entry.term, entry.data, self.chain)
                self.applied = index
                term, value = self.waiting.pop(index, (0, b""))
                if term == entry.term:
                    judges.acknowledges(value, index)
                    self.simulation.acknowledged += 1
                index += 1
            if self.simulation.keeps and self.simulation.random.random() < 0.2:
                self.kept = (self.applied, self.chain, dict(self.values))
        if node.log.applied - node.log.snapshot.index >= self.simulation.compact_every and not self._writing:
            self._compact(node)

    def _compact(self, node: RawNode) -> None:
        log = node.log
        state = self.kept if self.simulation.keeps else (self.applied, self.chain, self.values)
        index = state[0]
        if not log.snapshot.index < index <= log.applied:
            return
        data = _pack(*state)
        snapshot = Snapshot(index, log.term(index), log.members_at(index), data)
        base = node.compact(snapshot)
        stored = StoredSnapshot(snapshot.index, snapshot.term, snapshot.members.encode(), data)
        try:
            self._store.compact(stored, base)
        except PowerCut:
            self._gone(power=True)
            self.simulation.restart_later(self)
        except OSError as error:
            self._fail(error)

    def _load(self, snapshot: Snapshot) -> None:
        if snapshot.data:
            self.applied, self.chain, self.values = _unpack(snapshot.data)
        else:
            self.applied, self.chain, self.values = 0, b"", {}
        self.simulation.judges.installs(self.name, self.applied, self.chain)


def _pack(applied: int, chain: bytes, values: dict[int, bytes]) -> bytes:
    return json.dumps([applied, chain.hex(), {k: v.decode() for k, v in values.items()}]).encode()


def _unpack(data: bytes) -> tuple[int, bytes, dict[int, bytes]]:
    applied, chain, values = json.loads(data)
    return applied, bytes.fromhex(chain), {int(k): v.encode() for k, v in values.items()}
