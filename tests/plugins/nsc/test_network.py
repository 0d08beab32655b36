"""`pyjs nsc push|pull|status|tool` against a server of each kind, as a user runs them."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from lib.cli import Cli, Result
from lib.eventually import eventually
from lib.operator_fixture import OperatorEnv
from lib.operator_store import add_user, written
from lib.process import ServerProcess, free_port
from pyjs.plugins.nsc.status import ACCOUNTS


class NscFixture:
    """Folders with the accounts ONE and TWO, the user `u` of ONE, and a server of this operator."""

    def __init__(self, server: ServerProcess, env: OperatorEnv, home: Path) -> None:
        self.server, self.env, self.home = server, env, home
        self.workspace = written(env, home / "nsc", url=server.url)
        add_user(self.workspace, env, "ONE", "u")
        env.push(server, *(self.workspace.store().account_token(name) for name in ("SYS", "ONE")))
        self.cli = Cli(home, "nsc", "-H", str(home / "nsc"))

    def run(self, *words: str) -> Result:
        return self.cli.run(*words)

    def ok(self, *words: str) -> str:
        return self.cli.ok(*words)


@pytest.fixture
def nsc(launch: Callable[[str], ServerProcess], tmp_path: Path) -> NscFixture:
    env = OperatorEnv()
    env.account("ONE")
    env.account("TWO")
    return NscFixture(launch(env.full(allow_delete=True)), env, tmp_path)


def test_push_all_shows_the_tree_of_the_demonstration(nsc: NscFixture) -> None:
    lines = nsc.ok("push", "-A").splitlines()
    expected = [f'[ OK ] push to nats-server "{nsc.server.url}" using system account "SYS":']
    for name in ("ONE", "SYS", "TWO"):
        expected += [
            f"       [ OK ] push {name} to nats-server with nats account resolver:",
            f'              [ OK ] pushed "{name}" to nats-server S: jwt updated',
            "              [ OK ] pushed to a total of 1 nats-server",
        ]
    assert lines == expected
    assert "all jobs succeeded" in nsc.ok("push", "-A", "-P")


def test_push_and_prune_as_json(nsc: NscFixture) -> None:
    nsc.ok("push", "-a", "TWO")
    nsc.workspace.store().remove_account("TWO")
    found = json.loads(nsc.ok("push", "--prune", "--json"))
    assert found["removed"] == [nsc.env.accounts[2].id]
    assert found["report"]["level"] == "ok"


def test_errors_end_with_one(nsc: NscFixture) -> None:
    nobody = f"nats://127.0.0.1:{free_port()}"
    for words, text in (
        (("push", "-A", "-a", "ONE"), "specify only one of --account or --all-accounts"),
        (("push", "-a", "NOBODY"), "NOBODY"),
        (("push",), "an account is required"),
        (("push", "-a", "ONE", "-u", nobody), "no servers available for connection"),
        (("push", "-a", "ONE", "-u", "ftp://x"), 'scheme "ftp" is not supported'),
        (("push", "-a", "ONE", "-P", "-D"), "mutually exclusive"),
        (("push", "-P", "-u", "http://127.0.0.1:1"), "prune only works for nats based account resolver"),
        (("push", "-a", "ONE", "--system-account", "NOBODY"), 'system account "NOBODY" not found'),
        (("push", "-a", "ONE", "--tls-curves", "P1"), "unknown TLS curve"),
        (("push", "-a", "ONE", "--ca-cert", "/nowhere"), "TLS files cannot be used"),
        (("push", "-R", "SYS"), "all jobs failed"),
        (("pull", "-a", "ONE"), "can only pull all jwt"),
        (("tool", "pub", "x", "-a", "TWO"), "a user is required"),
        (("tool", "sub", "x", "-a", "ONE", "--max-messages", "0"), "greater than zero"),
        (("tool", "req", "nobody.there", "-a", "ONE"), "no responders"),
        (("tool", "rtt", "-a", "ONE", "--nats", nobody), "no servers available"),
        (("tool", "--nats", nobody, "rtt", "-a", "ONE"), "no servers available"),
        (("tool", "--ca-cert", "none.pem", "rtt", "-a", "ONE"), "TLS files cannot be used"),
        (("tool", "req", "-E", "x", "-a", "ONE"), "no longer supports"),
    ):
        result = nsc.run(*words)
        assert result.code == 1
        assert "[ OK ]" not in result.out
        assert text in result.err
        assert not re.search(r"\bS[OAU][A-Z2-7]{56}\b", result.err)
        assert "eyJ" not in result.err


def test_a_failed_push_is_reported_on_stderr(nsc: NscFixture) -> None:
    result = nsc.run("push", "-a", "ONE", "--system-account", "ONE")
    assert result.code == 1
    assert "[ERR ] push ONE to nats-server with nats account resolver:" in result.err
    assert result.err.endswith("Error: all jobs failed\n")


def test_pull_says_what_was_stored(nsc: NscFixture) -> None:
    lines = nsc.ok("pull", "-A").splitlines()
    assert re.fullmatch(r'\[ OK \] pulled "(ONE|SYS)" from the account server:', lines[0])
    assert sorted(lines[1:]) == [f'       [ OK ] stored account "{name}"' for name in ("ONE", "SYS")]


def test_status_compares_with_the_store(nsc: NscFixture) -> None:
    result = nsc.run("status", "--check")
    assert result.code == 1
    rows = [
        [cell.strip() for cell in line.split("│")[1:-1]] for line in result.out.splitlines() if "│" in line
    ]
    assert [(row[1], row[2]) for row in rows if len(row) > 2] == [
        ("Account", "State"),
        ("ONE", "current"),
        ("SYS", "current"),
        ("TWO", "missing"),
    ]
    nsc.ok("push", "-A")
    assert nsc.ok("status", "--check", "--differences") == "3 accounts on 1 servers are as in the store\n"
    document = json.loads(nsc.ok("status", "--json"))
    assert document["servers"] == ["S"]
    assert [row["state"] for row in document["accounts"]] == ["current"] * 3


def test_the_report_of_resolvers_has_every_form(nsc: NscFixture) -> None:
    def report(*words: str) -> str:
        return nsc.cli.with_flags("account", "resolver").ok("report", "-H", str(nsc.home / "nsc"), *words)

    assert report().startswith("╭──")
    records = json.loads(report("-o", "json"))
    assert [(one["server"], one["name"], one["state"]) for one in records] == [
        ("S", "ONE", "current"),
        ("S", "SYS", "current"),
        ("S", "TWO", "missing"),
    ]
    assert records[0]["issued"].endswith("Z") and records[2]["issued"] == ""
    assert set(records[0]) == {column.field for column in ACCOUNTS.columns}
    assert yaml.safe_load(report("-o", "yaml")) == records
    assert report("-o", "name").split() == ["ONE", "SYS", "TWO"]
    assert report("--template", "{name}={state}").split() == ["ONE=current", "SYS=current", "TWO=missing"]
    assert report("-o", "csv").count("\n") == 4
    assert json.loads(report("--json"))["servers"] == ["S"]


def test_status_marks_what_ends(nsc: NscFixture) -> None:
    one = nsc.env.accounts[1]
    one.claims.exp = nsc.workspace.now() // 10**9 + 3 * 86400 + 60
    written(nsc.env, nsc.home / "nsc")
    nsc.ok("push", "-A")
    assert "! in 3 days" in nsc.ok("status", "--differences")
    assert "in 3 days" not in nsc.ok("status", "--differences", "--within", "2d")


def test_a_message_is_published_and_received(nsc: NscFixture) -> None:
    heard: list[Result] = []
    listener = Cli(nsc.home, "nsc", "-H", str(nsc.home / "nsc"))
    words = ("tool", "sub", "news.>", "-a", "ONE", "--max-messages", "1")
    thread = threading.Thread(target=lambda: heard.append(listener.process(*words)))
    thread.start()

    def published() -> bool:
        assert nsc.ok("pub", "news.a", 'say "x"', "-a", "ONE") == 'Published [news.a] : "say \\"x\\""\n'
        return bool(heard)

    eventually(published)
    thread.join()
    assert heard[0].out.splitlines() == [
        "Listening on [news.>] for 1 messages",
        "[#1] received on [news.a]: 'say \"x\"'",
    ]


@pytest.mark.parametrize(("answer", "reply"), [((), "ping"), (("pong",), "pong")])
def test_a_request_is_answered(nsc: NscFixture, answer: tuple[str, ...], reply: str) -> None:
    heard: list[Result] = []
    listener = Cli(nsc.home, "nsc", "-H", str(nsc.home / "nsc"))
    words = ("tool", "reply", "svc", *answer, "-a", "ONE", "-q", "workers", "--max-messages", "1")
    thread = threading.Thread(target=lambda: heard.append(listener.process(*words)))
    thread.start()
    asked: list[Result] = []

    def answered() -> bool:
        asked.append(nsc.run("tool", "req", "svc", "ping", "-a", "ONE"))
        return asked[-1].code == 0

    eventually(answered)
    thread.join()
    first, second = asked[-1].out.splitlines()
    assert first == "published request: [svc] : 'ping'"
    assert re.fullmatch(rf"received reply: \[_INBOX\..+\] : '{reply}'", second)
    assert heard[0].out.splitlines()[1] == "[#1] received on [svc]: 'ping'"


def test_rtt(nsc: NscFixture) -> None:
    shown = nsc.ok("rtt", "-a", "ONE", "-u", "u")
    assert re.fullmatch(rf"round trip time to \[{nsc.server.url}\] = [\d.]+[µm]?s\n", shown)


def test_a_user_without_permission_gets_an_error(nsc: NscFixture) -> None:
    one = nsc.env.accounts[1]
    user = one.user("mute", pub={"deny": [">"]})
    nsc.workspace.keystore.add(user.key)
    nsc.workspace.store().write_user(user.token)
    nsc.workspace.keystore.write_credentials("OP", "ONE", "mute", user.token, user.key.seed)
    result = nsc.run("tool", "pub", "x", "-a", "ONE", "-u", "mute")
    assert result.code == 1
    assert "Permissions Violation" in result.err or "permissions violation" in result.err


def test_push_asks_for_account_and_url(nsc: NscFixture) -> None:
    with nsc.cli.terminal(["push", "-i"], env={"NO_COLOR": "1"}) as terminal:
        terminal.answer("select account", "")
        terminal.answer("Account Server URL or nats-resolver enabled nats-server URL", "")
        code = terminal.finish()
        shown = "\n".join(terminal.lines()) + "\n" + terminal.errors()
    assert code == 0, shown
    assert '[ OK ] pushed "ONE" to nats-server S: jwt updated' in shown
    assert f"--account-jwt-server-url={nsc.server.url}" in shown
