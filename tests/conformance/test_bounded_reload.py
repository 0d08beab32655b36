"""A reload of a long configuration delays nobody. See test_bounded_work.py."""

from __future__ import annotations

import signal
from collections.abc import Callable
from contextlib import ExitStack

from lib.callbacks import Callbacks
from lib.eventually import eventually
from lib.process import ServerProcess

ACCOUNTS, USERS = 400, 10
CLIENTS = 200


def configuration(allowed: str) -> str:
    """Accounts in a chain of imports; each user may publish only to what is allowed."""
    return "".join(
        ["listen: 127.0.0.1:<client>\naccounts {\n", *(account(n, allowed) for n in range(ACCOUNTS)), "}\n"]
    )


def account(number: int, allowed: str) -> str:
    users = ", ".join(
        f'{{ user: u{number}_{n}, password: p, permissions: {{ publish: ["{allowed}.>", "x.{n}.*"] }} }}'
        for n in range(USERS)
    )
    imports = ""
    if number:
        other = number - 1
        imports = (
            f'imports: [{{ stream: {{ account: A{other}, subject: "s.{other}.>" }}, to: "i.{allowed}.>" }}, '
            f"{{ service: {{ account: A{other}, subject: q.{other} }} }}];"
        )
    exports = f'exports: [{{ stream: "s.{number}.>" }}, {{ service: q.{number} }}]'
    mappings = f'mappings: {{ "m.1": "{allowed}.1", "m.2.*": "n.$1" }}'
    return f"A{number}: {{ users: [{users}]; {exports}; {imports} {mappings} }}\n"


def may(server: ServerProcess, subject: str) -> bool:
    with server.connect(user=f"u{ACCOUNTS - 1}_0", **{"pass": "p"}) as wire:
        wire.pub(subject, b"")
        return not wire.sync()


def test_a_long_configuration(callbacks: Callbacks, launch: Callable[[str], ServerProcess]) -> None:
    server = launch(configuration("before"))
    with ExitStack() as stack:
        wires = [
            stack.enter_context(server.connect(user=f"u{n}_{n % USERS}", **{"pass": "p"}))
            for n in range(CLIENTS)
        ]
        for wire in wires:
            wire.sub("a.>")
            wire.sync()
        assert may(server, "before.a")
        server.configure(configuration("after"))
        with callbacks.bounded(server):
            server.signal(signal.SIGHUP)
            eventually(lambda: "Reloaded server configuration" in server.log())
        assert may(server, "after.a") and not may(server, "before.a")
        for wire in wires:
            wire.pub("after.a", b"")
            assert wire.sync() == []
            wire.pub("before.a", b"")
            assert b"Permissions Violation" in b"".join(f for f in wire.sync() if isinstance(f, bytes))
