"""A web application with JetStream inside: without `NATS_URL` it starts a server in its own process.

    uvicorn app:app
    curl -X POST localhost:8000/orders -H 'content-type: application/json' -d '{"item": "coffee"}'

`STORE` is the folder of its streams; without it they are gone when the application ends.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Annotated

import nats
from fastapi import Depends, FastAPI, Request
from nats.js import JetStreamContext
from pydantic import BaseModel
from pyjs.server import Server


class Order(BaseModel):
    """What is ordered."""

    item: str


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Connect to the server of `NATS_URL`, or to one that the application runs itself."""
    async with AsyncExitStack() as ending:
        url = os.environ.get("NATS_URL")
        if not url:
            options = {"store_dir": os.environ["STORE"]} if "STORE" in os.environ else {}
            server = await ending.enter_async_context(Server(jetstream=True, port=-1, **options))
            url = server.url
        connection = await nats.connect(url)
        ending.push_async_callback(connection.close)
        app.state.jetstream = connection.jetstream()
        await app.state.jetstream.add_stream(name="ORDERS", subjects=["orders.*"])
        yield


app = FastAPI(lifespan=lifespan)


def jetstream(request: Request) -> JetStreamContext:
    """The application's JetStream."""
    return request.app.state.jetstream


JetStream = Annotated[JetStreamContext, Depends(jetstream)]


@app.post("/orders", status_code=201)
async def place(order: Order, js: JetStream) -> dict[str, int]:
    """Store an order. It is on disk when this answers."""
    stored = await js.publish("orders.new", order.model_dump_json().encode())
    return {"order": stored.seq}


@app.get("/orders/{number}")
async def read(number: int, js: JetStream) -> Order:
    """Return one order."""
    message = await js.get_msg("ORDERS", number)
    return Order.model_validate_json(message.data or b"")
