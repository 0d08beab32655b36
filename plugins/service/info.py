"""`pyjs service info`: what one instance of a service is, with the statistics of its endpoints."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

import click

from ...cli import output, render, words
from ...cli.command import Command
from ...cli.connection import connect
from ...cli.output.cells import clean
from ...cli.param import PATTERN
from ...protocol import micro
from ..messaging.rtt import in_words
from .discovery import Document, documents
from .stats import whole


@click.command(cls=Command)
@output.showing("service_info")
@click.argument("service")
@click.argument("instance", metavar="[ID]", required=False, default="")
@click.option("-e", "--endpoint", type=PATTERN, metavar="REGEX", help="Only endpoints with such a name.")
async def info(service: str, instance: str, endpoint: re.Pattern[str] | None) -> None:
    """Show what a service is: the instance with this id, or the first one to answer."""
    async with connect() as connection:
        found = (await documents(connection, micro.INFO, service, instance, wanted=1))[0]
        stats = (await documents(connection, micro.STATS, found["name"], found["id"], wanted=1))[0]
    for document in (found, stats):
        listed = document.get("endpoints") or []
        document["endpoints"] = [
            each for each in listed if endpoint is None or endpoint.search(str(each.get("name")))
        ]
    output.show_page({"info": found, "stats": stats}, _page(found, stats), name=found["id"])


def _page(found: Document, stats: Document) -> str:
    lines = ["Service Information", ""]
    lines += [
        _fields(
            [
                ("Service", f"{found['name']} ({found['id']})"),
                ("Description", found.get("description") or ""),
                ("Version", found["version"]),
                *_metadata(found.get("metadata")),
            ]
        )
    ]
    lines += ["", "Endpoints:"]
    for endpoint in found["endpoints"]:
        pairs = [("Name", endpoint.get("name")), ("Subject", endpoint.get("subject"))]
        if endpoint.get("queue_group"):
            pairs.append(("Queue Group", endpoint["queue_group"]))
        lines += ["", _fields([*pairs, *_metadata(endpoint.get("metadata"))])]
    lines += ["", f"Statistics for {len(stats['endpoints'])} Endpoint(s):"]
    for endpoint in stats["endpoints"]:
        lines += [
            "",
            f"  {endpoint.get('name') or 'default'} Endpoint Statistics:",
            "",
            _statistics(endpoint, stats),
        ]
        if endpoint.get("data") is not None:
            own = json.dumps(endpoint["data"], indent=2).replace("\n", "\n    ")
            lines += ["", "  Endpoint Specific Statistics:", "", f"    {own}"]
    return "\n".join(lines)


def _metadata(metadata: object) -> list[tuple[str, object]]:
    if not isinstance(metadata, dict) or not metadata:
        return []
    pairs = [f"{name}: {value}" for name, value in sorted(metadata.items())]
    return [("Metadata", pairs[0]), *(("", pair) for pair in pairs[1:])]


def _statistics(endpoint: Document, stats: Document) -> str:
    requests = words.number(whole(endpoint.get("num_requests")))
    spent, average = (whole(endpoint.get(name)) for name in ("processing_time", "average_processing_time"))
    started = str(stats.get("started") or "")
    pairs: list[tuple[str, object]] = [
        ("Requests", f'{requests} in group "{endpoint.get("queue_group") or ""}"'),
        ("Processing Time", f"{in_words(spent)} (average {in_words(average)})"),
        ("Started", f"{words.when(started)} ({words.span(words.since(started))} ago)"),
        ("Errors", words.number(whole(endpoint.get("num_errors")))),
    ]
    if endpoint.get("last_error"):
        pairs.append(("Last Error", endpoint["last_error"]))
    return _fields(pairs)


def _fields(pairs: Sequence[tuple[str, object]]) -> str:
    """Return lines of a page, without control characters that a service may have sent."""
    return render.fields([(name, clean(str(value))) for name, value in pairs])
