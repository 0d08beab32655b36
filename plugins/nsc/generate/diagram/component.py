"""`nsc generate diagram component`: exports and imports, as PlantUML text or as a picture."""

from __future__ import annotations

import click

from .....cli.errors import UsageError
from ...command import NscCommand, open_workspace, switch
from ...output import STDOUT, output_file, write
from .drawn import draw, picture_files


@click.command(cls=NscCommand)
@switch("--detail", text="With the descriptions of accounts and exports; of the text only.")
@output_file("-o", "--output-file")
@picture_files
def component(detail: bool, where: str, svg_file: str, png_file: str) -> None:
    """Generate a diagram of exports and imports: text for PlantUML, or pictures with --svg and --png."""
    workspace = open_workspace()
    store, now = workspace.store(), workspace.now()
    pictured = svg_file or png_file
    if pictured and detail and where == STDOUT:
        raise UsageError("--detail is for the text: pictures have no descriptions")
    if pictured:
        from .....keys.workspace.diagram.picture import component_picture

        draw(component_picture(store, now), svg_file, png_file, "component diagram")
    if where != STDOUT or not pictured:
        from .....keys.workspace.diagram.component import component_uml

        write(component_uml(store, now, detail=detail), where, "component diagram")
