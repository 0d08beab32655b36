"""python client.py <url> <stream> [<ca.pem>]: what a program with nats-py does, over WebSocket.

A process of its own, because nats-py leaves aiohttp's session open, which tests take for an error.
"""

from __future__ import annotations

import asyncio
import ssl
import sys

import nats

SIZES = [*range(0, 10_000, 500), 900_000]


async def main(url: str, stream: str, authority: str = "") -> None:
    """Publish to a stream, fetch from it and acknowledge."""
    tls = ssl.create_default_context(cafile=authority) if authority else None
    client = await nats.connect(url, tls=tls, allow_reconnect=False)
    try:
        js = client.jetstream(timeout=20)
        await js.add_stream(name=stream, subjects=[f"{stream}.*"])
        for size in SIZES:
            await js.publish(f"{stream}.a", bytes(size))
        fetching = await js.pull_subscribe(f"{stream}.*", "puller")
        for size in SIZES:
            (message,) = await fetching.fetch(1, timeout=20)
            assert len(message.data) == size
            await message.ack_sync(timeout=20)
        await js.delete_stream(stream)
    finally:
        await client.close()


asyncio.run(main(*sys.argv[1:]))
