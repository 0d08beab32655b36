"""Plans as values: what has to be done so that servers have what is declared."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from ..protocol.api.consumer import ConsumerConfig
from ..protocol.api.stream import StreamConfig
from .comparison import Change
from .declared import CONSUMER, STREAM, Id


class Verb(StrEnum):
    """What is done with one stream or consumer."""

    CREATE = "create"
    CHANGE = "change"
    REPLACE = "replace"  # deleted and created again
    DELETE = "delete"
    NOTHING = "nothing"


def every(messages: int) -> str:
    """Return in words that a stream loses all it has."""
    return "its only message" if messages == 1 else f"all {messages} messages"


@dataclass(frozen=True)
class Action:
    """One step of a plan.

    kind: stream, consumer, kv or object.
    config: the configuration that is sent, sparse as it was declared; None for a deletion.
    changes: the fields that differ.
    fixed: those of them that no update can change.
    losses: what is lost, in words.
    fingerprint: of what was there.
    """

    id: Id
    kind: str
    verb: Verb
    config: StreamConfig | ConsumerConfig | None = None
    changes: tuple[Change, ...] = ()
    fixed: tuple[str, ...] = ()
    losses: tuple[str, ...] = ()
    fingerprint: str = ""

    @property
    def name(self) -> str:
        """The name that people use: of the bucket, of the stream, or `STREAM > CONSUMER`."""
        if self.kind == CONSUMER:
            return f"{self.id.stream} > {self.id.consumer}"
        return self.id.stream if self.kind == STREAM else self.id.stream.partition("_")[2]

    @property
    def domain(self) -> str:
        """Its JetStream domain; empty for that of the connection."""
        return self.id.domain

    @property
    def title(self) -> str:
        """The name, with its domain if that is not the connection's: `ORDERS in leaf`."""
        return f"{self.name} in {self.id.domain}" if self.id.domain else self.name


@dataclass(frozen=True)
class ChangePlan:
    """All actions in the order in which they are done, those that do nothing included.

    warnings: what can be done, but may not be meant, in words.
    """

    actions: tuple[Action, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def pending(self) -> tuple[Action, ...]:
        """The actions that do something."""
        return tuple(each for each in self.actions if each.verb is not Verb.NOTHING)

    @property
    def losses(self) -> dict[str, tuple[str, ...]]:
        """What is lost, by the titles of streams, buckets and consumers."""
        found: dict[str, tuple[str, ...]] = {}
        for each in self.actions:
            if each.losses:
                found[each.title] = (*found.get(each.title, ()), *each.losses)
        return found
