"""ConsumerReplication: what the leader of a replicated consumer gets: the state agreed on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ....store.consumer_state import ConsumerState
    from .delivery_state import DeliveryState
    from .message_selector import StartPosition
    from .state_writer import ConsumerPersistence


class ConsumerReplication(Protocol):
    """One consumer's."""

    def state(self) -> ConsumerState:
        """What is agreed on."""

    def start(self) -> StartPosition:
        """Where to read on."""

    def last_active(self) -> tuple[int, int]:
        """When the last message was delivered and acknowledged, ns; 0 for never."""

    def persistence(self, delivery_state: DeliveryState) -> ConsumerPersistence:
        """The persistence that replicates the changes of `delivery_state`."""
