"""The form of results: tables, information pages, log lines, JSON, and values in words.

Promises: tables are drawn as in the NATS documentation (a rounded box, the title in a row of its own,
everything left-aligned); pages have `label: value` with right-aligned labels. All of it goes to stdout
through `show`; log lines go to stderr. Nothing here asks or connects.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

import click

from . import flags

PAGE_WIDTH = 21  # the column of the colon on a stream's page; consumers' pages use 20 and 25
ROUNDED, DOUBLE = "╭─┬╮│├┼┤╰┴╯", "╔═╦╗║╠╬╣╚╩╝"
NEVER_NS = 2**63 - 1


def show(text: str = "") -> None:
    """Write text and a newline to stdout."""
    click.echo(text)


def show_json(document: object) -> None:
    """Write a document as JSON, indented by two spaces, in its own order."""
    show(json.dumps(document, indent=2, ensure_ascii=False))


def log(text: str) -> None:
    """Write a line with the time of day to stderr, as `pub`, `sub` and `--trace` do."""
    click.echo(f"{datetime.now().astimezone():%H:%M:%S} {text}", err=True)


def table(
    title: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    footer: Sequence[object] | None = None,
) -> str:
    """Return a table as text, without a final newline.

    Cells are converted with `str`. A footer is set off by a line.
    """
    from rich.cells import cell_len

    body = [[str(cell) for cell in row] for row in rows]
    last = [str(cell) for cell in footer] if footer is not None else []
    widths = [cell_len(name) for name in columns]
    for row in [*body, *([last] if last else [])]:
        widths = [max(width, cell_len(cell)) for width, cell in zip(widths, row, strict=True)]
    inner = sum(widths) + 3 * len(widths) - 1
    if inner < cell_len(title) + 2:
        widths[-1] += cell_len(title) + 2 - inner
        inner = cell_len(title) + 2
    scheme = _scheme()
    box = DOUBLE if scheme == "double" else ROUNDED
    tl, rule, tee, tr, bar, left, cross, right, bl, foot, br = tuple(box)

    def line(cells: Sequence[str]) -> str:
        padded = (
            f" {cell}{' ' * (width - cell_len(cell))} " for cell, width in zip(cells, widths, strict=True)
        )
        return bar + bar.join(padded) + bar

    def ruled(start: str, joint: str, end: str) -> str:
        return start + joint.join(rule * (width + 2) for width in widths) + end

    lines = [tl + rule * inner + tr, bar + _centred(title, inner) + bar] if title else []
    lines += [ruled(left, tee, right) if title else ruled(tl, tee, tr)]
    lines += [line(list(columns)), ruled(left, cross, right)]
    lines += [line(row) for row in body]
    if last:
        lines += [ruled(left, cross, right), line(last)]
    lines.append(ruled(bl, foot, br))
    return _coloured("\n".join(lines), scheme)


def _scheme() -> str:
    """Return the colour scheme of the run, from the flag, its variable or the context."""
    from .errors import CliError
    from .profile import resolve

    try:
        return resolve(flags.session()).text("color_scheme")
    except CliError:  # a table is not the place to report wrong settings
        return ""


def _centred(text: str, width: int) -> str:
    from rich.cells import cell_len

    space = width - cell_len(text)
    return " " * (space // 2) + text + " " * (space - space // 2)


def _coloured(text: str, scheme: str) -> str:
    if scheme in ("", "double", "rounded") or not sys.stdout.isatty() or os.environ.get("NO_COLOR"):
        return text
    return click.style(text, fg=scheme)


def field(label: str, value: object, width: int = PAGE_WIDTH) -> str:
    """Return one line of a page: the label right-aligned to `width`, a colon, the value."""
    return f"{label:>{width}}: {value}"


def fields(pairs: Iterable[tuple[str, object]], width: int = PAGE_WIDTH) -> str:
    """Return lines of a page. An empty label continues the value above."""
    return "\n".join(
        field(name, value, width) if name else " " * (width + 2) + str(value) for name, value in pairs
    )


def columns(items: Sequence[str], width: int = 80) -> str:
    """Return names laid out in as many columns as fit."""
    if not items:
        return ""
    wide = max(len(item) for item in items) + 2
    per_line = max(1, width // wide)
    lines = (items[start : start + per_line] for start in range(0, len(items), per_line))
    return "\n".join("".join(f"{item:<{wide}}" for item in line).rstrip() for line in lines)


def number(value: int) -> str:
    """Return a whole number with separated thousands: `20,000`."""
    return f"{value:,}"


def limit(value: int) -> str:
    """Return a limit in words: `unlimited` if there is none."""
    return "unlimited" if value <= 0 else number(value)


def size(value: int) -> str:
    """Return a number of bytes as the documentation writes it: `45 B`, `1.7 KiB`, `149 MiB`."""
    from ..protocol.size import format_iec

    return format_iec(value)


def size_limit(value: int) -> str:
    """Return a limit in bytes in words: `unlimited` if there is none."""
    return "unlimited" if value <= 0 else size(value)


def span(nanoseconds: int) -> str:
    """Return a duration in words, `never` for -1 and the maximum.

    Examples: `0.21s`, `1m2s`, `1h2m3s`, `1d2h3m4s`, `1y2d3h4m5s`.
    """
    if nanoseconds < 0 or nanoseconds >= NEVER_NS:
        return "never"
    seconds = nanoseconds // 1_000_000_000
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    if days >= 365:
        return f"{days // 365}y{days % 365}d{hours % 24}h{minutes % 60}m{seconds % 60}s"
    if days:
        return f"{days}d{hours % 24}h{minutes % 60}m{seconds % 60}s"
    if hours:
        return f"{hours}h{minutes % 60}m{seconds % 60}s"
    if minutes:
        return f"{minutes}m{seconds % 60}s"
    return f"{nanoseconds / 1e9:.2f}s"


def go_span(nanoseconds: int) -> str:
    """Return a duration as the server writes it: `2m0s`, `30s`."""
    from ..protocol.duration import format_go

    return format_go(nanoseconds)


def when(text: str) -> str:
    """Return an RFC 3339 time of the API as local time, to the second: `2021-06-28T12:52:29-04:00`."""
    moment = parse_time(text)
    return moment.astimezone().isoformat(timespec="seconds") if moment else text


def parse_time(text: str) -> datetime | None:
    """Parse an RFC 3339 time with any number of fractional digits; return None for the zero time."""
    if not text or text.startswith("0001-"):
        return None
    head, dot, tail = text.partition(".")
    if not dot:
        return datetime.fromisoformat(text)
    digits = tail.rstrip("Z").partition("+")[0].partition("-")[0]
    zone = tail[len(digits) :]
    return datetime.fromisoformat(f"{head}.{digits[:6]:0<6}{zone}")


def since(text: str, now: str = "") -> int:
    """Return the nanoseconds from an RFC 3339 time until `now`, -1 for never.

    `now` is another RFC 3339 time; by default it is the present.
    """
    moment = parse_time(text)
    if moment is None:
        return -1
    reference = (parse_time(now) if now else None) or datetime.now(UTC)
    return max(0, int((reference - moment).total_seconds() * 1e9))


def clustered(cluster: dict[str, Any] | None) -> bool:
    """Return whether the `cluster` of an answer describes a cluster, not a single server.

    A single server names itself as leader; one with leaf nodes also has a cluster name.
    """
    if not cluster or not cluster.get("name"):
        return False
    return bool(cluster.get("replicas")) or cluster["name"] != cluster.get("leader")


def cluster_servers(cluster: dict[str, Any] | None) -> str:
    """Return the servers of a replicated stream or consumer by name.

    `*` marks the leader, `!` an unhealthy server.
    """
    if not cluster:
        return ""
    names = []
    if cluster.get("leader"):
        names.append(f"{cluster['leader']}*")
    for peer in cluster.get("replicas") or []:
        bad = peer.get("offline") or not peer.get("current", False)
        names.append(f"{peer.get('name', '')}{'!' if bad else ''}")
    return ", ".join(sorted(names))
