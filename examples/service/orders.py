"""A service on JetStream: takes orders by request and reply, stores them, and ships each of them.

An order is shipped at least once: again if the service ends before its acknowledgement.
Run it with `python orders.py nats://localhost:4222`, then `nats request orders.place '{"item": "coffee"}'`.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable

import nats
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import TimeoutError as NothingYet
from nats.js.api import RetentionPolicy

STREAM = "ORDERS"


class OrderService:
    """Serves `orders.place`.

    ship: is called for each stored order. If it raises, the order comes again.
    """

    def __init__(self, connection: Client, ship: Callable[[dict[str, str]], None]) -> None:
        self._connection = connection
        self._jetstream = connection.jetstream()
        self._ship = ship

    async def start(self) -> None:
        """Create the stream, and begin to serve."""
        await self._jetstream.add_stream(
            name=STREAM, subjects=["orders.new"], retention=RetentionPolicy.WORK_QUEUE
        )
        await self._connection.subscribe("orders.place", queue="orders", cb=self._place)

    async def _place(self, request: Msg) -> None:
        """Answer with the order's number once it is on disk."""
        try:
            item = json.loads(request.data)["item"]
        except (ValueError, KeyError, TypeError):
            await request.respond(b'{"error": "an order is {\\"item\\": ...}"}')
            return
        stored = await self._jetstream.publish("orders.new", json.dumps({"item": item}).encode())
        await request.respond(json.dumps({"order": stored.seq}).encode())

    async def ship_pending(self) -> int:
        """Ship the orders that are stored; return how many there were."""
        pull = await self._jetstream.pull_subscribe("orders.new", durable="shipping", stream=STREAM)
        shipped = 0
        while True:
            try:
                (message,) = await pull.fetch(1, timeout=0.5)
            except NothingYet:
                return shipped
            self._ship(json.loads(message.data))
            await message.ack_sync()
            shipped += 1


async def main(url: str) -> None:
    connection = await nats.connect(url)
    service = OrderService(connection, lambda order: print("shipped:", order["item"]))
    await service.start()
    while True:
        await service.ship_pending()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "nats://localhost:4222"))
