"""The entry point of the command line.

`main` runs one command line and exits with its code. This imports click and the table, nothing else, so that
`pyjs --help` answers at once.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from typing import Any

import click

from ..version import __version__
from . import errors, flags
from .table import Root

YOUNG = 50_000  # objects created, less those freed, that start a collector pass: importing makes no garbage


class PyjsRoot(Root):
    """The root command, with a section about the global flags in its help."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the root's own options, then the commands, then the table of the global flags."""
        super().format_options(ctx, formatter)
        lines = []
        for flag in flags.FLAGS:
            if flag.hidden:
                continue
            name = f"--[no-]{flag.name}" if flag.negatable else f"--{flag.name}"
            short = f"-{flag.short}, " if flag.short else ""
            value = flag.metavar or ("DURATION" if flag.kind == flags.SPAN else "")
            variable = f" (${flag.env})" if flag.env else ""
            lines.append((f"{short}{name} {value}".rstrip(), f"{flag.help}{variable}"))
        with formatter.section("Global flags, accepted anywhere on the line"):
            formatter.write_dl(lines, col_max=34)


root = PyjsRoot(
    name=errors.PROGRAM,
    help="NATS JetStream: command line, server and tools, in the manner of `nats`.",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
click.version_option(__version__, prog_name=errors.PROGRAM, message="%(version)s")(root)


def run(
    argv: list[str],
    replies: Callable[[str], str] | None = None,
    *,
    columns: int = 0,
    fitted: list[tuple[str, str]] | None = None,
) -> int:
    """Run one command line (without the program's name) and return its exit code.

    replies: answers questions in place of a terminal: it gets the question and returns what would be typed.
    columns: the width that tables are to fit although stdout is no terminal; 0 for none.
    fitted: gets the tables that did not fit, each as it was shown and as it is without a width.
    """
    session = flags.CliSession(argv=list(argv), replies=replies, columns=columns)
    if fitted is not None:
        session.fitted = fitted

    def action() -> Any:
        result = root.main(argv, prog_name=errors.PROGRAM, standalone_mode=False, obj=session)
        if session.answers:
            show_equivalent(session)
        return result

    return errors.run(action)


def show_equivalent(session: flags.CliSession) -> None:
    """After a run that asked questions, write the command line that would have asked none to stderr."""
    from .prompt import equivalent

    line = equivalent(session)
    if line:
        errors.tell(f"\nThe same without questions:\n  {line}")


def main() -> None:
    """Run the console script `pyjs`."""
    gc.set_threshold(YOUNG, 10, 10)
    code = run(sys.argv[1:])
    gc.freeze()  # the end of the interpreter need not look for garbage either
    sys.exit(code)
