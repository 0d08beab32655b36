"""The table of role changes (`pyjs.raft.roles`) as the table and the picture of docs/raft.md.

`PYTHONPATH=tests python -m lib.raft.role_diagram` writes both into the page; a test compares.
"""

from __future__ import annotations

from pathlib import Path

from pyjs.raft.roles import TRANSITIONS, RaftState

PAGE = Path(__file__).resolve().parents[3] / "docs" / "raft.md"
BEGIN, END = "<!-- made from raft/roles.py -->\n", "<!-- end -->\n"


def diagram() -> str:
    """Return the picture, in Mermaid's language, and the table below it."""
    edges: dict[tuple[RaftState, RaftState], list[str]] = {}
    for (state, event), following in TRANSITIONS.items():
        edges.setdefault((state, following), []).append(event.value)
    lines = ["```mermaid", "stateDiagram-v2", f"    [*] --> {_name(RaftState.FOLLOWER)}"]
    lines += [f"    {_name(a)} --> {_name(b)}: {'<br>'.join(events)}" for (a, b), events in edges.items()]
    lines += ["```", "", "| role | event | next role |", "|---|---|---|"]
    lines += [f"| {state} | {event} | {following} |" for (state, event), following in TRANSITIONS.items()]
    return "\n".join(lines) + "\n"


def _name(state: RaftState) -> str:
    return state.value.replace("-", "_")


def with_diagram(page: str) -> str:
    """Return the page with a current picture and table. Raises ValueError if it lacks the marks."""
    start, end = page.index(BEGIN) + len(BEGIN), page.index(END)
    return page[:start] + "\n" + diagram() + "\n" + page[end:]


if __name__ == "__main__":
    PAGE.write_text(with_diagram(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
