"""The order of a plan: what others need comes first.

- A stream comes after those it copies from, by mirror or sources, also in another domain.
- A consumer comes after its stream; a stream that reads an origin by way of a consumer, after that one.
- A stream takes a subject after the one that gives it up.
- Deletions come last, unless something needs their subjects or their place among the consumers of a stream:
  whoever fails early has deleted nothing.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence

from ..protocol.api.stream import StreamConfig
from ..protocol.subject import collide
from .declared import Id, origin_of, origins
from .errors import ConflictError
from .observed_state import ObservedState
from .plan import Action, Verb


def ordered(
    actions: Sequence[Action], observed: ObservedState, full: Mapping[Id, StreamConfig]
) -> list[Action]:
    """Return the actions in their order; where nothing else decides, in the one given.

    full: declared streams with their defaults.

    Raises ConflictError if there is none.
    """
    places = {action.id: place for place, action in enumerate(actions)}
    needs: list[set[int]] = [set() for _ in actions]
    for first, then in _needs(actions, observed, full):
        if first in places and places[first] != places[then]:
            needs[places[then]].add(places[first])
    waiting = [len(each) for each in needs]
    needed_by: list[list[int]] = [[] for _ in actions]
    for place, each in enumerate(needs):
        for earlier in each:
            needed_by[earlier].append(place)
    ready = [(_turn(actions[place]), place) for place, count in enumerate(waiting) if not count]
    heapq.heapify(ready)
    found: list[Action] = []
    while ready:
        _, place = heapq.heappop(ready)
        found.append(actions[place])
        for later in needed_by[place]:
            waiting[later] -= 1
            if not waiting[later]:
                heapq.heappush(ready, (_turn(actions[later]), later))
    if len(found) < len(actions):
        done = {action.id for action in found}
        stuck = [str(action.id) for action in actions if action.id not in done]
        raise ConflictError(
            "there is no order in which this can be done", [f"needed for each other: {', '.join(stuck)}"]
        )
    return found


def _turn(action: Action) -> int:
    """Return which of two actions comes first where they do not need each other."""
    deletes = action.config is None
    return (2 if not action.id.consumer else 1) if deletes else 0


def _needs(
    actions: Sequence[Action], observed: ObservedState, full: Mapping[Id, StreamConfig]
) -> Iterator[tuple[Id, Id]]:
    """Yield pairs of what comes first and what comes then."""
    givers = list(_givers(actions, observed, full))
    yield from _consumers_in_turn(actions, observed, full)
    for action in actions:
        if action.id.consumer:
            if action.config is not None:
                yield action.id._replace(consumer=""), action.id
            continue
        if action.config is None:
            continue
        for origin in origins(full[action.id]):
            source = origin_of(origin, action.id.domain)
            yield source, action.id
            if origin.consumer is not None:
                yield source._replace(consumer=origin.consumer.name), action.id
        if action.verb is not Verb.NOTHING:
            yield from _takings(action, observed, full, givers)


def _consumers_in_turn(
    actions: Sequence[Action], observed: ObservedState, full: Mapping[Id, StreamConfig]
) -> Iterator[tuple[Id, Id]]:
    """Yield pairs where new consumers need the place of those that go.

    That is so in a work queue, whose consumers share the subjects, and in a stream with a limit of consumers.
    Elsewhere new ones come first: a stream that keeps what somebody is interested in loses nothing then.
    """
    going: dict[Id, Id] = {}  # the last consumer of a stream that goes
    for action in actions:
        if action.id.consumer and action.verb is Verb.DELETE:
            stream = action.id._replace(consumer="")
            if stream in going:
                yield going[stream], action.id
            going[stream] = action.id
    for action in actions:
        stream = action.id._replace(consumer="")
        if stream == action.id or action.config is None or stream not in going:
            continue
        found = observed.stream(stream)
        config = full.get(stream) or (found.config if found is not None else StreamConfig())
        if config.retention == "workqueue" or config.max_consumers > 0:
            yield going[stream], action.id


def _givers(
    actions: Sequence[Action], observed: ObservedState, full: Mapping[Id, StreamConfig]
) -> Iterator[tuple[Id, list[str]]]:
    """Yield the streams that give up subjects, with these."""
    for action in actions:
        found = observed.stream(action.id)
        if action.id.consumer or found is None or action.verb is Verb.NOTHING:
            continue
        new = full[action.id].subjects if action.config is not None else []
        lost = [each for each in found.config.subjects if each not in new]
        if lost:
            yield action.id, lost


def _takings(
    action: Action,
    observed: ObservedState,
    full: Mapping[Id, StreamConfig],
    givers: list[tuple[Id, list[str]]],
) -> Iterator[tuple[Id, Id]]:
    """Yield a pair for each stream that gives up a subject which this one takes."""
    found = observed.stream(action.id)
    had = found.config.subjects if found is not None and action.verb is Verb.CHANGE else []
    taken = [each for each in full[action.id].subjects if each not in had]
    for giver, lost in givers:
        beside = giver.domain == action.id.domain and giver != action.id
        if beside and any(collide(one, other) for one in taken for other in lost):
            yield giver, action.id
