"""The findings of a check and their output: for Nagios, for Prometheus, as tables, and in the forms of `-o`.

Promises: the worst finding is the status. The exit code is that of Nagios, except for Prometheus, where the
status is a metric. An output file is written in one step.
"""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from ....cli import output, render
from ....cli.command import RequestCommand
from ....cli.errors import CliError, UsageError

OK, WARNING, CRITICAL = "OK", "WARNING", "CRITICAL"
CODES = {OK: 0, WARNING: 1, CRITICAL: 2}
FORMATS = ("nagios", "json", "prometheus", "text")
NAMESPACE = "nats_server_check"
SECOND = 1_000_000_000


@dataclass(frozen=True)
class Metric:
    """A number that was examined; thresholds of 0 are none.

    unit: B, s or %.
    """

    name: str
    value: float
    help: str
    warning: float = 0
    critical: float = 0
    unit: str = ""

    def nagios(self) -> str:
        """Return it as performance data: `rtt=0.0002s;0.5000;1.0000`."""

        def shown(value: float) -> str:
            return f"{value:.4f}" if self.unit == "s" else f"{value:.0f}"

        name = f"'{self.name}'" if " " in self.name else self.name
        text = f"{name}={shown(self.value)}{self.unit}"
        if self.warning or self.critical:
            text += f";{shown(self.warning) if self.warning else ''}"
        return text + (f";{shown(self.critical)}" if self.critical else "")


@dataclass
class CheckResult:
    """The findings of a check.

    suite: the kind of check.
    name: what was examined.
    """

    suite: str
    name: str = ""
    criticals: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    good: list[str] = field(default_factory=list)
    metrics: list[Metric] = field(default_factory=list)

    def critical(self, text: str) -> None:
        """Add a finding that needs attention now."""
        self.criticals.append(text)

    def warning(self, text: str) -> None:
        """Add a finding that needs attention."""
        self.warnings.append(text)

    def ok(self, text: str) -> None:
        """Add a finding that is as it should be."""
        self.good.append(text)

    def metric(
        self, name: str, value: float, text: str, *, warning: float = 0, critical: float = 0, unit: str = ""
    ) -> None:
        """Add a number that was examined; thresholds below 0 are none."""
        self.metrics.append(Metric(name, value, text, max(0, warning), max(0, critical), unit))

    def above(self, text: str, value: float, warning: float, critical: float) -> None:
        """Check a value that may not exceed its thresholds; those of 0 and below are none."""
        if critical > 0 and value >= critical:
            self.critical(text)
        elif warning > 0 and value >= warning:
            self.warning(text)
        else:
            self.ok(text)

    @property
    def status(self) -> str:
        """The worst status of all findings."""
        return CRITICAL if self.criticals else WARNING if self.warnings else OK

    def text(self, form: str, namespace: str) -> str:
        """Return the result in one of `FORMATS`."""
        if form == "json":
            return json.dumps(self.document(), indent=2, ensure_ascii=False)
        if form == "prometheus":
            return exposition([self], namespace)
        return self.tables() if form == "text" else self._nagios()

    def _nagios(self) -> str:
        parts = [self.status, self.name]
        parts += [f"Crit:{text}" for text in self.criticals]
        parts += [f"Warn:{text}" for text in self.warnings]
        parts += [f"OK:{text}" for text in self.good]
        if self.metrics:
            parts += ["|", *(metric.nagios() for metric in self.metrics)]
        return " ".join(parts)

    def document(self) -> dict[str, Any]:
        """Return the result as JSON has it."""
        found = {"warning": self.warnings, "critical": self.criticals, "ok": self.good}
        return {
            "status": self.status,
            "check_suite": self.suite,
            "check_name": self.name,
            **{name: texts for name, texts in found.items() if texts},
            "perf_data": [
                {
                    "name": metric.name,
                    "value": _plain(metric.value),
                    "warning": _plain(metric.warning),
                    "critical": _plain(metric.critical),
                    **({"unit": metric.unit} if metric.unit else {}),
                }
                for metric in self.metrics
            ],
        }

    def gauges(self, namespace: str) -> dict[str, tuple[str, str]]:
        """Return its numbers and its status for Prometheus: help and sample, by the name of the metric."""
        item = self.name.replace("\\", ".").replace('"', ".").replace("\n", ".")
        prefix = f"{namespace}_{self.suite}"
        found = {
            f"{prefix}_{metric.name}": (metric.help, f'{{item="{item}"}} {_plain(metric.value)}')
            for metric in self.metrics
        }
        sample = f'{{item="{item}",status="{self.status}"}} {CODES[self.status]}'
        return found | {f"{prefix}_status_code": (f"Nagios compatible status code for {self.suite}", sample)}

    def tables(self) -> str:
        """Return the result as tables for people."""
        lines = [f"{self.name}: {self.status}", ""]
        rows = [("OK", text) for text in self.good]
        rows += [("Warning", text) for text in self.warnings]
        rows += [("Critical", text) for text in self.criticals]
        if rows:
            lines += ["Status Detail", "", render.table("", ("Status", "Message"), rows), ""]
        if self.metrics:
            columns = ("Metric", "Value", "Unit", "Critical Threshold", "Warning Threshold", "Description")
            cells = [
                (m.name, _words(m.value), m.unit, _words(m.critical), _words(m.warning), m.help)
                for m in self.metrics
            ]
            lines += ["Check Metrics", "", render.table("", columns, cells), ""]
        return "\n".join(lines)


