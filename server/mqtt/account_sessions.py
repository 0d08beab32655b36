"""AccountSessions: the sessions of one account, and who has them. Broker: those of all accounts.

Promises that a client id has one connection: the latest one, on whatever server of the account. Ids that two
clients take from each other again and again wait a second between two turns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from ...protocol import gojson
from ...protocol.identifier import name_hash, new_id
from ..clock import SECOND
from . import records, streams
from .flow import Flow, Resume, Wait
from .requests import NO_MESSAGE, REPLIES, JetStreamAnswerError, Requests
from .retained import RetainedMessages, stored
from .session import Session, SessionClient

if TYPE_CHECKING:
    from ..accounts import Account
    from ..accounts.subscription import Message
    from ..clock import Clock, Timer
    from ..config.options import Options
    from ..identity import ServerIdentity
    from ..logging import Logger

_FLAPPING = SECOND
_MOST_FLAPPING = 1024  # ids that are remembered
_LOCKED = SECOND // 10
_TRIES = 10


class CollisionError(Exception):
    """The stored session with the hash of a client id is that of another one."""


class ClientIdBusyError(Exception):
    """Somebody else with the same client id is being served."""


class FlappingError(Exception):
    """The client id was taken over a moment ago."""


class AccountSessions:
    """The sessions of one account.

    sessions: by client id; those of clients that are away are among them if they were connected here.
    retained: its retained messages.
    requests: asks JetStream.
    """

    def __init__(self, requests: Requests, clock: Clock, log: Logger, token: str) -> None:
        """`token` is the JetStream domain with a dot, or ""."""
        self.requests = requests
        self.retained = RetainedMessages(requests, clock, log)
        self.sessions: dict[str, Session] = {}
        self._by_hash: dict[str, Session] = {}
        self._clock = clock
        self._log = log
        self._token = token
        self._locked: set[str] = set()
        self._flapping: dict[str, int] = {}  # when they were taken over, in ns
        self._others = requests.account.subscribe(f"{REPLIES}*.SP.*.*", self._stored_elsewhere)
        self._ready = False
        self._starting: list[Resume] | None = None
        self._timers: set[Timer] = set()

    def stop(self) -> None:
        """Ask nothing more."""
        self.requests.account.unsubscribe(self._others)
        for timer in self._timers:
            timer.cancel()
        self.retained.stop()
        self.requests.stop()

    def start(self, number: int, *, given: bool) -> Flow[None]:
        """Make the streams that are not there; see `streams.ensure`. Raises JetStreamAnswerError.

        Clients that come meanwhile wait for the same.
        """
        if self._ready:
            return
        if self._starting is not None:
            error = yield self._starting.append
        else:
            self._starting = []
            error = None
            try:
                yield from streams.ensure(self.requests, self._log, self._token, number, given=given)
                yield from self.retained.start()
                self._ready = True
            except JetStreamAnswerError as problem:
                self.retained.stop()
                error = problem
            waiting, self._starting = self._starting, None
            for resume in waiting:
                resume(error)
        if error is not None:
            raise error

    def sleep(self, span: int) -> Wait:
        """Return a wait of `span` ns."""

        def wait(resume: Resume) -> None:
            def over() -> None:
                self._timers.discard(timer)
                resume(None)

            timer = self._clock.call_later(span, over)
            self._timers.add(timer)

        return wait

    # --- one at a time

    def lock(self, client_id: str) -> Flow[None]:
        """Keep all others away from a client id until `unlock`. Raises ClientIdBusyError."""
        for _ in range(_TRIES):
            if client_id not in self._locked:
                self._locked.add(client_id)
                return
            yield self.sleep(_LOCKED)
        raise ClientIdBusyError(f'other session with client ID "{client_id}" is in the process of connecting')

    def unlock(self, client_id: str) -> None:
        """Let others have the client id."""
        self._locked.discard(client_id)

    # --- coming and going

    def join(self, client_id: str, client: SessionClient, *, clean: bool) -> Flow[tuple[Session, bool]]:
        """Give a client its session, and close the connection that had it. Return whether there was one.

        Raises JetStreamAnswerError, CollisionError, ClientIdBusyError, and FlappingError after a second.
        """
        since = self._flapping.get(client_id)
        if since is not None:
            if self._clock.now() - since <= _FLAPPING:
                yield self.sleep(_FLAPPING)
                raise FlappingError(client_id)
            del self._flapping[client_id]
        yield from self.lock(client_id)
        try:
            found = yield from self._take(client_id, client, clean=clean)
        finally:
            self.unlock(client_id)
        return found

    def _take(self, client_id: str, client: SessionClient, *, clean: bool) -> Flow[tuple[Session, bool]]:
        session = self.sessions.get(client_id)
        exists = session is not None
        if session is None:
            session = Session(client_id, self.requests, self._token)
            exists = yield from self._restore(session)
        present = False
        if exists:
            if clean or session.clean:
                self._forget(session)
                yield from session.clear(wait=True)
            else:
                present = True
        before, session.client, session.clean = session.client, client, clean
        if before is not None:
            self._flaps(client_id)
            self._log.warning(
                f'Replacing old client {before} since both have the same client ID "{client_id}"'
            )
            before.replace()
        self.sessions[client_id] = self._by_hash[session.hash] = session
        try:
            yield from session.save()
        except JetStreamAnswerError:
            session.client = None
            self._forget(session)
            raise
        return session, present

    def _restore(self, session: Session) -> Flow[bool]:
        """Fill a session with what is stored of it. Return whether anything is."""
        body = {"last_by_subj": session.stored_at}
        try:
            answer = yield from self.requests.api("ML", f"STREAM.MSG.GET.{records.SESSIONS}", body)
        except JetStreamAnswerError as error:
            if error.err_code != NO_MESSAGE:
                raise
            return False
        try:
            record = records.read_session(stored(answer)[1])
        except ValueError as error:
            raise JetStreamAnswerError(f"session record: {error}") from None
        if record.client_id != session.client_id:
            raise CollisionError("stored session does not match client ID")
        session.restore(record, int(answer["message"].get("seq", 0)))
        return True

    def _forget(self, session: Session) -> None:
        if self.sessions.get(session.client_id) is session:
            del self.sessions[session.client_id]
            self._by_hash.pop(session.hash, None)

    def leave(self, session: Session, client: SessionClient) -> Flow[None]:
        """Take note that a client is gone. A clean session ends."""
        try:
            yield from self.lock(session.client_id)
        except ClientIdBusyError:
            return
        try:
            if session.client is not client:
                return
            session.client = None
            self._flapping.pop(session.client_id, None)
            if session.clean:
                self._forget(session)
                yield from session.clear(wait=False)
        finally:
            self.unlock(session.client_id)

    def _flaps(self, client_id: str) -> None:
        if len(self._flapping) >= _MOST_FLAPPING:
            now = self._clock.now()
            self._flapping = {one: at for one, at in self._flapping.items() if now - at <= _FLAPPING}
        self._flapping[client_id] = self._clock.now()

    def _stored_elsewhere(self, message: Message) -> None:
        """Close the client of a session that a client of another server has taken."""
        tokens = message.subject.split(".")
        session = self._by_hash.get(tokens[4])
        if tokens[2] == self.requests.node or session is None:
            return
        try:
            answer = gojson.decode(message.body)
            taken = "error" not in answer and answer.get("domain", "") == self._token.removesuffix(".")
            if not taken or int(answer["seq"]) < session.seq:
                return
        except (ValueError, KeyError, TypeError, AttributeError):
            return
        self._forget(session)
        client, session.client = session.client, None
        if client is not None:
            self._flaps(session.client_id)
            why = "Closing because a remote connection has started with the same client ID"
            self._log.warning(f'{client} - {why}: "{session.client_id}"')
            client.replace()


class BrokerContext(Protocol):
    """What the sessions need of the server."""

    options: Options
    identity: ServerIdentity
    clock: Clock
    log: Logger
    random_bytes: Callable[[int], bytes]


class Broker:
    """The sessions of all accounts. An account's begin with its first client."""

    def __init__(self, context: BrokerContext) -> None:
        self._context = context
        self._accounts: dict[Account, AccountSessions] = {}

    def stop(self) -> None:
        """Ask nothing more."""
        accounts, self._accounts = self._accounts, {}
        for sessions in accounts.values():
            sessions.stop()

    def forget(self, account: Account) -> None:
        """Ask nothing more for an account that is gone."""
        sessions = self._accounts.pop(account, None)
        if sessions is not None:
            sessions.stop()

    def new_id(self) -> str:
        """Return a random client id."""
        return new_id(self._context.random_bytes)

    def sessions_of(self, account: Account) -> Flow[AccountSessions]:
        """Return the sessions of an account. Raises JetStreamAnswerError if they cannot be kept."""
        sessions = self._accounts.get(account)
        if sessions is None:
            sessions = self._accounts[account] = self._make(account)
        options = self._context.options
        assert options.mqtt is not None
        clustered = options.cluster is not None and options.jetstream.enabled
        routes = len(options.cluster.routes) if clustered and options.cluster is not None else 0
        number = streams.replicas(options.mqtt.stream_replicas, routes)
        yield from sessions.start(number, given=options.mqtt.stream_replicas > 0)
        return sessions

    def _make(self, account: Account) -> AccountSessions:
        context, options = self._context, self._context.options
        assert options.mqtt is not None
        domain = options.default_js_domain.get(account.name)
        if not domain and options.mqtt.js_domain:
            domain = options.mqtt.js_domain
        token = options.jetstream.domain if domain is None else domain
        requests = Requests(
            account,
            context.clock,
            name_hash(context.identity.name),
            self.new_id,
            domain,
            options.mqtt.js_api_timeout,
        )
        where = f' in domain "{domain}"' if domain is not None else ""
        context.log.info(f'Creating MQTT streams/consumers for account "{account.name}"{where}')
        return AccountSessions(requests, context.clock, context.log, f"{token}." if token else "")
