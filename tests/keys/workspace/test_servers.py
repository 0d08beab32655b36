"""Push, pull and status with a server of each kind: its content afterwards, reports, refusals."""

from __future__ import annotations

import asyncio
import shutil
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from lib.eventually import eventually
from lib.operator_fixture import OperatorEnv
from lib.operator_store import written
from lib.process import ServerProcess, free_port
from pyjs.keys import IdentityError, KeyPair, KeyRole, Workspace, encode
from pyjs.keys.workspace.servers.access import ServersAccess
from pyjs.keys.workspace.servers.pull import pull
from pyjs.keys.workspace.servers.push import PushResult, push
from pyjs.keys.workspace.servers.status import StatusKind, StatusResult, status


class NscFixture:
    """An operator with two accounts in folders of nsc, and a server that serves this operator."""

    def __init__(self, env: OperatorEnv, server: ServerProcess, folder: Path) -> None:
        self.env, self.server, self.folder = env, server, folder
        self.leaf: ServerProcess | None = None
        self.one, self.two = env.account("ONE"), env.account("TWO")
        self.workspace = written(env, folder, url=server.url)
        env.push(server, self.workspace.store().account_token("SYS"))

    def whole(self) -> None:
        """Wait until both servers answer."""
        eventually(lambda: self.status().servers == ["L", "S"])

    def write(self) -> None:
        """Sign all accounts again."""
        written(self.env, self.folder)

    def push(self, *names: str, **options: Any) -> PushResult:
        return asyncio.run(push(self.workspace, names, **options))

    def lines(self, *names: str, **options: Any) -> list[str]:
        return [line.strip() for line in self.push(*names, **options).report.render().splitlines()]

    def status(self, *names: str, **options: Any) -> StatusResult:
        return asyncio.run(status(self.workspace, names, **options))

    def states(self) -> dict[str, StatusKind]:
        return {row.name or row.account: row.state for row in self.status().accounts}


@pytest.fixture
def nsc(launch: Callable[[str], ServerProcess], tmp_path: Path) -> NscFixture:
    env = OperatorEnv(signing=True)
    return NscFixture(env, launch(env.full(allow_delete=True)), tmp_path / "nsc")


def test_a_push_is_reported_account_by_account_and_server_by_server(nsc: NscFixture) -> None:
    result = nsc.push("ONE", "TWO")
    assert result.report.render().splitlines() == [
        f'[ OK ] push to nats-server "{nsc.server.url}" using system account "SYS":',
        "       [ OK ] push ONE to nats-server with nats account resolver:",
        '              [ OK ] pushed "ONE" to nats-server S: jwt updated',
        "              [ OK ] pushed to a total of 1 nats-server",
        "       [ OK ] push TWO to nats-server with nats account resolver:",
        '              [ OK ] pushed "TWO" to nats-server S: jwt updated',
        "              [ OK ] pushed to a total of 1 nats-server",
    ]
    assert (result.servers, result.accounts) == (["S"], ["ONE", "TWO"])
    nsc.one.user("u").connect(nsc.server).close()


def test_prune_removes_what_is_not_in_the_store(nsc: NscFixture) -> None:
    extra = nsc.env.account("EXTRA")
    nsc.env.push(nsc.server, nsc.one, extra)
    listed = [
        "[ OK ] list 3 accounts from nats-server S:",
        *sorted(
            f"[ OK ] account {key} {text}"
            for key, text in (
                (nsc.one.id, "named ONE exists"),
                (nsc.env.sys.id, "named SYS exists"),
                (extra.id, "only exists in server"),
            )
        ),
        "[ OK ] listed accounts from a total of 1 nats-server",
    ]
    shown = nsc.lines(diff=True)
    assert [shown[0], shown[1], *sorted(shown[2:5]), *shown[5:]] == [
        "[ OK ] diff nats-server with nats account resolver:",
        *listed,
    ]
    pruned = nsc.push(prune=True)
    assert pruned.removed == [extra.id]
    assert "pruned nats-server S: deleted 1 accounts" in pruned.report.render()
    assert "[ OK ] nothing to prune" in nsc.lines(prune=True)


def test_remove_takes_one_account_from_the_servers_and_leaves_the_store(nsc: NscFixture) -> None:
    nsc.push("ONE", "TWO")
    shown = nsc.lines(remove="TWO")
    assert shown == [
        "[ OK ] prune nats-server with nats account resolver:",
        "[ OK ] pruned nats-server S: deleted 1 accounts",
    ]
    assert nsc.states() == {"ONE": StatusKind.CURRENT, "SYS": StatusKind.CURRENT, "TWO": StatusKind.MISSING}
    assert "TWO" in nsc.workspace.store().accounts()


