"""DeliveryTurns: lets a consumer deliver now or later, and runs what takes it several turns of the loop.

Promises: nothing more happens once the consumer has stopped, but for a step that has begun.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from ...slices import Slices

if TYPE_CHECKING:
    from ...slices import Steps
    from ..host import JetStreamHost
    from .pull_delivery import PullDelivery
    from .push_delivery import PushDelivery


class DeliveryTurns:
    """The turns of one consumer: the `Deliverer` of its acks and ack waits.

    delivery: delivers its messages; set once it is made.
    stopped: whether the consumer has ended.
    """

    __slots__ = ("_host", "_label", "delivery", "stopped")

    delivery: PullDelivery | PushDelivery

    def __init__(self, host: JetStreamHost, label: str) -> None:
        """label: the consumer in log lines."""
        self.stopped = False
        self._host = host
        self._label = label

    def deliver(self) -> None:
        """Deliver what can be delivered now."""
        self.delivery.run()

    def deliver_later(self) -> None:
        """Deliver what can be delivered, in the loop's next turn."""
        self._host.clock.soon(self._run)

    def _run(self) -> None:
        if not self.stopped:
            self.delivery.run()

    def spread(self, steps: Iterator[None], then: Callable[[], None]) -> None:
        """Run the steps in slices, and then call `then`, unless the consumer stops first."""
        Slices(self._host.executor, self._while_served(steps, then), lambda _: None, self._failed)

    def _while_served(self, steps: Iterator[None], then: Callable[[], None]) -> Steps[None]:
        for _ in steps:
            yield
            if self.stopped:
                return
        then()

    def _failed(self, error: Exception) -> None:
        self._host.log.error(f"{self._label}: {type(error).__name__}: {error}")
