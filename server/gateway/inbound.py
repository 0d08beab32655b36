"""InboundGateway: a gateway connection that another cluster dialled, to send us messages.

This end sends INFO, the other one CONNECT and INFO. Then this server tells the other cluster of the interest
in this one, account by account, and gets the messages that match it. Knows no socket.

Promises: until the peer has logged in, nothing but CONNECT is looked at; operations are served in order;
nothing is served after the connection was closed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

from ...native import COMPILED
from ...protocol.errors import PeerError
from ...protocol.gateway_reply import cluster_hash, server_hash, split_way
from ...protocol.wire import encode
from ...protocol.wire.ops import ACCOUNT, ASUB, AUNSUB, CONNECT, HPUB, LMSG, LSUB, LUNSUB, Op
from ..accounts.fanout import deliver_together, fan_out
from ..accounts.leaving import LeavingConnection, leave
from ..accounts.routing import route
from ..accounts.server_trace import GATEWAY, TracePoint
from ..accounts.subscription import ConnectionKind, RoutedMessage
from ..accounts.traced_message import TracedMessage
from ..connection.cluster_connection import REFUSED
from ..leaf.frames import read_reply
from .connect_info import GatewayConnect
from .interest_advertiser import GatewayAdvertiser
from .peer import GatewayContext, GatewayPeer

if TYPE_CHECKING:
    from ..accounts import Account
    from ..accounts.plan import Plan
    from ..connection import ConnectionTransport
    from ..slices import Steps
    from .connect_info import GatewayInfo

_GATEWAY = ConnectionKind.GATEWAY.value


class InboundObserver(Protocol):
    """Is notified of what a peer says of itself, and decides who may join."""

    def admits(self, cluster: str) -> bool:
        """Return whether servers of that cluster may connect."""

    def joined(self, connection: InboundGateway) -> None:
        """Take note that the peer has introduced itself, or close its connection."""

    def left(self, connection: InboundGateway) -> None:
        """Take note that the connection is closed."""


class InboundGateway(GatewayPeer):
    """An inbound gateway. It greets, then is joined, and then is closed.

    joined: whether the peer has introduced itself, so that messages are served.
    advertisers: what tells the peer of each account's interest, by the account's name.
    """

    def __init__(
        self,
        context: GatewayContext,
        observer: InboundObserver,
        wire: ConnectionTransport,
        peer: tuple[str, int],
    ) -> None:
        super().__init__(context, wire, peer)
        self.joined = False
        self.headers = not context.options.no_header_support
        self.advertisers: dict[str, GatewayAdvertiser] = {}
        self._api_hidden = False
        self._observer = observer
        self._sender = ""  # the account of the next messages
        if COMPILED:
            self.parser.deliver = self._deliver

    # --- start and end

    def open(self) -> None:
        """Begin the handshake, as the wire is there."""
        context = self.context
        context.log.info(f"{self} - Processing inbound gateway connection")
        self.parser.await_connect()
        self.expect_introduction()
        self.send_line(context.documents.info())
        self.flush()

    def _connect(self, raw: bytes) -> None:
        """Serve CONNECT: refuse a peer that may not join."""
        try:
            given = GatewayConnect.parse(raw)
        except PeerError as peer_error:
            self.broke_protocol(peer_error.reason)
            return
        self.login = given.user, given.password
        if not self.context.authorizes(*self.login, self.secure):
            self.fail("Authorization Violation", REFUSED)
        elif not given.gateway:
            self.fail("attempted to connect to gateway port", "Incorrect Port")
        elif not self._observer.admits(given.gateway):
            self.context.log.error(f'{self} - Rejecting connection from gateway "{given.gateway}"')
            self.send_line(encode.err(f'Connection to gateway "{self.context.name}" rejected'))
            self.close("Wrong Gateway")
        else:
            self.name = self.remote_cluster = given.gateway
            self.ping_timer.start()
            self.admit()

    def introduced(self, info: GatewayInfo) -> None:
        """See GatewayPeer."""
        if not self.name:
            self.fail("Authorization Violation", REFUSED)
        elif info.gateway != self.name:
            self.broke_protocol(f'INFO names the cluster "{info.gateway}", CONNECT "{self.name}"')
        else:
            self.stop_waiting()
            self.joined = True
            self._observer.joined(self)

    def informed(self, info: GatewayInfo) -> None:
        """See GatewayPeer. The addresses of that cluster are learnt over the outbound gateway."""

    def sharing(self) -> Steps[None]:
        """Tell the peer of the interest in every account, in steps."""
        registry = self.context.registry
        for account in list(registry.accounts.values()):
            if self.closed_reason:
                return
            if registry.get(account.name) is account:  # it has not ended meanwhile
                self.share(account)
            yield

    def share(self, account: Account) -> None:
        """Tell the peer of the interest in an account, from now on."""
        advertiser = self.advertisers.get(account.name)
        if advertiser is not None:
            if not advertiser.is_of(account):
                advertiser.withdraw()
                advertiser.start(account)
            return
        advertiser = self.advertisers[account.name] = GatewayAdvertiser(self, account.name.encode())
        advertiser.without_api = self._api_hidden
        advertiser.start(account)

    def hide_api(self, *, hidden: bool) -> None:
        """Tell the peer of the API of JetStream no longer, or again."""
        self._api_hidden = hidden
        for advertiser in self.advertisers.values():
            advertiser.hide_api(hidden=hidden)

    def forget(self, name: str) -> None:
        """Tell the peer that the interest in an account has ended, because the account has."""
        advertiser = self.advertisers.pop(name, None)
        if advertiser is not None:
            advertiser.withdraw()

    def _release(self, reason: str) -> None:
        self.parser.deliver = None
        self.stop_waiting()
        advertisers, self.advertisers = self.advertisers, {}
        leave(self.clock, [LeavingConnection(None, self, {}, each.stop) for each in advertisers.values()])
        self.stop_writing()
        self.context.log.info(f"{self} - Gateway connection closed: {reason}")
        self._observer.left(self)
        self._flusher.schedule()

    # --- operations of the peer

    def _receiving(self) -> Account | None:
        """Return the account that the next messages belong to, None if there is none."""
        return self.context.registry.get(self._sender) if self.joined and self._sender else None

    def _quick_account(self) -> Account | None:
        return self._receiving() if self.headers else None

    def _serve(self, operations: Iterator[Op]) -> None:
        while True:
            plan: Plan | None = None
            account = self._receiving()
            if account is not None:
                operation, plan, count, size = fan_out(operations, account, _GATEWAY, self)
                self._count(account, count, size)
            else:
                operation = next(operations, None)
            if operation is None:
                return
            if (
                account is not None
                and plan is not None
                and (taken := deliver_together(plan, account.trace_mark, operation, operations))
            ):
                count, size, operations = taken
                self._count(account, count, size)
            elif operation[0] <= HPUB or operation[0] == LMSG:
                if plan is None and self._must_wait(account, operation):
                    self._keep(operation, operations)
                    return
                self._message(operation)
            else:
                self._control_operation(operation)
            if self.must_pause(operations):
                return

    def _must_wait(self, account: Account | None, operation: Op) -> bool:
        """Return whether a message has no plan in the cache, and the turn has no time left to make one."""
        known = account is not None and operation[1] in account.plans
        return self.joined and not known and self.clock.now() >= self.until

    def _control_operation(self, operation: Op) -> None:
        code = operation[0]
        if code == ACCOUNT:
            self._sender = operation[1].decode("utf-8", "surrogateescape")
        elif code == CONNECT:
            self._connect(operation[1])
        elif code in (LSUB, LUNSUB, ASUB, AUNSUB):
            self.broke_protocol("Received interest on an inbound gateway")
        else:
            self.serve_control(operation)

    # --- messages

    def _message(self, operation: Op) -> None:
        """Serve one message that the fan-out did not serve. The peer has applied the mappings."""
        if not self.joined:
            self.fail("Authorization Violation", REFUSED)
            return
        queues: tuple[bytes, ...] = ()
        if operation[0] == LMSG:
            _, subject, reply, queues, header_size, size, payload, name = operation
            self._sender = name.decode("utf-8", "surrogateescape")
        else:
            _, subject, reply, header_size, size, tail = operation
            payload = tail[len(tail) - 2 - size : -2]
        account = self._receiving()
        self._count(account, 1, size)
        if account is None:
            self.send_line(encode.account_unsub(self._sender.encode("utf-8", "surrogateescape")))
            return
        tracer = self.context.tracer
        taken, payload, header_size, trace = tracer.begin_routed(
            self, account, subject, payload, header_size, self.may_trace_to
        )
        if not taken:
            return
        back, own = split_way(subject)
        served: tuple[bytes, ...] | None = queues
        if back:
            if cluster_hash(back) != self.context.cluster_hash:
                return
            if self._passes_on(back, account, subject, reply, header_size, payload):
                return
            subject, served = own, None
        way, reply, shown = read_reply(reply, account.reply_ways)
        tail = encode.tail(reply, payload[:header_size], payload[header_size:])
        size = len(payload)
        msg = RoutedMessage(
            self, subject, reply, header_size, size, tail, shown, way=way, returned=bool(back)
        )
        if trace is None:
            route(account.plan(subject), msg, served)
        else:
            route(account.plan(subject), TracedMessage(msg, trace), served)
            tracer.send(account, trace)

    def _passes_on(
        self, back: bytes, account: Account, subject: bytes, reply: bytes, header_size: int, payload: bytes
    ) -> bool:
        """Pass a reply on to the server of this cluster that its way leads to.

        Return whether there is another such server.
        """
        context = self.context
        server = server_hash(back)
        if server == context.server_hash:
            return False
        towards = context.towards(server, account.name.encode())
        if towards is None:
            return False
        tail = encode.tail(reply, payload[:header_size], payload[header_size:])
        towards.deliver_to_server(RoutedMessage(self, subject, reply, header_size, len(payload), tail), ())
        context.flusher.schedule()
        return True

    def trace_point(self) -> TracePoint:
        """See MessageEndpoint."""
        info = self.info
        name = "" if info is None else info.server_name or info.server_id
        return TracePoint(GATEWAY, self.id, name, traces=True)
