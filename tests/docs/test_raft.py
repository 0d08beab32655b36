"""The page docs/raft.md: its example runs, and its picture is made from the table of role changes."""

from __future__ import annotations

import re

import pytest
from lib.raft.role_diagram import PAGE, with_diagram
from pyjs.raft.roles import Event


def test_the_picture_shows_the_table() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == with_diagram(page), "PYTHONPATH=tests python -m lib.raft.role_diagram rewrites it"


def test_every_event_is_explained() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert [event for event in Event if f"\n| {event.value} | " not in page] == []


def test_the_example_elects_a_leader_and_applies_on_every_member(capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    exec(compile(example, PAGE, "exec"), {})
    (expected,) = re.findall(r"print\(applied\)  # (.*)", example)
    assert capsys.readouterr().out.strip() == expected
