"""Operator mode: the services that push, read, list, compare and delete account tokens."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
from lib.eventually import eventually
from lib.operator_fixture import (
    UPDATE,
    Deployment,
    OperatorAccount,
    OperatorEnv,
    ask,
    reheaded,
    tampered,
    unsigned,
)
from lib.pool import START
from lib.process import ServerProcess
from pyjs.keys import KeyPair, KeyRole

EMPTY = b"\0" * 32


def lookup(op: Deployment, account: OperatorAccount) -> str:
    with op.env.system(op.server) as wire:
        return wire.request(f"$SYS.REQ.ACCOUNT.{account.id}.CLAIMS.LOOKUP").body.decode()


def listed(op: Deployment) -> set[str]:
    return set(op.ask("$SYS.REQ.CLAIMS.LIST")["data"])


def test_an_update_is_answered_with_server_and_verdict(op: Deployment) -> None:
    account = op.env.account("A")
    answer = op.ask(UPDATE, account.token())
    assert answer["data"] == {"code": 200, "account": account.id, "message": "jwt updated"}
    assert answer["server"]["name"] == "S"
    assert len(answer["server"]["id"]) == 56


@pytest.mark.parametrize("subject", ["$SYS.REQ.ACCOUNT.{}.CLAIMS.UPDATE", "$SYS.ACCOUNT.{}.CLAIMS.UPDATE"])
def test_an_update_that_names_its_account(op: Deployment, subject: str) -> None:
    account = op.env.account("A")
    data = op.ask(subject.format(account.id), account.token())["data"]
    assert data == {"code": 200, "account": account.id, "message": "jwt updated"}
    with account.user().connect(op.server) as wire:
        assert wire.sync() == []


def test_an_update_under_another_accounts_name(op: Deployment) -> None:
    one, other = op.env.account("A"), op.env.account("B")
    error = op.ask(f"$SYS.REQ.ACCOUNT.{other.id}.CLAIMS.UPDATE", one.token())["error"]
    assert error["code"] == 500
    assert error["description"] == "jwt update resulted in error - subject does not match jwt content"
    assert lookup(op, one) == lookup(op, other) == ""


def test_what_was_pushed_is_looked_up(op: Deployment) -> None:
    account = op.env.account("A")
    assert lookup(op, account) == ""
    token = account.token()
    op.push(token)
    assert lookup(op, account) == token
    newer = account.token()
    op.push(newer)
    assert lookup(op, account) == newer


def test_what_was_pushed_is_listed(op: Deployment) -> None:
    account = op.env.account("A")
    assert account.id not in listed(op)
    op.push(account)
    assert {account.id, op.env.sys.id} <= listed(op)


def damaged(account: OperatorAccount, what: str) -> str:
    token = account.token()
    makers: dict[str, Callable[[], str]] = {
        "empty": lambda: "",
        "no-token": lambda: "nonsense",
        "tampered": lambda: tampered(token, name="other"),
        "alg-none": lambda: unsigned(token),
        "alg-other": lambda: reheaded(token, account.env.signer, alg="HS256"),
        "a-users-token": lambda: account.user().token,
        "the-operators-token": lambda: account.env.token,
        "signed-by-a-user": lambda: token.rsplit(".", 1)[0] + ".AAAA",
    }
    return makers[what]()


@pytest.mark.parametrize(
    "what",
    [
        "empty",
        "no-token",
        "tampered",
        "alg-none",
        "alg-other",
        "a-users-token",
        "the-operators-token",
        "signed-by-a-user",
    ],
)
def test_a_push_of_what_is_no_accounts_token_changes_nothing(op: Deployment, what: str) -> None:
    account = op.account("A")
    before = lookup(op, account)
    answer = op.ask(UPDATE, damaged(account, what))
    assert answer["error"]["code"] == 500
    assert answer["error"]["description"].startswith("jwt update")
    assert lookup(op, account) == before
    with account.user().connect(op.server) as wire:
        assert wire.sync() == []


def test_a_push_of_a_token_that_contradicts_itself(op: Deployment) -> None:
    account = op.account("A")
    account.set(mappings={"a": [{"subject": "b", "weight": 60}, {"subject": "c", "weight": 60}]})
    error = op.ask(UPDATE, account.token())["error"]
    assert error["code"] == 500
    expected = 'jwt validation failed - validation errors: [Mapping "a" exceeds 100% among all of it\'s'
    assert error["description"].startswith(expected)


@pytest.mark.parametrize(
    ("mappings", "why"),
    [
        ({"a.*": [{"subject": "b.$2"}]}, 'mapping "a.*" -> "b.$2": invalid mapping destination: '),
        ({"a.*": [{"subject": "b.*"}]}, 'mapping "a.*" -> "b.*": invalid subject'),
        ({"a.>": [{"subject": "b"}]}, 'mapping "a.>" -> "b": invalid subject'),
        (
            {"a.*": [{"subject": "b.{{no(1)}}"}]},
            'mapping "a.*" -> "b.{{no(1)}}": invalid mapping destination: ',
        ),
        (
            {"a": [{"subject": "b", "weight": 50}, {"subject": "b", "weight": 50}]},
            'mapping "a": duplicate entry for "b"',
        ),
        (
            {"a.*": [{"subject": "b"}, {"subject": "c.$2", "cluster": "elsewhere"}]},
            'mapping "a.*" -> "c.$2": invalid mapping destination: ',
        ),
    ],
)
def test_a_push_of_a_mapping_that_cannot_be(
    op: Deployment, mappings: dict[str, list[dict[str, Any]]], why: str
) -> None:
    account = op.account("A")
    before = lookup(op, account)
    error = op.ask(UPDATE, account.set(mappings=mappings).token())["error"]
    assert error["code"] == 500
    assert error["description"].startswith("jwt validation failed - " + why)
    if op.server.name == "pyjs":  # the reference has stored it
        assert lookup(op, account) == before


def test_a_push_of_another_operators_account_lets_nobody_in(op: Deployment) -> None:
    stranger = OperatorEnv().account("A")
    op.ask(UPDATE, stranger.token())
    assert stranger.user().refusal(op.server) == [b"-ERR 'Authorization Violation'"]


def test_a_push_signed_by_another_operator_does_not_touch_sessions(op: Deployment) -> None:
    account = op.account("A")
    with account.user().connect(op.server) as wire:
        op.ask(UPDATE, account.set(limits={"subs": 0}).token(by=KeyPair.create(KeyRole.OPERATOR)))
        wire.sub("subject")
        assert wire.sync() == []


def test_clients_of_other_accounts_do_not_reach_the_services(op: Deployment) -> None:
    account, victim = op.account("A"), op.account("B")
    with account.user().connect(op.server) as wire:
        assert wire.request(UPDATE, victim.token()).status == "503"
        assert wire.request(f"$SYS.REQ.ACCOUNT.{victim.id}.CLAIMS.LOOKUP").status == "503"


def test_pack_gives_all_tokens_to_who_has_others(op: Deployment) -> None:
    account = op.account("A")
    with op.env.system(op.server) as wire:
        reply = wire.inbox()
        wire.pub("$SYS.REQ.CLAIMS.PACK", EMPTY, reply)
        rows: dict[str, str] = {}
        while body := wire.answer(reply).body.decode():
            rows |= dict(row.split("|", 1) for row in body.splitlines())
        assert rows[account.id] == lookup(op, account)
        assert set(rows) == listed(op)
        digests = [hashlib.sha256(token.encode()).digest() for token in rows.values()]
        total = bytes(reduce(lambda a, b: [x ^ y for x, y in zip(a, b, strict=True)], digests, list(EMPTY)))
        assert wire.request("$SYS.REQ.CLAIMS.PACK", total).body == b""


@pytest.mark.parametrize("signer", ["identity", "signing-key"])
def test_accounts_are_deleted(op: Deployment, signer: str) -> None:
    one, two = op.account("A"), op.account("B")
    by = op.env.key if signer == "identity" else op.env.signer
    answer = op.env.delete(op.server, one, two, by=by)
    assert answer["data"] == {"code": 200, "message": "deleted 2 accounts"}
    assert not {one.id, two.id} & listed(op)
    assert lookup(op, one) == ""


def deletion(op: Deployment, *accounts: str, by: KeyPair) -> Any:
    return op.ask("$SYS.REQ.CLAIMS.DELETE", op.env.deletion(accounts, by))


def test_deletions_that_are_refused(op: Deployment) -> None:
    account = op.account("A")
    stranger = KeyPair.create(KeyRole.OPERATOR)
    for answer in (
        deletion(op, account.id, by=stranger),
        deletion(op, account.id, by=account.key),
        deletion(op, op.env.sys.id, by=op.env.signer),
        deletion(op, "nonsense", by=op.env.signer),
        op.ask("$SYS.REQ.CLAIMS.DELETE", "nonsense"),
    ):
        assert answer["error"]["code"] == 500, answer
        assert answer["error"]["description"].startswith("delete accounts request"), answer
    assert {account.id, op.env.sys.id} <= listed(op)


def test_deletion_must_be_allowed(launch: Callable[[str], ServerProcess]) -> None:
    env = OperatorEnv()
    op = Deployment(env, launch(env.full()))
    account = op.account("A")
    answer = env.delete(op.server, account)
    assert answer["error"]["code"] == 500
    assert account.id in listed(op)


def folder(server: ServerProcess) -> Path:
    return server.directory / "store" / "jwt"


def test_the_folder_holds_a_file_for_each_account(launch: Callable[[str], ServerProcess]) -> None:
    env = OperatorEnv()
    op = Deployment(env, launch(env.full(allow_delete=True)))
    account, doomed = op.account("A"), op.account("B")
    token = account.token()
    op.push(token)
    assert (folder(op.server) / f"{account.id}.jwt").read_text() == token
    env.delete(op.server, doomed)
    names = {path.name for path in folder(op.server).iterdir()}
    assert names == {f"{account.id}.jwt", f"{env.sys.id}.jwt", f"{doomed.id}.jwt.deleted"}
    op.server.restart()
    assert lookup(op, account) == token
    assert doomed.user().refusal(op.server) == [b"-ERR 'Authorization Violation'"]


def test_hard_delete_leaves_no_file(launch: Callable[[str], ServerProcess]) -> None:
    env = OperatorEnv()
    op = Deployment(env, launch(env.full(allow_delete=True, hard_delete=True)))
    account = op.account("A")
    env.delete(op.server, account)
    assert {path.name for path in folder(op.server).iterdir()} == {f"{env.sys.id}.jwt"}


def test_an_older_preload_does_not_replace_what_was_pushed(launch: Callable[[str], ServerProcess]) -> None:
    env = OperatorEnv()
    account = env.account("A")
    op = Deployment(env, launch(env.full(account)))
    newer = account.token()
    op.push(newer)
    op.server.restart()
    assert lookup(op, account) == newer


def test_a_folder_with_a_damaged_file(launch: Callable[[str], ServerProcess]) -> None:
    """It harms only the account whose file it is."""
    env = OperatorEnv()
    op = Deployment(env, launch(env.full()))
    healthy, damaged_one = op.account("A"), op.account("B")
    op.server.end()
    file = folder(op.server) / f"{damaged_one.id}.jwt"
    file.write_text(file.read_text()[:100])
    op.server.launch()
    with healthy.user().connect(op.server) as wire:
        assert wire.sync() == []
    assert damaged_one.user().refusal(op.server) == [b"-ERR 'Authorization Violation'"]
    op.push(damaged_one)

    def logs_in() -> bool:
        damaged_one.user().connect(op.server).close()
        return True

    eventually(logs_in)


@pytest.mark.parametrize("first", ["reference", "pyjs"])
def test_one_server_opens_the_others_folder(
    first: str, tmp_path: Path, launch: Callable[[str], ServerProcess]
) -> None:
    env = OperatorEnv()
    config = env.full(folder=str(tmp_path / "jwt"), allow_delete=True)
    starter = START[first](config)
    try:
        op = Deployment(env, starter)
        account, doomed = op.account("A"), op.account("B")
        env.delete(starter, doomed)
    finally:
        starter.stop()
    server = launch(config)
    with account.user().connect(server) as wire:
        assert wire.sync() == []
    assert doomed.user().refusal(server) == [b"-ERR 'Authorization Violation'"]
    assert listed(Deployment(env, server)) == {env.sys.id, account.id}


def test_the_memory_resolver_takes_updates_of_what_it_holds(launch: Callable[[str], ServerProcess]) -> None:
    env = OperatorEnv()
    account = env.account("A")
    server = launch(env.memory(account))
    with account.user().connect(server) as wire:
        account.set(limits={"payload": 3})
        subject = f"$SYS.REQ.ACCOUNT.{account.id}.CLAIMS.UPDATE"
        assert ask(server, env, subject, account.token())["data"]["code"] == 200
        wire.send("PUB subject 4\r\nxxxx\r\n")
        assert wire.ends() == [b"-ERR 'Maximum Payload Violation'"]


def test_the_cache_resolver_skips_what_nobody_uses(launch: Callable[[str], ServerProcess]) -> None:
    env = OperatorEnv()
    account, other = env.account("A"), env.account("B")
    op = Deployment(env, launch(env.cache(account)))
    answer = op.ask(UPDATE, other.token())
    assert answer["data"]["message"] == "jwt update cache skipped"
    assert {p.name for p in folder(op.server).iterdir()} == {f"{a.id}.jwt" for a in (env.sys, account)}
    with account.user().connect(op.server):
        assert op.ask(UPDATE, account.token())["data"]["message"] == "jwt updated cache"
