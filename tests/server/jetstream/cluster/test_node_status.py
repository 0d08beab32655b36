"""What servers say of themselves, and what is seen of them."""

from __future__ import annotations

import pytest
from pyjs.server.clock import SECOND
from pyjs.server.jetstream.cluster.node_report import NodeReport, NodeReportError
from pyjs.server.jetstream.cluster.node_status import SILENCE, NodeStatuses
from pyjs.server.jetstream.meta.node_info import NodeInfo, NodeStatus
from pyjs.server.jetstream.meta.usage import TierUsage


def report(node: str = "N1", life: str = "1", process: str = "P1", **more: object) -> NodeReport:
    return NodeReport(NodeInfo(f"{node}-{life}", node.lower(), "C"), process, **more)  # type: ignore[arg-type]


def test_a_report_is_read_as_it_was_written() -> None:
    said = report(
        used={"A": {"R3": TierUsage(1, 2)}, "a.b": {}},
        lags={("A", "S"): {"N2-1": 7}},
        term=3,
        index=90,
        ask=True,
    )
    assert NodeReport.decode(said.encode()) == said


@pytest.mark.parametrize(
    "data", [b"", b"[]", b"{}", b'{"server": 3}', report().encode().replace(b'"used":{}', b'"used":{"A":3}')]
)
def test_what_is_no_report_is_refused(data: bytes) -> None:
    with pytest.raises(NodeReportError):
        NodeReport.decode(data)


def test_who_is_silent_is_away_and_who_speaks_is_back() -> None:
    sights = NodeStatuses()
    assert sights.hear(report(used={"A": {"R1": TierUsage(1, 2), "R3": TierUsage(10, 20)}}), now=0)
    assert sights.view(SILENCE - 1) == {"N1-1": NodeStatus(True, True, 11, 22)}
    assert sights.view(SILENCE) == {"N1-1": NodeStatus(False, True, 11, 22)}
    assert sights.reports(SILENCE) == []
    assert sights.hear(report(), now=SILENCE)  # new again
    assert not sights.hear(report(), now=SILENCE + 1)
    assert sights.view(SILENCE + SECOND) == {"N1-1": NodeStatus()}


def test_who_cannot_be_reached_is_away_at_once() -> None:
    sights = NodeStatuses()
    sights.hear(report(), now=0)
    sights.hear(report("N2", process="P2"), now=0)
    sights.lost("P1")
    assert {member: sight.online for member, sight in sights.view(1).items()} == {
        "N1-1": False,
        "N2-1": True,
    }
    assert sights.hear(report(), now=2) and sights.view(3)["N1-1"].online


def test_another_life_of_a_process_takes_the_place_of_the_first() -> None:
    sights = NodeStatuses()
    sights.hear(report(), now=0)
    sights.hear(report(life="2"), now=1)
    assert set(sights.view(1)) == {"N1-2"}
    assert sights.member("N1") == "N1-2" and sights.member("N9") == ""


def test_another_process_leaves_the_life_before_until_it_is_silent() -> None:
    sights = NodeStatuses()
    sights.hear(report(), now=0)
    sights.hear(report(life="2", process="P2"), now=1)
    assert sights.view(2)["N1-1"].online
    assert sights.member("N1") == "N1-2"
    assert sights.process("N1-1") == "P1"
    assert sights.server("N1-2") == report(life="2").server and sights.server("N9-1") is None


def test_usage_and_lags_are_those_said_last() -> None:
    sights = NodeStatuses()
    sights.hear(report(used={"A": {"R1": TierUsage(0, 5)}}, lags={("A", "S"): {"N2-1": 3}}), now=0)
    sights.hear(
        report("N2", process="P2", used={"A": {"R1": TierUsage(0, 7)}, "B": {"R1": TierUsage(1, 0)}}), now=0
    )
    assert sights.usage("A") == {"N1-1": {"R1": (0, 5)}, "N2-1": {"R1": (0, 7)}}
    assert sights.usage("B") == {"N2-1": {"R1": (1, 0)}} and sights.usage("C") == {}
    assert sights.lags("A", "S") == ("N1-1", {"N2-1": 3})
    sights.lost("P1")
    assert sights.lags("A", "S") == ("", {})
