"""RouteConnection: one end of a route, which exchanges interest and messages of all accounts.

The end that dialled sends CONNECT and INFO, the other one INFO. When each knows the other, both announce
their interest. The accepting end sends its INFO after the peer's CONNECT, because a nats-server that gets an
INFO and then is refused dials again at once, more and more often. A peer that waits for the INFO before it
sends CONNECT gets it after a moment. Knows no socket.

Promises: until both ends are known, nothing else is served; operations are served in order; nothing is served
after the connection was closed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

from ...native import COMPILED
from ...protocol.errors import PeerError
from ...protocol.gateway_reply import cluster_hash, split_way
from ...protocol.wire import encode
from ...protocol.wire.ops import (
    ACCOUNT,
    CONNECT,
    ERR,
    HPUB,
    INFO,
    LMSG,
    LSUB,
    LUNSUB,
    PING,
    PONG,
    PUB,
    VIOLATION,
    Op,
)
from ..accounts.fanout import deliver_together, fan_out
from ..accounts.leaving import leave
from ..accounts.routing import route
from ..accounts.subscription import ConnectionKind, RoutedMessage
from ..accounts.traced_message import TracedMessage
from ..clock import SECOND
from ..connection.cluster_connection import REFUSED
from ..connection.compression import EFFORTS, announced
from ..connection.ping_timer import PingTimer
from ..leaf.frames import read_reply
from .account_route import AccountRoute
from .connect_info import RouteConnect, RouteInfo
from .peer import RouteContext, RoutePeer

if TYPE_CHECKING:
    from ..accounts import Account, AccountRegistry
    from ..accounts.plan import Plan
    from ..accounts.subscription import MessageEndpoint
    from ..clock import Timer
    from ..connection import ConnectionTransport
    from ..slices import Steps
    from .remote import RouteRemote

_FIRST_PING = SECOND
_ROUTER = ConnectionKind.ROUTER.value
_GREET_AFTER = SECOND // 4
# -ERR to a connection for a pinned account.
_DECLINED = (
    "Not possible to have a dedicated route for account",
    "No route for account",
    "Unable to lookup account",
)


class RouteObserver(Protocol):
    """Is notified of what a peer says of itself, and decides who may join."""

    def agrees(self, name: str, *, dynamic: bool) -> bool:
        """Return whether servers of the cluster `name` belong to ours.

        dynamic: whether the peer made up that name itself.
        """

    def introduced(self, connection: RouteConnection, info: RouteInfo) -> None:
        """Take note that the peer has sent its first INFO."""

    def renewed(self, connection: RouteConnection, before: RouteInfo) -> None:
        """Take note that the peer's INFO has changed; `before` is the earlier one."""

    def learnt(self, info: RouteInfo) -> None:
        """Take note of another server, which the peer announces."""

    def closed(self, connection: RouteConnection, reason: str) -> None:
        """Take note that the route is closed."""


class RouteUse(Protocol):
    """Decides which accounts use which routes."""

    def serves(self, connection: RouteConnection, account: str) -> bool:
        """Return whether an account uses this connection."""

    def answered(self, connection: RouteConnection) -> None:
        """Take note that the peer has answered for the first time since the route is joined."""

    def pins(self, connection: RouteConnection, info: RouteInfo) -> None:
        """Take note that the peer pins another account from now on."""

    def declined(self, connection: RouteConnection, account: str) -> None:
        """Take note that the peer wants no connection for a pinned account."""


