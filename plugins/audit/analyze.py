"""`pyjs audit analyze`: examines an archive, or shows what an earlier examination found."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from ...cli import output, render
from ...cli.command import Command
from ...cli.errors import CliError, UsageError, close_matches
from ...cli.output.terminal import folded, styled
from ...cli.param import ExistingPath
from ..server.archive import METADATA, ServerArchive, open_archive
from .check import FAIL, OUTCOMES, PASS, SKIP, WARN, Check
from .listing import EVERY

Info = dict[str, Any]
TYPE = "io.nats.audit.v1.analysis"
COLOURS = {PASS: "green", WARN: "magenta", FAIL: "red"}
OUTCOME = re.compile(r"^\[(\w+)\](?= \[)", re.MULTILINE)  # at the beginning of a check's lines
FILE = ExistingPath(dir_okay=False)


@click.command(cls=Command)
@output.showing("audit_analysis")
@click.argument("archive", required=False, type=FILE, default=None)
@click.option("--max-examples", type=click.IntRange(min=0), default=5, help="Of each check; 0: all.")
@click.option("--skip", multiple=True, metavar="CODE", help="Leave this check out.")
@click.option("--load", metavar="FILE", type=FILE, default=None, help="Show a report that was saved.")
@click.option("--save", metavar="FILE", default="", help="Write the report to this file.")
@click.option("-f", "--force", is_flag=True, help="Write over a file that exists.")
@click.option("--markdown", is_flag=True, help="Show the report as Markdown.")
@click.option("--verbose", is_flag=True, help="Say what is examined.")
def analyze(
    archive: str | None,
    max_examples: int,
    skip: tuple[str, ...],
    load: str | None,
    save: str,
    force: bool,
    markdown: bool,
    verbose: bool,
) -> None:
    """Examine an archive that 'audit gather' wrote."""
    if load:
        report, name = _loaded(Path(load)), load
    else:
        if archive is None:
            raise UsageError("archive path is required", "'audit gather' writes one; --load shows a report")
        if save and Path(save).exists() and not force:
            raise UsageError(f'result file "{save}" already exist, use --force to overwrite')
        report, name = _examined(archive, _skipped(skip), max_examples, verbose=verbose), archive
    if save and not load:
        Path(save).write_text(json.dumps(report, indent=2, ensure_ascii=False), "utf-8")
    if markdown:
        render.show("\n".join(_markdown(report, max_examples)))
        return
    text = folded("\n".join(_page(report, name, max_examples)))
    output.show_page(report, OUTCOME.sub(_coloured, text), name=name)


def _skipped(codes: tuple[str, ...]) -> list[str]:
    """Return the codes of checks to leave out, as they are written. Raises UsageError for an unknown one."""
    known = [check.code for check in EVERY]
    for code in codes:
        if code.upper() not in known:
            raise UsageError(
                f'there is no check "{code}"', close_matches(code, known) or "'audit checks' lists them"
            )
    return sorted(code.upper() for code in codes)


def _examined(path: str, skipped: list[str], limit: int, *, verbose: bool) -> Info:
    """Return the report on an archive."""
    with open_archive(path) as opened:
        archive = ServerArchive(path, opened)
        results = [_result(check, archive, skipped, limit, verbose=verbose) for check in EVERY]
        metadata = archive.load(METADATA)
    outcomes = {outcome: sum(each["outcome_string"] == outcome for each in results) for outcome in OUTCOMES}
    return {
        "type": TYPE,
        "time": datetime.now(UTC).isoformat().replace("+00:00", "Z"),
        "metadata": metadata,
        "skipped_checks": skipped,
        "skipped_suites": [],
        "checks": results,
        "outcomes": outcomes,
    }


def _result(check: Check, archive: ServerArchive, skipped: list[str], limit: int, *, verbose: bool) -> Info:
    outcome, found, error = (SKIP, [], "") if check.code in skipped else check.run(archive)
    if verbose:
        render.log(f"{check.code}: {outcome}, {len(found)} found")
    texts = [each.text for each in found]
    shown = texts[:limit] if limit else texts
    if len(shown) < len(texts):
        shown.append(f"... and {len(texts) - len(shown)} more ...")
    examples = {"examples": shown} if shown else {}
    return {
        "check": check.document,
        "outcome": OUTCOMES.index(outcome),
        "outcome_string": outcome,
        "examples": {**examples, **({"error": error} if error else {})},
    }


def _loaded(path: Path) -> Info:
    try:
        report = json.loads(path.read_text("utf-8"))
        if report["type"] != TYPE:
            raise CliError(f'unexpected analysis type "{report["type"]}"')
        for each in report["checks"]:
            _ = each["check"]["code"], each["outcome_string"], each["examples"].get("examples")
    except (ValueError, KeyError, TypeError, AttributeError):
        raise CliError(f"{path} is not a report that 'audit analyze --save' wrote") from None
    loaded: Info = report
    return loaded


def _coloured(found: re.Match[str]) -> str:
    colour = COLOURS.get(found[1])
    return f"[{styled(found[1], colour)}]" if colour else found[0]


def _page(report: Info, name: str, limit: int) -> Iterator[str]:
    metadata = report.get("metadata") or {}
    captured = render.when(str(metadata.get("capture_timestamp", "")))
    yield f'NATS Audit Report "{name}" captured at {captured}'
    yield ""
    for each in report["checks"]:
        outcome = str(each["outcome_string"])
        yield f"[{outcome}] [{each['check']['code']}] {each['check'].get('description', '')}"
        if each["examples"].get("error"):
            yield f"Error: {each['examples']['error']}"
        examples = each["examples"].get("examples") or []
        yield from (f" - {example}" for example in (examples[: limit + 1] if limit else examples))
        if examples:
            yield ""
    yield from ("", "Report Summary", "", "Archive Information:", "")
    yield render.fields(
        [
            ("Connection Server", metadata.get("connect_url", "")),
            ("Server Version", metadata.get("connected_server_version", "")),
            ("Creator", metadata.get("version", "")),
            ("User", metadata.get("user_name", "")),
        ]
    )
    yield from ("", "Summary of Checks:", "")
    outcomes = report.get("outcomes") or {}
    yield render.fields([(name, outcomes.get(name, 0)) for name in OUTCOMES])


def _markdown(report: Info, limit: int) -> Iterator[str]:
    metadata = report.get("metadata") or {}
    yield f"# NATS Audit Report produced {report.get('time', '')}"
    yield from ("", "## Connection Details", "")
    yield (
        f"Report generated using archive from **{metadata.get('connect_url', '')}** "
        f"by **{metadata.get('user_name', '')}** created **{metadata.get('capture_timestamp', '')}**"
    )
    yield from ("", "## Report Summary", "", "|Status|Count|", "|------|-----|")
    outcomes = report.get("outcomes") or {}
    yield from (f"|{name}|{outcomes.get(name, 0)}|" for name in (FAIL, WARN, PASS, SKIP))
    yield from ("", "## Results")
    suite = ""
    for each in report["checks"]:
        if each["check"].get("suite") != suite:
            suite = str(each["check"].get("suite"))
            yield from ("", f"### Check Suite: {suite}")
        yield from ("", f"#### {each['check'].get('name')}", "", f"Outcome: **{each['outcome_string']}**")
        examples = each["examples"].get("examples") or []
        if examples:
            yield from ("", "|#|Example|", "|-|-------|")
        for number, example in enumerate(examples[: limit + 1] if limit else examples, 1):
            yield f"|{number}|{str(example).replace('|', chr(92) + '|')}|"
