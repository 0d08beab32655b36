"""What an examination finds in the tiers of an account and in the origins of streams."""

from __future__ import annotations

from typing import Any

import pytest
from pyjs.plugins.doctor.facts import JetStreamFacts
from pyjs.plugins.doctor.jetstream_checks import of_jetstream

MIRROR: dict[str, Any] = {"subjects": [], "mirror": {"name": "O"}}


def stream(consumers: int = 0, status: dict[str, Any] | None = None, **config: Any) -> tuple[dict[str, Any]]:
    """The info of one stream of three replicas."""
    usual = {"name": "ORDERS", "subjects": ["orders.>"], "num_replicas": 3}
    state = {"messages": 1, "bytes": 40, "last_seq": 1, "consumer_count": consumers}
    found = {"config": usual | config, "state": state, "created": "2026-11-23T08:00:00Z"}
    return ({**found, "ts": "2026-11-23T09:00:00Z", **({"mirror": status} if status else {})},)


def tiers(**found: Any) -> dict[str, Any]:
    return {"tiers": found}


NEVER_HEARD = {"name": "O", "active": -1}
# name: facts, (severity, check) of what is found, and what its text has
CASES: dict[str, tuple[JetStreamFacts, list[tuple[str, str]], str]] = {
    "few more streams of a tier": (
        JetStreamFacts(tiers(R1={}, R3={"streams": 9, "limits": {"max_streams": 10}})),
        [("warning", "streams_limit")],
        "Tier R3 of the account has 9 of at most 10",
    ),
    "no tier for one replica": (
        JetStreamFacts(tiers(R3={"streams": 0, "limits": {}})),
        [("note", "tiers")],
        "limits for streams of tier R3 only",
    ),
    "a tier that nobody uses": (
        JetStreamFacts(tiers(R1={"streams": 0, "limits": {"max_streams": 10}})),
        [],
        "",
    ),
    "no more consumers by a tier": (
        JetStreamFacts(tiers(R3={"limits": {"max_consumers": 2}}, R1={"limits": {}}), stream(2)),
        [("warning", "consumer_limit")],
        "2 of at most 2",
    ),
    "no more consumers by another tier": (
        JetStreamFacts(tiers(R1={"limits": {"max_consumers": 2}}), stream(2)),
        [],
        "",
    ),
    "sealed": (
        JetStreamFacts(streams=stream(sealed=True)),
        [("note", "sealed")],
        "takes no messages any more",
    ),
    "a sealed object bucket": (JetStreamFacts(streams=stream(name="OBJ_logs", sealed=True)), [], ""),
    "a mirror of what is not there": (
        JetStreamFacts(streams=stream(status=NEVER_HEARD, **MIRROR), complete=True),
        [("error", "origin_missing")],
        "The mirror O does not exist",
    ),
    "a mirror of what has no leader": (
        JetStreamFacts(streams=stream(status=NEVER_HEARD, **MIRROR), complete=True, missing=("O",)),
        [("error", "no_leader"), ("error", "origin_silent")],
        "",
    ),
    "a mirror, where not all streams were told": (
        JetStreamFacts(streams=stream(status=NEVER_HEARD, **MIRROR)),
        [("error", "origin_silent")],
        "",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_check_finds_its_fault_and_nothing_else(case: str) -> None:
    facts, expected, text = CASES[case]
    found = list(of_jetstream(facts))
    assert [(each.severity, each.check) for each in found] == expected
    assert all(text in each.text and each.commands for each in found)
