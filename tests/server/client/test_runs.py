"""Publishes of one read for several receivers that take them in runs."""

from __future__ import annotations

import pytest
from lib.fake_wire import ClientsFixture
from pyjs.server.accounts.subscription import Publish


@pytest.mark.parametrize("count", [10, 400])
def test_publishes_to_two_receivers_in_turn(count: int) -> None:
    fixture = ClientsFixture()
    client = fixture.connected()
    taken: list[bytes] = []

    def take(run: list[Publish]) -> None:
        taken.extend(subject + tail for subject, _, _, _, tail in run)

    for subject in ("a", "b"):
        fixture.registry.global_account.subscribe(subject, lambda _: None, batch_callback=take)
    client.says("PUB a 0\r\n\r\nPUB b 0\r\n\r\n")
    taken.clear()
    frames = [b"PUB %b 3\r\n%03d\r\n" % (b"ab"[number % 2 :][:1], number) for number in range(count)]
    client.says(b"".join(frames))
    while len(taken) < count and client.open and fixture.clock.pending():
        fixture.clock.advance(1)
    assert taken == [b"%b3\r\n%03d\r\n" % (b"ab"[number % 2 :][:1], number) for number in range(count)]
