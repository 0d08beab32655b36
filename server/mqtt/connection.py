"""MQTTConnection: serves what one MQTT client sends, and sends it its messages. Knows no loop and no socket.

Promises what `ClientConnection` promises, and: the first packet is CONNECT, and comes in time; the will of a
client that leaves without DISCONNECT is published; nothing is served while the answer to an earlier packet is
awaited that it may depend on.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...protocol.errors import PeerError
from ...protocol.wire.ops import VIOLATION, Op
from . import packets
from .account_sessions import ClientIdBusyError, CollisionError, FlappingError
from .filtering import Filtering
from .flow import Flow, run
from .handshake import MQTTHandshake
from .keep_alive import KeepAlive
from .packets import Connect, RefusedConnectError, Will
from .parser import TOO_LARGE, MQTTParser
from .peer import DUPLICATE, MQTTPeer
from .publishing import Publishing
from .requests import JetStreamAnswerError
from .subscriptions import FilterSubscriptions

if TYPE_CHECKING:
    from ..accounts.subscription import RoutedMessage, Subscription
    from ..client.connection import ClientList
    from ..client.peer import ClientContext
    from ..connection import ConnectionTransport
    from .account_sessions import Broker

_REFUSED = "Authentication Failure"
_BROKEN = "Protocol Violation"


class MQTTConnection(MQTTPeer):
    """An MQTT client's connection.

    publishing, filtering: what it publishes, and what it subscribes to.
    """

    def __init__(
        self,
        context: ClientContext,
        clients: ClientList,
        wire: ConnectionTransport,
        peer: tuple[str, int],
        broker: Broker,
    ) -> None:
        super().__init__(context, clients, wire, peer)
        filters = FilterSubscriptions(self)
        self.subscriptions = filters
        self.handshake = self._login = MQTTHandshake(self, filters)
        self.ping_timer = self._keep_alive = KeepAlive(self, context)
        self.parser = MQTTParser(context.options.max_payload)
        self.publishing = Publishing(self)
        self.filtering = Filtering(self, filters)
        self._broker = broker
        self._connect: Connect | None = None
        self._will: Will | None = None

    # --- start and end

    def _begin(self) -> None:
        """Take up the session, as the client has logged in."""
        assert self._connect is not None
        self._hold(self._join(self._connect))

    def _join(self, packet: Connect) -> Flow[None]:
        account = self.account
        assert account is not None
        try:
            sessions = yield from self._broker.sessions_of(account)
            session, present = yield from sessions.join(self.mqtt_client, self, clean=packet.clean)
        except FlappingError:
            self.close(DUPLICATE)
            return
        except (CollisionError, ClientIdBusyError, JetStreamAnswerError) as error:
            if isinstance(error, CollisionError):
                self.send_packet(packets.connack(packets.BAD_IDENTIFIER))
            self._fail_with(f"unable to connect: {error}")
            return
        if self.closed_reason:
            run(sessions.leave(session, self))
            return
        self.session, self.sessions, self._will = session, sessions, packet.will
        self.send_packet(packets.connack(packets.ACCEPTED, present=present))
        self._keep_alive.begin(packet.keep_alive)
        self.last_activity = self.clock.now()
        yield from self.filtering.restore()
        if not self.closed_reason:
            session.send_again()

    def replace(self) -> None:
        """Close without a will: another client has come with the same id."""
        self._will = None
        self.close(DUPLICATE)

    def fail(self, text: str, reason: str) -> None:
        """Close, with a return code if the client may not log in."""
        del text
        if not self.closed_reason:
            if reason == _REFUSED and self.session is None:
                self.send_packet(packets.connack(packets.NOT_AUTHORIZED))
            self.close(reason)

    def _broken(self, peer_error: PeerError) -> None:
        self.context.log.error(f"{self} - {peer_error.reason}")
        if isinstance(peer_error, RefusedConnectError):
            self.send_packet(packets.connack(peer_error.code))
        self.close(TOO_LARGE if peer_error.reason == TOO_LARGE else _BROKEN)

    def _release(self, reason: str) -> None:
        session, sessions, will = self.session, self.sessions, self._will
        self._will = None
        if session is not None and sessions is not None and session.client is self:
            if will is not None:
                self.publishing.publish_will(will)
            run(sessions.leave(session, self))
        super()._release(reason)

    # --- packets of the client

    def _hold(self, flow: Flow[None]) -> None:
        """Run a flow, and serve nothing before it is over."""
        over = waits = False

        def ended(_: None) -> None:
            nonlocal over
            over = True
            if waits:
                self.clock.soon(self.resume)

        run(self._watched(flow), ended)
        if not over:
            waits = True
            self.pause()

    def _watched(self, flow: Flow[None]) -> Flow[None]:
        try:
            yield from flow
        except JetStreamAnswerError as error:
            self._fail_with(str(error))

    def _fail_with(self, why: str) -> None:
        if not self.closed_reason:
            self.context.log.error(f"{self} - {why}")
            self.close(_BROKEN)

    def _serve(self, operations: Iterator[Op]) -> None:
        for operation in operations:
            try:
                if operation[0] == VIOLATION:
                    raise operation[1]
                self._packet(*operation)
            except PeerError as error:
                self._broken(error)
            if self.must_pause(operations):
                return

    def _packet(self, kind: int, flags: int, body: bytes) -> None:
        if self.context.options.trace:
            self.context.log.trace(f"{self} - <<- [{packets.NAMES[kind]} {len(body)} bytes]")
        if kind == packets.CONNECT:
            self._connected(packets.read_connect(body))
        elif kind == packets.PUBLISH:
            self.publishing.publish(packets.read_publish(flags, body))
        elif kind == packets.PUBACK:
            self.filtering.received(packets.read_packet_id(body))
        elif kind == packets.PINGREQ:
            self.send_packet(packets.PINGRESP_PACKET)
        elif kind == packets.SUBSCRIBE:
            self._hold(self.filtering.subscribe(packets.read_filters(kind, body)))
        elif kind == packets.UNSUBSCRIBE:
            self._hold(self.filtering.unsubscribe(packets.read_filters(kind, body)))
        elif kind == packets.DISCONNECT:
            self._will = None
            self.close("Client Closed")
        else:
            self._qos2(kind, packets.read_packet_id(body))

    def _qos2(self, kind: int, packet_id: int) -> None:
        if kind == packets.PUBREL:
            self.publishing.release(packet_id)
        elif kind == packets.PUBREC:
            run(self._watched(self.filtering.half_received(packet_id)))
        else:
            self.filtering.completed(packet_id)

    def _connected(self, packet: Connect) -> None:
        if self._connect is not None:
            raise packets.broken("received a second CONNECT packet")
        self._connect = packet
        self.mqtt_client = packet.client_id or self._broker.new_id()
        if packet.will is not None:
            self.publishing.check_topic(packet.will.topic)
            if packet.will.qos == 2 and self.block.reject_qos2_publish:
                raise RefusedConnectError(packets.QOS2_WILL, "server does not accept QoS2 for Will messages")
        self._login.log_in(packet, tokens=self._takes_tokens)

    @property
    def _takes_tokens(self) -> bool:
        options = self.context.options
        return bool(options.operator or options.trusted_keys)

    def admit(self) -> None:
        """Accept the client after its login, and take up its session."""
        super().admit()
        self._begin()

    # --- what it receives

    def deliver(self, subscription: Subscription, msg: RoutedMessage) -> bool:
        """Send one message that `route` delivers."""
        return not self.closed_reason and self.filtering.deliver(subscription, msg)

    def refresh(self) -> None:
        """Do nothing: each delivery is looked at, whatever the permissions are."""

    def send_async_info(self) -> None:
        """Send nothing: there is no INFO in MQTT."""

    def __repr__(self) -> str:
        before = "" if self.upgrade is None else self.upgrade.prefix()
        kind = "mid" if self.upgrade is None else "mid_ws"
        name = f' - "{self.mqtt_client}"' if self.mqtt_client else ""
        return f"{before}{self.peer[0]}:{self.peer[1]} - {kind}:{self.id}{name}"