def test_the_system_account_is_not_removed(nsc: NscFixture) -> None:
    result = nsc.push(remove="SYS")
    assert result.report.failed
    assert "server S responded with error" in result.report.render()


def test_status_shows_older_newer_missing_and_extra(nsc: NscFixture) -> None:
    three, extra = nsc.env.account("THREE"), nsc.env.account("EXTRA")
    nsc.env.accounts.remove(extra)
    nsc.push("ONE", "TWO")
    nsc.write()  # all are newer here now
    nsc.env.push(nsc.server, three, extra)
    found = nsc.status()
    states = {row.name: row.state for row in found.accounts}
    assert states == {
        "EXTRA": StatusKind.EXTRA,
        "ONE": StatusKind.OLDER,
        "SYS": StatusKind.OLDER,
        "THREE": StatusKind.NEWER,
        "TWO": StatusKind.OLDER,
    }
    assert found.differs
    nsc.push("ONE", "SYS", "TWO", "THREE")
    assert nsc.states() | {"EXTRA": StatusKind.CURRENT} == dict.fromkeys(states, StatusKind.CURRENT)
    assert [row.state for row in nsc.status("ONE").accounts] == [StatusKind.CURRENT]
    assert not nsc.status("ONE").differs


def test_status_shows_what_ends(nsc: NscFixture) -> None:
    now = nsc.workspace.now() // 10**9
    nsc.one.claims.exp, nsc.two.claims.exp = now + 3600, now + 100 * 86400
    nsc.write()
    nsc.push("ONE", "TWO")
    rows = {row.name: row for row in nsc.status().accounts}
    assert [(rows[n].expiring, rows[n].expired) for n in ("ONE", "TWO", "SYS")] == [
        (True, False),
        (False, False),
        (False, False),
    ]
    assert rows["ONE"].expires == now + 3600
    assert rows["ONE"].id == nsc.workspace.store().account("ONE").jti


def test_pull_brings_what_is_newer_and_leaves_what_is_newer_here(nsc: NscFixture) -> None:
    nsc.push("ONE", "TWO")
    nsc.one.set(description="from elsewhere")
    nsc.env.push(nsc.server, nsc.one)
    nsc.two.set(description="from here")
    store = nsc.workspace.store()
    store.write_account(nsc.two.token())
    result = asyncio.run(pull(nsc.workspace, everything=True))
    lines = result.report.render()
    assert '[ OK ] stored account "ONE"' in lines
    assert '[ERR ] local jwt for "TWO" is newer than remote version - specify --overwrite-newer' in lines
    assert store.account("ONE").nats.description == "from elsewhere"
    assert store.account("TWO").nats.description == "from here"
    assert not asyncio.run(pull(nsc.workspace, everything=True, overwrite=True)).report.failed
    assert store.account("TWO").nats.description == ""


def test_pull_of_one_account_needs_an_account_server(nsc: NscFixture) -> None:
    with pytest.raises(IdentityError, match="can only pull all jwt"):
        asyncio.run(pull(nsc.workspace, "ONE"))


def test_an_operator_that_the_servers_do_not_serve_is_refused_at_once(
    nsc: NscFixture, tmp_path: Path
) -> None:
    other = OperatorEnv()
    other.account("Z")
    workspace = written(other, tmp_path / "other", url=nsc.server.url)
    with pytest.raises(IdentityError, match=r"Authorization Violation.* does not take a user of account"):
        asyncio.run(push(workspace, ["Z"]))


def test_an_account_of_another_operator_is_not_sent(nsc: NscFixture) -> None:
    path = nsc.workspace.store().account_path("ONE")
    path.write_text(encode(nsc.one.claims, KeyPair.create(KeyRole.OPERATOR), now=nsc.workspace.now()))
    with pytest.raises(IdentityError, match="not signed by the operator"):
        nsc.push("TWO", "ONE")
    assert nsc.states()["TWO"] is StatusKind.MISSING


def test_a_wrong_system_account_gets_no_answer(nsc: NscFixture) -> None:
    nsc.push("ONE")
    shown = nsc.push("ONE", to=ServersAccess(account="ONE"))
    assert "no responders" in shown.report.render()
    assert "another system account" in shown.report.render()
    with pytest.raises(IdentityError, match='system account "NOBODY" not found'):
        nsc.push("ONE", to=ServersAccess(account="NOBODY"))


