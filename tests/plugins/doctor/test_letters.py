"""What an examination offers for messages that were given up: their letters, or to keep those to come."""

from __future__ import annotations

from typing import Any

import pytest
from pyjs.plugins.doctor.facts import JetStreamFacts
from pyjs.plugins.doctor.jetstream_checks import of_jetstream
from pyjs.protocol.dead_letters import queue_subjects, stopped_subject

NINE = {"consumer_seq": 9, "stream_seq": 9}


def stream(name: str, messages: int, subjects: list[str]) -> dict[str, Any]:
    config = {"name": name, "subjects": subjects}
    return {"config": config, "state": {"messages": messages}, "created": "", "ts": "2026-11-23T09:00:00Z"}


@pytest.mark.parametrize("messages", [0, 2])
@pytest.mark.parametrize("kept", ["NEW", "*", "OTHER", ""])
def test_dead_letters_that_are_kept_are_shown_and_not_kept_once_more(kept: str, messages: int) -> None:
    letters = queue_subjects("ORDERS", kept) if kept else [stopped_subject("ORDERS")]
    consumer = {
        "stream_name": "ORDERS",
        "name": "NEW",
        "config": {"durable_name": "NEW", "ack_policy": "explicit", "max_deliver": 3},
        "delivered": NINE,
        "ack_floor": NINE,
        "num_redelivered": 2,
    }
    streams = (stream("ORDERS", 9, ["orders"]), stream("DLQ_ORDERS", messages, letters))
    facts = JetStreamFacts({}, streams, consumers={"ORDERS": (consumer,)})
    (found,) = [each for each in of_jetstream(facts) if each.check == "given_up"]
    offered = [line.split()[2] for line in found.commands if line.startswith("pyjs dlq ")]
    add = [] if kept in ("NEW", "*") else ["add"]
    assert offered == (["ls", "show", "replay", *add] if messages else add)
