"""The path of a message through running servers, by what they tell this user.

Everybody is told who one is and what one may do, which clients of the own account subscribe, and what the
JetStream API shows; by pyjs also the mappings, imports and exports of the own account. Users of the system
account are told of those of every account, of its clients and streams, and of leaf connections. Promises:
nothing is published to the subject or changed; what was not told is said, as a step whose outcome is
`unknown`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from shlex import quote
from typing import Any

from ...cli.connection import NatsConnection, connect
from ...cli.errors import CliError, RefusedError, UsageError
from ...cli.jetstream import JsApi
from ...cli.profile import of_context
from ...cli.proposal import in_hint
from ...cli.user import user_info
from ..server.poll import poll
from . import accounts, queries
from .account_limits import limits_of, origin_by
from .account_origin import UNTOLD, AccountOrigin, origin_of
from .acknowledgements import acknowledged, add_takers
from .finding import Finding
from .hearers import subscribers
from .leafs import AnsweringServer, Reach, follow
from .message_path import MessagePath, is_answered
from .publisher import another, names_of, publisher_of
from .storage import StoredStream, store
from .stream_facts import StreamFacts
from .waypoint import ENDS, REACHED, UNKNOWN, Waypoint

Info = dict[str, Any]
OWN_CONNZ = "$SYS.REQ.ACCOUNT.PING.CONNZ"
PING = "$SYS.REQ.SERVER.PING"
MOST_STREAMS = 256  # of an account: more are not looked at for copies
MOST_CONSUMERS = 2000  # of a stream


async def waypoints(
    connection: NatsConnection, subject: str, *, system: str, account: str, user: str = ""
) -> list[Waypoint]:
    """Return where a message comes to that this user publishes.

    system: the context of a user of the system account, who is asked, too.
    account: where it is published, if this user is one of the system account itself.
    user: the name of another user of the account, who publishes it instead.

    Raises CliError if the context is not one of such a user, or if nobody tells of the other user.
    """
    answer = await user_info(connection, min(connection.timeout, queries.UNREACHABLE_SECONDS))
    if not answer:
        _must_hear_answers(connection)
    own: Info = answer.get("data") or {}
    if user and not system and not account and user not in names_of(own):
        raise UsageError(
            f"what {user} may do is not told to other users, but to those of the system account",
            "--sys names a context of one, or connect as that user, by --user, --creds or --context",
        )
    name = account or str(own.get("account") or "")
    async with _asked(connection, system, asks=bool(account)) as other:
        if other is None:
            reported = await accounts.own(connection, min(connection.timeout, queries.UNREACHABLE_SECONDS))
            name = name or reported.own
        else:
            reported = await accounts.asked(other, name, str(connection.greeting.get("server_id", "")))
            if not reported.details.get(name):
                context = f" --context {quote(system)}" if system else ""
                raise UsageError(
                    f"no server knows of the account {name}",
                    f"{in_hint(f'server report accounts{context}')} has them",
                )
        inspector = _Inspector(connection, other, name if not account else "", reported)
        inspector.origin = origin_of(own, connection.profile)
        await inspector.begin()
        path = MessagePath(reported.registry(name or "$G"), reported.details)
        found = path.registry.get(name or "$G")
        assert found is not None
        publisher = publisher_of({} if account else own)
        if user and other is not None:
            publisher = await another(other, name, user, len(inspector.servers))
        path.publish(found, subject, publisher)
        for waypoint in path.waypoints:  # it grows: what a stream publishes again comes to another waypoint
            if waypoint.gone:
                continue
            for sent, stream in await inspector.inspect(waypoint):
                path.republish(waypoint.account, sent, f"published again by {stream}")
        path.registry.stop()
    return path.waypoints


def _must_hear_answers(connection: NatsConnection) -> None:
    """Raise RefusedError if this user may not subscribe to its inbox: then nothing can be asked."""
    prefix = f'"{connection.profile.text("inbox_prefix") or "_INBOX"}.'
    for each in connection.errors:
        if prefix in str(each) and "subscription to" in str(each).lower():
            raise RefusedError(
                f"{each}: no answer can reach this user",
                "--inbox-prefix names a prefix that it may subscribe to",
            )


@asynccontextmanager
async def _asked(
    connection: NatsConnection, name: str, *, asks: bool
) -> AsyncIterator[NatsConnection | None]:
    """Yield the connection of a user of the system account: a context's, or this one; None for neither."""
    if not name:
        yield connection if asks else None
        return
    async with connect(of_context(name), quiet=True) as other:
        yield other


