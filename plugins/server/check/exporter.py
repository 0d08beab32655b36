"""`pyjs server check exporter`: makes checks whenever Prometheus asks, and answers with their metrics.

The file of checks is that of `nats`: a context, and checks with a name, a kind and properties. `read` makes a
list of `Planned` of it, and every check with a mistake is told before anything is served. Checks are made one
after the other, and one scrape waits for the other, so that scrapes cannot multiply what servers are asked.

Source: natscli, internal/exporter/exporter.go; the properties are those of jsm.go, monitor/*.go.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from ....cli import context, flags, render
from ....cli.command import Command, load
from ....cli.errors import CliError, UsageError, close_matches
from ....cli.param import ExistingPath
from ....documents.located_yaml import read as read_yaml
from ....documents.problem import DocumentError
from .properties import KINDS, arguments
from .result import CRITICAL, NAMESPACE, WARNING, CheckCommand, CheckResult, exposition

FIELDS = ("context", "kind", "name", "properties", "reuse_connection")
FILE = ExistingPath(dir_okay=False, path_type=Path)
OUTPUT = ("form", "namespace", "outfile")  # what a check's command has beside its own options


@dataclass(frozen=True)
class Planned:
    """A check as the file describes it: its command, and its options as words of a command line."""

    name: str
    kind: str
    context: str
    command: CheckCommand
    words: tuple[str, ...]

    async def make(self, own: flags.CliSession) -> CheckResult:
        """Make it, with the settings of its context, or of this run if it names none."""
        given = {"context": self.context} if self.context else dict(own.given)
        session = flags.CliSession(given=given | {k: v for k, v in own.given.items() if k == "timeout"})
        with self.command.make_context(self.name, list(self.words), obj=session) as made:
            options = {name: value for name, value in made.params.items() if name not in OUTPUT}
            result = await self.command.examine(options)
        result.suite, result.name = self.kind, self.name
        return result


@click.command(cls=Command)
@click.option("--config", "file", type=FILE, required=True, metavar="FILE", help="The checks, as YAML.")
@click.option("--port", type=click.IntRange(0, 65535), default=8080, help="Where to listen (default: 8080).")
@click.option("--https-key", type=FILE, metavar="FILE", help="The key of its certificate.")
@click.option("--https-certificate", type=FILE, metavar="FILE", help="Serve HTTPS with this certificate.")
@click.option("--namespace", default="", metavar="NAME", help="Prefix of the metrics.")
async def exporter(
    file: Path, port: int, https_key: Path | None, https_certificate: Path | None, namespace: str
) -> None:
    """Make the checks of a file whenever Prometheus asks for /metrics.

    It listens on all addresses, and asks for no login.
    """
    from .metrics_server import serve

    if (https_key is None) != (https_certificate is None):
        raise UsageError("HTTPS needs both --https-key and --https-certificate")
    planned = read(file)
    parent = click.get_current_context().parent
    prefix = namespace or (parent.params.get("namespace") if parent is not None else "") or NAMESPACE
    own, turn = flags.session(), asyncio.Lock()

    async def metrics() -> str:
        async with turn:
            results = [await each.make(own) for each in planned]
        for each in results:
            if each.status in (WARNING, CRITICAL):
                render.log(each.text("nagios", prefix))
        return exposition(results, prefix) + "\n"

    await serve(metrics, port, https_certificate, https_key)


def read(file: Path) -> list[Planned]:
    """Return the checks of a file. Raises UsageError that names each check with a mistake."""
    try:
        document = read_yaml(file.read_text("utf-8"), str(file))
    except (DocumentError, UnicodeDecodeError, OSError) as error:
        raise UsageError(str(error)) from None
    problems: list[str] = []

    def wrong(path: tuple[str | int, ...], text: str) -> None:
        place = document.near(path)
        problems.append(f"{file}:{place.line}:{place.column}: {text}" if place else f"{file}: {text}")

    value = document.value if isinstance(document.value, dict) else {}
    _unknown(value, ("checks", "context"), (), wrong)
    checks = value.get("checks")
    if not isinstance(checks, list) or not checks:
        wrong(("checks",), "it has no list of checks")
        checks = []
    shared = _text(value, "context", (), wrong)
    found = [_planned(each, ("checks", place), shared, wrong) for place, each in enumerate(checks)]
    named = [each.name for each in found if each is not None]
    for name in {name for name in named if named.count(name) > 1}:
        wrong(("checks",), f'several checks are named "{name}"')
    if problems:
        raise UsageError("\n".join(problems))
    return [each for each in found if each is not None]


Wrong = Callable[[tuple[str | int, ...], str], None]


def _planned(check: Any, path: tuple[str | int, ...], shared: str, wrong: Wrong) -> Planned | None:
    if not isinstance(check, dict):
        wrong(path, "a check is a map with a name, a kind and properties")
        return None
    _unknown(check, FIELDS, path, wrong)
    name, kind = _text(check, "name", path, wrong), _text(check, "kind", path, wrong)
    if not name:
        wrong(path, "the check has no name")
    if kind not in KINDS:
        hint = close_matches(kind, KINDS) or f"there are {', '.join(KINDS)}"
        wrong((*path, "kind"), f'unknown kind of check "{kind}"; {hint}')
        return None
    try:
        words = arguments(kind, check.get("properties") or {})
        command = _command(kind)
        with command.make_context(name, list(words), obj=flags.CliSession()):
            pass
    except (click.ClickException, CliError) as error:
        said = error.message if isinstance(error, CliError) else error.format_message()
        wrong((*path, "properties"), f"{name}: {said}")
        return None
    of = _text(check, "context", path, wrong) or shared
    if of and not context.exists(of):
        wrong((*path, "context"), f'there is no context "{of}"')
    return Planned(name, kind, of, command, words)


def _command(kind: str) -> CheckCommand:
    from . import check

    row = check.row(kind)
    found = load(row) if row is not None else None
    assert isinstance(found, CheckCommand)
    return found


def _unknown(
    found: dict[str, Any], known: tuple[str, ...], path: tuple[str | int, ...], wrong: Wrong
) -> None:
    for name in found:
        if name not in known:
            hint = close_matches(str(name), known) or f"there are {', '.join(known)}"
            wrong((*path, name), f'unknown field "{name}"; {hint}')


def _text(found: dict[str, Any], name: str, path: tuple[str | int, ...], wrong: Wrong) -> str:
    value = found.get(name)
    if value is not None and not isinstance(value, str):
        wrong((*path, name), f"{name} is not a text")
        return ""
    return value or ""