def exposition(results: Iterable[CheckResult], namespace: str) -> str:
    """Return results in the text format of Prometheus: each metric once, with a sample for each result."""
    found: dict[str, list[str]] = {}
    for result in results:
        for name, (text, sample) in result.gauges(namespace).items():
            lines = found.setdefault(name, [f"# HELP {name} {text}", f"# TYPE {name} gauge"])
            lines.append(name + sample)
    return "\n".join(line for name in sorted(found) for line in found[name])


def _plain(value: float) -> float:
    return int(value) if value == int(value) else value


def _words(value: float) -> str:
    return f"{value:,.3f}".rstrip("0").rstrip(".") if value != int(value) else render.number(int(value))


Check = Callable[..., Awaitable[None]]
Decorator = Callable[[Check], Check]  # an option of a check


class CheckCommand(RequestCommand):
    """A command that makes a check.

    suite: the kind of check.
    title: what its result is called if the check does not say.
    function: gets the result to fill, and the options.
    """

    suite: str
    title: str
    function: Check

    async def examine(self, options: dict[str, Any]) -> CheckResult:
        """Make the check with these values of its options. A CliError is a critical finding."""
        result = CheckResult(self.suite, self.title)
        try:
            await self.function(result, **options)
        except CliError as error:
            result.critical(error.message)
        return result


def checking(suite: str, name: str = "", *, only_requests: bool = False) -> Callable[[Check], CheckCommand]:
    """Make a command of a check, a function that gets a `CheckResult` to fill, and its options.

    only_requests: whether the check can do without an event loop, as a `RequestCommand` does.

    A CliError that it raises (no connection, no answer, an unknown stream) is a critical finding.
    """

    def decorate(function: Check) -> CheckCommand:
        @functools.wraps(function)
        async def run(form: str | None, namespace: str | None, outfile: str | None, **options: Any) -> int:
            context = click.get_current_context()
            given = context.parent.params if context.parent is not None else {}
            form = form or given.get("form")
            if form and output.is_asked_for():
                raise UsageError("--format and -o both name a form", "give one of them")
            result = await made.examine(options)
            outfile = outfile or given.get("outfile")
            if output.is_asked_for():
                _show(result, outfile)
                return CODES[result.status]
            text = result.text(form or FORMATS[0], namespace or given.get("namespace") or NAMESPACE)
            if outfile:
                _write(Path(outfile), text + "\n")
            else:
                render.show(text)
            return 0 if form == "prometheus" else CODES[result.status]

        for option in (
            click.option("--outfile", metavar="FILE", help="Write the result to a file."),
            click.option("--namespace", metavar="NAME", help="Prefix of Prometheus metrics."),
            click.option("--format", "form", type=click.Choice(FORMATS), help="How to show the result."),
        ):
            option(run)
        command = click.command(cls=CheckCommand, needs_loop=lambda _: not only_requests)
        made = command(output.showing("server_check")(run))
        made.suite, made.title, made.function = suite, name, function
        return made

    return decorate


def _show(result: CheckResult, outfile: str | None) -> None:
    """Show a result in the form of `-o`, or write it to a file."""
    page = result.document(), result.tables()
    if outfile:
        _write(Path(outfile), (output.page_text(*page, name=result.name) or "") + "\n")
    else:
        output.show_page(*page, name=result.name)


def _write(path: Path, text: str) -> None:
    """Write a file of mode 0600 in one step, so that nobody reads a part of it."""
    import tempfile

    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as out:
            out.write(text)
        Path(draft).replace(path)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise
