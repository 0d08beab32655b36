"""The result of an operation as a tree of lines, each with a grade.

It is drawn as `nsc` draws it: `[ OK ] text`, children indented by seven blanks, a server's answer as `>
text`. A report with children has the grade of its worst child.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from enum import Enum, IntEnum
from pathlib import Path
from typing import Any

from ...protocol.lazy_dataclass import dataclass
from ..claims.issues import quote

__all__ = ["Grade", "OperationReport", "Show", "place", "quote", "short"]
INDENT = " " * 7
_TAGS = {1: "[ OK ]", 2: "[WARN]", 3: "[ERR ]"}


class Grade(IntEnum):
    """The grade of a step; worse is greater. NOTHING: no step was taken."""

    NOTHING = 0
    OK = 1
    WARN = 2
    ERROR = 3


class Show(Enum):
    """What is drawn of a report: label and children, only children, or children if they matter."""

    ALL = "all"
    CHILDREN = "children"
    WHEN_BAD = "when bad"


@dataclass(slots=True)
class OperationReport:
    """One line and those below it. Without `text` it is only the sum of its children.

    said: whether the text is a server's.
    summary: whether it ends with a line that counts the children.
    """

    text: str = ""
    own: Grade = Grade.NOTHING
    children: list[OperationReport] = field(default_factory=list)
    show: Show = Show.ALL
    said: bool = False
    summary: bool = False

    @property
    def grade(self) -> Grade:
        """The worst child's grade, or the report's own if it has no children."""
        return max((child.grade for child in self.children), default=self.own)

    @property
    def failed(self) -> bool:
        """Whether it contains an error."""
        return self.grade is Grade.ERROR

    @property
    def empty(self) -> bool:
        """Whether there is nothing to report."""
        return not self.text and not self.children

    def ok(self, text: str) -> OperationReport:
        """Add a line about something that was done, and return it, so that it can get children."""
        return self._added(OperationReport(text, Grade.OK))

    def warn(self, text: str) -> OperationReport:
        """Add a warning and return it."""
        return self._added(OperationReport(text, Grade.WARN))

    def error(self, text: str) -> OperationReport:
        """Add an error and return it."""
        return self._added(OperationReport(text, Grade.ERROR))

    def server(self, text: str) -> OperationReport:
        """Add what a server answered, possibly several lines, and return it."""
        return self._added(OperationReport(text.strip(), Grade.OK, said=True))

    def add(self, *reports: OperationReport) -> None:
        """Add reports as children; for a report without a text its children are added."""
        for report in reports:
            if report.text:
                self.children.append(report)
            else:
                self.children += report.children

    def summed_up(self) -> str:
        """Return the closing line about the children, "" if there is none.

        If some failed, it says how many, whether or not a summary was asked for.
        """
        counts = {grade: sum(child.grade is grade for child in self.children) for grade in Grade}
        good, warned, bad = counts[Grade.OK], counts[Grade.WARN], counts[Grade.ERROR]
        total = len(self.children)
        if bad == total and bad:
            return "all jobs failed"
        if bad:
            return f"{bad} {_jobs(bad)} failed - {good} {_jobs(good)} succeeded and {warned} had warnings"
        if not self.summary or total == 1:
            return ""
        if good == total:
            return "all jobs succeeded"
        if warned == total:
            return "all jobs had warnings"
        return f"{good} {_jobs(good)} succeeded - {warned} have warnings"

    def render(self) -> str:
        """Return the drawn tree, without a final newline."""
        return "\n".join(self._lines(""))

    def document(self) -> dict[str, Any]:
        """Return the tree as a JSON object: level, and text and children if there are any."""
        result: dict[str, Any] = {"level": self.grade.name.lower()}
        if self.text:
            result["server" if self.said else "text"] = self.text
        if self.children:
            result["children"] = [child.document() for child in self.children]
        return result

    def _added(self, child: OperationReport) -> OperationReport:
        self.children.append(child)
        return child

    def _lines(self, indent: str) -> Iterator[str]:
        if self.said:
            yield from _indented(self.text, f"{indent}> ")
            return
        if self.grade is Grade.NOTHING:
            return
        inside = indent
        opened = self._opened()
        if self.text and self.show is not Show.CHILDREN:
            label = f"{_TAGS[self.grade]} {self.text}"
            yield from _indented(f"{label}:" if self.children and opened else label, indent)
            inside = indent + INDENT
        if opened:
            for child in self.children:
                yield from child._lines(inside)

    def _opened(self) -> bool:
        if self.show is not Show.WHEN_BAD:
            return True
        return self.grade is not Grade.OK or any(child.said for child in self.children)


def place(path: Path | str) -> str:
    """Return a path as reports show it: in back-quotes, with the home directory as `~`."""
    return f"`{short(path)}`"


def short(path: Path | str) -> str:
    """Return a path with the home directory as `~`."""
    text = str(path)
    try:
        home = str(Path.home())
    except RuntimeError:
        return text
    return "~" + text[len(home) :] if text.startswith(home) else text


def _jobs(count: int) -> str:
    return "jobs" if count > 1 else "job"


def _indented(text: str, indent: str) -> list[str]:
    return [f"{indent}{line}" if line.strip() else line for line in text.split("\n")]
