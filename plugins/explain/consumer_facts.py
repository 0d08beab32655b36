"""What was asked about a consumer. What a server did not tell is empty."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...cli.proposal import command
from ...protocol import dead_letters

Info = Mapping[str, Any]


@dataclass(frozen=True)
class LetterKeeping:
    """Whether what a consumer gives up is kept as dead letters.

    letters: how many messages the stream with them has of this consumer, or of all: 0 if there is none.
    """

    kept: bool = False
    letters: int = 0

    @classmethod
    def of(cls, queue: Info | None, stream: str, consumer: str) -> LetterKeeping:
        """Return what the STREAM.INFO of a stream's dead letters says; None if there is no such stream."""
        if queue is None:
            return cls()
        config, state = queue["config"], queue["state"]
        subjects = config.get("subjects") or []
        if not dead_letters.source_of(str(config["name"]), subjects):
            return cls()
        counts = state.get("subjects")
        letters = state.get("messages", 0) if counts is None else sum(map(int, counts.values()))
        return cls(dead_letters.takes(subjects, stream, consumer), letters)


@dataclass(frozen=True)
class ConsumerFacts:
    """What was asked about a consumer.

    info: the answer of CONSUMER.INFO.
    stream: the answer of STREAM.INFO.
    last: the sequence of the last message that each filter matches, 0 for none; not asked: not there.
    subjects: what is stored in the stream, if a filter matches nothing and they are not too many.
    keeping: what is known of the dead letters of this consumer.
    mute, unasked: why this user may not publish acknowledgements, or requests for messages, in a sentence.
        Empty if it may, or nobody told.
    twins: the other domains that have a stream and consumer of the same names.
    domain: the domain that was asked for, if it is not that of the connection's server.
    deaf: why it may not subscribe to where messages are delivered to.
    """

    info: Info
    stream: Info
    last: Mapping[str, int] = field(default_factory=dict)
    subjects: tuple[str, ...] = ()
    keeping: LetterKeeping = field(default_factory=LetterKeeping)
    mute: str = ""
    unasked: str = ""
    deaf: str = ""
    twins: tuple[str, ...] = ()
    domain: str = ""

    @property
    def config(self) -> Info:
        """The consumer's configuration."""
        found: Info = self.info["config"]
        return found

    @property
    def state(self) -> Info:
        """The state of the stream."""
        found: Info = self.stream["state"]
        return found

    @property
    def about(self) -> str:
        """The consumer in a sentence."""
        return f"{self.info['stream_name']} > {self.info['name']}"

    def line(self, action: str, *flags: object) -> str:
        """Return a command about the consumer."""
        return command("consumer", action, self.info["stream_name"], self.info["name"], *flags)

    def count(self, name: str) -> int:
        """Return one of the numbers of CONSUMER.INFO."""
        return int(self.info.get(name, 0))

    def at(self, name: str, which: str) -> int:
        """Return a sequence: `delivered` or `ack_floor`, of the `consumer_seq` or the `stream_seq`."""
        return int((self.info.get(name) or {}).get(which, 0))
