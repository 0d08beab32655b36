"""Plan files: a plan as JSON, to be reviewed and then applied, by itself and exactly as it was reviewed.

A file has what was declared, and the actions that followed from it. `apply` makes the plan again, from
what is declared in the file and what the servers have then; the two have to be the same. So a file that was
changed, or a change on the servers, is noticed. Numbers of messages do not count: streams go on while people
review.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from ..documents.problem import DocumentError, DocumentProblem
from ..protocol.api.consumer import ConsumerConfig
from ..protocol.api.stream import StreamConfig
from ..protocol.errors import ApiError
from .declared import CONSUMER, Declared, DeclaredConsumer, DeclaredStream, Id, StreamKind
from .errors import StateChangedError
from .files import read
from .plan import Action, ChangePlan

Json = dict[str, Any]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class DeclaredEntry(_Strict):
    """A stream or consumer that documents declare, with its configuration as the API has it."""

    domain: str = ""
    stream: str
    consumer: str = ""
    kind: StreamKind | Literal["consumer"]
    owner: str = ""
    config: Json


class ActionEntry(_Strict):
    """An action as it was planned. before: a fingerprint of what was there."""

    domain: str = ""
    stream: str
    consumer: str = ""
    kind: str
    action: str
    changes: list[str] = []
    losses: list[str] = []
    before: str = ""


class PlanFile(_Strict):
    """A plan as JSON. pyjs_plan: the version of this format."""

    pyjs_plan: Literal[1] = 1
    made: str
    domains: list[str]
    prune: str = ""
    declared: list[DeclaredEntry]
    actions: list[ActionEntry]

    def text(self) -> str:
        """Return the file's text."""
        return json.dumps(self.model_dump(exclude_defaults=True) | {"pyjs_plan": 1}, indent=2) + "\n"

    def declarations(self) -> Declared:
        """Return what the file declares. Raises ApiError for configurations that are none."""
        streams: dict[Id, DeclaredStream] = {}
        consumers: dict[Id, DeclaredConsumer] = {}
        for each in self.declared:
            id = Id(each.domain, each.stream, each.consumer)  # noqa: A001 - the word for it
            if each.kind == CONSUMER:
                consumers[id] = DeclaredConsumer(id, ConsumerConfig.from_json(each.config), each.owner)
            else:
                streams[id] = DeclaredStream(id, each.kind, StreamConfig.from_json(each.config), each.owner)
        return Declared(streams, consumers, tuple(self.domains))


def of_plan(plan: ChangePlan, declared: Declared, made: str, prune: str = "") -> PlanFile:
    """Return the file of a plan. made: the time, for people."""
    return PlanFile(
        made=made,
        domains=list(declared.domains),
        prune=prune,
        declared=[
            DeclaredEntry(**each.id._asdict(), kind=each.kind, owner=each.owner, config=each.config.to_json())
            for each in declared
        ],
        actions=[_entry(each) for each in plan.actions],
    )


def _entry(action: Action) -> ActionEntry:
    return ActionEntry(
        **action.id._asdict(),
        kind=action.kind,
        action=action.verb.value,
        changes=[each.text() for each in action.changes],
        losses=list(action.losses),
        before=action.fingerprint,
    )


def load(path: Path) -> PlanFile:
    """Return the plan in a file. Raises DocumentError, OSError."""
    return parse(read(path), str(path))


def parse(text: str, file: str) -> PlanFile:
    """Return the plan file with this text. Raises DocumentError naming `file`."""
    try:
        found = PlanFile.model_validate_json(text)
        found.declarations()
    except ValidationError as error:
        problems = [
            DocumentProblem(".".join(map(str, each["loc"])), each["msg"])
            for each in error.errors(include_url=False, include_input=False)
        ]
        raise DocumentError(file, problems) from None
    except ApiError as error:
        raise DocumentError(file, [DocumentProblem("declared", error.description)]) from None
    return found


def require_unchanged(file: PlanFile, plan: ChangePlan) -> None:
    """Raise StateChangedError if the plan that is made now is not that of the file."""
    then = {_id(each): each.model_copy(update={"losses": []}) for each in file.actions}
    now = {_id(each): each.model_copy(update={"losses": []}) for each in map(_entry, plan.actions)}
    reasons = []
    for id in dict.fromkeys([*then, *now]):  # noqa: A001
        before, after = then.get(id), now.get(id)
        if before != after:
            was, is_now = (each.action if each is not None else "not there" for each in (before, after))
            same = (
                "was made anew or changed by others" if was == is_now else f"was '{was}', is '{is_now}' now"
            )
            reasons.append(f"{id}: {same}")
    if reasons:
        raise StateChangedError("the plan is not what has to be done now: make it again", reasons)


def _id(entry: ActionEntry) -> Id:
    return Id(entry.domain, entry.stream, entry.consumer)
