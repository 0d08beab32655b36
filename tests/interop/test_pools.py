"""Several routes between two servers, of both implementations: pools, and routes of pinned accounts."""

from __future__ import annotations

import json
import signal
import urllib.request
from collections import Counter
from typing import Any

import pytest
from lib.eventually import eventually
from lib.pool import START
from lib.process import ServerProcess
from lib.wire import Msg, Wire

PAIRS = [("pyjs", "pyjs"), ("reference", "pyjs"), ("pyjs", "reference")]
ACCOUNTS = "ACG"  # whose places in a pool of three are 0, 1 and 2
USERS = "\n".join(f"{name}: {{ users: [{{user: {name}, password: {name}}}] }}" for name in ACCOUNTS)
CONFIG = """
listen: 127.0.0.1:<client>
http: 127.0.0.1:<http>
server_name: NAME
cluster { name: c, listen: "127.0.0.1:<route>", routes: [ROUTES]
INSIDE
}
accounts { USERS }
""".replace("USERS", USERS)
POOL = {"": 3, "$SYS": 1}
# The options of both, and how many routes there are for each account ("": the pool).
SETTINGS: dict[str, tuple[str, str, dict[str, int]]] = {
    "default": ("", "", POOL),
    "pinned": (
        "accounts: [A, C], pool_size: 2",
        "accounts: [C, A], pool_size: 2",
        POOL | {"": 2, "A": 1, "C": 1},
    ),
    "sizes": ("pool_size: 5", "pool_size: 2", POOL | {"": 5}),
    "here": ("pool_size: -1", "accounts: [A]", {"": 1}),
    "there": ("accounts: [A]", "pool_size: -1", {"": 1}),
}


def routes(server: ServerProcess) -> list[dict[str, Any]]:
    with urllib.request.urlopen(f"http://127.0.0.1:{server.ports['http']}/routez") as answer:
        found: dict[str, Any] = json.load(answer)
    assert found["num_routes"] == len(found["routes"])
    return list(found["routes"])


def counts(server: ServerProcess) -> Counter[str]:
    return Counter(row.get("account", "") for row in routes(server))


def heard_once(listener: Wire, sender: Wire) -> None:
    """Check that the listener hears the sender, and each message once."""
    listener.sub("t.>", "1")

    def heard() -> bool:
        sender.pub("t.x", "x")
        sender.sync()
        return any(isinstance(frame, Msg) for frame in listener.sync())

    eventually(heard)
    for number in range(100):
        sender.pub("t.a", str(number))
    found: list[bytes] = []
    while len(found) < 100:
        message = listener.msg()
        if message.subject == "t.a":
            found.append(message.body)
    assert found == [b"%d" % number for number in range(100)]


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_each_account_has_its_route(pair: tuple[str, str], setting: str) -> None:
    one, other, wanted = SETTINGS[setting]
    first = START[pair[0]](CONFIG.replace("NAME", "a").replace("ROUTES", "").replace("INSIDE", one))
    try:
        url = f'"nats-route://127.0.0.1:{first.ports["route"]}"'
        second = START[pair[1]](CONFIG.replace("NAME", "b").replace("ROUTES", url).replace("INSIDE", other))
        try:
            eventually(lambda: counts(first) == counts(second) == wanted, 30)
            for account in ACCOUNTS:
                login = {"user": account, "pass": account}
                with first.connect(**login) as here, second.connect(**login) as there:
                    heard_once(here, there)
                    heard_once(there, here)
            if setting == "pinned":
                for at in (first, second):
                    busy = {row.get("account"): row["in_msgs"] for row in routes(at) if row.get("account")}
                    assert busy["A"] >= 100 and busy["C"] >= 100
        finally:
            second.stop()
    finally:
        first.stop()


def test_three_servers_find_each_other() -> None:
    servers: list[ServerProcess] = []
    try:
        url = ""
        for number, implementation in enumerate(("reference", "pyjs", "pyjs")):
            config = CONFIG.replace("NAME", f"s{number}").replace("ROUTES", url)
            servers.append(START[implementation](config.replace("INSIDE", "accounts: [A]")))
            url = f'"nats-route://127.0.0.1:{servers[0].ports["route"]}"'
        eventually(lambda: all(counts(at) == {"": 6, "A": 2, "$SYS": 2} for at in servers), 30)
        login = {"user": "A", "pass": "A"}
        with servers[1].connect(**login) as listener, servers[2].connect(**login) as sender:
            heard_once(listener, sender)
    finally:
        for server in servers:
            server.stop()


@pytest.mark.parametrize("which", [0, 1], ids=["first reloads", "second reloads"])
@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_an_account_is_pinned_by_a_reload(pair: tuple[str, str], which: int) -> None:
    """Of one server, which is enough while both run."""
    first = START[pair[0]](CONFIG.replace("NAME", "a").replace("ROUTES", "").replace("INSIDE", ""))
    try:
        url = f'"nats-route://127.0.0.1:{first.ports["route"]}"'
        second = START[pair[1]](CONFIG.replace("NAME", "b").replace("ROUTES", url).replace("INSIDE", ""))
        try:
            eventually(lambda: counts(first) == counts(second) == POOL, 30)
            server = (first, second)[which]
            routes_of = ("", url)[which]
            inside = "accounts: [A]"
            server.configure(
                CONFIG.replace("NAME", "ab"[which]).replace("ROUTES", routes_of).replace("INSIDE", inside)
            )
            assert server.process is not None
            server.process.send_signal(signal.SIGHUP)
            login = {"user": "A", "pass": "A"}
            if server.name != "pyjs":  # which makes all routes again, and then keeps to the pool of the other
                eventually(lambda: counts(first)["A"] == counts(second)["A"] == 1, 30)
            with first.connect(**login) as here, second.connect(**login) as there:
                heard_once(here, there)
                heard_once(there, here)
        finally:
            second.stop()
    finally:
        first.stop()
