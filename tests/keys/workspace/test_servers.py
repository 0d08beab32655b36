"""Push, pull and status with a server of each kind: what it then holds, what is told, what is refused."""

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
from lib.operator_fixture import OperatorSite
from lib.operator_store import written
from lib.process import ServerProcess, free_port
from pyjs.keys import IdentityError, KeyPair, KeyRole, Workspace, encode
from pyjs.keys.workspace.servers.access import ServersAccess
from pyjs.keys.workspace.servers.pull import pull
from pyjs.keys.workspace.servers.push import PushResult, push
from pyjs.keys.workspace.servers.status import StatusKind, StatusResult, status


class Desk:
    """A site with two accounts in folders of nsc, and a server that serves this operator."""

    def __init__(self, site: OperatorSite, server: ServerProcess, folder: Path) -> None:
        self.site, self.server, self.folder = site, server, folder
        self.leaf: ServerProcess | None = None
        self.one, self.two = site.account("ONE"), site.account("TWO")
        self.workspace = written(site, folder, url=server.url)
        site.push(server, self.workspace.store().account_token("SYS"))

    def whole(self) -> None:
        """Wait until both servers answer."""
        eventually(lambda: self.status().servers == ["L", "S"])

    def write(self) -> None:
        """Sign all accounts anew."""
        written(self.site, self.folder)

    def push(self, *names: str, **options: Any) -> PushResult:
        return asyncio.run(push(self.workspace, names, **options))

    def lines(self, *names: str, **options: Any) -> list[str]:
        return [line.strip() for line in self.push(*names, **options).report.render().splitlines()]

    def status(self, *names: str, **options: Any) -> StatusResult:
        return asyncio.run(status(self.workspace, names, **options))

    def states(self) -> dict[str, StatusKind]:
        return {row.name or row.account: row.state for row in self.status().held}


@pytest.fixture
def desk(launch: Callable[[str], ServerProcess], tmp_path: Path) -> Desk:
    site = OperatorSite(signing=True)
    return Desk(site, launch(site.full(allow_delete=True)), tmp_path / "nsc")


def test_a_push_is_told_account_by_account_and_server_by_server(desk: Desk) -> None:
    result = desk.push("ONE", "TWO")
    assert result.report.render().splitlines() == [
        f'[ OK ] push to nats-server "{desk.server.url}" using system account "SYS":',
        "       [ OK ] push ONE to nats-server with nats account resolver:",
        '              [ OK ] pushed "ONE" to nats-server S: jwt updated',
        "              [ OK ] pushed to a total of 1 nats-server",
        "       [ OK ] push TWO to nats-server with nats account resolver:",
        '              [ OK ] pushed "TWO" to nats-server S: jwt updated',
        "              [ OK ] pushed to a total of 1 nats-server",
    ]
    assert (result.servers, result.accounts) == (["S"], ["ONE", "TWO"])
    desk.one.user("u").connect(desk.server).close()


def test_prune_removes_what_is_not_in_the_store(desk: Desk) -> None:
    extra = desk.site.account("EXTRA")
    desk.site.push(desk.server, desk.one, extra)
    listed = [
        "[ OK ] list 3 accounts from nats-server S:",
        *sorted(
            f"[ OK ] account {key} {text}"
            for key, text in (
                (desk.one.id, "named ONE exists"),
                (desk.site.sys.id, "named SYS exists"),
                (extra.id, "only exists in server"),
            )
        ),
        "[ OK ] listed accounts from a total of 1 nats-server",
    ]
    shown = desk.lines(diff=True)
    assert [shown[0], shown[1], *sorted(shown[2:5]), *shown[5:]] == [
        "[ OK ] diff nats-server with nats account resolver:",
        *listed,
    ]
    pruned = desk.push(prune=True)
    assert pruned.removed == [extra.id]
    assert "pruned nats-server S: deleted 1 accounts" in pruned.report.render()
    assert "[ OK ] nothing to prune" in desk.lines(prune=True)


