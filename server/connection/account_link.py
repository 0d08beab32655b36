"""AccountLink: one account over one route or gateway, with the interest that the peer has in it.

While the account does not exist here, that interest is kept. The account gets it when it is made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from ...protocol.tracing import SUPPORTED
from ..accounts.server_trace import TracePoint
from ..accounts.subscription import MessageEndpoint
from ..slices import Slices, Steps, paced

if TYPE_CHECKING:
    from ..accounts import Account
    from ..accounts.subscription import Subscription
    from .cluster_connection import ClusterConnection


class AccountLink(MessageEndpoint):
    """One account over one connection.

    account: None while it does not exist here.
    traced_as: the kind of the connection in traces.
    """

    __slots__ = ("_subscriptions", "_taking", "_turns", "account", "connection", "name", "outbound")

    traced_as: ClassVar[int]
    connection: ClusterConnection

    def __init__(self, connection: ClusterConnection, name: bytes) -> None:
        self.connection = connection
        self.outbound = connection
        self.name = name
        self.account: Account | None = None
        self._subscriptions: dict[tuple[bytes, ...], Subscription] = {}
        self._taking: Slices | None = None
        self._turns = connection.context.turns

    def __repr__(self) -> str:
        return repr(self.connection)

    # --- the interest of the peer

    def may_take(self, subject: str) -> bool:
        """Return whether the peer's interest in `subject` is accepted."""
        del subject
        return True

    def _remove(self, key: tuple[bytes, ...]) -> None:
        """Forget interest that has ended. Unknown interest changes nothing."""
        subscription = self._subscriptions.pop(key, None)
        if subscription is not None and subscription.account is not None:
            subscription.account.remove_subscription(subscription)

    def permit(self) -> None:
        """Have the account, if it exists, take that interest which is permitted now, and no other, in slices.

        Called when the account was made or has ended, or permissions have changed.
        """
        if self._subscriptions:
            self._turns.now(self._take)

    def _take(self) -> None:
        if self._taking is not None:
            self._taking.stop()
        self._taking = Slices(self._turns, paced(self._takes()), lambda _: None)

    def _takes(self) -> Steps[None]:
        for key, subscription in list(self._subscriptions.items()):
            present = None if subscription.closed else subscription.account
            wanted = self.account if self.may_take(subscription.subject) else None
            if present is not wanted:
                if present is not None:
                    present.remove_subscription(subscription)
                if wanted is not None and self._subscriptions.get(key) is subscription:
                    wanted.add_subscription(subscription)
            yield

    def _end(self) -> tuple[Account | None, dict[tuple[bytes, ...], Subscription]]:
        """Stop. Return the account, and the subscriptions that are to be removed."""
        account, self.account = self.account, None
        if self._taking is not None:
            self._taking.stop()
        gone, self._subscriptions = self._subscriptions, {}
        return account, gone

    # --- what others see of the peer

    @property
    def server_id(self) -> str:
        """See MessageEndpoint."""
        info = self.connection.info
        return "" if info is None else info.server_id

    def trace_point(self) -> TracePoint:
        """See MessageEndpoint."""
        connection, info = self.connection, self.connection.info
        name, protocol = ("", 0) if info is None else (info.server_name or info.server_id, info.proto)
        return TracePoint(self.traced_as, connection.id, name, connection.headers and protocol >= SUPPORTED)

    def client_info(self, *, share: bool = True) -> dict[str, object]:
        """See MessageEndpoint."""
        return self.connection.client_info(share=share)
