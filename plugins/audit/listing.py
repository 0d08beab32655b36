"""`pyjs audit checks`: what `audit analyze` examines."""

from __future__ import annotations

import click

from ...cli import output
from ...cli.command import Command
from ...cli.output import LIST, NAME, TEXT, WORD, Column, Table
from .check import Check, Threshold
from .server_checks import CHECKS as SERVER_CHECKS
from .stream_checks import CHECKS as STREAM_CHECKS

EVERY: tuple[Check, ...] = tuple(
    sorted((*SERVER_CHECKS, *STREAM_CHECKS), key=lambda each: (each.suite, each.code))
)
TABLE = Table(
    "audit_checks",
    "Audit Checks",
    (
        Column("suite", "Suite", WORD),
        Column("code", "Code", NAME),
        Column("name", "Name", TEXT, wide=True),
        Column("description", "Description", TEXT),
        Column("configuration", "Configuration", LIST),
    ),
    key="code",
    spare=("configuration", "suite"),
)


def _in_words(threshold: Threshold) -> str:
    percent = "%" if threshold.unit == "%" else ""
    return f"{threshold.key} ({threshold.default:,.10g}{percent})"


@click.command(cls=Command)
@output.listing(TABLE, legacy="the checks with their settings")
def checks() -> None:
    """List what 'audit analyze' examines, with its thresholds."""
    records = [
        {
            "suite": each.suite,
            "code": each.code,
            "name": each.name,
            "description": each.description,
            "configuration": sorted(map(_in_words, each.thresholds)),
        }
        for each in EVERY
    ]
    output.show(TABLE.of(records), document=[each.document for each in EVERY])