def test_a_stored_user_speaks_where_one_is_named(nsc: NscFixture) -> None:
    assert not nsc.push("ONE", to=ServersAccess(user="sys")).report.failed
    with pytest.raises(
        IdentityError, match='the seed of user "nobody" of account "SYS" is not in the keystore'
    ):
        nsc.push("ONE", to=ServersAccess(user="nobody"))


def test_without_the_system_accounts_key_one_of_its_users_speaks(nsc: NscFixture) -> None:
    nsc.workspace.keystore.remove(nsc.env.sys.id)
    assert not nsc.push("ONE").report.failed
    nsc.workspace.keystore.remove(nsc.env.admin.key.public_key)
    with pytest.raises(IdentityError, match="neither a key of account"):
        nsc.push("ONE")


@pytest.mark.parametrize("implementation", ["reference"])
def test_in_strict_mode_a_signing_key_speaks_and_prunes(
    launch: Callable[[str], ServerProcess], tmp_path: Path
) -> None:
    env = OperatorEnv(strict=True)
    nsc = NscFixture(env, launch(env.full(allow_delete=True)), tmp_path)
    assert not nsc.push("ONE", "TWO").report.failed
    assert not nsc.push(remove="ONE").report.failed


def test_an_expired_account_is_sent_only_by_force(nsc: NscFixture) -> None:
    nsc.one.claims.exp = nsc.workspace.now() // 10**9 - 10
    nsc.write()
    with pytest.raises(
        IdentityError, match='unable to push account "ONE" as it has validation issues: claim is'
    ):
        nsc.push("ONE", "TWO")
    assert nsc.states()["TWO"] is StatusKind.MISSING
    assert not nsc.push("TWO", force=True).report.failed


def test_a_damaged_token_is_not_sent(nsc: NscFixture) -> None:
    path = nsc.workspace.store().account_path("ONE")
    path.write_text(path.read_text()[:-8])
    with pytest.raises(IdentityError, match='unable to push account "ONE"'):
        nsc.push("ONE")
    with pytest.raises(IdentityError):  # what cannot be read must not be taken for absent
        nsc.push(prune=True)


def test_no_server(nsc: NscFixture) -> None:
    nobody = f"nats://127.0.0.1:{free_port()}"
    for call in (
        push(nsc.workspace, ["ONE"], ServersAccess(nobody)),
        status(nsc.workspace, (), ServersAccess(nobody)),
    ):
        with pytest.raises(IdentityError, match=f"no servers available for connection: {nobody}"):
            asyncio.run(call)
    # one of several is enough
    assert not nsc.push("ONE", to=ServersAccess(f"{nobody},{nsc.server.url}")).report.failed


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("ftp://x", 'scheme "ftp" is not supported'),
        ("x", 'scheme "" is not supported'),
        ("  ", "no account server url"),
    ],
)
def test_a_url_of_another_kind(nsc: NscFixture, url: str, text: str) -> None:
    with pytest.raises(IdentityError, match=text):
        nsc.push("ONE", to=ServersAccess(url))


def test_tls_is_not_left_out_where_the_server_has_none(nsc: NscFixture) -> None:
    with pytest.raises(IdentityError, match="TLS is asked for, and the server has none"):
        nsc.push("ONE", to=ServersAccess(nsc.server.url.replace("nats://", "tls://")))


def test_only_one_thing_after_a_push(nsc: NscFixture) -> None:
    with pytest.raises(IdentityError, match="mutually exclusive"):
        nsc.push(prune=True, diff=True)


class Account(BaseHTTPRequestHandler):
    """An account server: tokens by path; what is posted is kept, with the answer that `codes` has for it."""

    tokens: dict[str, str]
    codes: dict[str, int]

    def do_POST(self) -> None:
        token = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.tokens[self.path] = token
        code = self.codes.get(self.path, 200)
        self._answer(code, "thank you" if code != 200 else "")

    def do_GET(self) -> None:
        self._answer(200 if self.path in self.tokens else 404, self.tokens.get(self.path, ""))

    def _answer(self, code: int, text: str) -> None:
        self.send_response(code)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def accounts() -> Iterator[tuple[str, type[Account]]]:
    """(URL, its handler) of an account server."""
    kind = type("Kept", (Account,), {"tokens": {}, "codes": {}})
    with ThreadingHTTPServer(("127.0.0.1", 0), kind) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/jwt/v1", kind
        server.shutdown()
        thread.join()


