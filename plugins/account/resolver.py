"""`pyjs account resolver`: what the servers of an operator hold for its accounts."""

from __future__ import annotations

from ...cli.command import CommandGroup, CommandRow

resolver = CommandGroup(
    name="resolver",
    help="What the servers of an operator hold of its accounts, beside the folders of nsc.",
    rows=[
        CommandRow(
            "report",
            "pyjs.plugins.nsc.status:status",
            "Which JWT of each account each server holds, as nsc status",
        )
    ],
)
