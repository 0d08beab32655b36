"""What an examination knows, as it was asked for at one moment. What nobody told is None or empty."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..explain.account_origin import UNTOLD, AccountOrigin
from ..explain.publisher import Publisher

Info = Mapping[str, Any]


@dataclass(frozen=True)
class Failure:
    """Why something could not be asked.

    hints: what the command line says beside it.
    absent: whether it is not there at all, which may be meant so.
    """

    message: str
    hints: tuple[str, ...] = ()
    absent: bool = False

    @property
    def text(self) -> str:
        """All of it in sentences."""
        parts = [each[:1].upper() + each[1:] for each in (self.message, *self.hints) if each]
        return " ".join(each if each.endswith((".", "?")) else f"{each}." for each in parts)


@dataclass(frozen=True)
class ConnectionSettings:
    """The settings of a connection.

    context: the name of the context; its file and that file's mode, if it has secrets.
    overridden: environment variables that take the place of its fields.
    domain: the JetStream domain that was asked for.
    system: the context of a user of the system account, who is asked about servers.
    user: the name in the user's token; credentials_end: when it expires, in ns since 1970.
    certificate, certificate_end: the client's certificate, and when it expires, in ns since 1970.
    secret: whether a password or token is sent.
    """

    context: str = ""
    file: str = ""
    mode: int = 0
    overridden: tuple[str, ...] = ()
    domain: str = ""
    system: str = ""
    user: str = ""
    credentials_end: int | None = None
    certificate: str = ""
    certificate_end: int | None = None
    secret: bool = False


@dataclass(frozen=True)
class ConnectionFacts:
    """A connection.

    loopback: whether the server is on this machine.
    rtt: the time of a round trip, in ns.
    ahead: by how many ns the server's clock is ahead of ours; it is known to half of `rtt`.
    certificate_end: when the server's certificate expires, in ns since 1970.
    refusals: what servers said of permissions while questions were asked.
    system: whether this user belongs to the system account.
    """

    url: str = ""
    encrypted: bool = False
    loopback: bool = True
    rtt: int = 0
    ahead: int | None = None
    certificate_end: int | None = None
    refusals: tuple[str, ...] = ()
    system: bool = False


@dataclass(frozen=True)
class JetStreamFacts:
    """JetStream as the account sees it.

    account: the answer of INFO.
    streams: the infos of streams; missing: the names of those that nobody answers for.
    complete: whether these are all streams.
    consumers: their infos, by the name of the stream.
    subjects: how many messages each subject has, by the name of the stream: of work queues whose consumers
        may leave some.
    unread: how many streams' consumers were not asked for.
    origin: where the account is made.
    publisher: this user, and what it may publish.
    twins: the domains that have a stream and a consumer of the same names.
    """

    account: Info = field(default_factory=dict)
    streams: tuple[Info, ...] = ()
    missing: tuple[str, ...] = ()
    complete: bool = False
    consumers: Mapping[str, tuple[Info, ...]] = field(default_factory=dict)
    subjects: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    unread: int = 0
    origin: AccountOrigin = UNTOLD
    publisher: Publisher | None = None
    twins: Mapping[tuple[str, str], list[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class TrustedOperator:
    """The token of an operator that a server trusts.

    issued, expires: ns since 1970; None for never.
    """

    key: str
    name: str
    issued: int
    expires: int | None = None


@dataclass(frozen=True)
class ServerFacts:
    """A server, as it told the system account.

    started: the RFC 3339 time of its start.
    slow_consumers: how many connections it has cut off since then because they read too slowly, by kind.
    sync_interval: ns between two syncs of messages that are acknowledged already; 0 if they are synced
        before, None without JetStream.
    meta: what it says of its meta group; None if it belongs to none.
    """

    name: str
    cluster: str = ""
    domain: str = ""
    version: str = ""
    started: str = ""
    slow_consumers: Mapping[str, int] = field(default_factory=dict)
    sync_interval: int | None = None
    operators: tuple[TrustedOperator, ...] = ()
    meta: Info | None = None


@dataclass(frozen=True)
class DoctorFacts:
    """All that is known. now: ns since 1970. servers: empty if nobody may ask for them."""

    now: int
    settings: ConnectionSettings = field(default_factory=ConnectionSettings)
    link: ConnectionFacts | Failure = field(default_factory=ConnectionFacts)
    jetstream: JetStreamFacts | Failure = field(default_factory=JetStreamFacts)
    servers: tuple[ServerFacts, ...] | Failure = ()
