"""Operator mode: where account tokens are stored, and what servers exchange about them.

The other server is played by a client of the system account: what it hears and answers is the protocol.
"""

from __future__ import annotations

import hashlib
import shutil
import signal
import ssl
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from lib import pyjs_server
from lib.eventually import eventually
from lib.operator_fixture import UPDATE, Deployment, OperatorAccount, OperatorEnv, User, ask, soon, tampered
from lib.process import ServerProcess
from lib.token_library import Library, library_of_tokens
from lib.wire import Frame, Wire

Launch = Callable[[str], ServerProcess]
PACK = "$SYS.REQ.CLAIMS.PACK"
PEMS = Path(__file__).parents[1] / "server" / "config" / "pem"


def folder(server: ServerProcess) -> Path:
    return server.directory / "store" / "jwt"


def stored(server: ServerProcess) -> dict[str, str]:
    """The tokens in the server's folder by account."""
    return {file.stem: file.read_text() for file in folder(server).glob("*.jwt")}


def digest(tokens: dict[str, str]) -> bytes:
    total = bytes(32)
    for token in tokens.values():
        one = hashlib.sha256(token.encode()).digest()
        total = bytes(a ^ b for a, b in zip(total, one, strict=True))
    return total


def admitted(user: User, server: ServerProcess) -> bool:
    try:
        user.connect(server).close()
    except ConnectionError:
        return False
    return True


# --- another server


@pytest.fixture
def peered(launch: Launch) -> tuple[OperatorEnv, ServerProcess]:
    env = OperatorEnv()
    return env, launch(env.full(interval='"300ms"', timeout='"500ms"'))


def test_a_server_asks_the_others_with_its_hash(peered: tuple[OperatorEnv, ServerProcess]) -> None:
    env, server = peered
    with env.system(server) as peer:
        peer.sub(PACK, queue="responder")
        asked = peer.msg()
        assert asked.subject == PACK
        assert asked.body == digest(stored(server))
        assert asked.reply.startswith("$SYS._INBOX.")
        env.push(server, env.account("A"))
        eventually(lambda: peer.msg().body == digest(stored(server)))


def test_newer_tokens_are_taken_from_an_answer(peered: tuple[OperatorEnv, ServerProcess]) -> None:
    env, server = peered
    known, new, stale = env.account("KNOWN"), env.account("NEW"), env.account("STALE")
    old, current = known.token(), known.token()
    outdated = stale.token()
    env.push(server, old, stale.token())
    kept = stored(server)[stale.id]
    token = new.token()
    with env.system(server) as peer, known.user().connect(server) as session:
        known.set(limits={"payload": 3})
        current = known.token()
        peer.sub(PACK, queue="responder")
        reply = peer.msg().reply
        peer.pub(reply, f"{known.id}|{current}")
        peer.pub(reply, f"{new.id}|{token}\n{stale.id}|{outdated}\n")
        peer.pub(reply, "")
        eventually(lambda: stored(server).get(new.id) == token)
        assert stored(server)[known.id] == current
        assert stored(server)[stale.id] == kept
        session.send("PUB subject 4\r\nxxxx\r\n")
        assert session.ends() == [b"-ERR 'Maximum Payload Violation'"]
    assert admitted(new.user(), server)


def test_one_bad_line_does_not_spoil_an_answer(peered: tuple[OperatorEnv, ServerProcess]) -> None:
    env, server = peered
    good = env.account("GOOD")
    token = good.token()
    with env.system(server) as peer:
        peer.sub(PACK, queue="responder")
        reply = peer.msg().reply
        for line in ("nonsense", "a|b|c", f"{env.key.public_key}|x", "|"):
            peer.pub(reply, line)
        peer.pub(reply, f"{good.id}|{token}")
        peer.pub(reply, "")
        eventually(lambda: stored(server).get(good.id) == token)
    assert set(stored(server)) == {env.sys.id, good.id}


