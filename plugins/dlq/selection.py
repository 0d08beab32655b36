"""Which dead letters a command means: by their ids, or by consumer, reason, subject and time."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from ...cli.errors import NotFoundError, UsageError
from ...cli.proposal import in_hint
from ...protocol import dead_letters, duration
from ...protocol.subject import is_valid, matches
from ...protocol.timestamp import TimestampError, format_exact, parse_rfc3339

if TYPE_CHECKING:
    from .letter import DeadLetter

EARLIER = 60_000_000_000  # ns; an advisory may come this much later than the message that it belongs to

IDS = click.argument("ids", metavar="[ID]...", nargs=-1, type=click.IntRange(min=1))
_FLAGS = (
    click.option("--consumer", default="", help="Only what this consumer has given up."),
    click.option("--reason", type=click.Choice(dead_letters.REASONS), help="Only for this reason."),
    click.option("--subject", default="", help="Only messages of this subject; * and > are wildcards."),
    click.option("--since", default="", metavar="TIME", help="Only since this time, or this long ago."),
    click.option("--until", default="", metavar="TIME", help="Only until this time, or this long ago."),
)
FILTERS = frozenset(("consumer", "reason", "subject", "since", "until"))


def filters(callback: Callable[..., Any]) -> Callable[..., Any]:
    """Add the flags of a selection to a command."""
    for flag in reversed(_FLAGS):
        callback = flag(callback)
    return callback


@dataclass(frozen=True)
class LetterSelection:
    """Which letters are meant.

    ids: empty for all that the other fields select.
    consumer, reason, subject: "" for any; `subject` may have wildcards.
    since, until: ns since the epoch, 0 for no bound.
    """

    ids: tuple[int, ...] = ()
    consumer: str = ""
    reason: str = ""
    subject: str = ""
    since: int = 0
    until: int = 0

    @classmethod
    def of(cls, given: dict[str, Any], ids: tuple[int, ...] = ()) -> LetterSelection:
        """Return the selection that flags and ids mean. Raises UsageError for what cannot be meant."""
        if ids and any(given[name] for name in FILTERS):
            raise UsageError("ids and filters do not go together", "ids already say which letters are meant")
        subject = given["subject"]
        if subject and not is_valid(subject):
            raise UsageError(f"{subject!r} is not a subject")
        since, until = (moment(given[name], f"--{name}") for name in ("since", "until"))
        return cls(ids, given["consumer"], given["reason"] or "", subject, since, until)

    @property
    def token(self) -> str:
        """The consumer as a token of subjects: its name, or a wildcard."""
        return self.consumer or dead_letters.EVERY

    def start(self) -> dict[str, Any]:
        """Return where to begin to read, as fields of a consumer's configuration."""
        if self.since <= EARLIER:
            return {"deliver_policy": "all"}
        return {
            "deliver_policy": "by_start_time",
            "opt_start_time": format_exact(self.since - EARLIER),
        }

    def before_lookup(self, letter: DeadLetter) -> bool:
        """Return whether a letter is selected, as far as that is known without its message."""
        if self.ids:
            return letter.id in self.ids
        if self.reason and letter.event.reason != self.reason:
            return False
        return self.since <= letter.time and (not self.until or letter.time <= self.until)

    def subject_matches(self, letter: DeadLetter) -> bool:
        """Return whether the subject of a letter's message is selected; an unknown one never is."""
        subject = letter.event.subject
        return not self.subject or (bool(subject) and matches(self.subject, subject))

    def check_found(self, letters: list[DeadLetter], stream: str) -> None:
        """Raise NotFoundError if ids were given for which there is no letter."""
        missing = sorted({*self.ids} - {letter.id for letter in letters})
        if missing:
            named = ", ".join(map(str, missing))
            raise NotFoundError(
                f"there is no dead letter {named} of {stream}",
                f"{in_hint(f'dlq ls {stream}')} shows their ids",
            )


def moment(text: str, flag: str) -> int:
    """Return a time in ns: an RFC 3339 time, or a duration before now; 0 for "". Raises UsageError."""
    if not text:
        return 0
    try:
        return time.time_ns() - duration.parse(text)
    except duration.DurationError:
        pass
    try:
        return parse_rfc3339(text)
    except (TimestampError, ValueError):
        raise UsageError(
            f'{flag}: "{text}" is neither a time nor a duration', "such as 1h30m or 2026-01-02T15:04:05Z"
        ) from None
