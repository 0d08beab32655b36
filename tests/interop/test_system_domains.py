"""System accounts of two JetStream domains that a leaf connection joins: each may be asked by its name."""

from __future__ import annotations

from typing import Any

import pytest
from lib.eventually import eventually
from lib.pool import START
from lib.process import ServerProcess
from lib.wire import Msg, Wire

PAIRS = [("pyjs", "pyjs"), ("reference", "pyjs"), ("pyjs", "reference")]
CONFIG = """
listen: 127.0.0.1:<client>
server_name: NAME
jetstream { store_dir: "<store>", domain: NAME }
accounts {
    SYS: { users: [{user: s, password: s}] }
    A: { jetstream: enabled, users: [{user: a, password: a}] }
}
system_account: SYS
leafnodes { MORE }
"""


def asked(wire: Wire, subject: str, body: str = "") -> dict[str, Any]:
    """The answer to a request; {} without one."""
    reply = wire.inbox()
    wire.pub(subject, body, reply=reply)
    frame = wire.next()
    found: dict[str, Any] = frame.json() if isinstance(frame, Msg) and frame.subject == reply else {}
    return found


def streams(server: ServerProcess) -> list[str] | None:
    with server.connect(user="a", **{"pass": "a"}) as wire:
        return asked(wire, "$JS.API.STREAM.NAMES").get("streams")


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_an_account_of_the_other_domain_is_purged_and_no_other(pair: tuple[str, str]) -> None:
    hub = START[pair[0]](CONFIG.replace("NAME", "hub").replace("MORE", 'listen: "127.0.0.1:<leaf>"'))
    try:
        remote = f'remotes: [{{ url: "nats-leaf://s:s@127.0.0.1:{hub.ports["leaf"]}", account: SYS }}]'
        leaf = START[pair[1]](CONFIG.replace("NAME", "leaf").replace("MORE", remote))
        try:
            for server in (hub, leaf):
                with server.connect(user="a", **{"pass": "a"}) as wire:
                    assert asked(wire, "$JS.API.STREAM.CREATE.S", '{"name": "S"}')["type"]
            for asker, domain, kept in ((leaf, "hub", leaf), (hub, "leaf", None)):
                with asker.connect(user="s", **{"pass": "s"}) as wire:
                    subject = f"$JS.{domain}.API.ACCOUNT.PURGE.A"
                    eventually(lambda: asked(wire, subject).get("initiated"))  # noqa: B023
                eventually(lambda: not streams(hub))
                assert kept is None or streams(kept) == ["S"]
            eventually(lambda: not streams(leaf))
        finally:
            leaf.stop()
    finally:
        hub.stop()