class RouteConnection(RoutePeer):
    """A route. It greets, then is joined, and then is closed.

    remote: the remote of this server that dialled it; None if the peer dialled.
    pinned: the account that the route is for, "" if it is one of the pool.
    place: its place in the pool.
    opened: when the connection came about, ns.
    joined: whether both ends know each other, so that interest and messages are served.
    joined_at: when that was, ns.
    account_routes: the parts of the route, one for each account, by the account's name.
    """

    def __init__(
        self,
        context: RouteContext,
        observer: RouteObserver,
        use: RouteUse,
        wire: ConnectionTransport,
        peer: tuple[str, int],
        remote: RouteRemote | None,
    ) -> None:
        super().__init__(context, wire, peer)
        self.remote = remote
        self.pinned = "" if remote is None else remote.account
        self.place = 0
        self.opened = self.joined_at = self.clock.now()
        self.joined = False
        self.account_routes: dict[bytes, AccountRoute] = {}
        self.ping_timer = PingTimer(self, context, _FIRST_PING)
        self._account_route: AccountRoute | None = None  # the account that the next messages belong to
        self._observer = observer
        self._use = use
        self._most, self.parser.most = self.parser.most, 1  # what follows an INFO depends on it
        self._greeting: Timer | None = None
        self._greeted = self._negotiated = self._answered = False
        if COMPILED:
            self.parser.deliver = self._deliver

    # --- start and end

    def open(self) -> None:
        """Begin the handshake, as the wire is there."""
        context = self.context
        context.log.info(f"{self} - Route connection created")
        if self.remote is not None:
            target = self.remote.target
            self.send_line(context.documents.connect(target.user, target.password))
        else:
            self.parser.await_connect()
            self._greeting = self.clock.call_later(_GREET_AFTER, self._greet)
        self.expect_introduction()
        self.flush()

    def _greet(self) -> None:
        """Send INFO to the server that dialled, once."""
        if not self._greeted:
            self._greeted = True
            self._send_info(self.compression_options.mode)

    def _send_info(self, compression: str) -> None:
        fields = {"route_account": self.pinned, "route_pool_idx": self.place, **announced(compression)}
        self.send_line(self.context.documents.info(**fields))
        self.flush()

    def join(self) -> None:
        """Share every account with the peer, which is known and may join."""
        self.joined, self.joined_at = True, self.clock.now()
        self.stop_waiting()
        self.parser.most = self._most
        if self.remote is not None:
            self._send_info(self.announced_compression)
            self.send_line(encode.PING)
        self.ping_timer.start()
        self.pause_during(self._sharing(self.context.registry))

    def _sharing(self, registry: AccountRegistry) -> Steps[None]:
        for account in list(registry.accounts.values()):
            if self.closed_reason:
                return
            # It may have ended meanwhile.
            if registry.get(account.name) is account and self._use.serves(self, account.name):
                self.share(account.name.encode()).bind(account)
            yield

    def advertising_again(self) -> Steps[None]:
        """Advertise all interest again, in steps: the peer now takes other interest than before."""
        for account_route in list(self.account_routes.values()):
            if self.closed_reason:
                return
            account_route.advertiser.sync(repeats=True)
            yield

    def serves(self, account: bytes) -> bool:
        """See `RoutePeer.serves`."""
        return self.joined and self._use.serves(self, account.decode("utf-8", "surrogateescape"))

    def share(self, name: bytes) -> AccountRoute:
        """Return the part of the route that belongs to the account `name`, which may not exist here yet."""
        found = self.account_routes.get(name)
        if found is None:
            found = self.account_routes[name] = AccountRoute(self, name)
            account = self.context.registry.get(name.decode("utf-8", "surrogateescape"))
            if account is not None:
                found.bind(account)
        return found

    def forget_unused(self, account_route: AccountRoute) -> None:
        """Drop the part of an account that does not exist here, unless the peer has interest in it.

        So the parts are no more than the accounts and the peer's interest, whatever names the peer sends.
        """
        if account_route.unused and account_route is not self._account_route:
            self.account_routes.pop(account_route.name, None)

    def _switch(self, name: bytes) -> None:
        """Serve ACCOUNT: the next messages belong to the account `name`."""
        before, self._account_route = self._account_route, self.share(name)
        if before is not None:
            self.forget_unused(before)

    def _release(self, reason: str) -> None:
        self.parser.deliver = None
        self.stop_waiting()
        routes, self.account_routes = self.account_routes, {}
        self._account_route = None
        leave(self.clock, [route.leave() for route in routes.values()])
        self.stop_writing()
        self.context.log.info(f"{self} - Router connection closed: {reason}")
        self._observer.closed(self, reason)
        self._flusher.schedule()

    # --- operations of the peer

    def _quick_account(self) -> Account | None:
        account_route = self._account_route
        return account_route.account if account_route is not None and self.joined and self.headers else None

    def _serve(self, operations: Iterator[Op]) -> None:
        while True:
            plan: Plan | None = None
            account_route = self._account_route
            account = None if account_route is None else account_route.account
            if account is not None and self.joined:
                operation, plan, count, size = fan_out(operations, account, _ROUTER, self)
                self._count(account, count, size)
            else:
                operation = next(operations, None)
            if operation is None:
                return
            code = operation[0]
            if (
                account is not None
                and plan is not None
                and (taken := deliver_together(plan, account.trace_mark, operation, operations))
            ):
                count, size, operations = taken
                self._count(account, count, size)
                if self.must_pause(operations):
                    return
                continue
            if code == ACCOUNT and self.joined:
                self._switch(operation[1])
                continue
            if (code <= HPUB or code == LMSG) and self.joined:
                if (plan is None or code == LMSG) and self._must_wait(operation):
                    self._keep(operation, operations)
                    return
                self._message(operation)
            else:
                self._interest(operation)
            if self.must_pause(operations):
                return

    def _must_wait(self, operation: Op) -> bool:
        """Return whether a message has no plan in the cache, and the turn has no time left to make one."""
        account_route = self._account_route if operation[0] <= HPUB else self.share(operation[-1])
        account = None if account_route is None else account_route.account
        known = account is not None and operation[1] in account.plans
        return not known and self.clock.now() >= self.until

    def serve_special(
        self, plan: Plan, operation: Op, operations: Iterator[Op], source: MessageEndpoint | None = None
    ) -> bool:
        """See `Connection.serve_special`. The source is the account's part of this route."""
        if self._account_route is not None:
            source = self._account_route
            source.remote_cluster = ""  # the publish comes from no leaf
        return super().serve_special(plan, operation, operations, source)

    def _interest(self, operation: Op) -> None:
        """Serve an operation that is not a message."""
        code = operation[0]
        if code == LSUB and self.joined:
            _, subject, queue, weight, origin, account = operation
            account_route = self.share(account)
            if account_route.account is None:
                self.context.wanted(account.decode("utf-8", "surrogateescape"))
            account_route.subscribe(subject, queue, weight, origin)
            self.forget_unused(account_route)
        elif code == LUNSUB and self.joined:
            _, subject, queue, origin, account = operation
            account_route = self.share(account)
            account_route.unsubscribe(subject, queue, origin)
            self.forget_unused(account_route)
        else:
            self._control_operation(operation)

    def _message(self, operation: Op) -> None:
        """Serve one message that the fan-out did not serve. The peer has applied the mappings."""
        queues: tuple[bytes, ...] = ()
        origin = b""
        if operation[0] == LMSG:
            _, subject, reply, queues, header_size, size, payload, *lead = operation
            account_route = self.share(lead[-1])
            origin = lead[0] if len(lead) > 1 else b""
        else:
            _, subject, reply, header_size, size, tail = operation
            assert self._account_route is not None
            account_route, payload = self._account_route, tail[len(tail) - 2 - size : -2]
        account = account_route.account
        self._count(account, 1, size)
        if account is None:
            self.forget_unused(account_route)
            return
        tracer = self.context.tracer
        taken, payload, header_size, trace = tracer.begin_routed(
            account_route, account, subject, payload, header_size, self.may_trace_to
        )
        if not taken:
            return
        back, subject = split_way(subject) if self.context.gateway_hash else (b"", subject)
        if back and cluster_hash(back) != self.context.gateway_hash:
            return
        way, reply, shown = read_reply(reply, account.reply_ways)
        account_route.remote_cluster = origin.decode("utf-8", "surrogateescape")
        tail = encode.tail(reply, payload[:header_size], payload[header_size:])
        fields = account_route, subject, reply, header_size, len(payload), tail, shown
        msg = RoutedMessage(*fields, way=way, returned=bool(back))
        message = msg if trace is None else TracedMessage(msg, trace)
        route(account.plan(subject), message, None if back else queues)
        if trace is not None:
            tracer.send(account, trace)

    def _control_operation(self, operation: Op) -> None:
        code = operation[0]
        if code == CONNECT:
            self._connect(operation[1])
        elif code == VIOLATION:
            self._broken(operation[1])
        elif code == ERR:
            text = operation[1].decode("utf-8", "replace").strip("'")
            declined = text.startswith(_DECLINED)
            log = self.context.log
            (log.debug if declined else log.error)(f"{self} - Route Error '{text}'")
            if declined and self.remote is not None and self.pinned:
                self._use.declined(self, self.pinned)
            self.close("Protocol Violation")
        elif code == INFO:
            self._info(operation[1])
        elif code == PING:
            self.send_line(encode.PONG)
        elif code == PONG:
            self._pong()
        elif code in (PUB, HPUB, LMSG, LSUB, LUNSUB):
            self.fail("Authorization Violation", REFUSED)

    def _pong(self) -> None:
        self.ping_timer.answered()
        if self.ping_timer.rtt:
            self.adapt_compression(self.ping_timer.rtt)
        if self.joined and not self._answered:
            self._answered = True
            self._use.answered(self)

    def _connect(self, raw: bytes) -> None:
        """Serve CONNECT: refuse a peer that may not join."""
        try:
            given = RouteConnect.parse(raw)
        except PeerError as peer_error:
            self.broke_protocol(peer_error.reason)
            return
        self.login = given.user, given.password
        refusal = self.context.refusal(given, self.secure)
        if refusal is not None:
            self.fail(*refusal)
        elif not self._observer.agrees(given.cluster, dynamic=given.cluster_dynamic):
            text = (
                f'Rejecting connection, cluster name "{given.cluster}" does not match "{self.context.name}"'
            )
            self.fail(text, "Cluster Name Conflict")
        else:
            self._greet()
            self.peer_lnoc, self.peer_lnocu = given.lnoc, given.lnocu
            self.admit()

    def _info(self, raw: bytes) -> None:
        """Serve INFO: of the peer itself, or of a server that it knows."""
        try:
            info = RouteInfo.parse(raw)
        except PeerError as peer_error:
            self.broke_protocol(peer_error.reason)
            return
        if self.info is not None:
            if info.route_acc_add_reqid:
                self._use.pins(self, info)
            elif info.server_id == self.info.server_id:
                before, self.info = self.info, info
                self._observer.renewed(self, before)
            else:
                self._observer.learnt(info)
            return
        if not self._negotiated and self._compress(info):
            return
        self.info = info
        if self.remote is None:
            self.pinned = info.route_account
        self.parser.pinned = self.pinned.encode("utf-8", "surrogateescape")
        self.headers = info.headers and not self.context.options.no_header_support
        self.peer_lnoc = self.peer_lnoc or info.lnoc
        self.peer_lnocu = self.parser.origins = self.peer_lnocu or info.lnocu
        self._observer.introduced(self, info)

    def _compress(self, info: RouteInfo) -> bool:
        """Agree with the peer on compression. Return False if there is none, and True if it closed for that.

        If there is, both send INFO again: the end that dialled before all is compressed, the other one after.
        """
        self._negotiated = True
        try:
            mode = self.agree_on_compression(info.compression)
        except ValueError as error:
            self.fail(str(error), "Protocol Violation")
            return True
        if mode not in EFFORTS:
            return False
        if self.remote is not None:
            self._send_info(self.announced_compression)
            self.compress(mode)
        else:
            self.compress(mode)
            self._send_info(self.announced_compression)
        return True

    def stop_waiting(self) -> None:
        """See ClusterConnection."""
        super().stop_waiting()
        if self._greeting is not None:
            self._greeting.cancel()
            self._greeting = None
