"""Tests of the service against a real JetStream server: `jetstream_server` starts it in this process."""

import asyncio
import json

import nats
from orders import OrderService


def test_an_order_is_stored_and_shipped_once(jetstream_server):
    async def scenario():
        shipped = []
        connection = await nats.connect(jetstream_server.url)
        service = OrderService(connection, shipped.append)
        await service.start()
        answer = await connection.request("orders.place", b'{"item": "coffee"}')
        assert json.loads(answer.data) == {"order": 1}
        assert await service.ship_pending() == 1
        assert await service.ship_pending() == 0
        assert shipped == [{"item": "coffee"}]
        await connection.close()

    asyncio.run(scenario())


def test_orders_outlive_the_server(jetstream_server):
    async def place():
        connection = await nats.connect(jetstream_server.url)
        await OrderService(connection, print).start()
        await connection.request("orders.place", b'{"item": "tea"}')
        await connection.close()

    async def ship():
        shipped = []
        connection = await nats.connect(jetstream_server.url)
        await OrderService(connection, shipped.append).ship_pending()
        await connection.close()
        return shipped

    asyncio.run(place())
    jetstream_server.stop()
    jetstream_server.start()
    assert asyncio.run(ship()) == [{"item": "tea"}]


def test_a_mistake_is_answered(jetstream_server):
    async def scenario():
        connection = await nats.connect(jetstream_server.url)
        await OrderService(connection, print).start()
        answer = await connection.request("orders.place", b"coffee")
        assert "error" in json.loads(answer.data)
        await connection.close()

    asyncio.run(scenario())
