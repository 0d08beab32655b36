"""GatewayAdvertiser: tells the peer of an inbound gateway of the interest of one account in this cluster.

Other than in nats-server before 2.9, all interest of an account is told at once, between two commands that
say so. From then on the peer sends nothing else (interest-only mode).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...protocol.reserved import GATEWAY_REPLY, SERVICE_REPLY
from ...protocol.wire import encode
from ..accounts.advertiser import Advertiser
from ..accounts.subscription import ConnectionKind
from .connect_info import ALL_INTEREST_BEGINS, ALL_INTEREST_SENT

if TYPE_CHECKING:
    from ..accounts.space import SubjectSpace
    from ..accounts.subscription import Subscription
    from .peer import GatewayPeer

Key = tuple[str, str]  # subject, queue
API = "$JS.API."


class GatewayAdvertiser(Advertiser[Key]):
    """The interest of the account `name` that was advertised to the peer of one gateway.

    complete: whether the peer has been told of all interest there was.
    without_api: whether the peer is not told of the API of JetStream, because its cluster has its own.
    """

    def __init__(self, connection: GatewayPeer, name: bytes) -> None:
        super().__init__(connection.context.turns)
        self._connection = connection
        self._name = name
        self.without_api = False
        self._groups: set[Key] = set()  # queue groups that the peer knows of: it counts no members
        self.complete = False

    def start(self, account: SubjectSpace) -> None:
        """See Advertiser."""
        self.complete = False
        self._command(ALL_INTEREST_BEGINS)
        super().start(account)

    def hide_api(self, *, hidden: bool) -> None:
        """Tell the peer of the API of JetStream no longer, or again."""
        if hidden != self.without_api:
            self.without_api = hidden
            self.sync()

    def is_of(self, account: SubjectSpace) -> bool:
        """Return whether the interest in this account is advertised."""
        return self._account is account

    def _command(self, number: int) -> None:
        connection = self._connection
        connection.send_line(connection.context.documents.command(number, self._name))
        connection.context.flusher.schedule()

    def _hold(self) -> None:
        self._connection.pause()

    def _go_on(self) -> None:
        self._connection.resume()

    def _end(self) -> None:
        super()._end()
        if self._account is not None and not self.complete:
            self.complete = True
            self._command(ALL_INTEREST_SENT)

    def _key(self, subscription: Subscription) -> Key:
        return subscription.subject, subscription.queue

    def _should_advertise(self, subscription: Subscription) -> bool:
        """Return whether the peer needs to know of the subscription.

        It does not need what other clusters advertised, nor what each server imports or joins itself.
        """
        kind = subscription.kind
        subject = subscription.subject
        if kind is ConnectionKind.GATEWAY or subject.startswith(GATEWAY_REPLY):
            return False
        if self.without_api and subject.startswith(API):
            return False
        if kind is ConnectionKind.IMPORT:
            return subject.startswith(SERVICE_REPLY)
        return kind is not ConnectionKind.LEAF or not subscription.sink.is_spoke

    def _send_count(self, key: Key, count: int) -> None:
        if key[1]:
            if (count > 0) == (key in self._groups):
                return
            (self._groups.add if count > 0 else self._groups.discard)(key)
        connection = self._connection
        subject, queue = (part.encode("utf-8", "surrogateescape") for part in key)
        if count > 0:
            line = encode.route_sub(self._name, subject, queue, 1, b"")
        else:
            line = encode.route_unsub(self._name, subject, queue)
        connection.send_line(line)
        connection.context.flusher.schedule()
