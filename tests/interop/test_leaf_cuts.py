"""The line between hub and leaf is cut again and again under load: copies end complete, in order, without
duplicates, whichever server is the hub.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator

import pytest
from lib.cuttable_proxy import Cuttable
from lib.eventually import eventually
from lib.jetstream import JetStream
from lib.leaf_pair import ACCOUNTS, HUB, LEAF, Pair, api, combined, heard, login
from lib.pool import START
from lib.process import ServerProcess

# The reference alone passes too, after three quarters of a minute of its own back-off.
COMBINATIONS = [("reference", "pyjs"), ("pyjs", "reference"), ("pyjs", "pyjs")]
CUTS = {"pyjs": 4, "reference": 2}  # by the hub: the reference copies on after ten seconds, each time
BETWEEN = 250  # messages

Cut = tuple[ServerProcess, ServerProcess, Cuttable]


@pytest.fixture(params=COMBINATIONS, ids=combined)
def cuttable(request: pytest.FixtureRequest) -> Iterator[Cut]:
    hub = START[request.param[0]](HUB + ACCOUNTS)
    try:
        with Cuttable(hub.ports["leaf"]) as line:
            # The hub tells of its own address, which is not behind the line that is cut.
            config = LEAF.replace("urls:", "ignore_discovered_servers: true, urls:")
            leaf = START[request.param[1]](config.replace("@hub@", str(line.port)) + ACCOUNTS)
            try:
                yield hub, leaf, line
            finally:
                leaf.stop()
    finally:
        hub.stop()


def stored(js: JetStream, stream: str) -> list[str]:
    last = js.state(stream)["last_seq"]
    return [base64.b64decode(js.get(stream, seq=seq)["data"]).decode() for seq in range(1, last + 1)]


def test_copies_survive_cuts(cuttable: Cut) -> None:
    hub, leaf, line = cuttable
    cuts = CUTS[hub.name]
    external = {"name": "test", "external": {"api": "$JS.leaf.API", "deliver": ""}}
    with login(hub) as high, login(leaf) as low:
        heard(high, low, "up")
    with api(hub) as near, api(leaf) as far:
        far.create("test", storage="file")
        near.create("mirror", storage="file", mirror=external)
        near.create("copy", storage="file", sources=[external])
        for round_ in range(cuts + 1):
            for i in range(BETWEEN):
                number = round_ * BETWEEN + i
                if i == BETWEEN // 2 and round_ < cuts:
                    eventually(lambda: near.state("copy")["messages"] > 0)
                    assert line.cut() > 0
                    with login(hub) as high, login(leaf) as low:
                        heard(high, low, "up")
                far.publish("test", str(number))
        total = (cuts + 1) * BETWEEN
        for name in ("mirror", "copy"):
            eventually(lambda name=name: near.state(name)["messages"] >= total, 60)  # type: ignore[misc]
            assert stored(near, name) == [str(i) for i in range(total)]


def test_a_killed_server_that_is_back_counts_once() -> None:
    # The reference counts the dead one, too, until it has been silent for minutes.
    pair = Pair("pyjs", "pyjs")
    try:
        pair.joined("admin")
        pair.hub.kill()
        pair.hub.launch()
        pair.joined("admin")
        with login(pair.leaf, "admin") as system:

            def two() -> bool:
                reply = system.inbox()
                system.pub("$SYS.REQ.SERVER.PING", "", reply=reply)
                return [frame.json()["statsz"]["active_servers"] for frame in system.msgs(2)] == [2, 2]

            eventually(two, 30)
    finally:
        pair.close()