def test_an_account_server(accounts: tuple[str, type[Account]], tmp_path: Path) -> None:
    url, kind = accounts
    env = OperatorEnv()
    one, two, bad = env.account("ONE"), env.account("TWO"), env.account("BAD")
    workspace: Workspace = written(env, tmp_path, url=url)
    kind.codes |= {f"/jwt/v1/accounts/{two.id}": 202, f"/jwt/v1/accounts/{bad.id}": 500}
    result = asyncio.run(push(workspace, ["ONE", "TWO", "BAD"]))
    assert result.report.render().splitlines() == [
        '[ OK ] pushed "ONE" to account server',
        "[WARN] push TWO to account server:",
        "       [WARN] pushed account jwt was accepted by the account server",
        "       > thank you",
        "[ERR ] push BAD to account server:",
        "       [ERR ] failed to push account to remote server",
        "       > thank you",
    ]
    kind.tokens[f"/jwt/v1/accounts/{one.id}"] = one.set(description="theirs").token()
    pulled = asyncio.run(pull(workspace, "ONE"))
    assert pulled.report.render() == '[ OK ] pulled "ONE" from the account server'
    assert workspace.store().account("ONE").nats.description == "theirs"
    everything = asyncio.run(pull(workspace, everything=True)).report.render()
    assert '[ERR ] pull "OP" from the account server' in everything  # it has no operator
    with pytest.raises(IdentityError, match="prune only works for nats based account resolver"):
        asyncio.run(push(workspace, [], prune=True))
    assert asyncio.run(
        push(workspace, ["ONE"], replace(ServersAccess(), url="http://127.0.0.1:1"))
    ).report.failed


@pytest.fixture
def pair(launch: Callable[[str], ServerProcess], tmp_path: Path) -> NscFixture:
    """A server, and a leaf L of it that shares the system account."""
    env = OperatorEnv()
    hub = launch(env.full(allow_delete=True, more='leafnodes { listen: "127.0.0.1:<leaf>" }'))
    remote = (
        f'{{ url: "nats-leaf://127.0.0.1:{hub.ports["leaf"]}", account: {env.sys.id}, '
        f'credentials: "{env.admin.write(tmp_path)}" }}'
    )
    config = env.full(allow_delete=True, more=f"leafnodes {{ remotes: [ {remote} ] }}")
    leaf = launch(config.replace("server_name: S", "server_name: L"))
    nsc = NscFixture(env, hub, tmp_path / "nsc")
    nsc.leaf = leaf
    nsc.whole()
    return nsc


def test_a_push_reaches_the_leafs_that_share_the_system_account(pair: NscFixture) -> None:
    result = pair.push("ONE")
    lines = [line.strip() for line in result.report.render().splitlines()]
    assert sorted(lines[2:4]) == [
        '[ OK ] pushed "ONE" to nats-server L: jwt updated',
        '[ OK ] pushed "ONE" to nats-server S: jwt updated',
    ]
    assert lines[4:] == ["[ OK ] pushed to a total of 2 nats-server"]


# pyjs asks the others for what it has missed as soon as it is there again
@pytest.mark.parametrize("implementation", ["reference"])
def test_status_tells_servers_apart_that_hold_different_tokens(pair: NscFixture) -> None:
    pair.push("ONE", "SYS", "TWO")
    assert pair.leaf is not None
    pair.leaf.end()
    pair.one.set(description="newer")
    pair.two.set(description="newer")
    pair.write()
    pair.one.user("u").connect(pair.server).close()  # of the two only this account is in use
    pair.push("ONE", "TWO", "SYS")
    pair.leaf.restart()
    pair.whole()
    rows = {(row.server, row.name): row for row in pair.status().accounts}
    assert [rows[server, "ONE"].state for server in ("S", "L")] == [StatusKind.CURRENT, StatusKind.OLDER]
    assert "told apart by what is in use" in rows["L", "ONE"].note
    assert [rows[server, "TWO"].state for server in ("S", "L")] == [StatusKind.UNKNOWN, StatusKind.UNKNOWN]
    assert rows["S", "TWO"].note == "one of 2 that servers hold"
    pair.push("ONE", "TWO", "SYS")
    assert not pair.status().differs


def test_a_server_that_cannot_write_says_so(nsc: NscFixture) -> None:
    place = nsc.server.directory / "store" / "jwt"
    shutil.rmtree(place)
    place.write_text("no folder")
    result = nsc.push("ONE", "TWO")
    assert (
        result.report.render().count("[ERR ] server S responded with error: jwt update resulted in error")
        == 2
    )
    assert result.report.summed_up() == "all jobs failed"
