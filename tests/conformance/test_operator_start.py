"""Operator mode: configurations that prevent the start, and other ways to configure trust."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from lib.operator_fixture import OperatorEnv, User, tampered
from lib.process import ServerProcess
from pyjs.keys import KeyPair, KeyRole, OperatorClaims

VIOLATION = [b"-ERR 'Authorization Violation'"]
Launch = Callable[[str], ServerProcess]
Case = Callable[[OperatorEnv], str]


def admitted(user: User, server: ServerProcess) -> bool:
    try:
        user.connect(server).close()
    except ConnectionError:
        return False
    return True


def without_resolver(env: OperatorEnv) -> str:
    return f"listen: 127.0.0.1:<client>\noperator: {env.token}\n"


def operator_named(token: str, env: OperatorEnv) -> str:
    return env.memory().replace(env.token, token)


def newer(env: OperatorEnv) -> str:
    claims = OperatorClaims.new(env.key.public_key, "OP")
    claims.nats.assert_server_version = "99.0.0"
    return operator_named(env.sign(claims, env.key), env)


def self_signed_by_another(env: OperatorEnv) -> str:
    claims = OperatorClaims.new(env.key.public_key, "OP")
    return operator_named(env.sign(claims, KeyPair.create(KeyRole.OPERATOR)), env)


STOPPED: dict[str, tuple[Case, str]] = {
    "no-resolver": (without_resolver, ""),
    "with-accounts": (
        lambda s: s.memory(more="accounts { A { users: [{user: a, password: b}] } }"),
        "configured directly",
    ),
    "with-users": (
        lambda s: s.memory(more="authorization { users: [{user: a, password: b}] }"),
        "configured directly",
    ),
    "with-no-auth-user": (lambda s: s.memory(more="no_auth_user: a"), "no_auth_user"),
    "another-system-account": (
        lambda s: s.memory(more=f"system_account: {s.account('X').id}"),
        "system_account",
    ),
    "operator-damaged": (
        lambda s: operator_named(tampered(s.token, name="X"), s),
        "error parsing operator JWT",
    ),
    "operator-of-another-kind": (lambda s: operator_named(s.sys.token(), s), "error parsing operator JWT"),
    "operator-file-missing": (lambda s: operator_named('"./missing.jwt"', s), "error parsing operator JWT"),
    "newer-server-wanted": (newer, "server major version"),
    "preload-of-another-account": (
        lambda s: s.memory().replace(f"  {s.sys.id}:", f"  {s.account('X').id}:"),
        "",
    ),
    "preload-damaged": (
        lambda s: s.memory().replace(f"{s.sys.id}: eyJ", f"{s.sys.id}: nonsense"),
        "invalid account JWT",
    ),
    "remote-without-account": (
        lambda s: s.memory(more='leafnodes { remotes: [{ url: "nats-leaf://127.0.0.1:1" }] }'),
        "operator mode requires account nkeys in remotes",
    ),
    "cache-that-deletes": (lambda s: s.cache(allow_delete=True), "CACHE does not accept allow_delete"),
    "full-with-ttl": (lambda s: s.full(ttl='"1m"'), "FULL does not accept ttl"),
    "hard-delete-alone": (lambda s: s.full(hard_delete=True), "hard_delete has no effect without delete"),
    "directory-is-a-file": (
        lambda s: s.full(folder=__file__),
        "dir needs to point to an accessible directory",
    ),
    "unknown-type": (
        lambda s: s.full().replace("type: full", "type: half"),
        "error parsing account resolver",
    ),
}


@pytest.mark.parametrize("case", STOPPED)
def test_the_start_is_refused(launch: Launch, case: str) -> None:
    make, word = STOPPED[case]
    with pytest.raises(RuntimeError, match="ended with 1") as failure:
        launch(make(OperatorEnv()))
    said = str(failure.value)
    assert word in said
    assert "Traceback" not in said


def test_an_operator_that_did_not_sign_itself(launch: Launch, implementation: str) -> None:
    """The reference takes its word; pyjs does not."""
    config = self_signed_by_another(OperatorEnv())
    if implementation == "reference":
        launch(config)
        return
    with pytest.raises(RuntimeError, match="ended with 1"):
        launch(config)


def test_the_operator_may_be_a_file(launch: Launch, tmp_path: Path) -> None:
    env = OperatorEnv()
    account = env.account("A")
    path = tmp_path / "OP.jwt"
    path.write_text(f"-----BEGIN NATS OPERATOR JWT-----\n{env.token}\n------END NATS OPERATOR JWT------\n")
    config = env.memory(account).replace(f"operator: {env.token}", f'operator: "{path}"')
    assert admitted(account.user(), launch(config))


def test_two_operators_are_trusted_at_once(launch: Launch) -> None:
    one, two = OperatorEnv(), OperatorEnv(system_account="")
    mine, theirs = one.account("A"), two.account("B")
    config = one.memory(mine).replace(
        f"operator: {one.token}", f"operator: [{one.token}, {two.token}]\nsystem_account: {one.sys.id}"
    )
    row = f"  {theirs.id}: {theirs.token()}\n}}"
    server = launch(config.rstrip().removesuffix("}") + row)
    assert admitted(mine.user(), server)
    assert admitted(theirs.user(), server)


def test_bare_keys_are_trusted(launch: Launch) -> None:
    env, stranger = OperatorEnv(), OperatorEnv()
    account = env.account("A")
    config = env.memory(account).replace(
        f"operator: {env.token}", f"trusted_keys: [{env.key.public_key}]\nsystem_account: {env.sys.id}"
    )
    server = launch(config)
    assert admitted(account.user(), server)
    assert stranger.account("B").user().refusal(server) == VIOLATION


def test_hours_end_a_session(launch: Launch) -> None:
    """Hours are the server's; their end is as the end of the token."""
    env = OperatorEnv()
    account = env.account("A")
    server = launch(env.memory(account))
    now = time.time()
    start, end = (time.strftime("%H:%M:%S", time.gmtime(now + away)) for away in (-3600, 2))
    user = account.user(times=[{"start": start, "end": end}], times_location="UTC")
    with user.connect(server) as wire:
        assert wire.ends() == [b"-ERR 'User Authentication Expired'"]


def test_the_most_talkative_log_holds_no_users_token(launch: Launch, implementation: str) -> None:
    """The reference's trace does."""
    env = OperatorEnv()
    account = env.account("A")
    server = launch(env.memory(account, more="debug: true\ntrace: true"))
    user, late = account.user(), account.user(exp=1000)
    assert admitted(user, server)
    assert late.refusal(server) == VIOLATION
    server.end()
    log = server.log()
    assert "CONNECT" in log
    shown = [one.token.split(".")[2] in log for one in (user, late)]
    assert shown == [implementation == "reference"] * 2
