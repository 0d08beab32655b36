"""When a server tells the others of itself."""

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


class Carrier:
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
    surroundings = Plain(clock=FakeClock(), server="S0", log=Plain(info=lines.append))
    domain: Any = Plain(
        surroundings=surroundings,
        state=Plain(servers={"L-1": NodeInfo("L-1", "", cluster="mesh")}),
        leader_is_at=lambda *_: None,
        is_leader=False,
    )
    servers = NodeTracker(domain, Plain(accounts={}), Carrier())  # type: ignore[arg-type]
    servers.introduce("L-1")
    assert lines == []
    servers._take(NodeReport(NodeInfo("X-1", "x", "mesh"), "SX"))
    servers._take(NodeReport(NodeInfo("L-1", "s1", "mesh"), "S1"))
    servers._take(NodeReport(NodeInfo("L-1", "s1", "mesh"), "S1"))
    assert lines == ["JetStream cluster new metadata leader: s1/mesh"]


def test_what_is_used_is_told_within_a_second_and_nothing_new_only_every_few() -> None:
    clock, carrier = FakeClock(), Carrier()
    account = Plain(streams={"S": stream(100)}, quotas={}, grants={}, api_total=0, api_errors=0)
    engine = Plain(
        accounts={"ACC": account},
        host=Plain(server_name="s0", cluster_name="mesh"),
        domain="",
        options=Plain(server_tags=[]),
        memory=Plain(limit=-1),
        files=Plain(limit=-1),
    )
    domain: Any = Plain(
        me="N-1",
        node="N",
        term=0,
        served=True,
        is_leader=False,
        assets={},
        group=Plain(applied=1),
        heal=lambda: None,
        leader_is_at=lambda *_: None,
        surroundings=Plain(clock=clock, server="S0"),
    )
    servers = NodeTracker(domain, engine, carrier)  # type: ignore[arg-type]
    begin = clock.now()
    servers.start()
    assert [report.used for report in carrier.reports] == [{"ACC": {"R1": TierUsage(0, 100)}}]
    clock.advance(EVERY // 2)
    assert len(carrier.reports) == 1
    account.streams["S"] = stream(250)
    clock.advance(SECOND // 4)
    assert carrier.reports[-1].used == {"ACC": {"R1": TierUsage(0, 100)}}
    clock.advance(SECOND)
    assert carrier.reports[-1].used == {"ACC": {"R1": TierUsage(0, 250)}}
    assert clock.now() - begin < EVERY
    servers.stop()
    count = len(carrier.reports)
    clock.advance(3 * EVERY)
    assert len(carrier.reports) == count


def test_a_leader_gathers_until_it_has_heard_of_all_members_or_for_a_while() -> None:
    clock = FakeClock()
    domain: Any = Plain(
        me="", surroundings=Plain(clock=clock, server="S0"), state=Plain(servers={"A": 1}), sights={"A": 1}
    )
    domain.group = Plain(members=Plain(all={"A", "B"}))
    servers = NodeTracker(domain, Plain(accounts={}), Carrier())  # type: ignore[arg-type]
    assert not servers.gathering
    servers.lead()
    assert servers.gathering
    domain.state.servers["B"] = 1
    assert servers.gathering  # it was let in, but not heard of in this life
    domain.sights["B"] = 1
    assert not servers.gathering
    del domain.sights["B"]
    clock.advance(GATHERED + 1)
    assert not servers.gathering
