"""Asking for what an examination needs, and changing nothing.

Promises: nothing that fails ends it: what cannot be asked is a `Failure` or left out. Requests are few: two
for the user, one for each 256 streams, one for each of the first MOST_STREAMS that have consumers, one more
for a work queue whose filters may leave messages, and two to all servers, for a user of the system account.
"""

from __future__ import annotations

import asyncio
import ipaddress
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple
from urllib.parse import urlparse

from ...cli import context, flags, words
from ...cli.connection import NatsConnection, connect
from ...cli.credentials import token_of
from ...cli.errors import CliError, RemoteError
from ...cli.jetstream import NOT_ENABLED, JsApi
from ...cli.profile import OVERLAY, Profile, of_context
from ...cli.refusal import plain_error
from ...cli.user import user_info
from ...client import secret
from ..explain.account_origin import origin_of
from ..explain.domains import Twins, other_domains, twins
from ..explain.publisher import publisher_of
from ..explain.queries import allowed, subjects_of
from ..explain.retention_findings import may_be_untaken
from ..explain.stream_facts import Info, StreamFacts
from .facts import ConnectionFacts, ConnectionSettings, DoctorFacts, Failure, JetStreamFacts, ServerFacts
from .servers import servers_of

MOST_STREAMS = 1000  # whose consumers are asked for
AT_ONCE = 16  # requests
SECONDS = 1.0  # for the user's information, which not every server tells
SECRETS = ("password", "token", "creds", "nkey", "user_jwt", "user_seed")
NO_RESPONDERS = "no responders"  # in the words of the client
SECOND = 1_000_000_000


async def gather(profile: Profile, system: str = "") -> DoctorFacts:
    """Return all that can be known with these settings.

    system: the context of a user of the system account, who is asked about servers.
    """
    given = replace(_settings(profile), system=system)
    servers = await _of_context(system) if system else None
    try:
        async with connect(profile, quiet=True) as connection:
            user = await _user(connection)
            link = replace(await _link(connection), ahead=user.ahead)
            jetstream = await _jetstream(connection)
            if isinstance(jetstream, Failure) and given.domain:
                others = ", ".join(await other_domains(connection))
                told = (f"servers tell of the domains {others}",) if others else ()
                jetstream = replace(jetstream, hints=(*jetstream.hints, *told))
            if isinstance(jetstream, JetStreamFacts):
                jetstream = replace(
                    jetstream,
                    origin=origin_of(user.data, profile),
                    publisher=publisher_of(user.data),
                    twins=await _twins(connection, jetstream) if user.data else {},
                )
            own = await _own_servers(connection)
            refusals = [plain_error(each) for each in connection.errors]
            found = tuple(each for each in refusals if "permissions violation" in each.lower())
            link = replace(link, refusals=found, system=bool(own))
            return DoctorFacts(time.time_ns(), given, link, jetstream, own if servers is None else servers)
    except CliError as error:
        return DoctorFacts(time.time_ns(), given, _failure(error), servers=servers or ())


async def _of_context(name: str) -> tuple[ServerFacts, ...] | Failure:
    try:
        async with connect(of_context(name), quiet=True) as connection:
            return await servers_of(connection)
    except CliError as error:
        return _failure(error)


async def _own_servers(connection: NatsConnection) -> tuple[ServerFacts, ...]:
    """Return what servers tell this user: nothing, if it does not belong to the system account."""
    greeting = connection.greeting
    if greeting.get("connect_info") and not greeting.get("acc_is_sys"):
        return ()  # the server has said so
    try:
        return await servers_of(connection)
    except CliError:
        return ()


def _failure(error: CliError) -> Failure:
    return Failure(error.message, error.hints)


def _settings(profile: Profile) -> ConnectionSettings:
    file, mode = "", 0
    fields: dict[str, Any] = {}
    if profile.context:
        path = context.path_of(profile.context)
        fields = context.load(profile.context)
        if any(fields.get(name) for name in SECRETS):
            file, mode = str(path), path.stat().st_mode & 0o777
    user, end = token_of(profile)
    first = urlparse(profile.servers[0] if "://" in profile.servers[0] else f"nats://{profile.servers[0]}")
    plain = bool(profile.text("password") or profile.text("token") or first.username)
    return ConnectionSettings(
        context=profile.context,
        file=file,
        mode=mode,
        overridden=_overridden(profile, fields),
        domain=profile.domain,
        user=user,
        credentials_end=end,
        certificate=profile.text("cert"),
        certificate_end=_file_end(profile.text("cert")),
        secret=plain,
    )