def test_remove_takes_one_account_from_the_servers_and_leaves_the_store(desk: Desk) -> None:
    desk.push("ONE", "TWO")
    shown = desk.lines(remove="TWO")
    assert shown == [
        "[ OK ] prune nats-server with nats account resolver:",
        "[ OK ] pruned nats-server S: deleted 1 accounts",
    ]
    assert desk.states() == {"ONE": StatusKind.CURRENT, "SYS": StatusKind.CURRENT, "TWO": StatusKind.MISSING}
    assert "TWO" in desk.workspace.store().accounts()


def test_the_system_account_is_not_removed(desk: Desk) -> None:
    result = desk.push(remove="SYS")
    assert result.report.failed
    assert "server S responded with error" in result.report.render()


def test_status_tells_older_newer_missing_and_extra(desk: Desk) -> None:
    three, extra = desk.site.account("THREE"), desk.site.account("EXTRA")
    desk.site.accounts.remove(extra)
    desk.push("ONE", "TWO")
    desk.write()  # all are newer here now
    desk.site.push(desk.server, three, extra)
    found = desk.status()
    states = {row.name: row.state for row in found.held}
    assert states == {
        "EXTRA": StatusKind.EXTRA,
        "ONE": StatusKind.OLDER,
        "SYS": StatusKind.OLDER,
        "THREE": StatusKind.NEWER,
        "TWO": StatusKind.OLDER,
    }
    assert found.differs
    desk.push("ONE", "SYS", "TWO", "THREE")
    assert desk.states() | {"EXTRA": StatusKind.CURRENT} == dict.fromkeys(states, StatusKind.CURRENT)
    assert [row.state for row in desk.status("ONE").held] == [StatusKind.CURRENT]
    assert not desk.status("ONE").differs


def test_status_tells_what_ends(desk: Desk) -> None:
    now = desk.workspace.now() // 10**9
    desk.one.claims.exp, desk.two.claims.exp = now + 3600, now + 100 * 86400
    desk.write()
    desk.push("ONE", "TWO")
    held = {row.name: row for row in desk.status().held}
    assert [(held[n].expiring, held[n].expired) for n in ("ONE", "TWO", "SYS")] == [
        (True, False),
        (False, False),
        (False, False),
    ]
    assert held["ONE"].expires == now + 3600
    assert held["ONE"].id == desk.workspace.store().account("ONE").jti


def test_pull_brings_what_is_newer_and_leaves_what_is_newer_here(desk: Desk) -> None:
    desk.push("ONE", "TWO")
    desk.one.set(description="from elsewhere")
    desk.site.push(desk.server, desk.one)
    desk.two.set(description="from here")
    store = desk.workspace.store()
    store.write_account(desk.two.token())
    result = asyncio.run(pull(desk.workspace, everything=True))
    lines = result.report.render()
    assert '[ OK ] stored account "ONE"' in lines
    assert '[ERR ] local jwt for "TWO" is newer than remote version - specify --overwrite-newer' in lines
    assert store.account("ONE").nats.description == "from elsewhere"
    assert store.account("TWO").nats.description == "from here"
    assert not asyncio.run(pull(desk.workspace, everything=True, overwrite=True)).report.failed
    assert store.account("TWO").nats.description == ""


def test_pull_of_one_account_needs_an_account_server(desk: Desk) -> None:
    with pytest.raises(IdentityError, match="can only pull all jwt"):
        asyncio.run(pull(desk.workspace, "ONE"))


def test_an_operator_that_the_servers_do_not_serve_is_refused_at_once(desk: Desk, tmp_path: Path) -> None:
    other = OperatorSite()
    other.account("Z")
    workspace = written(other, tmp_path / "other", url=desk.server.url)
    with pytest.raises(IdentityError, match=r"Authorization Violation.* does not take a user of account"):
        asyncio.run(push(workspace, ["Z"]))


