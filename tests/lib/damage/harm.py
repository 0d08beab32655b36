"""The ways in which a file is damaged, and the table of their outcomes."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable

from pyjs.store.copies import COPY
from pyjs.store.file.block import AHEAD

Harm = Callable[[bytes], bytes | None]


def _written(data: bytes) -> int:
    """Return where the content ends, without zeros that were written ahead (see `test_zeros_ahead`)."""
    content = data.rstrip(b"\0")
    return len(content) if content and len(data) - len(content) > AHEAD // 8 else len(data)


def _flip(where: float) -> Harm:
    def flip(data: bytes) -> bytes:
        at = min(int(_written(data) * where), len(data) - 1)
        return data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1 :]

    return flip


HARMS: dict[str, Harm] = {
    "a bit at the start": _flip(0.02),
    "a bit in the middle": _flip(0.5),
    "a bit at the end": _flip(0.995),
    "the last byte cut": lambda data: data[: _written(data) - 1],
    "cut in half": lambda data: data[: _written(data) // 2],
    "emptied": lambda data: b"",
    "zeroed": lambda data: bytes(len(data)),
    "deleted": lambda data: None,
}

FOREIGN, OLDER = (
    "another's in its place",
    "an older copy put back",
)  # which need another file to take the content from
DIRECTORY = "a directory in its place"  # played for files of which there is a copy
COLUMNS = ("a bit", "cut", "emptied", "zeroed", "deleted", FOREIGN, OLDER, DIRECTORY)


def is_kept_twice(path: str, paths: Container[str]) -> bool:
    """Return whether one of these files is a copy of that one, or that one a copy of it."""
    return (path.removesuffix(COPY) if path.endswith(COPY) else path + COPY) in paths


def outcome(*, reported: bool, lost: bool = False) -> str:
    """Return an outcome in words, for the table."""
    if lost:
        return "lost, reported" if reported else "LOST"
    return "intact, reported" if reported else "intact"


def table(outcomes: Iterable[tuple[str, str, str]]) -> str:
    """Return the table of (kind of file, harm, outcome)."""
    cells: dict[str, dict[str, set[str]]] = {}
    for kind, harm, outcome in outcomes:
        column = next(one for one in COLUMNS if one in harm)
        cells.setdefault(kind, {}).setdefault(column, set()).add(outcome)
    lines = [f"| file | {' | '.join(COLUMNS)} |", "|---" * (len(COLUMNS) + 1) + "|"]
    for kind, row in cells.items():
        reported = ["; ".join(sorted(row.get(column, {"-"}))) for column in COLUMNS]
        lines.append(f"| `{kind}` | {' | '.join(reported)} |")
    return "\n".join(lines)
