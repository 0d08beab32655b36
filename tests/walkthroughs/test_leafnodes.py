"""The leaf-node documentation runs as it is printed."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import nats
from lib import transcript

if TYPE_CHECKING:
    from conftest import Pair

HERE = Path(__file__).parent


def test_every_command_of_the_page_prints_what_the_page_prints(pair: Pair) -> None:
    for step in transcript.read(HERE / "leafnodes-one-account.txt", pair.replaced):
        transcript.play(pair.cli, step)
    pair.share_across_accounts()
    for step in transcript.read(HERE / "leafnodes-across-accounts.txt", pair.replaced):
        transcript.play(pair.cli, step)
    assert asyncio.run(fetched(pair.leaf.port)) == (b"hello world 2", 2)


async def fetched(leaf: int) -> tuple[bytes, int]:
    """What the page's program gets: body and stream sequence of a message fetched through the import."""
    client = await nats.connect(f"nats://import_client:import_client@127.0.0.1:{leaf}")
    try:
        stream = client.jetstream(prefix="JS.acc@hub.API")
        bound = await stream.pull_subscribe_bind("dur", "aggregate-test-leaf")
        (message,) = await bound.fetch(1, timeout=30)
        await message.ack()
        await client.flush()
        return message.data, message.metadata.sequence.stream
    finally:
        await client.close()