def test_an_account_of_another_operator_is_not_sent(desk: Desk) -> None:
    path = desk.workspace.store().account_path("ONE")
    path.write_text(encode(desk.one.claims, KeyPair.create(KeyRole.OPERATOR), now=desk.workspace.now()))
    with pytest.raises(IdentityError, match="not signed by the operator"):
        desk.push("TWO", "ONE")
    assert desk.states()["TWO"] is StatusKind.MISSING


def test_a_wrong_system_account_hears_nobody(desk: Desk) -> None:
    desk.push("ONE")
    shown = desk.push("ONE", to=ServersAccess(account="ONE"))
    assert "no responders" in shown.report.render()
    assert "another system account" in shown.report.render()
    with pytest.raises(IdentityError, match='system account "NOBODY" not found'):
        desk.push("ONE", to=ServersAccess(account="NOBODY"))


def test_a_stored_user_speaks_where_one_is_named(desk: Desk) -> None:
    assert not desk.push("ONE", to=ServersAccess(user="sys")).report.failed
    with pytest.raises(
        IdentityError, match='the seed of user "nobody" of account "SYS" is not in the keystore'
    ):
        desk.push("ONE", to=ServersAccess(user="nobody"))


def test_without_the_system_accounts_key_one_of_its_users_speaks(desk: Desk) -> None:
    desk.workspace.keystore.remove(desk.site.sys.id)
    assert not desk.push("ONE").report.failed
    desk.workspace.keystore.remove(desk.site.admin.key.public_key)
    with pytest.raises(IdentityError, match="neither a key of account"):
        desk.push("ONE")


@pytest.mark.parametrize("implementation", ["reference"])
def test_in_strict_mode_a_signing_key_speaks_and_prunes(
    launch: Callable[[str], ServerProcess], tmp_path: Path
) -> None:
    site = OperatorSite(strict=True)
    desk = Desk(site, launch(site.full(allow_delete=True)), tmp_path)
    assert not desk.push("ONE", "TWO").report.failed
    assert not desk.push(remove="ONE").report.failed


def test_an_expired_account_is_sent_only_by_force(desk: Desk) -> None:
    desk.one.claims.exp = desk.workspace.now() // 10**9 - 10
    desk.write()
    with pytest.raises(
        IdentityError, match='unable to push account "ONE" as it has validation issues: claim is'
    ):
        desk.push("ONE", "TWO")
    assert desk.states()["TWO"] is StatusKind.MISSING
    assert not desk.push("TWO", force=True).report.failed


def test_a_damaged_token_is_not_sent(desk: Desk) -> None:
    path = desk.workspace.store().account_path("ONE")
    path.write_text(path.read_text()[:-8])
    with pytest.raises(IdentityError, match='unable to push account "ONE"'):
        desk.push("ONE")
    with pytest.raises(IdentityError):  # what cannot be read must not be taken for absent
        desk.push(prune=True)


def test_no_server(desk: Desk) -> None:
    nobody = f"nats://127.0.0.1:{free_port()}"
    for call in (
        push(desk.workspace, ["ONE"], ServersAccess(nobody)),
        status(desk.workspace, (), ServersAccess(nobody)),
    ):
        with pytest.raises(IdentityError, match=f"no servers available for connection: {nobody}"):
            asyncio.run(call)
    # one of several is enough
    assert not desk.push("ONE", to=ServersAccess(f"{nobody},{desk.server.url}")).report.failed


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("ftp://x", 'scheme "ftp" is not supported'),
        ("x", 'scheme "" is not supported'),
        ("  ", "no account server url"),
    ],
)
def test_a_url_of_another_kind(desk: Desk, url: str, text: str) -> None:
    with pytest.raises(IdentityError, match=text):
        desk.push("ONE", to=ServersAccess(url))


def test_tls_is_not_left_out_where_the_server_has_none(desk: Desk) -> None:
    with pytest.raises(IdentityError, match="TLS is asked for, and the server has none"):
        desk.push("ONE", to=ServersAccess(desk.server.url.replace("nats://", "tls://")))


