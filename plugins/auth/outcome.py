"""What an operation of `pyjs.keys.workspace` reports beside its result: warnings on stderr, and failures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, TypeVar

from ...cli.errors import CliError, warn
from ...keys import Grade, OperationReport


class ReportedResult(Protocol):
    """The result of an operation."""

    @property
    def report(self) -> OperationReport:
        """The report about what was done."""


R = TypeVar("R", bound=ReportedResult)


def checked(result: R) -> R:
    """Return a result, after its warnings were shown. Raises CliError if a part of the operation failed."""
    lines = [*_lines(result.report)]
    for line in lines:
        if line.own is Grade.WARN:
            warn(line.text)
    if failed := [line.text for line in lines if line.own is Grade.ERROR]:
        raise CliError("; ".join(failed))
    return result


def _lines(report: OperationReport) -> Iterator[OperationReport]:
    """Yield the lines of a report that have none below them."""
    if not report.children:
        yield report
    for child in report.children:
        yield from _lines(child)
