"""`pyjs subscribe --durable`: the messages of a durable consumer, pulled one by one, or as it pushes them.

Promises: no message is fetched before the one before is shown, so that all that is delivered is seen. A
consumer that is not there is made, and its making is told.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple

from ...cli import render
from ...cli.connection import NatsConnection
from ...cli.errors import RemoteError

SECOND = 1_000_000_000
EXPIRES = 30 * SECOND  # of a pull
NOT_FOUND = 10014


class DurableConsumer(NamedTuple):
    """A consumer that is listened to.

    ask: asks for one message; None for a consumer that pushes them. waiting: how many it had at the start.
    """

    ask: Callable[[], Awaitable[None]] | None
    waiting: int


async def listen(
    connection: NatsConnection,
    stream: str,
    name: str,
    config: Mapping[str, Any],
    received: asyncio.Queue[Any],
) -> DurableConsumer:
    """Have the messages of a durable consumer put into `received`.

    config: where a consumer begins that has to be made.
    """
    info = await _found_or_made(connection, stream, name, config)
    waiting = int(info.get("num_pending", 0))
    pushed_to = info["config"].get("deliver_subject")
    if pushed_to:
        await connection.nc.subscribe(pushed_to, info["config"].get("deliver_group", ""), cb=received.put)
        return DurableConsumer(None, waiting)
    inbox = connection.nc.new_inbox()
    await connection.nc.subscribe(inbox, cb=received.put)
    subject = connection.js.subject(f"CONSUMER.MSG.NEXT.{stream}.{name}")

    async def ask() -> None:
        await connection.nc.publish(subject, b'{"batch":1,"expires":%d}' % EXPIRES, inbox)

    return DurableConsumer(ask, waiting)


async def _found_or_made(
    connection: NatsConnection, stream: str, name: str, config: Mapping[str, Any]
) -> dict[str, Any]:
    try:
        return await connection.js.request(f"CONSUMER.INFO.{stream}.{name}")
    except RemoteError as error:
        if error.err_code != NOT_FOUND:
            raise await connection.js.explained(error, stream=stream) from None
    wanted = {**config, "durable_name": name, "ack_policy": "explicit", "replay_policy": "instant"}
    made = await connection.js.request(
        f"CONSUMER.CREATE.{stream}.{name}", {"stream_name": stream, "config": wanted, "action": "create"}
    )
    render.log(f"Created the durable Consumer {stream} > {name}")
    return made
