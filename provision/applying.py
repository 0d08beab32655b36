"""Doing what a plan says, one action after the other.

Promises: nothing is done if the plan loses something that nobody said may be lost. What others changed since
the plan was made, or filled with messages where an empty stream was to be deleted, is left alone: each stream
and consumer is asked for once more right before it is changed. (JetStream has no transactions: the moment
between these two requests remains.) The first failure ends it; the result says what was done, what failed and
what was not begun. Another plan, made and applied after that, ends where this one would have: no action
depends on what is remembered from a run.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from ..protocol.api.consumer import ConsumerConfig
from ..protocol.api.stream import StreamConfig
from .errors import LossError, StateChangedError
from .plan import Action, ChangePlan, Verb, every
from .servers import ApiOf, JetStreamApi, read_fingerprint

ALL = "all"


@dataclass(frozen=True)
class Result:
    """How far a plan was done.

    failed: the action that failed, if one did, with its error.
    """

    done: tuple[Action, ...] = ()
    failed: Action | None = None
    error: Exception | None = None
    not_begun: tuple[Action, ...] = ()


def refuse_losses(plan: ChangePlan, allowed: Collection[str]) -> None:
    """Raise LossError if the plan loses more than is allowed: titles as in the plan, or ALL."""
    if ALL in allowed:
        return
    refused = {name: losses for name, losses in plan.losses.items() if name not in allowed}
    if refused:
        reasons = [f"{name}: {loss}" for name, losses in refused.items() for loss in losses]
        raise LossError("this would lose what is there", reasons, list(refused))


async def apply(
    plan: ChangePlan,
    api_of: ApiOf,
    *,
    allow_loss: Collection[str] = (),
    on_action: Callable[[Action], None] | None = None,
) -> Result:
    """Do what a plan says.

    allow_loss: titles of what may lose messages or places, or ALL.
    on_action: called after each action that was done.

    Raises LossError; the errors of servers are in the result.
    """
    refuse_losses(plan, allow_loss)
    done: list[Action] = []
    for place, action in enumerate(plan.pending):
        try:
            api = api_of(action.id.domain)
            await _require_unchanged(action, api)
            await _do(action, api)
        except Exception as error:  # of whatever kind the caller's connection raises
            return Result(tuple(done), action, error, plan.pending[place + 1 :])
        done.append(action)
        if on_action is not None:
            on_action(action)
    return Result(tuple(done))


async def _require_unchanged(action: Action, api: JetStreamApi) -> None:
    """Raise StateChangedError or LossError if what there is, is not what the plan was made for.

    Nothing is asked where nothing was: a server creates over nothing that is configured otherwise.
    """
    if not action.fingerprint:
        return
    found, messages = await read_fingerprint(api, action.id)
    if found != action.fingerprint:
        raise StateChangedError(f"{action.title} was changed by others meanwhile")
    if action.verb in (Verb.DELETE, Verb.REPLACE) and messages and not action.losses:
        reasons = [f"{action.title}: {every(messages)}"]
        raise LossError("this would lose what is there", reasons, [action.title])


async def _do(action: Action, api: JetStreamApi) -> None:
    if action.verb in (Verb.DELETE, Verb.REPLACE):
        kind = "CONSUMER" if action.id.consumer else "STREAM"
        await api.request(".".join(filter(None, (kind, "DELETE", action.id.stream, action.id.consumer))))
    if isinstance(action.config, ConsumerConfig):
        verb = "update" if action.verb is Verb.CHANGE else "create"
        await api.request(
            f"CONSUMER.CREATE.{action.id.stream}.{action.id.consumer}",
            {"stream_name": action.id.stream, "config": action.config.to_json(), "action": verb},
        )
    elif isinstance(action.config, StreamConfig):
        verb = "UPDATE" if action.verb is Verb.CHANGE else "CREATE"
        await api.request(f"STREAM.{verb}.{action.id.stream}", action.config.to_json())
