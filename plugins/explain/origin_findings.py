"""Why a mirror or source brings nothing: pure functions from what a stream and its origin say to findings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...cli import words
from ...cli.proposal import command
from .finding import ERROR, NOTE, WARNING, Finding

Info = Mapping[str, Any]
SECOND = 1_000_000_000
SILENT = 10 * SECOND  # an origin sends heartbeats each second; servers connect again after ten without one
BEHIND = 1000  # messages; the copy of a busy stream is always a few behind
PRESENT, MISSING, UNREACHABLE, UNKNOWN = "present", "missing", "unreachable", "unknown"


@dataclass(frozen=True)
class OriginFacts:
    """A stream that another one takes messages from.

    kind: `mirror` or `source`.
    config: how it is configured.
    status: how it goes, as STREAM.INFO of the copy tells; empty if that tells nothing.
    seen: whether the origin is there, as far as this user can see: PRESENT, MISSING, UNREACHABLE or UNKNOWN.
    info: its own STREAM.INFO.
    unmatched: the filters that no stored message of the origin matches.
    domains: that servers tell of, if nobody answers for it.
    """

    kind: str
    config: Info
    status: Info = field(default_factory=dict)
    seen: str = UNKNOWN
    info: Info = field(default_factory=dict)
    unmatched: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name of the stream."""
        return str(self.config.get("name", ""))

    @property
    def prefix(self) -> str:
        """The prefix of the API that it is reached by; empty if it is beside its copy."""
        return str((self.config.get("external") or {}).get("api", "")).removesuffix(".")

    @property
    def label(self) -> str:
        """The origin in a sentence."""
        return self.name + (f" (by {self.prefix})" if self.prefix else "")

    def command(self, *line: str) -> str:
        """Return a command that is run where the origin is."""
        return command(*line, *(("--js-api-prefix", self.prefix) if self.prefix else ()))


def unsealed(name: str, subjects: Iterable[str], line: Callable[..., str] = command) -> tuple[str, ...]:
    """Return the commands that put another stream in the place of a sealed one, which keeps its messages.

    line: makes a command of its words.
    """
    wanted = [word for each in subjects for word in ("--subjects", each)]
    aside = (line("stream", "edit", name, "--subjects", f"sealed.{name}"),) if wanted else ()
    return (*aside, line("stream", "copy", name, f"{name}-2", *wanted))


def filters_of(config: Info) -> list[str]:
    """Return what of the origin is taken; nothing if that is everything."""
    single = config.get("filter_subject")
    transforms = config.get("subject_transforms") or []
    return [single] if single else [each["src"] for each in transforms if each.get("src")]


def origins_in(info: Info) -> list[tuple[str, Info, Info]]:
    """Return the mirror and sources of a stream: kind, configuration and progress."""
    config = info["config"]
    wanted = [("mirror", config["mirror"])] if config.get("mirror") else []
    wanted += [("source", each) for each in config.get("sources") or []]
    reported = ([info["mirror"]] if info.get("mirror") else []) + (info.get("sources") or [])
    return [(kind, each, next((one for one in reported if _same(one, each)), {})) for kind, each in wanted]


def _same(status: Info, config: Info) -> bool:
    """Return whether a progress is that of this mirror or source: one origin may have several."""
    prefixes = [(each.get("external") or {}).get("api", "") for each in (status, config)]
    named = status.get("name") == config.get("name") and prefixes[0] == prefixes[1]
    filters = filters_of(status)
    return named and (not filters or filters == filters_of(config))


