"""Much work at once on a replicated stream delays nobody, on none of its servers.

Every callback of the three servers is measured; pyjs alone, as the reference has no such loop.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from lib.callbacks import Callbacks, check, fence
from lib.eventually import eventually
from lib.examples import size
from lib.jetstream import SECOND, JetStream
from lib.jetstream_cluster import JetMesh

pytestmark = pytest.mark.soak
# Each step concerns 7,900 messages or more: not in slices, they would hold a loop too long.
MANY = size(20_000, 40_000)
SUBJECTS = 4_000


@pytest.fixture
def mesh(callbacks: Callbacks) -> Iterator[JetMesh]:
    del callbacks  # measures what is started after it
    found = JetMesh("pyjs")
    yield found
    found.close()


@pytest.fixture
def js(mesh: JetMesh) -> Iterator[JetStream]:
    with mesh.login(mesh.servers[0]) as wire:
        yield JetStream(wire)


def checked(mesh: JetMesh, callbacks: Callbacks) -> None:
    """None of the servers was held since the last time."""
    for server in mesh.servers:
        fence(server)
    check(callbacks.new())


def fill(js: JetStream, name: str) -> None:
    for start in range(0, MANY, 1000):
        lines = [f"PUB {name}.{number % SUBJECTS} 1\r\nx\r\n" for number in range(start, start + 1000)]
        js.wire.send("".join(lines))
    eventually(lambda: js.state(name)["messages"] == MANY, seconds=60)


def create(js: JetStream, name: str, **config: object) -> None:
    js.create(name, subjects=[f"{name}.*"], num_replicas=3, storage="file", **config)


def test_what_removes_much(mesh: JetMesh, js: JetStream, callbacks: Callbacks) -> None:
    create(js, "a")
    fill(js, "a")
    callbacks.new()
    js.update("a", max_msgs_per_subject=2)
    eventually(lambda: js.state("a")["messages"] == 2 * SUBJECTS, seconds=60)
    checked(mesh, callbacks)
    js.update("a", max_msgs=100)
    eventually(lambda: js.state("a")["messages"] == 100, seconds=60)
    checked(mesh, callbacks)


def test_what_concerns_much_that_is_outstanding(mesh: JetMesh, js: JetStream, callbacks: Callbacks) -> None:
    create(js, "w", retention="interest")
    js.consumer("w", "c", ack_policy="all", max_ack_pending=-1, ack_wait=600 * SECOND)
    fill(js, "w")
    callbacks.new()
    with mesh.login(mesh.servers[1]) as reader:
        reader.sub("inbox.w")
        request = json.dumps({"batch": MANY, "expires": 60 * SECOND})
        reader.pub("$JS.API.CONSUMER.MSG.NEXT.w.c", request, reply="inbox.w")
        last = reader.msgs(MANY)[-1].reply
        eventually(lambda: js.consumer_info("w", "c")["num_ack_pending"] == MANY)
        reader.request(last, "+ACK")
    eventually(lambda: js.state("w")["messages"] == 0, seconds=60)
    checked(mesh, callbacks)
