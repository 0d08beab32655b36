"""The origins of mirrors and sources: reads `--mirror` and `--source`, and asks for the rest.

The value of the flag is a stream's name, or a JSON object that answers everything. After a name the questions
of the documentation follow: where to start, and whether the origin is in another JetStream domain or in
another account. The flag with the resulting JSON object is what would have asked nothing.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime

from ...cli import prompt
from ...cli.errors import UsageError
from ...cli.setting import Given
from ...protocol.api.stream import ExternalStream, StreamConfig, StreamSource
from ...protocol.errors import ApiError

TIME_FORMAT = "%Y:%m:%d %H:%M:%S"  # as in the questions: colons in the date too, in UTC


@dataclass(frozen=True)
class OriginQuestions:
    """The questions about one kind of origin; `{name}` is its stream's name."""

    flag: str
    start: str
    sequence: str
    time: str
    domain: str
    domain_name: str
    domain_delivery: str
    account: str
    account_prefix: str
    account_delivery: str
    always_time: bool  # ask for the time even if there is a sequence


MIRROR = OriginQuestions(
    flag="--mirror",
    start="Adjust mirror start",
    sequence="Mirror Start Sequence",
    time="Mirror Start Time (YYYY:MM:DD HH:MM:SS)",
    domain="Import mirror from a different JetStream domain",
    domain_name="Foreign JetStream domain name",
    domain_delivery="Delivery prefix",
    account="Import mirror from a different account",
    account_prefix="Foreign account API prefix",
    account_delivery="Foreign account delivery prefix",
    always_time=False,
)
SOURCE = OriginQuestions(
    flag="--source",
    start='Adjust source "{name}" start',
    sequence="{name} Source Start Sequence",
    time="{name} Source UTC Time Stamp (YYYY:MM:DD HH:MM:SS)",
    domain='Import "{name}" from a different JetStream domain',
    domain_name="{name} Source foreign JetStream domain name",
    domain_delivery="{name} Source foreign JetStream domain delivery prefix",
    account='Import "{name}" from a different account',
    account_prefix="{name} Source foreign account API prefix",
    account_delivery="{name} Source foreign account delivery prefix",
    always_time=True,
)


async def resolve(config: StreamConfig, given: Given, *, defaults: bool) -> None:
    """Put the mirror and the sources into `config`, and ask for what their flags leave open."""
    sources = list(given.get("source") or ())
    if given.get("mirror"):
        config.mirror = await _resolve_one(given["mirror"], MIRROR, defaults)
        _note(MIRROR, [given["mirror"]], [config.mirror], defaults)
    config.sources += [await _resolve_one(value, SOURCE, defaults) for value in sources]
    _note(SOURCE, sources, config.sources, defaults)


async def _resolve_one(value: str, words: OriginQuestions, defaults: bool) -> StreamSource:
    if _is_object(value):
        return parse(value, words.flag)
    origin = StreamSource(name=value)
    if not defaults:
        await _ask(origin, words)
    return origin


def _is_object(value: str) -> bool:
    return value.lstrip().startswith("{")


def _note(words: OriginQuestions, values: list[str], origins: list[StreamSource], defaults: bool) -> None:
    """Note all of these origins if anything was asked about one, because a flag is replaced as a whole."""
    if prompt.interactive() and not defaults and not all(map(_is_object, values)):
        for origin in origins:
            prompt.note(words.flag, json.dumps(origin.to_json(), separators=(",", ":"), ensure_ascii=False))


def parse(value: str, flag: str) -> StreamSource:
    """Return a StreamSource from JSON. Raises CliError that names the flag."""
    try:
        origin = StreamSource.from_json(json.loads(value))
    except ValueError as error:
        raise UsageError(f"{flag}: not JSON: {error}") from None
    except ApiError as error:
        raise UsageError(f"{flag}: {error.description}") from None
    if not origin.name:
        raise UsageError(f'{flag}: the object needs a "name"')
    return origin


async def _ask(origin: StreamSource, words: OriginQuestions) -> None:
    def said(text: str) -> str:
        return text.format(name=origin.name)

    if await prompt.confirm(said(words.start), explain="Copy from a later message than the first"):
        answer = await prompt.text(said(words.sequence), flag="", default="0", check=prompt.whole)
        origin.opt_start_seq = max(0, answer)
        if not origin.opt_start_seq or words.always_time:
            moment = await prompt.text(said(words.time), flag="", default="", check=_nanoseconds)
            origin.opt_start_time = moment
    if await prompt.confirm(said(words.domain), explain="The Stream is in a JetStream of another domain"):
        domain = await prompt.text(said(words.domain_name), flag="", required=True)
        delivery = await prompt.text(said(words.domain_delivery), flag="", default="")
        origin.external = ExternalStream(api=f"$JS.{domain}.API", deliver=delivery)
        return
    if await prompt.confirm(said(words.account), explain="The Stream is in another account, imported here"):
        prefix = await prompt.text(
            said(words.account_prefix),
            flag="",
            required=True,
            explain="Where this account imports the JetStream API of the other one, e.g. JS.acc@hub.API",
        )
        delivery = await prompt.text(
            said(words.account_delivery),
            flag="",
            required=True,
            explain="Subjects that are imported from the other account for the copied messages",
        )
        origin.external = ExternalStream(api=prefix, deliver=delivery)


def _nanoseconds(answer: str) -> int:
    if not answer:
        return 0
    try:
        moment = datetime.strptime(answer, TIME_FORMAT).replace(tzinfo=UTC)
    except ValueError:
        raise ValueError(f'"{answer}" is not a time like 2021:06:28 12:52:29') from None
    return int(moment.timestamp()) * 1_000_000_000
