"""RouteAdvertiser: advertises the interest of one account here to the peer of a route."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...protocol.reserved import SERVICE_REPLY
from ...protocol.wire import encode
from ..accounts.advertiser import Advertiser
from ..accounts.subscription import ConnectionKind

if TYPE_CHECKING:
    from ..accounts.subscription import Subscription
    from ..slices import TurnScheduler
    from .peer import RoutePeer

Key = tuple[str, str, str]  # subject, queue, cluster of the leaf that it comes from


class RouteAdvertiser(Advertiser[Key]):
    """The interest of one account that was advertised to the peer of one route.

    name: the account's; b"" if frames do not name it.
    """

    def __init__(self, connection: RoutePeer, name: bytes, turns: TurnScheduler) -> None:
        super().__init__(turns)
        self._connection = connection
        self._name = name

    def _hold(self) -> None:
        self._connection.pause()

    def _go_on(self) -> None:
        self._connection.resume()

    def _key(self, subscription: Subscription) -> Key:
        origin = subscription.origin if self._connection.peer_lnoc else ""
        return subscription.subject, subscription.queue, origin

    def _should_advertise(self, subscription: Subscription) -> bool:
        """Return whether the peer needs to know of the subscription.

        It does not need what peers advertised, nor what each server imports or joins itself.
        """
        kind = subscription.kind
        if kind is ConnectionKind.ROUTER or kind is ConnectionKind.GATEWAY:
            return False
        if kind == ConnectionKind.IMPORT and not subscription.subject.startswith(SERVICE_REPLY):
            return False
        if kind == ConnectionKind.LEAF and subscription.sink.is_spoke:
            return False
        return self._connection.may_subscribe(subscription.subject)

    def _send_count(self, key: Key, count: int) -> None:
        subject, queue, origin = (part.encode("utf-8", "surrogateescape") for part in key)
        connection = self._connection
        if count > 0:
            connection.send_line(encode.route_sub(self._name, subject, queue, count, origin))
        else:
            lead = b"RS-" if not origin else b"LS- " + origin if connection.peer_lnocu else b"LS-"
            connection.send_line(encode.route_unsub(self._name, subject, queue, lead))
        connection.context.flusher.schedule()
