"""System: the system account's part of a server. It subscribes to the services and publishes the events.

Promises: a service answers a request once, and only if it has a reply. Nothing here changes the server except
KICK, LDM and RELOAD, which only the system account can ask for. An ordinary account gets answers about itself
only. `$SYS.REQ.USER` is answered by the server of the user's connection alone.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, cast

from ...protocol import headers
from ...protocol.timestamp import format_rfc3339
from ..accounts.content_encoding import ACCEPT, encoded
from ..accounts.registry import GLOBAL
from ..accounts.subscription import ConnectionKind
from ..clock import SECOND
from ..monitor import Monitored, NotForThisServerError, RequestError
from ..monitor.request import MalformedRequestError
from ..monitor.text import compact
from ..slices import Slices, Steps, TurnScheduler, freeing, paced
from . import services
from .envelope import Envelope, encode
from .neighbours import SWEEP_INTERVAL, Neighbours
from .statistics import statsz
from .subscribers import Subscribers

if TYPE_CHECKING:
    from ..accounts import Account
    from ..accounts.subscription import Message
    from ..client.connection import ClientConnection
    from ..client.peer import ClientPeer
    from ..clock import Timer
    from ..leaf.peer import LeafPeer
    from ..logging import Logger

STATSZ_INTERVAL = 10 * SECOND
FIRST_STATSZ = SECOND // 4  # doubles with each further one
CONNS_INTERVAL = 30 * SECOND
BAD_REQUEST, NOT_FOUND, FAILED, BUSY = 400, 404, 500, 503
MOST_WAITING = 10_000  # requests that wait; more are refused
_ACCOUNT_AUTH_ERROR = "$SYS.ACCOUNT.CLIENT.AUTH.ERR"

Answer = Callable[[str, "Message"], "services.Document | None"]


class Reloader(Protocol):
    """Reads the configuration again and applies it."""

    def __call__(self, done: Callable[[bool], None]) -> None:
        """Begin to reload. `done` gets whether it was applied, unless the server ends before."""


class System:
    """The services and events of one server. `reloader` is set if the server has a configuration file."""

    def __init__(
        self, server: Monitored, log: Logger, random_bytes: Callable[[int], bytes] = os.urandom
    ) -> None:
        self._server = server
        self._log = log
        self._envelope = Envelope(server, random_bytes)
        self._known: set[str] = set()
        self._timers: dict[str, Timer] = {}
        self._turns = TurnScheduler(server.clock.soon)
        self._statsz_interval = FIRST_STATSZ
        self._neighbours = Neighbours(server, self._envelope, self._publish_connection_count, self._beat_soon)
        self._subscribers = Subscribers(server, random_bytes, self._turns)
        self.reloader: Reloader | None = None

    async def start(self) -> None:
        """Subscribe in every account and begin to publish statistics."""
        system = self._server.registry.system
        if system is not None:
            self._serve_system(system)
        if self._server.operator is not None:
            self._server.operator.serve(self._envelope.sender)
        self.accounts_changed()
        self._server.clients.events = self
        self._server.clients.tracer.server = self._envelope.sender
        if self._server.leafs is not None:
            self._server.leafs.events = self
        if self._server.routes is not None:
            self._server.routes.observers.append(self)
        if self._server.gateways is not None:
            self._server.gateways.observers.append(self.route_joined)
        self._later(FIRST_STATSZ, self._publish_statistics)
        self._later(CONNS_INTERVAL, self._publish_connections)
        self._later(SWEEP_INTERVAL, self._sweep)

    async def stop(self) -> None:
        """Publish that the server stops, and stop the timers."""
        self._publish(f"$SYS.SERVER.{self._server.identity.id}.SHUTDOWN", self._envelope.sender)
        for timer in self._timers.values():
            timer.cancel()
        self._server.clients.events = None
        self._server.clients.tracer.server = None
        if self._server.leafs is not None:
            self._server.leafs.events = None
        if self._server.routes is not None and self in self._server.routes.observers:
            self._server.routes.observers.remove(self)
        if self._server.gateways is not None and self.route_joined in self._server.gateways.observers:
            self._server.gateways.observers.remove(self.route_joined)

    def lame_duck(self) -> None:
        """Publish that the server has entered lame duck mode."""
        self._publish(f"$SYS.SERVER.{self._server.identity.id}.LAMEDUCK", self._envelope.sender)

    def accounts_changed(self) -> None:
        """Let new accounts ask about themselves."""
        for account in list(self._server.registry.accounts.values()):
            self.account_changed(account)

    def account_changed(self, account: Account) -> None:
        """Let a new account ask about itself."""
        if account.name not in self._known:
            self._known.add(account.name)
            if account is not self._server.registry.system:
                self._serve_account(account)
            self._neighbours.ask(account)

    # --- services

    def _serve_system(self, system: Account) -> None:
        own = self._server.identity.id
        for where in ("PING", own):
            for name in services.SERVER:
                self._on(system, f"$SYS.REQ.SERVER.{where}.{name}", self._server_service)
            self._on(system, f"$SYS.REQ.SERVER.{where}.IDZ", self._idz)
            self._on(system, f"$SYS.REQ.SERVER.{where}.STATSZ", self._statsz)
        self._on(system, "$SYS.REQ.SERVER.PING", self._statsz)
        self._on(system, f"$SYS.REQ.SERVER.{own}.KICK", self._kick)
        self._on(system, f"$SYS.REQ.SERVER.{own}.LDM", self._send_away)
        system.subscribe(f"$SYS.REQ.SERVER.{own}.RELOAD", partial(self._reload, system))
        for name in services.ACCOUNT:
            self._on(system, f"$SYS.REQ.ACCOUNT.*.{name}", self._account_service)
        system.subscribe("$SYS.REQ.ACCOUNT.*.CONNS", self._neighbours.asked)
        if self._server.routes or self._server.leafs or self._server.gateways:
            self._neighbours.start(system)
        self._subscribers.start(system)
        for name in services.USER:
            self._on(system, f"$SYS.REQ.USER.{name}", partial(self._user, system, name))

    def _serve_account(self, account: Account) -> None:
        def itself(service: str) -> Answer:
            return lambda _, message: self._of_account(account.name, service, message)

        self._on(account, "$SYS.REQ.SERVER.PING.CONNZ", itself("CONNZ"))
        self._on(account, "$SYS.REQ.ACCOUNT.PING.CONNZ", itself("CONNZ"))
        self._on(account, "$SYS.REQ.ACCOUNT.PING.STATZ", itself("STATZ"))
        for name in services.USER:
            self._on(account, f"$SYS.REQ.USER.{name}", partial(self._user, account, name))

    def _on(self, account: Account, subject: str, answer: Answer) -> None:
        def handle(message: Message) -> None:
            if not message.reply:
                return
            if len(self._turns) >= MOST_WAITING:
                account.publish(message.reply, encode(self._envelope.refusal(BUSY, "too many requests")))
            else:
                self._turns.soon(lambda: work(message))

        def work(message: Message) -> None:
            steps = paced(self._working(answer, message))
            Slices(self._turns, steps, partial(publish, message), partial(failed, message))

        def publish(message: Message, body: bytes) -> None:
            if body:
                wanted = headers.get(message.header, ACCEPT) if message.header else None
                header, body = encoded((wanted or b"").decode("ascii", "replace"), body)
                account.publish(message.reply, body, header=header)

        def failed(message: Message, error: Exception) -> None:
            document = self._refusal(subject, error)
            if document is not None:
                account.publish(message.reply, encode(document))

        account.subscribe(subject, handle)

    def _working(self, answer: Answer, message: Message) -> Steps[bytes]:
        """Return the answer as JSON, b"" for none."""
        document = answer(message.subject, message)
        if document is None:
            return b""
        if isinstance(document, dict):
            return encode(document)
        documents: list[Any] = [self._envelope.answer((yield from document))]
        del document
        body = yield from compact(documents[0])
        yield from freeing(documents)
        return body

    def _refusal(self, subject: str, error: Exception) -> dict[str, Any] | None:
        if isinstance(error, NotForThisServerError):
            return None
        if isinstance(error, RequestError):
            code = BAD_REQUEST if isinstance(error, MalformedRequestError) else FAILED
            return self._envelope.refusal(code, str(error))
        # a bug here must not end the connection that asked
        self._log.error(f"System service {subject} failed: {type(error).__name__}: {error}")
        return self._envelope.refusal(FAILED, "internal error")

    def _answered(self, document: services.Document) -> dict[str, Any] | Steps[dict[str, Any]]:
        """Return a finished document in its envelope, and steps as they are."""
        return self._envelope.answer(document) if isinstance(document, dict) else document

    def _server_service(self, subject: str, message: Message) -> services.Document | None:
        body = services.read(message.body)
        if not services.fits(self._server, body):
            return None
        return self._answered(services.SERVER[subject.rpartition(".")[2]](self._server, body))

    def _idz(self, _subject: str, message: Message) -> dict[str, Any] | None:
        server = self._server
        if not services.fits(server, services.read(message.body)):
            return None
        return {"name": server.identity.name, "host": server.options.host, "id": server.identity.id}

    def _statsz(self, _subject: str, message: Message) -> dict[str, Any] | None:
        if not services.fits(self._server, services.read(message.body)):
            return None
        return {"server": self._envelope.sender(), "statsz": self._statistics()}

    def _statistics(self) -> dict[str, Any]:
        return statsz(self._server, self._neighbours.count)

    def _account_service(self, subject: str, message: Message) -> services.Document | None:
        name, service = subject.split(".")[3:5]
        if name == "PING":
            return self._of_all(service, message)
        return self._of_account(name, service, message)

    def _of_account(self, name: str, service: str, message: Message) -> services.Document | None:
        body = services.read(message.body)
        if not services.fits(self._server, body):
            return None
        if self._server.registry.get(name) is None:
            return self._envelope.refusal(NOT_FOUND, f"account {name} does not exist")
        return services.ACCOUNT[service](self._server, name, body)

    def _of_all(self, service: str, message: Message) -> services.Document | None:
        """Return what the system account asks of all accounts at once, such as statistics or connections."""
        body = services.read(message.body)
        if service == "STATZ":
            return services.all_statistics(self._server, body)
        if service in services.SERVER:
            return self._answered(services.SERVER[service](self._server, body))
        return None

    def _user(self, account: Account, service: str, _subject: str, message: Message) -> dict[str, Any] | None:
        source = message.source
        if source is None or source.kind is not ConnectionKind.CLIENT:
            return None  # the server of a route or a leaf answers for its own users
        return self._envelope.answer(
            services.USER[service](account, cast("ClientPeer", source), message.body)
        )

    # --- what changes something

    def _client(self, message: Message) -> ClientConnection | None:
        cid = services.read(message.body).get("cid")
        return self._server.clients.connections.get(cid) if isinstance(cid, int) else None

    def _kick(self, _subject: str, message: Message) -> dict[str, Any]:
        connection = self._client(message)
        if connection is None:
            return self._envelope.refusal(BAD_REQUEST, "no such client id")
        connection.close("Kicked")
        return {"server": self._envelope.sender()}

    def _send_away(self, _subject: str, message: Message) -> dict[str, Any]:
        connection = self._client(message)
        if connection is None:
            return self._envelope.refusal(BAD_REQUEST, "no such client id")
        connection.handshake.send_info(ldm=True)
        return {"server": self._envelope.sender()}

    def _reload(self, system: Account, message: Message) -> None:
        """Reload, and answer when the configuration is in force or was refused."""
        if not message.reply:
            return

        def done(applied: bool) -> None:
            document: dict[str, Any] = {"server": self._envelope.sender()}
            if not applied:
                text = "the configuration was not reloaded: see the server's log"
                document = self._envelope.refusal(500, text)
            system.publish(message.reply, encode(document))

        if self.reloader is None:
            done(False)
        else:
            self.reloader(done)

    # --- events

    def client_connected(self, connection: ClientPeer | LeafPeer) -> None:
        """Publish that a client connected; see `ClientEvents` in client/peer.py."""
        account = connection.account
        assert account is not None
        fields = {"client": _client_of(connection)}
        self._publish(
            f"$SYS.ACCOUNT.{account.name}.CONNECT", lambda: self._envelope.event("client_connect", fields)
        )
        self._publish_account_connections(account)

    def client_disconnected(self, connection: ClientPeer | LeafPeer, reason: str) -> None:
        """Publish that a client disconnected; see `ClientEvents` in client/peer.py."""
        account = connection.account
        name = GLOBAL if account is None else account.name  # a refused client counts as one of this account
        self._publish(f"$SYS.ACCOUNT.{name}.DISCONNECT", lambda: self._gone(connection, reason))
        if account is not None:
            self._publish_account_connections(account)

    def leaf_connected(self, connection: LeafPeer) -> None:
        """Publish that a leaf node connected, as for clients; see `LeafEvents`."""
        self.client_connected(connection)

    def leaf_disconnected(self, connection: LeafPeer, reason: str) -> None:
        """Publish that a leaf node disconnected, as for clients; see `LeafEvents`."""
        self.client_disconnected(connection, reason)

    def route_joined(self) -> None:
        """Publish statistics soon; see `RouteEvents`."""
        self._beat_soon()

    def route_left(self, server_id: str) -> None:
        """Forget the server; see `RouteEvents`."""
        self._neighbours.gone(server_id)

    def client_refused(
        self, connection: ClientPeer | LeafPeer, reason: str, account: Account | None = None
    ) -> None:
        """Publish that a client was refused, to the account whose service did so or else to system users."""
        if account is None:
            subject = f"$SYS.SERVER.{self._server.identity.id}.CLIENT.AUTH.ERR"
            self._publish(subject, lambda: self._gone(connection, reason))
        elif account.has_interest(_ACCOUNT_AUTH_ERROR):
            event = self._gone(connection, reason)
            event["client"] |= {"acc": account.name}
            account.publish(_ACCOUNT_AUTH_ERROR, encode(event))

    def _gone(self, connection: ClientPeer | LeafPeer, reason: str) -> dict[str, Any]:
        client = _client_of(connection) | {"stop": format_rfc3339(self._server.clock.now())}
        if connection.account is None and connection.kind == ConnectionKind.CLIENT:
            client |= _stranger(cast("ClientPeer", connection))
        fields = {
            "client": client,
            # from the client's point of view: what it sent is what came in here
            "sent": {"msgs": connection.in_msgs, "bytes": connection.in_bytes},
            "received": {"msgs": connection.out_msgs, "bytes": connection.out_bytes},
            "reason": reason,
        }
        return self._envelope.event("client_disconnect", fields)

    def _publish_account_connections(self, account: Account) -> None:
        if account.name == GLOBAL:
            return
        for subject in (
            f"$SYS.ACCOUNT.{account.name}.SERVER.CONNS",
            f"$SYS.SERVER.ACCOUNT.{account.name}.CONNS",
        ):
            self._publish_connection_count(account, subject)

    def _publish_connection_count(self, account: Account, subject: str) -> None:
        def event() -> dict[str, Any]:
            from ..monitor.accountz import account_statistics

            return self._envelope.event("account_connections", account_statistics(account))

        self._publish(subject, event)

    def _publish_connections(self) -> None:
        for account in list(self._server.registry.accounts.values()):
            if account.connections or account.leafs:
                self._publish_account_connections(account)
        self._later(CONNS_INTERVAL, self._publish_connections)

    def _publish_statistics(self) -> None:
        self._publish(
            f"$SYS.SERVER.{self._server.identity.id}.STATSZ",
            lambda: {"server": self._envelope.sender(), "statsz": self._statistics()},
        )
        self._later(self._statsz_interval, self._publish_statistics)
        self._statsz_interval = min(2 * self._statsz_interval, STATSZ_INTERVAL)

    def _beat_soon(self) -> None:
        """Publish statistics soon, and often at first, because there is someone new."""
        self._statsz_interval = FIRST_STATSZ
        self._later(FIRST_STATSZ, self._publish_statistics)

    def _sweep(self) -> None:
        self._neighbours.sweep()
        self._later(SWEEP_INTERVAL, self._sweep)

    def _publish(self, subject: str, document: Callable[[], dict[str, Any]]) -> None:
        system = self._server.registry.system
        if system is not None and system.has_interest(subject):
            system.publish(subject, encode(document()))

    def _later(self, delay: int, callback: Callable[[], None]) -> None:
        name = callback.__name__
        if name in self._timers:
            self._timers[name].cancel()
        self._timers[name] = self._server.clock.call_later(delay, callback)


def _client_of(connection: ClientPeer | LeafPeer) -> dict[str, Any]:
    """Return the client info for events, where `name_tag` is the account's, not the user's."""
    client, account = connection.client_info(), connection.account
    return client if account is None else client | {"name_tag": account.display}


def _stranger(connection: ClientPeer) -> dict[str, Any]:
    """Return what a refused client said of itself. It counts as a client of `$G`."""
    options = connection.options
    shown = {"user": options.nkey or options.user, "jwt": options.jwt}
    return {name: value for name, value in shown.items() if value} | {"acc": GLOBAL, "name_tag": GLOBAL}