def test_an_account_is_asked_for_and_kept(peered: tuple[OperatorEnv, ServerProcess]) -> None:
    env, server = peered
    account = env.account("A")
    token = account.token()
    user = account.user()
    with env.system(server) as peer:
        peer.sub(f"$SYS.REQ.ACCOUNT.{account.id}.CLAIMS.LOOKUP")
        peer.sync()
        wire = Wire(server.port)
        wire.login(**user.proof(wire))
        asked = peer.msg()
        assert (asked.body, asked.reply != "") == (b"", True)
        peer.pub(asked.reply, token)
        assert wire.sync() == []
        wire.close()
    eventually(lambda: stored(server).get(account.id) == token)


def test_a_cache_asks_for_what_it_lacks(launch: Launch) -> None:
    env = OperatorEnv()
    server = launch(env.cache(limit=2, timeout='"500ms"'))
    accounts = [env.account(name) for name in "ABC"]
    tokens = {account.id: account.token() for account in accounts}
    users = {account.id: account.user() for account in accounts}
    with env.system(server) as peer:
        peer.sub("$SYS.REQ.ACCOUNT.*.CLAIMS.LOOKUP")
        peer.sync()
        for account in accounts:
            wire = Wire(server.port)
            wire.login(**users[account.id].proof(wire))
            asked = peer.msg()
            peer.pub(asked.reply, tokens[asked.subject.split(".")[3]])
            assert wire.sync() == []
            wire.close()
    # Two are kept: the one that was used last, and one more.
    eventually(lambda: len(stored(server)) == 2)
    assert accounts[-1].id in stored(server)
    assert all(tokens.get(key, token) == token for key, token in stored(server).items())


def test_a_cache_forgets_what_is_deleted(launch: Launch) -> None:
    env = OperatorEnv()
    account = env.account("A")
    server = launch(env.cache(account, timeout='"200ms"'))
    with account.user().connect(server) as session:
        assert env.delete(server, account)["data"]["message"] == "deleted 1 accounts"
        assert session.ends() == [b"-ERR 'Account Authentication Expired'"]
    assert not admitted(account.user(), server)
    assert [file.name for file in folder(server).iterdir()] == [f"{env.sys.id}.jwt"]


# --- the folder


def test_a_full_store_refuses_new_accounts(launch: Launch) -> None:
    env = OperatorEnv()
    op = Deployment(env, launch(env.full(limit=2)))
    first, second = op.account("A"), env.account("B")
    error = op.ask(UPDATE, second.token())["error"]
    assert error["description"] == "jwt update resulted in error - jwt store is full"
    assert error["account"] == second.id
    op.push(first)
    assert set(stored(op.server)) == {env.sys.id, first.id}


def test_a_token_that_cannot_be_written_is_an_error(launch: Launch) -> None:
    env = OperatorEnv()
    op = Deployment(env, launch(env.full()))
    shutil.rmtree(folder(op.server))
    folder(op.server).write_text("not a folder")
    account = env.account("A")
    error = op.ask(UPDATE, account.token())["error"]
    assert error["code"] == 500
    assert error["description"].startswith("jwt update resulted in error - ")
    folder(op.server).unlink()
    op.push(account)
    assert admitted(account.user(), op.server)


def test_a_file_that_is_put_into_the_folder_is_found_when_asked_for(launch: Launch) -> None:
    env = OperatorEnv()
    server = launch(env.full())
    account = env.account("A")
    (folder(server) / f"{account.id}.jwt").write_text(account.token())
    assert admitted(account.user(), server)


def test_tokens_leave_the_folder_when_they_expire(launch: Launch) -> None:
    """As soon as somebody looks: at the latest when the server starts."""
    env = OperatorEnv()
    server = launch(env.full())
    account = env.account("A")
    account.claims.exp = soon(2)
    env.push(server, account)
    eventually(lambda: not admitted(account.user(), server))
    server.restart()
    eventually(lambda: set(stored(server)) == {env.sys.id})


def test_an_older_token_may_be_pushed(op: Deployment) -> None:
    """A way back from a mistake: the push decides, not the date."""
    account = op.env.account("A")
    older = account.token()
    account.set(limits={"payload": 3})
    op.push(account)
    op.push(older)
    with account.user().connect(op.server) as wire:
        wire.pub("subject", "more than three")
        assert wire.sync() == []