class _Inspector:
    """Finds who hears the message at a waypoint.

    own: the account of this user, whose JetStream API is asked; empty if the publisher is another one's.
    """

    def __init__(
        self, connection: NatsConnection, system: NatsConnection | None, own: str, reported: accounts.Accounts
    ) -> None:
        self.connection = connection
        self.system = system
        self.own = own
        self.reported = reported
        self.origin = UNTOLD  # of the own account
        self.servers: dict[str, AnsweringServer] = {}  # by name
        self._remotes: dict[str, list[Info]] | None = None  # by the name of the server
        self._stored: dict[tuple[str, str], list[StoredStream] | None] = {}

    async def begin(self) -> None:
        """Find out which servers there are. Raises CliError if the system account cannot be asked."""
        if self.system is not None:
            answers = await poll(self.system, PING)
            self.servers = {each.name: each for each in (AnsweringServer.of(one.document) for one in answers)}

    async def inspect(self, waypoint: Waypoint) -> list[tuple[str, str]]:
        """Add who hears the message at a waypoint; return (subject, stream) of what is republished."""
        answered = is_answered(waypoint.subject)
        if answered:
            waypoint.add("server", REACHED, "It is a request that the server itself answers.")
        self.reported.add_to(waypoint)
        if self.reported.own not in ("", waypoint.account):
            return []
        reach = await self._leafs(waypoint)
        await self._clients(waypoint, reach)
        if answered:
            return []
        mine = str(self.connection.greeting.get("domain", ""))
        ack = acknowledged(waypoint.subject)
        if ack is not None:
            domains = sorted({each.domain for each in reach.crossed.values()} - {mine, ""})
            if waypoint.account == self.own:
                await add_takers(waypoint, ack, self.connection, mine, domains)
            else:
                waypoint.add("acknowledgement", UNKNOWN, "Who takes it is told to users of its account only.")
            return []
        again = await self._streams(waypoint, reach)
        if waypoint.account == self.own:
            for domain in sorted({each.domain for each in reach.crossed.values()} - {mine, ""}):
                await self._beyond(waypoint, domain)
        return again

    async def _ask(self, what: str, request: Info) -> list[Info]:
        """Return what all servers say, with the name of each; nothing if none answers."""
        assert self.system is not None
        answers = await queries.allowed(
            poll(self.system, f"{PING}.{what}", request, expect=len(self.servers))
        )
        return [each.document for each in answers or []]

    async def _clients(self, waypoint: Waypoint, reach: Reach) -> None:
        """Add the clients that subscribe."""
        request = {"filter_subject": waypoint.subject, "subscriptions_detail": True, "auth": True}
        if self.system is not None:
            answers = await self._ask("CONNZ", {"acc": waypoint.account, **request})
        elif waypoint.account == self.own:
            found = await queries.allowed(poll(self.connection, OWN_CONNZ, request))
            answers = [each.document for each in found or []]
        else:
            return
        if not answers:
            waypoint.add("subscription", UNKNOWN, "No server told which clients subscribe.")
            return
        subscribers(waypoint, answers, reach.cut)

    async def _streams(self, waypoint: Waypoint, reach: Reach) -> list[tuple[str, str]]:
        """Add the streams that store it."""
        if self.reported.details.get(waypoint.account, {}).get("jetstream_enabled") is False:
            waypoint.add("stream", ENDS, "The account has no JetStream.")
            return []
        key = waypoint.account, waypoint.subject if waypoint.account == self.own else ""
        if key not in self._stored:
            self._stored[key] = await self._stored_in(waypoint, reach)
        stored = self._stored[key]
        if stored is None:
            waypoint.add("stream", UNKNOWN, "Which streams of the account store it, no server told.")
            return []
        return store(waypoint, stored)

    async def _beyond(self, waypoint: Waypoint, domain: str) -> None:
        """Add the streams of another domain, which the message comes to over a leaf connection."""
        js = JsApi(
            self.connection.nc,
            f"$JS.{domain}.API",
            queries.UNREACHABLE_SECONDS,
            trace=self.connection.js.trace,
        )
        names = await queries.allowed(js.stream_names(waypoint.subject))
        if names is None:
            waypoint.add(
                "stream", UNKNOWN, f"The JetStream API of domain {domain} does not answer this user."
            )
        for name in names or []:
            waypoint.add("stream", REACHED, f"{name} of domain {domain} stores it.", name)

    async def _stored_in(self, waypoint: Waypoint, reach: Reach) -> list[StoredStream] | None:
        """Return the streams of an account; None if nobody told."""
        if waypoint.account == self.own:
            return await _own_streams(self.connection.js, waypoint.subject, self.origin)
        if self.system is None:
            return None
        request = {"account": waypoint.account, "streams": True, "consumer": True, "config": True}
        answers = await self._ask("JSZ", request)
        if not answers:
            return None
        details = [
            detail
            for answer in answers
            if AnsweringServer.of(answer).name not in reach.cut
            for detail in (answer.get("data") or {}).get("account_details") or []
            if waypoint.account in (detail.get("name"), detail.get("id"))
        ]
        account = self.reported.details.get(waypoint.account, {})
        limits, origin = limits_of(details, account), origin_by(account, waypoint.account)
        found: dict[str, StoredStream] = {}
        for stream in [each for detail in details for each in detail.get("stream_detail") or []]:
            facts = StreamFacts(stream, account=limits, origin=origin)
            found.setdefault(facts.name, StoredStream(facts, tuple(stream.get("consumer_detail") or [])))
        return list(found.values())

    async def _leafs(self, waypoint: Waypoint) -> Reach:
        """Add the leaf connections that it crosses, and return how far it gets."""
        if self.system is None:
            return Reach()
        request = {"account": waypoint.account, "subscriptions": True}
        if self._remotes is None:
            found = await self._ask("VARZ", {})
            variables = {AnsweringServer.of(each).name: each.get("data") or {} for each in found}
            self._remotes = {
                name: (each.get("leaf") or {}).get("remotes") or [] for name, each in variables.items()
            }
        start = str(self.connection.greeting.get("server_name", ""))
        return follow(waypoint, start, self.servers, await self._ask("LEAFZ", request), self._remotes)


async def _own_streams(js: JsApi, subject: str, origin: AccountOrigin) -> list[StoredStream] | None:
    """Return the streams that take a subject, and their copies, by the JetStream API; None if it has none."""
    try:
        names = await js.stream_names(subject)
        account = await js.request("INFO")
    except CliError:
        return None
    found = []
    for name in names:
        facts = await queries.stream_facts(js, name)
        if isinstance(facts, Finding):
            continue
        few = facts.state.get("consumer_count", 0) <= MOST_CONSUMERS
        consumers = await queries.allowed(js.consumers(name)) if few else None
        facts = replace(facts, origin=origin)
        found.append(StoredStream(facts, None if consumers is None else tuple(consumers)))
    if account.get("streams", 0) <= MOST_STREAMS:
        every = await queries.allowed(js.streams()) or []
        found += [StoredStream(StreamFacts(each)) for each in every if each["config"]["name"] not in names]
    return found