def test_only_one_thing_after_a_push(desk: Desk) -> None:
    with pytest.raises(IdentityError, match="mutually exclusive"):
        desk.push(prune=True, diff=True)


class Account(BaseHTTPRequestHandler):
    """An account server: tokens by path; what is posted is kept, with the answer that `codes` has for it."""

    held: dict[str, str]
    codes: dict[str, int]

    def do_POST(self) -> None:
        token = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.held[self.path] = token
        code = self.codes.get(self.path, 200)
        self._answer(code, "thank you" if code != 200 else "")

    def do_GET(self) -> None:
        self._answer(200 if self.path in self.held else 404, self.held.get(self.path, ""))

    def _answer(self, code: int, text: str) -> None:
        self.send_response(code)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def accounts() -> Iterator[tuple[str, type[Account]]]:
    """(URL, its handler) of an account server."""
    kind = type("Kept", (Account,), {"held": {}, "codes": {}})
    with ThreadingHTTPServer(("127.0.0.1", 0), kind) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/jwt/v1", kind
        server.shutdown()
        thread.join()


def test_an_account_server(accounts: tuple[str, type[Account]], tmp_path: Path) -> None:
    url, kind = accounts
    site = OperatorSite()
    one, two, bad = site.account("ONE"), site.account("TWO"), site.account("BAD")
    workspace: Workspace = written(site, tmp_path, url=url)
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
    kind.held[f"/jwt/v1/accounts/{one.id}"] = one.set(description="theirs").token()
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
def pair(launch: Callable[[str], ServerProcess], tmp_path: Path) -> Desk:
    """A server, and a leaf L of it that shares the system account."""
    site = OperatorSite()
    hub = launch(site.full(allow_delete=True, more='leafnodes { listen: "127.0.0.1:<leaf>" }'))
    remote = (
        f'{{ url: "nats-leaf://127.0.0.1:{hub.ports["leaf"]}", account: {site.sys.id}, '
        f'credentials: "{site.admin.write(tmp_path)}" }}'
    )
    config = site.full(allow_delete=True, more=f"leafnodes {{ remotes: [ {remote} ] }}")
    leaf = launch(config.replace("server_name: S", "server_name: L"))
    desk = Desk(site, hub, tmp_path / "nsc")
    desk.leaf = leaf
    desk.whole()
    return desk


def test_a_push_reaches_the_leafs_that_share_the_system_account(pair: Desk) -> None:
    result = pair.push("ONE")
    lines = [line.strip() for line in result.report.render().splitlines()]
    assert sorted(lines[2:4]) == [
        '[ OK ] pushed "ONE" to nats-server L: jwt updated',
        '[ OK ] pushed "ONE" to nats-server S: jwt updated',
    ]
    assert lines[4:] == ["[ OK ] pushed to a total of 2 nats-server"]


# pyjs asks the others for what it has missed as soon as it is there again
@pytest.mark.parametrize("implementation", ["reference"])
def test_status_tells_servers_apart_that_hold_different_tokens(pair: Desk) -> None:
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
    held = {(row.server, row.name): row for row in pair.status().held}
    assert [held[server, "ONE"].state for server in ("S", "L")] == [StatusKind.CURRENT, StatusKind.OLDER]
    assert "told apart by what is in use" in held["L", "ONE"].note
    assert [held[server, "TWO"].state for server in ("S", "L")] == [StatusKind.UNKNOWN, StatusKind.UNKNOWN]
    assert held["S", "TWO"].note == "one of 2 that servers hold"
    pair.push("ONE", "TWO", "SYS")
    assert not pair.status().differs


def test_a_server_that_cannot_write_says_so(desk: Desk) -> None:
    place = desk.server.directory / "store" / "jwt"
    shutil.rmtree(place)
    place.write_text("no folder")
    result = desk.push("ONE", "TWO")
    assert (
        result.report.render().count("[ERR ] server S responded with error: jwt update resulted in error")
        == 2
    )
    assert result.report.summed_up() == "all jobs failed"
