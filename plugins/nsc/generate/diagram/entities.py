"""`nsc generate diagram object`: operator, accounts and users, as PlantUML text or as a picture."""

from __future__ import annotations

import click

from .....keys.workspace.diagram.object import DiagramOptions, object_uml
from ...command import NscCommand, open_workspace, switch
from ...output import STDOUT, output_file, write
from .drawn import draw, picture_files


@click.command("object", cls=NscCommand)
@switch("--users", text="With the users.")
@switch("--show-keys", "keys", text="With identity and signing keys, and whether they are stored.")
@switch("--detail", text="With what is unlimited or empty.")
@output_file("-o", "--output-file")
@picture_files
def entities(users: bool, keys: bool, detail: bool, where: str, svg_file: str, png_file: str) -> None:
    """Generate a diagram of operator, accounts and users: text for PlantUML, or pictures."""
    workspace = open_workspace()
    shown, pictured = DiagramOptions(users, keys, detail), svg_file or png_file
    if pictured:
        from .....keys.workspace.diagram.sheet import object_picture

        scene = object_picture(workspace.store(), workspace.keystore, workspace.now(), shown)
        draw(scene, svg_file, png_file, "object diagram")
    if where != STDOUT or not pictured:
        write(
            object_uml(workspace.store(), workspace.keystore, workspace.now(), shown), where, "object diagram"
        )
