"""What servers report about themselves, and the status that follows from it."""

from __future__ import annotations

import pytest
from pyjs.server.clock import SECOND
from pyjs.server.jetstream.cluster.node_status import SILENCE, NodeReport, NodeReportError, NodeStatuses
from pyjs.server.jetstream.meta.node_info import NodeInfo, NodeStatus
from pyjs.server.jetstream.meta.usage import TierUsage


def report(node: str = "N1", incarnation: str = "1", process: str = "P1", **more: object) -> NodeReport:
    return NodeReport(NodeInfo(f"{node}-{incarnation}", node.lower(), "C"), process, **more)  # type: ignore[arg-type]


def test_a_report_is_read_as_it_was_written() -> None:
    sent = report(
        used={"A": {"R3": TierUsage(1, 2)}, "a.b": {}},
        lags={("A", "S"): {"N2-1": 7}},
        term=3,
        index=90,
        ask=True,
    )
    assert NodeReport.decode(sent.encode()) == sent


@pytest.mark.parametrize(
    "data", [b"", b"[]", b"{}", b'{"server": 3}', report().encode().replace(b'"used":{}', b'"used":{"A":3}')]
)
def test_what_is_no_report_is_refused(data: bytes) -> None:
    with pytest.raises(NodeReportError):
        NodeReport.decode(data)


def test_who_is_silent_is_away_and_who_speaks_is_back() -> None:
    node_statuses = NodeStatuses()
    assert node_statuses.update(report(used={"A": {"R1": TierUsage(1, 2), "R3": TierUsage(10, 20)}}), now=0)
    assert node_statuses.view(SILENCE - 1) == {"N1-1": NodeStatus(True, True, 11, 22)}
    assert node_statuses.view(SILENCE) == {"N1-1": NodeStatus(False, True, 11, 22)}
    assert node_statuses.reports(SILENCE) == []
    assert node_statuses.update(report(), now=SILENCE)  # new again
    assert not node_statuses.update(report(), now=SILENCE + 1)
    assert node_statuses.view(SILENCE + SECOND) == {"N1-1": NodeStatus()}


def test_who_cannot_be_reached_is_away_at_once() -> None:
    node_statuses = NodeStatuses()
    node_statuses.update(report(), now=0)
    node_statuses.update(report("N2", process="P2"), now=0)
    node_statuses.lost("P1")
    assert {member: node_status.online for member, node_status in node_statuses.view(1).items()} == {
        "N1-1": False,
        "N2-1": True,
    }
    assert node_statuses.update(report(), now=2) and node_statuses.view(3)["N1-1"].online


def test_another_incarnation_of_a_process_takes_the_place_of_the_first() -> None:
    node_statuses = NodeStatuses()
    node_statuses.update(report(), now=0)
    node_statuses.update(report(incarnation="2"), now=1)
    assert set(node_statuses.view(1)) == {"N1-2"}
    assert node_statuses.member("N1") == "N1-2" and node_statuses.member("N9") == ""


def test_another_process_leaves_the_incarnation_before_until_it_is_silent() -> None:
    node_statuses = NodeStatuses()
    node_statuses.update(report(), now=0)
    node_statuses.update(report(incarnation="2", process="P2"), now=1)
    assert node_statuses.view(2)["N1-1"].online
    assert node_statuses.member("N1") == "N1-2"
    assert node_statuses.process("N1-1") == "P1"
    assert (
        node_statuses.server("N1-2") == report(incarnation="2").server
        and node_statuses.server("N9-1") is None
    )


def test_usage_and_lags_are_those_said_last() -> None:
    node_statuses = NodeStatuses()
    node_statuses.update(report(used={"A": {"R1": TierUsage(0, 5)}}, lags={("A", "S"): {"N2-1": 3}}), now=0)
    node_statuses.update(
        report("N2", process="P2", used={"A": {"R1": TierUsage(0, 7)}, "B": {"R1": TierUsage(1, 0)}}), now=0
    )
    assert node_statuses.usage("A") == {"N1-1": {"R1": (0, 5)}, "N2-1": {"R1": (0, 7)}}
    assert node_statuses.usage("B") == {"N2-1": {"R1": (1, 0)}} and node_statuses.usage("C") == {}
    assert node_statuses.lags("A", "S") == ("N1-1", {"N2-1": 3})
    node_statuses.lost("P1")
    assert node_statuses.lags("A", "S") == ("", {})
