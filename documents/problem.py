"""A mistake in a document, and where it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class DocumentProblem:
    """One mistake.

    path: dotted, for example `sinks.lake.format`
    line and column: counted from 1; 0 is unknown
    """

    path: str
    message: str
    line: int = 0
    column: int = 0
    hint: str = ""

    def text(self, file: str) -> str:
        """Return `FILE:LINE:COLUMN: PATH: MESSAGE`, as compilers write it, so that editors jump there."""
        place = f"{file}:{self.line}:{self.column}" if self.line else file
        return f"{place}: {self.path}: {self.message}" if self.path else f"{place}: {self.message}"


class DocumentError(ValueError):
    """A document that cannot be used. `problems` are in the order of the file, at least one."""

    def __init__(self, file: str, problems: Sequence[DocumentProblem]) -> None:
        self.file = file
        self.problems = sorted(problems, key=lambda problem: (problem.line, problem.column))
        super().__init__("\n".join(problem.text(file) for problem in self.problems))
