"""`pyjs cheat`: shows the sheet of a family, and saves all of them for the program `cheat`.

A sheet is a file beside this module: comments that say what each command is for, and the command lines. To
add one, put `<family>.cheat` here; a test looks up its commands and flags.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import click

from ...cli import render
from ...cli.command import Command
from ...cli.errors import NotFoundError, UsageError, close_matches

SUFFIX = ".cheat"


def sheets() -> dict[str, str]:
    """Return all sheets by their family, sorted."""
    found = [each for each in files(__package__).iterdir() if each.name.endswith(SUFFIX)]
    return {each.name.removesuffix(SUFFIX): each.read_text("utf-8") for each in sorted(found, key=str)}


@click.command(cls=Command)
@click.argument("label", required=False, default="")
@click.option("--list", "list_only", is_flag=True, help="List the sheets.")
@click.option("--save", metavar="DIRECTORY", default="", help="Save all sheets there, for the program cheat.")
def cheat(label: str, list_only: bool, save: str) -> None:
    """Show the commands for what people do often, by family."""
    found = sheets()
    if save:
        _save(found, Path(save))
    elif list_only or not label:
        render.show("\n".join(["Available Cheats:", "", *(f"    {name}" for name in found)]))
    elif label not in found:
        near = close_matches(label, found)
        raise NotFoundError(f'there is no cheat sheet "{label}"', near or "'cheat --list' shows them all")
    else:
        render.show(found[label].rstrip())


def _save(found: dict[str, str], directory: Path) -> None:
    """Write each sheet to a file of its own in a new directory."""
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise UsageError(f"{directory} is not empty", "name a directory that does not exist yet")
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in found.items():
        (directory / name).write_text(
            f"---\nsyntax: bash\ntags: [ pyjs, nats ]\n---\n{text}", encoding="utf-8"
        )
    render.show(f"Saved {len(found)} cheat sheets to {directory}")
