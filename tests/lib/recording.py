"""Lines of a command line tool, recorded with the real one and replayed by pyjs.

A recording is text. Each part begins with `$ line`. Then follow `failed` if the line failed, `| text` for
what it printed, `= {...}` for the facts of JSON that it printed, and whatever else the module that plays the
lines finds: `nats_lines` for `nats`, `nsc_lines` for `nsc`. What differs from run to run is made alike.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

Play = Callable[[str], str]  # a line -> its part of a recording
Run = Callable[[list[str]], tuple[int, str]]  # words -> exit code, what was printed
Exceptions = Mapping[tuple[str, str], str]  # (start of a line, part of what differs) -> the reason


def lines(recording: str) -> list[str]:
    """Return the lines and the comments of a recording."""
    return [line.removeprefix("$ ") for line in recording.splitlines() if line.startswith(("$ ", "#"))]


def parts(recording: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each line with what it did."""
    for text in f"\n{recording}".split("\n$ ")[1:]:
        line, *did = text.splitlines()
        yield line, [each for each in did if not each.startswith("#")]


def record(path: Path, play: Play) -> None:
    """Play the lines of a recording, and write it again."""
    found = [f"{line}\n" if line.startswith("#") else play(line) for line in lines(path.read_text("utf-8"))]
    path.write_text("".join(found), encoding="utf-8")


class Comparison:
    """What pyjs does differently from a recording, but for the exceptions."""

    def __init__(self, exceptions: Exceptions) -> None:
        self.exceptions = exceptions
        self.used: set[tuple[str, str]] = set()
        self.found: list[str] = []

    def play(self, recording: str, play: Play) -> None:
        """Play the lines of a recording; add the differences to those that were `found`."""
        for line, recorded in parts(recording):
            played = play(line).splitlines()[1:]
            for each in differences(recorded, played):
                known = [key for key in self.exceptions if line.startswith(key[0]) and key[1] in each]
                self.used.update(known)
                if not known:
                    self.found.append(f"{line}: {each}")

    def unused(self) -> list[tuple[str, str]]:
        """Return the exceptions that are none any more."""
        return sorted(set(self.exceptions) - self.used)


def differences(recorded: list[str], played: list[str]) -> Iterator[str]:
    """Yield how what pyjs did differs: JSON that it prints may have more facts, all else is the same."""
    if ("failed" in recorded) != ("failed" in played):
        yield "failed" if "failed" in played else "succeeded"
        return
    documents, shown = _documents(recorded), _documents(played)
    both = documents.keys() & shown.keys() | {""}
    for name in sorted(both):
        yield from _unlike(name, documents.get(name, {}), shown.get(name, {}))
    texts, found = ([each for each in did if _name(each) not in both] for did in (recorded, played))
    if texts != found:
        changes = [f"+{each}" for each in _without(found, texts)]
        changes += [f"-{each}" for each in _without(texts, found)]
        yield from changes or ["another order"]


def _unlike(name: str, facts: dict[str, Any], found: dict[str, Any]) -> Iterator[str]:
    begin = f"{name}: ".removeprefix(": ")
    for path, value in facts.items():
        if path not in found:
            if value not in ({}, []):
                yield f"{begin}lacks {path}"
        elif found[path] != value:
            yield f"{begin}{path}: {found[path]!r}, recorded {value!r}"
    if name:
        yield from (f"{begin}{path}: {found[path]!r}, not recorded" for path in found if path not in facts)


def _name(text: str) -> str | None:
    """Return what stands before a document: `file mode`, or nothing if it was printed; None for a text."""
    found = re.fullmatch(r"= (\S+ 0o\d+ )?\{.*", text)
    return (found[1] or "").strip() if found else None


def _documents(did: Iterable[str]) -> dict[str, dict[str, Any]]:
    return {name: json.loads(each[each.index("{") :]) for each in did if (name := _name(each)) is not None}


def _without(texts: list[str], others: list[str]) -> list[str]:
    rest = list(others)
    return [each for each in texts if each not in rest or rest.remove(each)]  # type: ignore[func-returns-value]


def document(text: str) -> Any:
    """Return the JSON object or list that a text is, or None."""
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict | list) else None


def facts(value: Any, path: str = "", *, whole: bool = False) -> Iterator[tuple[str, Any]]:
    """Yield (path, value) of what a document holds.

    A list has one path, with its value if it has one item, else `…`; or with a list of its values if `whole`.
    """
    if isinstance(value, dict) and value:
        for key in sorted(value):
            yield from facts(value[key], f"{path}.{key}".lstrip("."), whole=whole)
    elif isinstance(value, list) and value:
        found = [dict(facts(item, f"{path}[]", whole=whole)) for item in value]
        for name in sorted({name for each in found for name in each}):
            values = [each[name] for each in found if name in each]
            yield name, values[0] if len(found) == 1 else values if whole else "…"
    else:
        yield path, value


def environment(home: Path) -> dict[str, str]:
    """Return the environment of a real tool with a home directory of its own."""
    cleared = ("NATS", "NSC", "NKEYS", "XDG")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(cleared)}
    folders = {"XDG_CONFIG_HOME": str(home / ".config"), "XDG_DATA_HOME": str(home / ".local/share")}
    return {**kept, **folders, "HOME": str(home), "TZ": "UTC", "NO_COLOR": "1"}
