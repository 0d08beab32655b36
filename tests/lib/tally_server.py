"""A server with a replicated list, as a process: `python -m lib.tally_server -c file`, for tests only.

These requests work in the account of plain clients: `tally.add` appends its body and answers `<index>` or
`-<why>`; `tally.load` with `<count> <bytes> <window>` proposes so many of that size, `window` at a time, and
answers with a report; `tally.state.<name>` returns everything. More groups (`TALLY_GROUPS`, idle) may run
beside the one that is used.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from pyjs.protocol.identifier import name_hash
from pyjs.server.app import Server
from pyjs.server.cluster.bootstrap_peers import expected
from pyjs.server.cluster.environment import GroupEnvironment
from pyjs.server.cluster.member import RaftMember
from pyjs.server.cluster.membership_policy import MembershipPolicy
from pyjs.server.cluster.proposals import Outcome, ProposalError
from pyjs.server.cluster.raft_node import RaftNode
from pyjs.server.cluster.ticker import Ticker
from pyjs.server.cluster.transport import RaftTransport
from pyjs.server.config import load
from pyjs.server.logging import ServerLogger
from pyjs.server.task_executor import LoopTaskExecutor
from pyjs.store.fs import Disk


class CountingDisk(Disk):
    """Counts syncs."""

    syncs = 0

    def sync(self, file: int) -> None:
        self.syncs += 1
        super().sync(file)


class List:
    """The replicated list; long items (of load) are only counted."""

    durable_index = 0

    def __init__(self) -> None:
        self.index = 0
        self.items: list[str] = []
        self.counted = 0

    def apply(self, entries: Sequence[tuple[int, bytes]], upto: int) -> None:
        for _, data in entries:
            if data[:1] == b"#":
                self.counted += 1
            else:
                self.items.append(data.decode())
        self.index = upto

    def snapshot(self) -> tuple[int, bytes] | None:
        return self.index, json.dumps([self.counted, self.items]).encode()

    def restore(self, data: bytes, index: int) -> None:
        self.index = index
        self.counted, self.items = json.loads(data)


class Tally:
    """The group members of one server."""

    def __init__(self, server: Server, path: str) -> None:
        self.server = server
        self.disk = CountingDisk()
        self.executor = ThreadPoolExecutor(4)
        runner = LoopTaskExecutor(asyncio.get_running_loop(), self.executor)
        assert server.registry.system is not None and server.routes is not None
        node = name_hash(server.identity.name)
        ticker = Ticker(server.clock)
        self.transport = RaftTransport(node, server.registry.system, runner, ticker)
        self.transport.start()
        self.list = List()
        environment = GroupEnvironment(
            name=server.identity.name,
            server=server.identity.id,
            node=node,
            domain="",
            path=path,
            transport=self.transport,
            executor=runner,
            ticker=ticker,
            clock=server.clock,
            fs=self.disk,
            log=server.log,
            random_bytes=os.urandom,
        )
        routes = server.routes
        self.members = []
        for number in range(int(os.environ.get("TALLY_GROUPS", "1"))):
            name = f"tally{number}" if number else "tally"
            policy = MembershipPolicy(
                lambda: expected(routes.remotes, configured=bool(routes.cluster.routes))
            )
            member = RaftMember(name, environment, List if number else self._make, self, policy)
            member.start()
            self.members.append(member)
        routes.observers.append(self)
        account = server.registry.get("ACC")
        assert account is not None
        self.account = account
        account.subscribe("tally.add", self._add)
        account.subscribe(f"tally.state.{server.identity.name}", self._state)
        account.subscribe("tally.load", self._load)

    def _make(self) -> List:
        self.list = List()
        return self.list

    # --- owner, and events of routes

    def leading(self, applied: int) -> None: ...

    def following(self) -> None: ...

    def leader_changed(self, leader: str) -> None: ...

    def failed(self, why: str, *, restarts: bool) -> None: ...

    def route_joined(self) -> None: ...

    def route_left(self, server_id: str) -> None:
        for member in self.members:
            member.server_lost(server_id)

    # --- requests

    def _group(self) -> RaftNode | None:
        group = self.members[0].group
        return group if group is not None and group.ready else None

    def _add(self, message: Any) -> None:
        """Append the body of a request; only the leader answers."""
        group = self._group()
        if group is None:
            return

        def done(outcome: Outcome) -> None:
            text = f"-{outcome}" if isinstance(outcome, ProposalError) else str(outcome)
            self.account.publish(message.reply, text.encode())

        group.propose([message.body], done)

    def _load(self, message: Any) -> None:
        group = self._group()
        if group is None:
            return
        count, size, window = map(int, message.body.split())
        begin, syncs, cpu = time.monotonic(), self.disk.syncs, time.process_time()
        left, answered = count, 0
        body = b"#" * size

        def done(outcome: Outcome) -> None:
            nonlocal left, answered
            assert not isinstance(outcome, ProposalError), outcome
            answered += 1
            if left:
                left -= 1
                group.propose([body], done)
            if answered == count:
                seconds = time.monotonic() - begin
                report = {
                    "seconds": seconds,
                    "syncs": self.disk.syncs - syncs,
                    "cpu": time.process_time() - cpu,
                }
                self.account.publish(message.reply, json.dumps(report).encode())

        for _ in range(min(window, count)):
            left -= 1
            group.propose([body], done)

    def _state(self, message: Any) -> None:
        group = self.members[0].group
        report = {
            "leader": group.leader if group else "",
            "ready": bool(group and group.ready),
            "voters": sorted(group.members.voters) if group else [],
            "learners": sorted(group.members.learners) if group else [],
            "member": self.members[0].member,
            "applied": group.applied if group else 0,
            "health": [member.health() for member in self.members if member.health()],
            "leads": sum(bool(member.group and member.group.ready) for member in self.members),
            "items": self.list.items,
            "counted": self.list.counted,
            "cpu": time.process_time(),
        }
        self.account.publish(message.reply, json.dumps(report).encode())

    async def stop(self) -> None:
        over = asyncio.Event()
        left = len(self.members)

        def gone() -> None:
            nonlocal left
            left -= 1
            if not left:
                over.set()

        for member in self.members:
            member.stop(gone)
        await over.wait()
        self.transport.stop()
        self.executor.shutdown()


async def main() -> None:
    path = sys.argv[sys.argv.index("-c") + 1]
    options = load(path)
    log = ServerLogger(options)
    server = Server(options, log=log)
    await server.start()
    tally = Tally(server, str(Path(path).parent / "store" / "cluster"))
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    loop.add_signal_handler(15, ended.set)
    await ended.wait()
    await tally.stop()
    await server.stop()


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=__import__("uvloop").new_event_loop) as runner:
        runner.run(main())