def of_origin(origin: OriginFacts, about: str, age: int, last: int = 0) -> Iterator[Finding]:
    """Yield what is to be said about a mirror or source of the stream `about`.

    age: nanoseconds since that stream was created; the connection of a new one is not there yet.
    last: the last sequence of that stream.
    """
    evidence = _evidence(origin)
    active = int(origin.status.get("active", -1))
    silent = not 0 <= active <= SILENT
    error = origin.status.get("error") or {}
    start = origin.config.get("opt_start_seq", 0)  # a mirror that begins later has no end of its own yet
    told = f" Servers tell of the domains {', '.join(origin.domains)}." if origin.domains else ""
    if origin.seen == MISSING:
        text = f"The {origin.kind} {origin.label} does not exist."
        yield Finding("origin_missing", ERROR, text, evidence, (origin.command("stream", "ls"),), about)
    elif origin.kind == "mirror" and origin.info and _end(origin) < last >= start:
        yield Finding(
            "origin_restarted", ERROR,
            f"The mirror {origin.label} ends at sequence {words.number(_end(origin))}, and this copy of it "
            f"at {words.number(last)}: {origin.name} was made again, or has lost its end. Nothing comes "
            "until it is beyond that sequence, and what it stores before is never copied.",
            {**evidence, "last_seq": last},
            (command("stream", "copy", about, f"{about}-2"), command("stream", "rm", about)), about,
        )  # fmt: skip
    elif origin.seen == UNREACHABLE and silent:
        yield Finding(
            "origin_unreachable", ERROR,
            f"Nobody answers for the {origin.kind} {origin.label}: its servers or the leaf connection to its "
            f"domain are down, or the prefix is wrong.{told}",
            evidence,
            (command("server", "report", "leafnodes"), origin.command("stream", "info", origin.name)), about,
        )  # fmt: skip
    elif error:
        yield Finding(
            "origin_refuses", ERROR,
            f"Nothing comes from the {origin.kind} {origin.label}: {error.get('description', '')} "
            f"({error.get('err_code', 0)}).",
            evidence, (origin.command("stream", "info", origin.name),), about,
        )  # fmt: skip
    elif silent and (active > SILENT or age > SILENT):
        since = f"last heard {words.span(active)} ago" if active >= 0 else "never heard"
        yield Finding(
            "origin_silent", ERROR,
            f"The {origin.kind} {origin.label} was {since}; it says something every second while all is "
            "well.",
            evidence, (command("server", "report", "leafnodes"),), about,
        )  # fmt: skip
    else:
        if origin.seen == UNREACHABLE:
            yield Finding(
                "origin_unreachable", NOTE,
                f"Nobody answers this user for the {origin.kind} {origin.label}, which was heard "
                f"{words.span(active)} ago: the user may not ask there, or it was cut off just now.",
                evidence, (origin.command("stream", "info", origin.name),), about,
            )  # fmt: skip
        yield from _progress(origin, about, evidence)


def _end(origin: OriginFacts) -> int:
    """Return the last sequence of an origin that answers."""
    return int((origin.info.get("state") or {}).get("last_seq", 0))


def _progress(origin: OriginFacts, about: str, evidence: Info) -> Iterator[Finding]:
    """Yield how far the copy of an origin that answers is."""
    lag = origin.status.get("lag", 0)
    if lag:
        late = lag >= BEHIND
        yield Finding(
            "origin_behind", WARNING if late else NOTE,
            f"The {origin.kind} {origin.label} is {words.counted(lag, 'message')} ahead of this stream.",
            evidence, (command("stream", "report", "--watch"),), about,
        )  # fmt: skip
    state = origin.info.get("state") or {}
    if not origin.info:
        return
    if (origin.info.get("config") or {}).get("sealed"):
        yield Finding(
            "origin_sealed", WARNING,
            f"The {origin.kind} {origin.label} is sealed: it takes no messages any more, and cannot be "
            "unsealed. What it holds is all that comes from there.",
            {**evidence, "sealed": True},
            unsealed(origin.name, origin.info["config"].get("subjects") or [], origin.command), about,
        )  # fmt: skip
    if not state.get("messages"):
        yield Finding(
            "origin_empty", NOTE, f"The {origin.kind} {origin.label} holds no messages.",
            evidence, (origin.command("explain", "stream", origin.name),), about,
        )  # fmt: skip
        return
    for each in origin.unmatched:
        yield Finding(
            "origin_filter", WARNING,
            f"The {origin.kind} {origin.label} holds no message on {each}, which is all that is taken from "
            "there by this filter.",
            {**evidence, "filter": each}, (origin.command("stream", "subjects", origin.name),), about,
        )  # fmt: skip
    start = origin.config.get("opt_start_seq", 0)
    if start > state.get("last_seq", 0):
        yield Finding(
            "origin_starts_later", WARNING,
            f"It takes messages from sequence {words.number(start)} on, and the last one of the "
            f"{origin.kind} {origin.label} is {words.number(state.get('last_seq', 0))}.",
            {**evidence, "opt_start_seq": start}, (), about,
        )  # fmt: skip


def _evidence(origin: OriginFacts) -> dict[str, Any]:
    found = {origin.kind: origin.name, "origin": origin.seen}
    if origin.prefix:
        found["api"] = origin.prefix
    for name in ("active", "lag"):
        if name in origin.status:
            value = origin.status[name]
            found[name] = words.span(value) if name == "active" else value
    if origin.info:
        found["origin_last_seq"] = (origin.info.get("state") or {}).get("last_seq", 0)
    return found
