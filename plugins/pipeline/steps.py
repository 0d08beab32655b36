"""A pipeline's plan on the terminal: what is read, what is computed, where the result goes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...cli import render
from ...cli.errors import warn

if TYPE_CHECKING:
    from ...pipeline.declared.plan import PlanStep
    from ...pipeline.declared.reading import LoadedDocument

COLUMNS = ("Step", "Name", "What", "Reads")


def text(loaded: LoadedDocument) -> str:
    """Return the plan as a table, and where and when it runs."""
    from ...pipeline.declared import engine, plan

    document = loaded.document
    steps = plan.steps(document, loaded.folder)
    lines = [render.table(f"Pipeline {document.name}", COLUMNS, [_row(step) for step in steps]), ""]
    for label, value in (
        ("Description", document.description),
        ("Runs", plan.trigger(document)),
        ("On", engine.place(document)),
        ("Packages", ", ".join([*document.spark.packages, *document.spark.jars])),
    ):
        if value:
            lines.append(render.field(label, value, 12))
    return "\n".join(lines)


def warn_of_unread(loaded: LoadedDocument) -> None:
    """Warn about sources and transforms that nothing reads: a query may have their name misspelt."""
    from ...pipeline.declared import plan

    for step in plan.steps(loaded.document, loaded.folder):
        if not step.used:
            warn(f"nothing reads {step.kind} {step.name}: is the name right in the queries and in `from`?")


def _row(step: PlanStep) -> tuple[str, ...]:
    unused = "" if step.used else "nothing reads it"
    return step.kind, step.name, step.what, ", ".join(step.reads) or unused or "-"
