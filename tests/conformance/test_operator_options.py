"""Operator mode's options: a sentinel, pinned accounts, several operators, bare keys, no system account."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from lib.operator_fixture import OperatorEnv, User, ask
from lib.process import ServerProcess

VIOLATION = [b"-ERR 'Authorization Violation'"]
ENV, OTHER = OperatorEnv(), OperatorEnv()
A, B = ENV.account("A"), ENV.account("B")
FAR = OTHER.account("FAR")
SENTINEL = A.user("nobody", bearer_token=True)
PRELOADED = ENV.preload(A, B)
LISTEN = f"listen: 127.0.0.1:<client>\nresolver: MEMORY\nsystem_account: {ENV.sys.id}\n"


def named(server: ServerProcess, user: User, **changes: object) -> str:
    with user.connect(server, **changes) as wire:
        return str(wire.request("$SYS.REQ.USER.INFO").json()["data"]["user_name"])


def test_a_sentinel_is_who_gives_no_token(serve: Callable[[str], ServerProcess]) -> None:
    server = serve(ENV.memory(A, more=f"default_sentinel: {SENTINEL.token}"))
    assert named(server, SENTINEL, jwt="", sig="") == "nobody"
    assert named(server, SENTINEL, jwt="nonsense", sig="") == "nobody"
    assert named(server, A.user("ann")) == "ann"
    assert A.user("late", exp=ENV.started).refusal(server) == VIOLATION


def test_only_pinned_accounts_and_the_system_account(serve: Callable[[str], ServerProcess]) -> None:
    server = serve(ENV.memory(A, B, more=f"resolver_pinned_accounts: [{A.id}]"))
    assert named(server, A.user("ann")) == "ann"
    assert named(server, ENV.admin) == "sys"
    assert B.user("bob").refusal(server) == VIOLATION


@pytest.fixture(scope="module")
def two() -> str:
    rows = f"{PRELOADED.rstrip().removesuffix('}')}  {FAR.id}: {FAR.token()}\n}}\n"
    return f"{LISTEN}operator: [{ENV.token}, {OTHER.token}]\n{rows}"


def test_accounts_of_several_operators(serve: Callable[[str], ServerProcess], two: str) -> None:
    server = serve(two)
    assert named(server, A.user("ann")) == "ann"
    assert named(server, FAR.user("fay")) == "fay"


def test_bare_keys(serve: Callable[[str], ServerProcess]) -> None:
    server = serve(f"{LISTEN}trusted_keys: {ENV.key.public_key}\n{PRELOADED}")
    assert named(server, A.user("ann")) == "ann"
    assert FAR.user().refusal(server) == VIOLATION


def test_the_system_account_is_pushed_through_itself(serve: Callable[[str], ServerProcess]) -> None:
    env = OperatorEnv()
    account = env.account("A")
    server = serve(env.full(timeout='"200ms"').partition("resolver_preload")[0])
    assert account.user().refusal(server) == VIOLATION
    with env.system(server) as wire:
        answer = ask(server, env, "$SYS.REQ.CLAIMS.UPDATE", env.sys.token())
        assert answer["data"]["message"] == "jwt updated"
        assert wire.sync() == []
    env.push(server, account)
    assert named(server, account.user("ann")) == "ann"
