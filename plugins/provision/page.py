"""A plan as people read it, and as a document for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from ...cli.output.cells import clean
from ...provision.identity.planner import IdentityAction
from ...provision.plan import Action, Verb

AnyAction = Action | IdentityAction

MARKS = {Verb.CREATE: "+", Verb.CHANGE: "~", Verb.REPLACE: "!", Verb.DELETE: "-", Verb.NOTHING: "="}
SUMS = {
    Verb.CREATE: "to create",
    Verb.CHANGE: "to change",
    Verb.REPLACE: "to replace",
    Verb.DELETE: "to delete",
    Verb.NOTHING: "as declared",
}
DONE = {Verb.CREATE: "created", Verb.CHANGE: "changed", Verb.REPLACE: "replaced", Verb.DELETE: "deleted"}


def document(actions: Sequence[AnyAction]) -> list[dict[str, Any]]:
    """Return actions as programs read them."""
    return [
        {
            "action": each.verb.value,
            "domain": each.domain,
            "kind": each.kind,
            "name": each.name,
            "changes": [{"field": one.field, "old": one.old, "new": one.new} for one in each.changes],
            "fixed": list(each.fixed),
            "losses": list(each.losses),
        }
        for each in actions
    ]


def names(actions: Sequence[AnyAction]) -> list[str]:
    """Return what is to be done something with, as `--allow-loss` takes it."""
    return [each.title for each in actions if each.verb is not Verb.NOTHING]


def text(actions: Sequence[AnyAction]) -> str:
    """Return a plan as people read it: what is to be done, what is lost, and the sums."""
    lines = [clean(line) for each in actions if each.verb is not Verb.NOTHING for line in _lines(each)]
    counts = Counter(each.verb for each in actions)
    sums = ", ".join(f"{counts[verb]} {words}" for verb, words in SUMS.items() if counts[verb])
    return "\n".join([*lines, *([""] if lines else []), f"Plan: {sums or 'nothing is declared'}."])


def _lines(action: AnyAction) -> Iterator[str]:
    yield f"{MARKS[action.verb]} {action.verb.value:<8} {label(action)}"
    for change in action.changes:
        line = change.new_text() if action.verb is Verb.CREATE else change.text()
        yield f"    {line}" + (" (cannot be changed)" if change.field in action.fixed else "")
    for loss in action.losses:
        yield f"    lost: {loss}"


def label(action: AnyAction) -> str:
    """Return what an action is about: `stream ORDERS`, `consumer ORDERS > NEW in leaf`."""
    return clean(f"{action.kind} {action.title}")
