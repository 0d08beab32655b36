"""Tokens with thousands of entries delay nobody, and are in force when the push is answered.

See test_bounded_work.py; the reference takes the same tokens.
"""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from typing import Any

import pytest
from lib.callbacks import Callbacks
from lib.eventually import eventually
from lib.operator_fixture import UPDATE, Deployment, OperatorAccount, OperatorEnv
from lib.process import ServerProcess
from pyjs.keys import KeyPair, KeyRole

MANY = 4000


def many(op: Deployment) -> int:
    """How many entries; the reference compares all pairs of exports, and 4,000 take it seconds."""
    return MANY if op.server.name == "pyjs" else MANY // 8


@pytest.fixture
def env() -> OperatorEnv:
    return OperatorEnv()


@pytest.fixture
def measured(env: OperatorEnv, callbacks: Callbacks, launch: Callable[[str], ServerProcess]) -> Deployment:
    """A measured server of the test's own, that takes, lists and deletes tokens."""
    return Deployment(env, launch(env.full(allow_delete=True)))


BODIES: dict[str, Callable[[int], dict[str, Any]]] = {
    "exports": lambda many: {
        "exports": [{"name": f"e{n}", "subject": f"e.{n}.>", "type": "stream"} for n in range(many)]
    },
    "mappings": lambda many: {"mappings": {f"m.{n}.*": [{"subject": f"t.{n}.$1"}] for n in range(many)}},
    "revocations": lambda many: {
        "revocations": {KeyPair.create(KeyRole.USER).public_key: 1_700_000_000 for _ in range(many)}
    },
    "unknown fields": lambda many: {"odd": [{"a": [n, None]} for n in range(many)]},
}


@pytest.mark.parametrize("kind", BODIES)
def test_a_large_token(measured: Deployment, callbacks: Callbacks, kind: str) -> None:
    op = measured
    account = op.account("A")
    body = BODIES[kind](many(op))
    with account.user().connect(op.server) as wire, callbacks.bounded(op.server):
        op.push(account.set(**body))
        op.push(account.set(limits={"subs": 0}))
        wire.sub("a")
        assert wire.next() == b"-ERR 'maximum subscriptions exceeded'"


def test_thousands_of_imports(measured: Deployment, callbacks: Callbacks) -> None:
    op = measured
    names = [f"e.{n}" for n in range(many(op) // 2)]
    exporter = op.account("E", exports=[{"name": n, "subject": n, "type": "stream"} for n in names])
    importer = op.account("I")
    imports = [
        {"name": n, "account": exporter.id, "subject": n, "local_subject": f"i.{n}", "type": "stream"}
        for n in names
    ]
    with exporter.user().connect(op.server) as speaker, importer.user().connect(op.server) as wire:
        wire.sub(f"i.{names[-1]}")
        wire.sync()
        with callbacks.bounded(op.server):
            op.push(importer.set(imports=imports))
            speaker.pub(names[-1], b"heard")
            assert wire.msg().body == b"heard"
            op.push(exporter.set(exports=exporter.claims.nats.document()["exports"][:-1]))
            speaker.pub(names[-1], b"unheard")
            speaker.sync()
            assert wire.sync() == []


def test_the_latest_of_pushes_at_once_is_in_force(measured: Deployment) -> None:
    op = measured
    account = op.account("A")
    large = account.set(**BODIES["exports"](many(op))).token()
    small = account.set(exports=[], limits={"subs": 0}).token()
    with account.user().connect(op.server) as wire:
        with op.env.system(op.server) as system:
            inbox = system.inbox()
            for token in (small, large, small):
                system.pub(UPDATE, token, inbox)
            codes = [json.loads(system.answer(inbox).body)["data"]["code"] for _ in range(3)]
            assert codes == [200, 200, 200]
        wire.sub("a")
        assert wire.next() == b"-ERR 'maximum subscriptions exceeded'"


def test_an_account_that_is_pushed_and_deleted_at_once_is_gone(measured: Deployment) -> None:
    op = measured
    account = op.account("A")
    large = account.set(**BODIES["exports"](many(op))).token()
    user = account.user()
    with user.connect(op.server), op.env.system(op.server) as system:
        inbox = system.inbox()
        system.pub(UPDATE, large, inbox)
        system.pub("$SYS.REQ.CLAIMS.DELETE", op.env.deletion([account.id], op.env.key), inbox)
        for _ in range(2):
            assert json.loads(system.answer(inbox).body)["data"]["code"] == 200
    eventually(lambda: user.refusal(op.server) == [b"-ERR 'Authorization Violation'"])


def test_a_login_waits_for_a_large_token(
    env: OperatorEnv, callbacks: Callbacks, launch: Callable[[str], ServerProcess]
) -> None:
    op = Deployment(env, launch(env.full()))
    account = env.account("A", **BODIES["exports"](many(op)))
    with callbacks.bounded(op.server):
        op.push(account)
        with account.user().connect(op.server) as wire:
            assert wire.sync() == []


@pytest.fixture(scope="module")
def tokens() -> tuple[OperatorEnv, dict[str, str], OperatorAccount]:
    """An operator, the tokens of 1,000 accounts by their ids, and the last of these."""
    env = OperatorEnv()
    accounts = [env.account(f"A{number}") for number in range(1000)]
    return env, {account.id: account.token() for account in accounts}, accounts[-1]


def test_a_reload_reads_a_folder_of_many_tokens(
    tokens: tuple[OperatorEnv, dict[str, str], OperatorAccount],
    callbacks: Callbacks,
    launch: Callable[[str], ServerProcess],
) -> None:
    env, signed, last = tokens
    server = launch(env.full(allow_delete=True))
    folder = server.directory / "store" / "jwt"
    for name, token in signed.items():
        (folder / f"{name}.jwt").write_text(token)
    with callbacks.bounded(server):
        server.signal(signal.SIGHUP)
        eventually(lambda: "Reloaded server configuration" in server.log())
    with last.user().connect(server) as wire:
        assert wire.sync() == []
