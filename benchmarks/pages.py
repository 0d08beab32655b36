"""The pages that the benchmark writes: sections that take the place of those of the same title.

A section is a list of lines of Markdown, the first of which is empty and the second its title.
"""

from __future__ import annotations

import os
import platform
import subprocess
import time
from pathlib import Path

from . import servers
from .turns import BUSY, ROOT, Row

RESULTS = ROOT / "benchmarks" / "results.md"
PERFORMANCE = ROOT / "docs" / "performance.md"
README = ROOT / "README.md"


def renew(page: Path, section: list[str]) -> None:
    """Replace the section of a page with the same title, or append this one."""
    text = page.read_text("utf-8")
    title = next(line for line in section if line.startswith("## "))
    before, found, after = text.partition(f"\n{title}\n")
    rest = after.partition("\n## ") if found else ("", "", "")
    whole = before.rstrip("\n") + "\n" + "\n".join(section).rstrip("\n") + "\n" + rest[1] + rest[2]
    page.write_text(whole, "utf-8")


def stamped(section: list[str]) -> list[str]:
    """Return a section with what was measured: when, on which machine, and which versions."""
    return [*section[:3], measured(), "", *section[3:]]


def measured() -> str:
    """Return a line that says when this is, on which machine, and which versions it has."""
    commit = subprocess.run(
        ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    ).stdout.strip()
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors"
    return (
        f"Measured {time.strftime('%Y-%m-%d %H:%M')} on {machine}, Python {platform.python_version()}: "
        f"`{_version(servers.pyjs_command())}`{f' at {commit}' if commit else ''}, "
        f"reference `{_version(servers.reference_command())}`."
    )


def _version(command: list[str]) -> str:
    done = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True)
    return (done.stdout or done.stderr).strip()


def number(value: float) -> str:
    """Return a number in as few digits as are meaningful: 1,234,567 · 12.3."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def quiet(rows: list[Row]) -> str:
    """Return a line about what others did on the machine meanwhile."""
    most = max((row.others for row in rows), default=0.0)
    if most <= BUSY:
        return f"The machine was quiet: beside a row, others took at most {most:.0%} of its processors' time."
    return (
        f"**The machine was not quiet: others took up to {most:.0%} of its processors' time.** A row is"
        f" marked with * where it was more than {BUSY:.0%}; ratios and processor time count there."
    )


def title(row: Row) -> str:
    """Return a row's title, marked if the machine was busy, or the time was over for one of them."""
    words = row.case.title + (" *" if row.others > BUSY else "")
    late = [name for name, one in (("pyjs", row.pyjs), ("reference", row.reference)) if one.cut]
    return words + (f" ({' and '.join(late)}: stopped when the time was over)" if late else "")
