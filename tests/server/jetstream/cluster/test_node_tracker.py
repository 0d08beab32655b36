"""When a server publishes its report."""

from __future__ import annotations

from types import SimpleNamespace as Plain
from typing import Any

from lib.fake_clock import FakeClock
from pyjs.server.clock import SECOND
from pyjs.server.jetstream.cluster.node_report import NodeReport
from pyjs.server.jetstream.cluster.node_status import EVERY
from pyjs.server.jetstream.cluster.node_tracker import GATHERED, NodeTracker
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


def stream(size: int) -> Plain:
    return Plain(config=Plain(num_replicas=1, storage="file"), store=Plain(bytes=size))


def test_the_log_names_the_leader_once_its_name_is_known() -> None:
    lines: list[str] = []
    environment = Plain(clock=FakeClock(), server="S0", log=Plain(info=lines.append))
    cluster: Any = Plain(
        environment=environment,
        state=Plain(servers={"L-1": NodeInfo("L-1", "", cluster="mesh")}),
        leader_is_at=lambda *_: None,
        is_leader=False,
    )
    node_tracker = NodeTracker(cluster, Plain(accounts={}), SystemAccount())  # type: ignore[arg-type]
    node_tracker.log_leader("L-1")
    assert lines == []
    node_tracker._take(NodeReport(NodeInfo("X-1", "x", "mesh"), "SX"))
    node_tracker._take(NodeReport(NodeInfo("L-1", "s1", "mesh"), "S1"))
    node_tracker._take(NodeReport(NodeInfo("L-1", "s1", "mesh"), "S1"))
    assert lines == ["JetStream cluster new metadata leader: s1/mesh"]


def test_usage_is_published_within_a_second_and_nothing_new_only_every_few() -> None:
    clock, system = FakeClock(), SystemAccount()
    account = Plain(streams={"S": stream(100)}, quotas={}, grants={}, api_total=0, api_errors=0)
    engine = Plain(
        accounts={"ACC": account},
        host=Plain(server_name="s0", cluster_name="mesh"),
        domain="",
        options=Plain(server_tags=[]),
        memory=Plain(limit=-1),
        files=Plain(limit=-1),
    )
    cluster: Any = Plain(
        me="N-1",
        node="N",
        term=0,
        served=True,
        is_leader=False,
        local_streams={},
        group=Plain(applied=1),
        heal=lambda: None,
        leader_is_at=lambda *_: None,
        environment=Plain(clock=clock, server="S0"),
    )
    node_tracker = NodeTracker(cluster, engine, system)  # type: ignore[arg-type]
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


def test_a_leader_gathers_until_all_members_reported_or_for_a_while() -> None:
    clock = FakeClock()
    cluster: Any = Plain(
        me="",
        environment=Plain(clock=clock, server="S0"),
        state=Plain(servers={"A": 1}),
        node_statuses={"A": 1},
    )
    cluster.group = Plain(members=Plain(all={"A", "B"}))
    node_tracker = NodeTracker(cluster, Plain(accounts={}), SystemAccount())  # type: ignore[arg-type]
    assert not node_tracker.gathering
    node_tracker.lead()
    assert node_tracker.gathering
    cluster.state.servers["B"] = 1
    assert node_tracker.gathering  # it was admitted, but has not reported since it started
    cluster.node_statuses["B"] = 1
    assert not node_tracker.gathering
    del cluster.node_statuses["B"]
    clock.advance(GATHERED + 1)
    assert not node_tracker.gathering
