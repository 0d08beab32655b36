"""What the user of a connection asks its own server: who it is, what it may do, and of its account."""

from __future__ import annotations

import json
import time
from typing import Any

from .connection import NatsConnection

SUBJECT = "$SYS.REQ.USER.INFO"
AGAIN = 0.25  # seconds


async def user_info(connection: NatsConnection, seconds: float) -> dict[str, Any]:
    """Return the server's answer, with `server` and `data`; {} if it refuses, or says nothing in time."""
    return await ask_own_server(connection, SUBJECT, b"", seconds)


async def ask_own_server(
    connection: NatsConnection, subject: str, body: bytes, seconds: float
) -> dict[str, Any]:
    """Return the answer of the server of the connection; {} if it refuses, or says nothing in time.

    If the account spans a leaf connection, the server on its other side answers, too, and may describe the
    user of the leaf connection: its answer is passed over. Where it comes first, nats-server drops that of
    the own server, since one answer is all that a request gets; so the user asks again.
    """
    from nats import errors as nats_errors

    own = connection.greeting.get("server_id")
    deadline = time.monotonic() + seconds
    inbox = connection.nc.new_inbox()
    answers = await connection.nc.subscribe(inbox)
    try:
        await connection.nc.publish(subject, body, inbox)
        while (left := deadline - time.monotonic()) > 0:
            try:
                answer = await answers.next_msg(timeout=min(left, AGAIN))
            except TimeoutError:
                if any(subject in str(each) or inbox in str(each) for each in connection.errors):
                    return {}  # this user may not ask, or hear answers: to ask again brings one more refusal
                await connection.nc.publish(subject, body, inbox)
                continue
            document = json.loads(answer.data)
            server = document.get("server") if isinstance(document, dict) else None
            if isinstance(server, dict) and server.get("id") == own:
                return dict(document)
    except (nats_errors.Error, ValueError):
        return {}
    finally:
        await answers.unsubscribe()
    return {}
