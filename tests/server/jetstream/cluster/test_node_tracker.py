"""When a server publishes its report."""

from __future__ import annotations

from types import SimpleNamespace as Plain
from typing import Any

from lib.fake_clock import FakeClock
from pyjs.server.clock import SECOND
from pyjs.server.jetstream.cluster.node_status import EVERY, NodeReport, NodeStatuses
from pyjs.server.jetstream.cluster.node_tracker import NodeTracker
from pyjs.server.jetstream.meta.node_info import NodeInfo
from pyjs.server.jetstream.meta.usage import TierUsage


class SystemAccount:
    """The system account: what was published."""

    def __init__(self) -> None:
        self.reports: list[NodeReport] = []

    def subscribe(self, subject: str, callback: Any) -> object:
        return object()

    def unsubscribe(self, subscription: object) -> None: ...

    def publish(self, subject: str, body: bytes) -> int:
        self.reports.append(NodeReport.decode(body))
        return 1


def make_tracker(view: Any, clock: FakeClock, accounts: Any, **log: Any) -> NodeTracker:
    """What is not asked for in these tests raises."""
    environment: Any = Plain(clock=clock, server="S0", log=Plain(**log))
    proposer: Any = Plain(heal=lambda: None)
    info = NodeInfo("N-1", "s0", "mesh")
    return NodeTracker(
        environment, view, proposer, NodeStatuses(), accounts, lambda: info, lambda member, term, index: None
    )


def stream(size: int) -> Plain:
    return Plain(config=Plain(num_replicas=1, storage="file"), store=Plain(bytes=size))


def test_the_log_names_the_leader_once_its_name_is_known() -> None:
    lines: list[str] = []
    view: Any = Plain(
        system=SystemAccount(),
        state=Plain(servers={"L-1": NodeInfo("L-1", "", cluster="mesh")}),
        is_leader=False,
    )
    node_tracker = make_tracker(view, FakeClock(), {}, info=lines.append)
    node_tracker.log_leader("L-1")
    assert lines == []
    node_tracker._take(NodeReport(NodeInfo("X-1", "x", "mesh"), "SX"))
    node_tracker._take(NodeReport(NodeInfo("L-1", "s1", "mesh"), "S1"))
    node_tracker._take(NodeReport(NodeInfo("L-1", "s1", "mesh"), "S1"))
    assert lines == ["JetStream cluster new metadata leader: s1/mesh"]


def test_usage_is_published_within_a_second_and_nothing_new_only_every_few() -> None:
    clock, system = FakeClock(), SystemAccount()
    account = Plain(
        streams={"S": stream(100)}, limits=Plain(flat=False, quotas={}), api_total=0, api_errors=0
    )
    view: Any = Plain(
        me="N-1",
        node="N",
        system=system,
        term=0,
        served=True,
        is_leader=False,
        local_streams={},
        group=Plain(applied=1),
    )
    node_tracker = make_tracker(view, clock, {"ACC": account})
    begin = clock.now()
    node_tracker.start()
    assert [node_report.used for node_report in system.reports] == [{"ACC": {"R1": TierUsage(0, 100)}}]
    clock.advance(EVERY // 2)
    assert len(system.reports) == 1
    account.streams["S"] = stream(250)
    clock.advance(SECOND // 4)
    assert system.reports[-1].used == {"ACC": {"R1": TierUsage(0, 100)}}
    clock.advance(SECOND)
    assert system.reports[-1].used == {"ACC": {"R1": TierUsage(0, 250)}}
    assert clock.now() - begin < EVERY
    node_tracker.stop()
    count = len(system.reports)
    clock.advance(3 * EVERY)
    assert len(system.reports) == count
