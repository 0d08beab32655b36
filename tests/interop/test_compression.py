"""Leaf connections and routes that are compressed, between both implementations and for each mode."""

from __future__ import annotations

import json
import os
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest
from lib.eventually import eventually
from lib.pool import START
from lib.process import ServerProcess
from lib.wire import Msg, Wire

PAIRS = [("pyjs", "pyjs"), ("reference", "pyjs"), ("pyjs", "reference"), ("reference", "reference")]
USERS = "\n".join(f"{name}: {{ users: [{{user: {name}, password: {name}}}] }}" for name in "ABCDE")
ACCOUNTS = f"accounts {{ {USERS} }}"
HUB = (
    """
listen: 127.0.0.1:<client>
http: 127.0.0.1:<http>
server_name: hub
leafnodes { listen: "127.0.0.1:<leaf>", compression: MODE }
"""
    + ACCOUNTS
)
LEAF = (
    """
listen: 127.0.0.1:<client>
http: 127.0.0.1:<http>
server_name: leaf
leafnodes { remotes: [REMOTES] }
"""
    + ACCOUNTS
)
# The modes of the leaf's remotes, each in an account of its own.
MODES = {
    "A": "off",
    "B": "accept",
    "C": "s2_fast",
    "D": "s2_best",
    "E": '{ mode: s2_auto, rtt_thresholds: ["0s", "0s", "20s"] }',
}
# What the hub and the leaf compress with, by the hub's mode and the account.
AGREED = {
    "accept": {
        "A": ("off", "off"),
        "B": ("off", "off"),
        "C": ("s2_fast", "s2_fast"),
        "D": ("s2_best", "s2_best"),
        "E": ("s2_fast", "s2_better"),
    },
    "s2_better": {
        "A": ("off", "off"),
        "B": ("s2_better", "s2_better"),
        "C": ("s2_better", "s2_fast"),
        "D": ("s2_better", "s2_best"),
        "E": ("s2_better", "s2_better"),
    },
}
BODIES = [b"%d" % n * n for n in range(0, 400, 7)] + [
    os.urandom(100_000),
    b"station=%d;" * 20_000,
    os.urandom(7),
]


def shown(server: ServerProcess, page: str) -> Any:
    with urllib.request.urlopen(f"http://127.0.0.1:{server.ports['http']}/{page}") as answer:
        return json.load(answer)


def crosses(listener: Wire, sender: Wire) -> None:
    """Check that all bodies arrive in order and once."""
    listener.sub("t.>", "1")

    def heard() -> bool:
        sender.pub("t.x", "x")
        sender.sync()
        return any(isinstance(frame, Msg) for frame in listener.sync())

    eventually(heard)
    sender.pub("t.begin", "")
    for body in BODIES:
        sender.pub("t.a", body)
    while listener.msg().subject != "t.begin":
        pass
    assert [message.body for message in listener.msgs(len(BODIES))] == BODIES


@pytest.fixture(scope="module", params=[(p, mode) for mode in AGREED for p in PAIRS], ids=str)
def pair(request: pytest.FixtureRequest) -> Iterator[tuple[ServerProcess, ServerProcess, str]]:
    (one, other), mode = request.param
    hub = START[one](HUB.replace("MODE", mode))
    try:
        url = f"127.0.0.1:{hub.ports['leaf']}"
        remotes = (
            f'{{ url: "nats-leaf://{account}:{account}@{url}", account: {account}, compression: {of} }}'
            for account, of in MODES.items()
        )
        leaf = START[other](LEAF.replace("REMOTES", "\n".join(remotes)))
        try:
            eventually(lambda: shown(hub, "leafz")["leafnodes"] == shown(leaf, "leafz")["leafnodes"] == 5, 30)
            yield hub, leaf, mode
        finally:
            leaf.stop()
    finally:
        hub.stop()


def test_each_end_compresses_as_agreed(pair: tuple[ServerProcess, ServerProcess, str]) -> None:
    hub, leaf, mode = pair
    ends = [{row["account"]: row["compression"] for row in shown(at, "leafz")["leafs"]} for at in (hub, leaf)]
    assert {account: (ends[0][account], ends[1][account]) for account in MODES} == AGREED[mode]


@pytest.mark.parametrize("account", ["B", "C", "D", "E"])
def test_messages_cross_a_leaf_connection(
    pair: tuple[ServerProcess, ServerProcess, str], account: str
) -> None:
    hub, leaf, _ = pair
    for one, other in ((hub, leaf), (leaf, hub)):
        login = {"user": account, "pass": account}
        with one.connect(**login) as listener, other.connect(**login) as sender:
            crosses(listener, sender)


ROUTED = """
listen: 127.0.0.1:<client>
http: 127.0.0.1:<http>
server_name: NAME
cluster { name: c, listen: "127.0.0.1:<route>", routes: [ROUTES], compression: MODE }
"""
# The modes of both servers, and what each compresses with.
ROUTES = [
    ("accept", "accept", "off", "off"),
    ("off", "s2_best", "off", "off"),
    ("s2_fast", "s2_best", "s2_fast", "s2_best"),
    ("accept", "{ mode: s2_auto, rtt_thresholds: [0s, 10s] }", "s2_fast", "s2_fast"),
    ("{ mode: s2_auto, rtt_thresholds: [10s] }", "s2_better", "s2_uncompressed", "s2_better"),
]


@pytest.mark.parametrize("modes", ROUTES, ids=lambda modes: f"{modes[2]}-{modes[3]}")
@pytest.mark.parametrize("pair", PAIRS[:3], ids="-".join)
def test_routes_are_compressed(pair: tuple[str, str], modes: tuple[str, str, str, str]) -> None:
    config = ROUTED.replace("NAME", "a").replace("ROUTES", "").replace("MODE", modes[0])
    first = START[pair[0]](config)
    try:
        url = f'"nats-route://127.0.0.1:{first.ports["route"]}"'
        second = START[pair[1]](ROUTED.replace("NAME", "b").replace("ROUTES", url).replace("MODE", modes[1]))
        try:
            eventually(lambda: all(shown(at, "routez")["num_routes"] == 4 for at in (first, second)), 30)
            for at, wanted in zip((first, second), modes[2:], strict=True):
                assert {row["compression"] for row in shown(at, "routez")["routes"]} == {wanted}
            with Wire.connected(first.port) as one, Wire.connected(second.port) as other:
                crosses(one, other)
        finally:
            second.stop()
    finally:
        first.stop()
