"""The documents in jetstream/ do what the shop needs; `provisioned` makes a server here that has them."""

import asyncio

import nats


def test_a_paid_order_is_shipped(provisioned):
    server = provisioned("jetstream/")

    async def scenario():
        connection = await nats.connect(server.url)
        js = connection.jetstream()
        await js.publish("orders.new", b"one coffee")
        await js.publish("orders.paid", b"one coffee, paid")
        shipping = await js.pull_subscribe_bind("shipping", "ORDERS")
        (order,) = await shipping.fetch(1, timeout=5)
        assert order.data == b"one coffee, paid"
        await order.ack()
        settings = await js.key_value("settings")
        assert await settings.put("carrier", b"bicycle") == 1
        await connection.close()

    asyncio.run(scenario())
