"""The policy for the garbage collector: each pass is short, and no dropped object stays for ever."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import weakref
from collections.abc import Iterator
from typing import Any

import pytest
from lib.consumer_fixture import ConsumerFixture
from lib.eventually import until
from lib.fake_clock import FakeClock
from pyjs.server import Server
from pyjs.server.config.options import LeafOptions
from pyjs.server.process import collector
from pyjs.server.process.collector import EVERY, GROWTH, LEAST, RUNS, YOUNG, Collector

VISITS = 2000


class Machine:
    """The time, and how busy the process was."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.spent = 0

    def pass_time(self, busy: float = 0.0) -> None:
        self.spent += int(busy * EVERY)
        self.clock.advance(EVERY)


class Cycle:
    """What only the collector can free."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture
def machine() -> Iterator[Machine]:
    """A machine with the policy at work; the test's process has its own collector back afterwards."""
    before = gc.get_threshold()
    machine = Machine()
    policy = Collector(machine.clock, lambda: machine.spent)
    policy.start()
    policy.serve()
    machine.pass_time()
    try:
        yield machine
    finally:
        policy.stop()
        gc.set_threshold(*before)
        gc.unfreeze()
        assert machine.clock.pending() == 0


@contextlib.contextmanager
def walked() -> Iterator[list[int]]:
    """How many objects each pass walks over."""
    sizes: list[int] = []

    def note(phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            sizes.append(sum(len(gc.get_objects(each)) for each in range(info["generation"] + 1)))

    gc.callbacks.insert(0, note)
    try:
        yield sizes
    finally:
        gc.callbacks.remove(note)


def test_no_pass_walks_over_much_however_many_objects_there_are(machine: Machine) -> None:
    with walked() as sizes:
        kept: list[list[object]] = [[] for _ in range(300_000)]
    assert len(sizes) > 20
    assert max(sizes) <= 1.01 * (RUNS + 2) * YOUNG
    assert len(kept) == 300_000


def test_a_start_waits_for_no_pass() -> None:
    before = gc.get_threshold()
    policy = Collector(FakeClock())
    try:
        with walked() as sizes:
            policy.start()
            kept: list[list[object]] = [[] for _ in range(10 * YOUNG)]
        assert sizes == []
        with walked() as sizes:
            policy.serve()
            kept += [[] for _ in range(2 * YOUNG)]
        assert sizes
        assert max(sizes) < 2 * YOUNG, "no client waits for a pass over what the start made"
        assert len(kept) == 12 * YOUNG
    finally:
        policy.stop()
        gc.set_threshold(*before)
        gc.unfreeze()


def test_cycles_that_die_young_are_freed_soon(machine: Machine) -> None:
    dropped = [weakref.ref(Cycle()) for _ in range(10 * YOUNG)]
    assert sum(each() is not None for each in dropped) <= (RUNS + 2) * YOUNG


def grown(objects: int) -> tuple[list[Any], weakref.ref[Cycle]]:
    """So many more live objects, and a cycle that was dropped after it was frozen."""
    cycle = Cycle()
    kept: list[list[object]] = [[] for _ in range(objects)]
    return kept, weakref.ref(cycle)


def test_cycles_that_die_old_are_freed_in_a_quiet_moment(machine: Machine) -> None:
    kept, dropped = grown(LEAST // 2)
    machine.pass_time()
    assert dropped() is not None, "little was made since the start: no whole pass is due"
    more, _ = grown(LEAST // 2 + 2 * RUNS * YOUNG)
    machine.pass_time(busy=0.5)
    assert dropped() is not None, "the server was busy"
    machine.pass_time()
    assert dropped() is None
    assert kept
    assert more


def test_a_server_that_is_never_idle_has_a_whole_pass_too(machine: Machine) -> None:
    kept, dropped = grown(LEAST + 2 * RUNS * YOUNG)
    for _ in range(100):
        machine.pass_time(busy=1)
    assert dropped() is not None
    more, _ = grown((GROWTH - 1) * LEAST)
    machine.pass_time(busy=1)
    assert dropped() is None
    assert kept
    assert more


def test_what_is_gone_anyway_asks_for_no_whole_pass(machine: Machine) -> None:
    for _ in range(6):
        grown(LEAST // 2)
    with walked() as sizes:
        machine.pass_time()
    assert sizes == []


@pytest.fixture
def little(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same policy for a tenth as many objects."""
    monkeypatch.setattr(collector, "LEAST", LEAST // 10)


def test_consumers_that_come_and_go_take_bounded_memory(little: None, machine: Machine) -> None:
    fixture = ConsumerFixture()
    alive: weakref.WeakSet[Any] = weakref.WeakSet()
    most = 0
    for _ in range(60):
        consumers = [fixture.consumer(name=f"C{number}", ack_policy="explicit") for number in range(50)]
        alive.update(consumers)
        while consumers:
            consumers.pop().delete()
        fixture.clock.advance(EVERY)
        machine.pass_time()
        most = max(most, len(alive))
    assert 300 < most < 1500, "of 3,000 that were made and deleted"


@contextlib.contextmanager
def found() -> Iterator[list[Any]]:
    """What of ours only the collector could free, at the end."""
    left: list[Any] = []
    gc.collect()
    gc.disable()
    try:
        yield left
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        left.extend(type(each) for each in gc.garbage if type(each).__module__.startswith("pyjs."))
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


async def visit(port: int, first: bytes, until: bytes) -> None:
    """Fifty connections that come, say something and go."""
    links = []
    for _ in range(50):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(first)  # at once: the server waits a second for a login
        links.append((reader, writer))
    for reader, _ in links:
        await reader.readuntil(until)
    for _, writer in links:
        writer.close()
        await writer.wait_closed()


CLIENT = b'CONNECT {"verbose":false}\r\nSUB a 1\r\nSUB b.* q 2\r\nPUB a back 2\r\nhi\r\nPING\r\n'
LEAF = b'CONNECT {"name":"L","server_id":"L"}\r\nLS+ a\r\nLS+ b.* q 1\r\nLMSG a 2\r\nhi\r\nPING\r\n'


@pytest.mark.parametrize("kind", ["client", "leaf"])
def test_connections_that_are_gone_need_no_collector(kind: str) -> None:
    async def main() -> None:
        leafnodes = LeafOptions(host="127.0.0.1", port=-1)
        async with Server(max_closed_clients=1, leafnodes=leafnodes) as server:
            leafs = server.leafs
            assert leafs is not None
            port, first = (server.port, CLIENT) if kind == "client" else (leafs.port, LEAF)

            def gone() -> bool:
                return not server.clients.connections and not leafs.connections

            await visit(port, first, b"PONG\r\n")
            await until(gone)
            with found() as left:
                for _ in range(6):
                    await visit(port, first, b"PONG\r\n")
                    await until(gone)
            assert left == []

    asyncio.run(main())
