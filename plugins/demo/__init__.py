"""`pyjs demo …`: whole scenarios on servers of your own, run and checked."""

from __future__ import annotations

from ...cli.command import CommandGroup, table_rows

_ROWS = (
    ("leaf-nodes", "command:leaf_nodes", "The leaf-node documentation on two servers", ()),
    ("video", "command:video", "The video on persistence at the edge on nine servers", ()),
    ("pipeline", "command:pipeline", "Orders of two leafs, counted by Spark in the hub", ()),
)

demo = CommandGroup(
    name="demo", help="Played and checked demonstrations.", rows=table_rows("pyjs.plugins.demo", _ROWS)
)
