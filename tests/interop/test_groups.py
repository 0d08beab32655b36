"""Three server processes with a replicated list: they elect, lose the leader by kill -9, lose no value."""

from __future__ import annotations

import os
import shutil
import sys
import threading
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from lib.eventually import eventually
from lib.process import ServerProcess, free_port

CONFIG = """
listen: 127.0.0.1:<client>
server_name: {name}
cluster {{ name: c, listen: 127.0.0.1:<route>, routes: [{routes}] }}
accounts {{
    SYS: {{ users: [{{user: admin, password: admin}}] }}
    ACC: {{ users: [{{user: acc, password: acc}}] }}
}}
system_account: SYS
no_auth_user: acc
"""
COMMAND = [sys.executable, "-m", "lib.tally_server"]
ROUNDS = 3


class TallyCluster:
    """s0, s1, s2; each is told the routes of all three."""

    def __init__(self) -> None:
        os.environ["PYTHONPATH"] = os.pathsep.join(sys.path)
        self.servers: dict[str, ServerProcess] = {}
        ports = [free_port() for _ in range(3)]
        routes = ", ".join(f"nats-route://127.0.0.1:{port}" for port in ports)
        try:
            for number, port in enumerate(ports):
                config = CONFIG.format(name=f"s{number}", routes=routes).replace("<route>", str(port))
                self.servers[f"s{number}"] = ServerProcess.start("tally", COMMAND, config)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        for server in self.servers.values():
            server.stop()

    def state(self, name: str) -> dict[str, Any]:
        with self.servers[name].connect() as wire:
            found: dict[str, Any] = wire.request(f"tally.state.{name}").json()
            return found

    def leader(self) -> str:
        """Who leads; waits for it."""
        found: list[str] = []

        def somebody_leads() -> bool:
            for name, server in self.servers.items():
                if server.process is not None and server.process.poll() is None and self.state(name)["ready"]:
                    found.append(name)
            return bool(found)

        eventually(somebody_leads, 60)
        return found[0]

    def converged(self, voters: int = 3) -> None:
        """Return when all have the same."""

        def alike() -> bool:
            states = [self.state(name) for name in self.servers]
            return (
                len({state["applied"] for state in states}) == 1
                and len({str(state["items"]) for state in states}) == 1
                and all(len(state["voters"]) == voters and not state["learners"] for state in states)
                and not any(state["health"] for state in states)
            )

        eventually(alike, 60)


class Adder:
    """Adds unique values through one server until told to stop; knows which were answered with a number."""

    def __init__(self, server: ServerProcess) -> None:
        self.server = server
        self.acknowledged: list[str] = []
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def has_more_than(self, count: int) -> bool:
        return len(self.acknowledged) > count

    def _run(self) -> None:
        number = 0
        with self.server.connect() as wire:
            wire.sub("answers.*")
            while not self.over.is_set():
                number += 1
                value = f"v{number}"
                wire.pub("tally.add", value, reply=f"answers.{number}")
                wire.sock.settimeout(0.2)
                try:
                    answer = wire.msg()
                    while answer.subject != f"answers.{number}":
                        answer = wire.msg()
                except TimeoutError:
                    continue
                if not answer.body.startswith(b"-"):
                    self.acknowledged.append(value)

    def stop(self) -> None:
        self.over.set()
        self.thread.join(20)


@pytest.fixture
def cluster() -> Iterator[TallyCluster]:
    running = TallyCluster()
    yield running
    running.close()


def test_nothing_acknowledged_is_lost_when_leaders_are_killed(cluster: TallyCluster) -> None:
    cluster.leader()
    cluster.converged()
    for _ in range(ROUNDS):
        leader = cluster.leader()
        other = next(name for name in cluster.servers if name != leader)
        adder = Adder(cluster.servers[other])
        try:
            eventually(partial(adder.has_more_than, 20), 60)
            cluster.servers[leader].kill()
            before = len(adder.acknowledged)
            eventually(partial(adder.has_more_than, before + 5), 60)
            cluster.servers[leader].launch()
        finally:
            adder.stop()
        cluster.converged()
        items = cluster.state(leader)["items"]
        assert [value for value in adder.acknowledged if value not in items] == []


def test_a_wiped_server_is_replaced_and_all_come_back(cluster: TallyCluster) -> None:
    leader = cluster.leader()
    cluster.converged()
    with cluster.servers[leader].connect() as wire:
        for number in range(10):
            assert int(wire.request("tally.add", f"v{number}").body) > 0
    victim = next(name for name in cluster.servers if name != leader)
    old = cluster.state(victim)["member"]
    cluster.servers[victim].kill()
    shutil.rmtree(cluster.servers[victim].directory / "store")
    cluster.servers[victim].launch()
    eventually(lambda: cluster.state(victim)["member"] not in ("", old), 60)
    cluster.converged()
    assert len(cluster.state(victim)["items"]) == 10
    for server in cluster.servers.values():
        server.kill()
    for server in cluster.servers.values():
        server.launch()
    cluster.leader()
    cluster.converged()
    assert len(cluster.state(victim)["items"]) == 10
    assert all(server.end() == 0 for server in cluster.servers.values())
