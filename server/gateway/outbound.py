"""OutboundGateway: a gateway connection that this server dialled, to send messages to another cluster.

The other end sends INFO, this one CONNECT and INFO. Then the other cluster tells of its interest, account by
account, and gets the messages that match it. Knows no socket.

Promises: operations are served in order; nothing is served after the connection was closed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

from ...protocol.wire import encode
from ...protocol.wire.ops import ASUB, AUNSUB, CONNECT, HPUB, LMSG, LSUB, LUNSUB, PUB, Op
from ..accounts.leaving import leave
from .account_gateway import AccountGateway
from .connect_info import ALL_INTEREST_BEGINS, ALL_INTEREST_SENT, GOSSIP
from .peer import GatewayContext, GatewayPeer

if TYPE_CHECKING:
    from ..accounts import Account
    from ..config.options import TLSOptions
    from ..connection import ConnectionTransport
    from .connect_info import GatewayInfo
    from .recent_interest import RecentInterest
    from .remote import GatewayRemote


class OutboundObserver(Protocol):
    """Is notified of what a peer says of itself and of others, and knows the accounts here."""

    def reached(self, connection: OutboundGateway, info: GatewayInfo) -> bool:
        """Return whether to use a connection whose peer has introduced itself."""

    def renewed(self, connection: OutboundGateway, info: GatewayInfo) -> None:
        """Take note of a change in the peer's INFO."""

    def learnt(self, name: str, urls: list[str]) -> None:
        """Take note of another cluster, which the peer announces."""

    def account(self, name: bytes) -> tuple[Account, RecentInterest] | None:
        """Return the account of that name with its recent interest, None if there is none."""

    def lost(self, connection: OutboundGateway) -> None:
        """Take note that the connection is closed."""

    def has_jetstream(self, name: str) -> None:
        """Take note that servers of nats-server in that cluster have JetStream."""


class OutboundGateway(GatewayPeer):
    """An outbound gateway to the cluster `remote.name`.

    remote: what dialled it.
    accounts: the parts of the connection, one for each account, by the account's name.
    """

    def __init__(
        self,
        context: GatewayContext,
        observer: OutboundObserver,
        wire: ConnectionTransport,
        peer: tuple[str, int],
        remote: GatewayRemote,
    ) -> None:
        super().__init__(context, wire, peer)
        self.remote = remote
        self.name = remote.name
        self.accounts: dict[bytes, AccountGateway] = {}
        self._observer = observer

    # --- start and end

    def open(self) -> None:
        """Wait for the INFO of the peer."""
        self.context.log.info(f'{self} - Creating outbound gateway connection to "{self.name}"')
        self.expect_introduction()

    def introduced(self, info: GatewayInfo) -> None:
        """See GatewayPeer."""
        context = self.context
        if not info.gateway:
            self.fail(f'Attempt to connect to gateway "{self.name}" using wrong port', "Incorrect Port")
            return
        if info.gateway != self.name:
            wrong = f'remote gateway name is "{info.gateway}"'
            context.log.error(f'{self} - Failing connection to gateway "{self.name}", {wrong}')
            self.send_line(
                encode.err(
                    f'Connection from "{context.name}" rejected, wanted to connect to "{self.name}", '
                    f'this is "{info.gateway}"'
                )
            )
            self.close("Wrong Gateway")
            return
        self.stop_waiting()
        self.headers = info.headers and not context.options.no_header_support
        target = self.remote.target
        tls = self.remote.tls is not None
        self.send_line(context.documents.connect(target.user, target.password, tls=tls))
        self.send_line(context.documents.info())
        if self._observer.reached(self, info):
            context.log.info(
                f'{self} - Outbound gateway connection to "{self.name}" ({info.server_id}) registered'
            )
            self.ping_timer.start()

    def _tls(self) -> TLSOptions | None:
        return self.remote.tls

    def _release(self, reason: str) -> None:
        self.stop_waiting()
        accounts, self.accounts = self.accounts, {}
        leave(self.clock, [each.leave() for each in accounts.values()])
        self.stop_writing()
        self.context.log.info(f"{self} - Gateway connection closed: {reason}")
        self._observer.lost(self)
        self._flusher.schedule()

    # --- accounts

    def share(self, name: bytes) -> AccountGateway:
        """Return the part of the connection that belongs to the account `name`, which may not exist here."""
        found = self.accounts.get(name)
        if found is None:
            optimistic = self.info is not None and not self.info.gateway_iom
            found = self.accounts[name] = AccountGateway(self, name, optimistic=optimistic)
            known = self._observer.account(name)
            if known is not None:
                found.bind(*known)
        return found

    def forget_unused(self, part: AccountGateway) -> None:
        """Drop the part of an account that does not exist here, unless the other cluster has interest in it.

        So the parts are no more than the accounts and that interest, whatever names the peer sends.
        """
        if part.unused:
            self.accounts.pop(part.name, None)

    # --- operations of the peer

    def _serve(self, operations: Iterator[Op]) -> None:
        for operation in operations:
            self._operation(operation)
            if self.must_pause(operations):
                return

    def _operation(self, operation: Op) -> None:
        code = operation[0]
        if code not in _ONLY_AFTER_INFO:
            self.serve_control(operation)
        elif self.info is None or code not in _INTEREST:
            self.broke_protocol("Received what only an inbound gateway takes")
        elif code == LSUB:
            _, subject, queue, weight, _, name = operation
            part = self.share(name)
            part.subscribe(subject, queue, weight)
            if subject == _ALL_API and self._of_nats_server() and self._is_system(name):
                self._observer.has_jetstream(self.name)
            self.forget_unused(part)
        elif code == LUNSUB:
            _, subject, queue, _, name = operation
            part = self.share(name)
            part.unsubscribe(subject, queue)
            self.forget_unused(part)
        else:
            part = self.share(operation[1])
            part.account_wanted(wanted=code == ASUB)
            self.forget_unused(part)

    def _of_nats_server(self) -> bool:
        return self.info is not None and not self.info.go.startswith("python")

    def _is_system(self, name: bytes) -> bool:
        system = self.context.registry.system
        return system is not None and system.name.encode() == name

    def informed(self, info: GatewayInfo) -> None:
        """See GatewayPeer."""
        command = info.gateway_cmd
        if command in (ALL_INTEREST_BEGINS, ALL_INTEREST_SENT):
            name = info.account
            if not name:
                self.fail("Account absent from a command about all interest", "Protocol Violation")
                return
            part = self.share(name)
            if command == ALL_INTEREST_BEGINS:
                part.all_interest_begins()
            else:
                part.all_interest_sent()
            self.forget_unused(part)
        elif command == GOSSIP and info.gateway != self.name:
            self._observer.learnt(info.gateway, info.gateway_urls)
        elif command:
            self.context.log.warning(f'Received unknown command {command} from gateway "{self.name}"')
        elif info.gateway == self.name:
            self._observer.renewed(self, info)


_ALL_API = b"$JS.API.>"  # the interest of a nats-server with JetStream, in the system account
_INTEREST = frozenset((LSUB, LUNSUB, ASUB, AUNSUB))
_ONLY_AFTER_INFO = _INTEREST | {PUB, HPUB, LMSG, CONNECT}
