"""`pyjs cheat`: shows the sheet of a family, and saves all of them for the program `cheat`.

A sheet is a file beside this module: comments that say what each command is for, and the command lines. To
add one, put `<family>.cheat` here; a test looks up its commands and flags.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from importlib.resources import files
from pathlib import Path

import click

from ...cli import render
from ...cli.command import Command, CommandGroup, show_paged
from ...cli.errors import UsageError, close_matches, warn

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
    """Show the commands for what people do often, by family.

    LABEL is the name of a sheet, or of a command of its family, such as `pub`.
    """
    found = sheets()
    if save:
        _save(found, Path(save))
    elif list_only or not label:
        _list(found)
    elif name := _sheet(label, found):
        show_paged(found[name].rstrip())
    else:
        near = close_matches(label, found)
        warn(f'there is no cheat sheet "{label}"' + (f"; {near}" if near else ""))
        _list(found)


def _sheet(label: str, names: Container[str]) -> str:
    """Return the name of the sheet of a family or command, by any of its names; empty if there is none."""
    root = click.get_current_context().find_root().command
    command = root.aliases.get(label, label) if isinstance(root, CommandGroup) else label
    return next((each for each in (label, command, f"{command}s") if each in names), "")


def _list(names: Iterable[str]) -> None:
    render.show("\n".join(["Available Cheats:", "", *(f"    {name}" for name in names)]))


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
