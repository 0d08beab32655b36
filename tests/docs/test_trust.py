"""docs/trust.md is what `make trust` writes: the text of its template around the tables of a run."""

from __future__ import annotations

import re
from pathlib import Path

from lib.trust.plans import PLANS
from lib.trust.table import PAGE, table

WRITTEN = (Path(__file__).resolve().parents[2] / "docs" / "trust.md").read_text("utf-8")


def test_the_text_is_that_of_the_template() -> None:
    texts = re.split(r"\{\w+\}", PAGE.read_text("utf-8"))
    assert len(texts) == 6
    assert re.fullmatch(".+?".join(map(re.escape, texts)), WRITTEN, re.DOTALL)


def test_every_plan_is_described_and_was_played_on_three_and_on_five_servers_without_a_broken_promise() -> (
    None
):
    head = table([]).splitlines()[0]
    rows = WRITTEN.partition(head)[2].split("\n\n")[0].splitlines()[2:]
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    assert [(size, name) for size, name, *_ in cells] == [(n, plan.name) for n in "35" for plan in PLANS]
    assert {count for row in cells for count in row[9:-1]} == {"0"}
    for plan in PLANS:
        assert f"| {plan.name} | {plan.about} |" in WRITTEN
