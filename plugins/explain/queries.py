"""Asking for what an explanation needs: a few requests of the JetStream API, which change nothing.

Promises: what this user may not ask, or nobody answers, is left out, and so not judged; only what the command
was asked to explain has to answer. A stream or consumer without a leader, or that its server does not run, is
a finding and no failure.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from ...cli.connection import NatsConnection
from ...cli.errors import CliError, ExitCode, RemoteError
from ...cli.jetstream import STREAM_NOT_FOUND, JsApi
from ...cli.jetstream import UNAVAILABLE as NO_LEADER
from ...cli.proposal import command
from ...cli.user import user_info
from ...protocol import dead_letters
from .account_origin import origin_of
from .consumer_facts import LetterKeeping
from .domains import elsewhere, other_domains
from .finding import ERROR, Finding
from .origin_findings import MISSING, PRESENT, UNKNOWN, UNREACHABLE, OriginFacts, filters_of, origins_in
from .retention_findings import BY_CONSUMERS, may_be_untaken
from .stream_facts import StreamFacts, account_use

Info = dict[str, Any]
Answer = TypeVar("Answer")
MOST_SUBJECTS = 10_000  # that are asked for, with their counts
MOST_FILTERS = 20  # that are tried, of one consumer or origin
UNREACHABLE_SECONDS = 2.0  # seconds for what may be unreachable
NO_MESSAGE = 10037
OFFLINE = (10118, 10119, 10194, 10195)  # the server has it and does not run it


async def stream_of(connection: NatsConnection, name: str) -> StreamFacts | Finding:
    """Return the same as `stream_facts`, and where the account is made if its limit is nearly reached."""
    try:
        facts = await stream_facts(connection.js, name)
    except CliError as error:
        raise await elsewhere(connection, error, name) from None
    if isinstance(facts, Finding):
        return facts
    if any(each.seen == UNREACHABLE for each in facts.origins):
        domains = tuple(await other_domains(connection))
        facts = replace(facts, origins=tuple(replace(each, domains=domains) for each in facts.origins))
    if not account_use(facts).near:
        return facts
    told = (await user_info(connection, min(connection.timeout, UNREACHABLE_SECONDS))).get("data") or {}
    return replace(facts, origin=origin_of(told, connection.profile))


async def stream_facts(js: JsApi, name: str) -> StreamFacts | Finding:
    """Return what is known of a stream, or the finding that nobody answers for it.

    Raises CliError if it does not exist, or the API does not answer at all.
    """
    info = await _answered(js.stream_info(name), js.stream_names, name, name)
    if isinstance(info, Finding):
        return info
    config, state = info["config"], info["state"]
    consumers: list[Info] = []
    if config.get("retention") in BY_CONSUMERS:
        consumers = await allowed(js.consumers(name)) or []
    facts = StreamFacts(
        info,
        account=await allowed(js.request("INFO")) or {},
        consumers=tuple(consumers),
        origins=tuple([await _origin(js, *each) for each in origins_in(info)]),
    )
    if config.get("discard_new_per_subject") or may_be_untaken(facts):
        facts = replace(facts, subjects=await subjects_of(js, name, state.get("num_subjects", 0)))
    return facts


async def consumer_info(connection: NatsConnection, stream: str, name: str) -> Info | Finding:
    """Return the information of a consumer, or the finding that nobody answers for it. Raises CliError."""
    js = connection.js

    async def names() -> list[str]:
        return await js.consumer_names(stream)

    try:
        return await _answered(js.consumer_info(stream, name), names, name, f"{stream} > {name}")
    except CliError as error:
        raise await elsewhere(connection, error, stream, name) from None


async def _answered(
    request: Awaitable[Info], names: Callable[[], Awaitable[list[str]]], name: str, about: str
) -> Info | Finding:
    """Return an answer, or the finding why there is none although the name exists."""
    try:
        return await request
    except CliError as error:
        if isinstance(error, RemoteError) and error.err_code in OFFLINE:
            return Finding(
                "offline", ERROR, f"Its server has it and does not run it: {error.description}.",
                {"err_code": error.err_code}, (command("server", "report", "health"),), about,
                ExitCode.UNAVAILABLE,
            )  # fmt: skip
        if isinstance(error, RemoteError) and error.err_code == NO_LEADER:
            return Finding(
                "no_leader", ERROR,
                f"Nobody can answer for it ({error.description}): it has no leader, or the meta group that "
                "knows of it has none. A majority of the servers has to be up.",
                {"err_code": error.err_code, "leader": ""},
                (command("server", "report", "jetstream"), command("server", "list")), about,
                ExitCode.UNAVAILABLE,
            )  # fmt: skip
        if error.exit_code is not ExitCode.UNAVAILABLE or name not in (await allowed(names()) or []):
            raise
        return Finding(
            "no_leader", ERROR,
            f"It exists, and nobody answers for it ({error.message}): no server leads it. A majority of its "
            "servers has to be up.",
            {"leader": ""}, (command("server", "report", "health"),), about, ExitCode.UNAVAILABLE,
        )  # fmt: skip


async def letter_keeping(js: JsApi, stream: str, consumer: str) -> LetterKeeping:
    """Return whether what a consumer gives up is kept, and how many advisories about it there are."""
    told: Info | None = None
    for each in dead_letters.advisory_filters(stream, consumer):
        request = js.request(f"STREAM.INFO.{dead_letters.queue_name(stream)}", {"subjects_filter": each})
        info = await allowed(request)
        if info is None:
            break
        counts = info["state"].get("subjects") or {}
        info["state"]["subjects"] = {**counts, **(told["state"]["subjects"] if told is not None else {})}
        told = info
    return LetterKeeping.of(told, stream, consumer)


async def allowed(request: Awaitable[Answer]) -> Answer | None:
    """Return an answer; None if there is none, or an error."""
    try:
        return await request
    except CliError:
        return None


async def subjects_of(js: JsApi, stream: str, number: int) -> dict[str, int]:
    """Return how many messages each subject of a stream has; empty if it is not told, or there are too many.

    number: of its subjects.
    """
    if number > MOST_SUBJECTS:
        return {}
    info = await allowed(js.request(f"STREAM.INFO.{stream}", {"subjects_filter": ">"})) or {}
    found: dict[str, int] = (info.get("state") or {}).get("subjects") or {}
    return found


async def last_sequences(js: JsApi, stream: str, filters: Iterable[str]) -> dict[str, int]:
    """Return the sequence of the last message that each filter matches: 0 for none.

    A filter is left out if it is not told, or if there are many before it.
    """
    found = {}
    for each in list(filters)[:MOST_FILTERS]:
        try:
            answer = await js.request(f"STREAM.MSG.GET.{stream}", {"last_by_subj": each})
            found[each] = int(answer["message"]["seq"])
        except RemoteError as error:
            if error.err_code == NO_MESSAGE:
                found[each] = 0
        except CliError:
            break
    return found


async def _origin(js: JsApi, kind: str, config: Mapping[str, Any], status: Mapping[str, Any]) -> OriginFacts:
    """Return what this user sees of an origin."""
    there = js
    prefix = (config.get("external") or {}).get("api", "").removesuffix(".")
    if prefix:
        there = JsApi(js.nc, prefix, min(js.timeout, UNREACHABLE_SECONDS), trace=js.trace)
    name = config.get("name", "")
    try:
        info = await there.request(f"STREAM.INFO.{name}")
    except CliError as error:
        seen = UNREACHABLE if error.exit_code is ExitCode.UNAVAILABLE else UNKNOWN
        if isinstance(error, RemoteError) and error.err_code == STREAM_NOT_FOUND:
            seen = MISSING
        return OriginFacts(kind, config, status, seen)
    last = await last_sequences(there, name, filters_of(config))
    unmatched = tuple(each for each, sequence in last.items() if not sequence)
    return OriginFacts(kind, config, status, PRESENT, info, unmatched)
