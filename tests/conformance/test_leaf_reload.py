"""What a reload does to leaf nodes: remotes come and go, and nothing else is disturbed."""

from __future__ import annotations

import signal
from collections.abc import Callable

from lib.eventually import eventually
from lib.leaf_pair import heard, login
from lib.process import ServerProcess

Launch = Callable[[str], ServerProcess]

ACCOUNTS = """
listen: 127.0.0.1:<client>
accounts { ACC: { users: [{user: acc, password: acc}, {user: leaf, password: leaf}] } }
"""
HUB = ACCOUNTS + "server_name: hub\nleafnodes { listen: 127.0.0.1:<leaf> }"
LEAF = ACCOUNTS + "server_name: leaf\nleafnodes { reconnect: 1, remotes: [@remotes@] }"


def config(text: str, **words: object) -> str:
    for name, word in words.items():
        text = text.replace(f"@{name}@", str(word))
    return text


def remote(hub: ServerProcess, more: str = "") -> str:
    return f'{{ url: "nats-leaf://leaf:leaf@127.0.0.1:{hub.ports["leaf"]}", account: ACC, {more} }}'


def reload(server: ServerProcess, text: str) -> None:
    before = server.log().count("Reloaded")
    server.configure(text)
    server.signal(signal.SIGHUP)
    eventually(lambda: server.log().count("Reloaded") > before)


def apart(here: ServerProcess, there: ServerProcess) -> None:
    """Return when what is heard on one side is not known on the other."""
    with login(here) as asks, login(there) as hears:
        hears.sub("apart", "1")
        hears.sync()
        eventually(lambda: asks.request("apart").status == "503" if asks.sync() is not None else False)


def test_a_disabled_remote_is_joined_and_left(launch: Launch) -> None:
    hub = launch(config(HUB))
    leaf = launch(config(LEAF, remotes=remote(hub, "disabled: true")))
    apart(hub, leaf)
    reload(leaf, config(LEAF, remotes=remote(hub)))
    with login(hub) as high, login(leaf) as low:
        heard(high, low, "up")
        heard(low, high, "down")
    reload(leaf, config(LEAF, remotes=remote(hub, "disabled: true")))
    apart(hub, leaf)


def test_a_remote_that_is_taken_out_is_left(launch: Launch) -> None:
    hub = launch(config(HUB))
    leaf = launch(config(LEAF, remotes=remote(hub)))
    with login(hub) as high, login(leaf) as low:
        heard(high, low, "up")
    reload(leaf, config(LEAF, remotes=""))
    apart(hub, leaf)


def test_leafs_survive_a_reload_that_does_not_concern_them(launch: Launch) -> None:
    hub = launch(config(HUB))
    leaf = launch(config(LEAF, remotes=remote(hub)))
    with login(hub) as high, login(leaf) as low:
        heard(high, low, "up")
        low.sub("kept", "k")
        low.sync()
        heard(high, low, "in.sync")
        reload(hub, config(HUB) + "\nmax_payload: 1000000")
        reload(leaf, config(LEAF, remotes=remote(hub)) + "\nmax_payload: 1000000")
        high.pub("kept", "x")
        assert low.msg().subject == "kept"
    assert hub.log().count("Leafnode connection closed") == 0
