"""A connection that ends takes its subscriptions along, without delaying the others."""

from __future__ import annotations

from lib.fake_wire import ClientsFixture


def test_very_many_subscriptions_go_in_steps_and_queue_groups_at_once() -> None:
    fixture = ClientsFixture()
    leaving, staying = fixture.connected(), fixture.connected()
    leaving.says("".join(f"SUB many.{number} {number}\r\n" for number in range(20_000)))
    leaving.says("SUB shared workers q\r\n")
    staying.says("SUB shared workers 1\r\n")
    sublist = fixture.registry.global_account.sublist
    before = len(sublist)
    leaving.connection.lost()
    left = len(sublist)
    assert before - 20_000 < left < before
    for _ in range(20):
        assert b"MSG shared 1" in staying.says("PUB shared 0\r\n\r\n")
    fixture.clock.advance(1)
    assert len(sublist) == before - 20_001