def _overridden(profile: Profile, fields: dict[str, Any]) -> tuple[str, ...]:
    """Return the variables of the environment that take the place of what a context says otherwise."""
    named = {flag.env: OVERLAY.get(flag.name, "") for flag in flags.FLAGS}
    found = [(variable, named.get(variable, "")) for variable in profile.overridden]
    return tuple(
        variable for variable, name in found if fields.get(name) and fields[name] != profile.fields[name]
    )


def _file_end(path: str) -> int | None:
    from ...server.config.certificate import file_not_after

    if not path:
        return None
    with suppress(OSError, ValueError):
        return file_not_after(secret.location("tlscert", path))
    return None


async def _link(connection: NatsConnection) -> ConnectionFacts:
    begin = time.perf_counter_ns()
    with suppress(Exception):  # of whatever kind the client raises: then there is no figure
        await connection.nc.flush(connection.timeout)
    rtt = time.perf_counter_ns() - begin
    writer = getattr(connection.nc._transport, "_io_writer", None)  # nats-py has no public way to get it
    secured = writer.get_extra_info("ssl_object") if writer is not None else None
    return ConnectionFacts(
        url=connection.url,
        encrypted=secured is not None,
        loopback=_is_loopback(urlparse(connection.url).hostname or ""),
        rtt=rtt,
        certificate_end=_peer_end(secured),
    )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _peer_end(secured: Any) -> int | None:
    from ...server.config.certificate import not_after

    certificate = secured.getpeercert(binary_form=True) if secured is not None else None
    with suppress(ValueError):
        return not_after(certificate) if certificate else None
    return None


class _UserAnswer(NamedTuple):
    """What a server says of the user, and by how many ns its clock is ahead of ours; None if not told."""

    data: dict[str, Any]
    ahead: int | None


async def _user(connection: NatsConnection) -> _UserAnswer:
    before = time.time_ns()
    answer = await user_info(connection, SECONDS)
    middle = (before + time.time_ns()) // 2
    moment = words.parse_time(str((answer.get("server") or {}).get("time", "")))
    ahead = None if moment is None else int(moment.timestamp() * SECOND) - middle
    return _UserAnswer(answer.get("data") or {}, ahead)


async def _jetstream(connection: NatsConnection) -> JetStreamFacts | Failure:
    js = connection.js
    try:
        account = await js.request("INFO")
    except CliError as error:
        enabled = not (isinstance(error, RemoteError) and error.err_code == NOT_ENABLED)
        return replace(_failure(error), absent=not enabled or NO_RESPONDERS in error.message)
    streams: list[dict[str, Any]] = []
    missing: list[str] = []
    complete = False
    while not complete:
        page = await allowed(js.request("STREAM.LIST", {"offset": len(streams)}))
        items = (page or {}).get("streams") or []
        streams += items
        missing += [str(each) for each in (page or {}).get("missing") or ()]
        complete = page is not None and len(streams) + len(missing) >= int(page.get("total", 0))
        if not items:
            break
    asked = [str(each["config"]["name"]) for each in streams if each["state"].get("consumer_count")]
    consumers: dict[str, tuple[Any, ...]] = {}
    for start in range(0, min(len(asked), MOST_STREAMS), AT_ONCE):
        names = asked[start : start + AT_ONCE]
        found = await asyncio.gather(*(allowed(js.consumers(name)) for name in names))
        consumers |= {name: tuple(each or ()) for name, each in zip(names, found, strict=True)}
        if all(each is None for each in found):
            break  # this user may not ask, and waits in vain for each answer
    return JetStreamFacts(
        account,
        tuple(streams),
        tuple(missing),
        complete,
        consumers,
        await _subjects(js, streams, consumers),
        max(0, len(asked) - MOST_STREAMS),
    )


async def _twins(connection: NatsConnection, jetstream: JetStreamFacts) -> Twins:
    """Return which consumers other domains have by the same names; nothing outside of domains."""
    if not connection.greeting.get("domain"):
        return {}
    waiting = {
        stream: [str(each["name"]) for each in there if each["config"].get("ack_policy", "none") != "none"]
        for stream, there in jetstream.consumers.items()
    }
    return await twins(connection, {stream: names for stream, names in waiting.items() if names})


async def _subjects(
    js: JsApi, streams: Iterable[Info], consumers: Mapping[str, tuple[Info, ...]]
) -> dict[str, dict[str, int]]:
    """Return how many messages each subject has, of the work queues whose consumers may leave some."""
    found = {}
    for info in streams:
        name = str(info["config"]["name"])
        if may_be_untaken(StreamFacts(info, consumers=consumers.get(name, ()))):
            found[name] = await subjects_of(js, name, info["state"].get("num_subjects", 0))
    return found
