"""Pictures as files: the options `--svg` and `--png`, and writing a scene to these files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .....keys import OperationReport, files
from .....keys.workspace.report import place
from ...command import finish

if TYPE_CHECKING:
    from .....keys.workspace.diagram.scene import Scene


@dataclass(frozen=True, slots=True)
class Drawn:
    """The picture files that were written."""

    report: OperationReport
    paths: list[Path]


def picture_files(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that name the files of a picture to a command."""
    text = "Draw it as PNG; needs 'pyjs[diagram]'."
    with_png = click.option("--png", "png_file", default="", metavar="FILE", help=text)(command)
    return click.option("--svg", "svg_file", default="", metavar="FILE", help="Draw it as SVG.")(with_png)


def draw(scene: Scene, svg_file: str, png_file: str, what: str) -> None:
    """Write a scene to the files that are named, after all of them were drawn. Raises FolderError."""
    made: list[tuple[str, str | bytes]] = []
    if png_file:
        from .....keys.workspace.diagram.png import png

        made.append((png_file, png(scene)))
    if svg_file:
        from .....keys.workspace.diagram.svg import svg

        made.append((svg_file, svg(scene)))
    drawn = Drawn(OperationReport(), [])
    for name, content in made:
        path = Path(name).expanduser()
        files.write(path, content)
        drawn.paths.append(path)
        drawn.report.ok(f"wrote {what} to {place(path)}")
    finish(drawn)
