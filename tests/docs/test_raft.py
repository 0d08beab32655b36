"""The page docs/raft.md: its picture is made from the table of role changes."""

from __future__ import annotations

from lib.raft.role_diagram import PAGE, with_diagram
from pyjs.raft.roles import Event


def test_the_picture_shows_the_table() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == with_diagram(page), "PYTHONPATH=tests python -m lib.raft.role_diagram rewrites it"


def test_every_event_is_explained() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert [event for event in Event if f"\n| {event.value} | " not in page] == []