def test_the_system_account_may_be_pushed_through_itself(launch: Launch) -> None:
    env = OperatorEnv()
    config = env.full().replace(env.preload(), "")
    server = launch(config.replace(config[config.index("resolver_preload") :], ""))
    other = env.account("A")
    assert not admitted(other.user(), server)
    env.push(server, env.sys, other)
    assert admitted(env.sys.user("again"), server)
    assert admitted(other.user(), server)


# --- HTTPS


@pytest.fixture
def library() -> Iterator[Library]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(PEMS / "server.pem", PEMS / "server-key.pem")
    with library_of_tokens(tls=context) as found:
        yield found


def test_accounts_come_from_an_https_server(launch: Launch, library: Library) -> None:
    env = OperatorEnv()
    account = env.account("A")
    library.tokens = {f"/jwt/{a.id}": a.token() for a in (env.sys, account)}
    url = f"https://127.0.0.1:{library.server_port}/jwt/"
    config = env.url(url)
    config = config[: config.index("resolver_preload")]
    server = launch(config + f'resolver_tls {{ ca_file: "{PEMS / "ca.pem"}" }}')
    assert admitted(account.user(), server)
    with pytest.raises(RuntimeError, match="ended with"):
        launch(config)


# --- where pyjs differs


def refused(op: Deployment, token: str) -> Any:
    return op.ask(UPDATE, token)["error"]


def test_pyjs_refuses_and_does_not_store_what_a_stranger_signed() -> None:
    env = OperatorEnv()
    server = pyjs_server.start(env.full())
    try:
        op = Deployment(env, server)
        account: OperatorAccount = op.account("A")
        before = stored(server)
        stranger = OperatorEnv()
        for token in (stranger.account("B").token(), account.token(by=stranger.key)):
            assert "not trusted" in refused(op, token)["description"]
        refused(op, tampered(account.token(), name="B"))
        assert stored(server) == before
    finally:
        server.stop()


def test_pyjs_refuses_and_does_not_store_what_does_not_hold_now() -> None:
    """The reference says 200, goes on with the token before, and after a restart lets nobody in."""
    env = OperatorEnv()
    server = pyjs_server.start(env.full())
    try:
        op = Deployment(env, server)
        account: OperatorAccount = op.account("A")
        before = stored(server)
        account.claims.exp = soon(-60)
        assert "has expired" in refused(op, account.token())["description"]
        account.claims.exp, account.claims.nbf = 0, soon(60)
        assert "is not yet valid" in refused(op, account.token())["description"]
        assert stored(server) == before
        server.restart()
        assert admitted(account.user(), server)
    finally:
        server.stop()


def test_pyjs_names_the_files_it_does_not_use() -> None:
    env = OperatorEnv()
    server = pyjs_server.start(env.full())
    try:
        good = env.account("A")
        env.push(server, good)
        server.end()
        half, foreign = env.account("B"), OperatorEnv().account("C")
        files = {f"{half.id}.jwt": half.token()[:60], f"{foreign.id}.jwt": foreign.token(), "x.jwt": "x"}
        for name, text in files.items():
            (folder(server) / name).write_text(text)
        server.launch()
        assert set(ask(server, env, "$SYS.REQ.CLAIMS.LIST")["data"]) == {env.sys.id, good.id}
        assert all(name in server.log() for name in files)
        assert {name: (folder(server) / name).read_text() for name in files} == files
    finally:
        server.stop()


def test_pyjs_follows_the_folder_at_a_reload() -> None:
    env = OperatorEnv()
    server = pyjs_server.start(env.full())
    try:
        account, late = env.account("A"), env.account("B")
        env.push(server, account)
        with account.user().connect(server) as session:
            account.set(limits={"payload": 3})
            for each in (account, late):
                (folder(server) / f"{each.id}.jwt").write_text(each.token())
            server.signal(signal.SIGHUP)
            eventually(lambda: admitted(late.user(), server))
            eventually(lambda: len(ask(server, env, "$SYS.REQ.CLAIMS.LIST")["data"]) == 3)
            answers: list[Frame] = []

            def is_answered() -> bool:
                session.send("PUB subject 4\r\nxxxx\r\n")
                answers.extend(session.sync())
                return bool(answers)

            eventually(is_answered)  # the folder's accounts are taken up one after the other
            assert answers == [b"-ERR 'Maximum Payload Violation'"]
    finally:
        server.stop()
