"""`account report` and `account tls`: what a user without system rights is told of account and server."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from lib.cli import Cli
from lib.eventually import eventually
from lib.process import ServerProcess
from lib.wire import Wire

PEM = Path(__file__).parents[2] / "server" / "config" / "pem"
CONFIG = """
listen: "127.0.0.1:<client>"
server_name: alone
accounts {
    ONE: { users: [{ user: one, password: one }] }
    TWO: { users: [
        { user: two, password: two }
        { user: denied, password: denied, permissions: { publish: { deny: "$SYS.>" } } }
    ] }
}
"""
TLS = f"""
listen: "127.0.0.1:<client>"
tls {{ cert_file: "{PEM}/server.pem", key_file: "{PEM}/server-key.pem" }}
"""


@pytest.fixture
def server(serve: Callable[[str], ServerProcess]) -> ServerProcess:
    return serve(CONFIG)


@pytest.fixture
def cli(server: ServerProcess, tmp_path: Path) -> Callable[[str], Cli]:
    return lambda user: Cli(tmp_path, "--server", server.url, "--user", user, "--password", user)


def test_only_the_account_is_shown(cli: Callable[[str], Cli], server: ServerProcess) -> None:
    with (
        Wire.connected(server.port, user="one", **{"pass": "one"}) as one,
        Wire.connected(server.port, user="two", **{"pass": "two"}) as two,
    ):
        one.sub("orders.*")
        two.sub("other")
        one.sync()
        two.sync()
        words = ("account", "report", "connections", "-o", "json", "--sort=cid", "-R")
        assert len(json.loads(cli("one").ok(*words, "--subject=orders.x"))["connections"]) == 1
        found = json.loads(cli("one").ok(*words))
        first, last = found["connections"]
        assert first["cid"] < last["cid"]
        assert {each["account"] for each in (first, last)} == {"ONE"}
        assert found["servers"] == [{"server": "alone", "cluster": "", "connections": 2}]
        assert len(json.loads(cli("one").ok(*words, "--top", "1"))["connections"]) == 1
        assert json.loads(cli("one").ok(*words, "--username=nobody"))["connections"] == []
        (row,) = json.loads(cli("one").ok("a", "rep", "stats", "-o", "json"))
        assert (row["server"], row["connections"], row["slow_consumers"]) == ("alone", 2, 0)
        table = cli("one").ok("account", "report", "statistics")
        assert "Server Statistics" in table
        assert "Slow Consumers" in table


def test_closed_connections_by_their_reason(cli: Callable[[str], Cli]) -> None:
    cli("two").ok("pub", "x", "y")
    words = ("account", "report", "connections", "--state=closed", "-o", "json")

    def closed() -> list[dict[str, object]]:
        found: list[dict[str, object]] = json.loads(cli("two").ok(*words, "--closed-reason=client"))[
            "connections"
        ]
        return found

    eventually(closed)
    assert {each["reason"] for each in closed()} == {"Client Closed"}
    assert json.loads(cli("two").ok(*words, "--closed-reason=stale"))["connections"] == []


def test_who_may_not_ask_is_told_what_it_takes(cli: Callable[[str], Cli]) -> None:
    result = cli("denied").run("account", "report", "statistics", "--timeout", "300ms")
    assert result.code == 6
    assert "allowed to publish to $SYS.REQ.ACCOUNT.PING.STATZ" in result.err


def test_certificates(
    serve: Callable[[str], ServerProcess], cli: Callable[[str], Cli], tmp_path: Path
) -> None:
    address = serve(TLS).url.partition("://")[2]
    secured = Cli(tmp_path, "--server", f"tls://{address}", "--tlsca", str(PEM / "ca.pem"))
    text = secured.ok("account", "tls")
    blocks = [(PEM / f"{name}.pem").read_text().strip() for name in ("server", "ca")]
    assert all(block in text for block in blocks)
    assert '# chain=1 cert=1 isCA=false Subject="CN=server"' in text
    assert "BEGIN" not in secured.ok("account", "tls", "--no-pem")
    server, authority = json.loads(secured.ok("account", "tls", "-o", "json"))
    assert (server["subject"], server["authority"], server["status"]) == ("CN=server", False, "good")
    assert (server["dns_names"], server["addresses"]) == (["localhost"], ["127.0.0.1"])
    assert server["expires"] == authority["expires"] == "2126-10-28T01:44:12Z"
    assert (authority["subject"], authority["authority"]) == ("CN=pyjs test authority", True)
    soon = secured.run("account", "tls", "--expire-warn", "110y")
    assert (soon.code, "# EXPIRES SOON" in soon.out) == (1, True)
    assert "certificate 1 (CN=server) expires soon" in soon.err
    assert secured.run("account", "tls", "--ocsp").code == 2
    bare = cli("one").run("account", "tls")
    assert (bare.code, bare.out) == (1, "")
    assert "has no TLS" in bare.err
