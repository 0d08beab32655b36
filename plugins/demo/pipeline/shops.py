"""The shops' orders: generated from a seed, published with acknowledgement, and added up meanwhile."""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from ..client import connected

SUBJECTS = ("orders.books", "orders.food", "orders.toys")
MINUTES = 3  # over which a round of orders is spread
STEP = 2  # minutes from the start of one round to that of the next: they share one minute
IN_FLIGHT = 200


class ResultKey(NamedTuple):
    """The key of a row of the result.

    It has a minute (as the program writes it), the domain of the shop, and the kind of goods.
    """

    minute: str
    domain: str
    subject: str


class ShopOrder(NamedTuple):
    """An order, as a message of a shop."""

    subject: str
    minute: str
    cents: int
    body: bytes


@dataclass
class OrderTotals:
    """The numbers and amounts that were ordered, by minute, domain and subject."""

    orders: Counter[ResultKey] = field(default_factory=Counter)
    cents: Counter[ResultKey] = field(default_factory=Counter)

    def enter(self, domain: str, order: ShopOrder) -> None:
        """Count an order that the domain's stream has acknowledged."""
        key = ResultKey(order.minute, domain, order.subject)
        self.orders[key] += 1
        self.cents[key] += order.cents

    @property
    def rows(self) -> dict[ResultKey, tuple[int, int]]:
        """The (orders, cents) of each row."""
        return {key: (count, self.cents[key]) for key, count in self.orders.items()}

    def of(self, domain: str) -> int:
        """Return how many orders a domain has taken."""
        return sum(count for key, count in self.orders.items() if key.domain == domain)


def orders(domain: str, count: int, start: datetime, rng: random.Random) -> Iterator[ShopOrder]:
    """Yield `count` orders, spread over MINUTES from `start` on."""
    for number in range(count):
        placed = start + timedelta(minutes=MINUTES) * number / count
        cents = rng.randrange(199, 9999)
        order = {
            "number": f"{domain}-{placed:%H%M}-{number}",
            "cents": cents,
            "placed": f"{placed:%Y-%m-%dT%H:%M:%S}Z",
        }
        yield ShopOrder(rng.choice(SUBJECTS), f"{placed:%Y-%m-%dT%H:%M}Z", cents, json.dumps(order).encode())


def take(url: str, domain: str, count: int, round_: int, totals: OrderTotals) -> None:
    """Publish a round of orders at a leaf, and count those that its stream has acknowledged."""
    start = datetime(2026, 3, 14, 9, 0, tzinfo=UTC) + round_ * timedelta(minutes=STEP)
    asyncio.run(
        _publish(url, domain, list(orders(domain, count, start, random.Random(f"{domain}{round_}"))), totals)
    )


async def _publish(url: str, domain: str, taken: list[ShopOrder], totals: OrderTotals) -> None:
    client = await connected(url, connect_timeout=5)
    try:
        stream = client.jetstream(timeout=10)
        for first in range(0, len(taken), IN_FLIGHT):
            share = taken[first : first + IN_FLIGHT]
            await asyncio.gather(*(stream.publish(order.subject, order.body) for order in share))
            for order in share:
                totals.enter(domain, order)
    finally:
        await client.close()
