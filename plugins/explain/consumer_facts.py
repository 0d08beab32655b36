"""What was asked about a consumer. What a server did not tell is empty."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...cli.proposal import command

Info = Mapping[str, Any]


@dataclass(frozen=True)
class ConsumerFacts:
    """What was asked about a consumer.

    info: the answer of CONSUMER.INFO.
    stream: the answer of STREAM.INFO.
    last: the sequence of the last message that each filter matches, 0 for none; not asked: not there.
    subjects: what is stored in the stream, if a filter matches nothing and they are not too many.
    mute: why this user may not publish acknowledgements, in a sentence; empty if it may, or nobody told.
    """

    info: Info
    stream: Info
    last: Mapping[str, int] = field(default_factory=dict)
    subjects: tuple[str, ...] = ()
    mute: str = ""

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
