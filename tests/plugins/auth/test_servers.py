"""What `pyjs auth` makes is what `pyjs nsc` shows, and what servers in operator mode admit and forbid."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from lib.cli import Cli, Result
from lib.process import ServerProcess

ENV = {"XDG_CONFIG_HOME": "", "XDG_DATA_HOME": ""}
SETTINGS = """
listen: "127.0.0.1:<client>"
server_name: s1
jetstream { store_dir: "<store>" }
"""


class Auth:
    """Folders with the operator OP, the account APP with the user ann, and a server of this operator."""

    def __init__(self, home: Path, launch: Callable[[str], ServerProcess]) -> None:
        self.cli = Cli(home)
        self.ok("auth operator add OP")
        self.ok("auth account add APP --defaults")
        may = "--pub-allow orders.> --sub-allow _INBOX.>"
        self.ok(f"auth user add ann APP --defaults {may} --credential ann.creds")
        self.ok("auth user add admin SYSTEM --defaults --credential sys.creds")
        config = self.ok("nsc generate config --nats-resolver").replace("'./jwt'", '"<store>/jwt"')
        self.server = launch(SETTINGS + config)

    def run(self, line: str, *flags: str) -> Result:
        return self.cli.run(*line.split(), *flags, env=ENV)

    def ok(self, line: str, *flags: str) -> str:
        return self.cli.ok(*line.split(), *flags, env=ENV)

    def by(self, creds: str) -> tuple[str, ...]:
        return ("--server", self.server.url, "--creds", f"{creds}.creds")


@pytest.fixture
def auth(tmp_path: Path, launch: Callable[[str], ServerProcess]) -> Auth:
    return Auth(tmp_path, launch)


def test_a_pushed_account_admits_its_user_within_its_permissions(auth: Auth) -> None:
    assert auth.run("pub orders.x y", *auth.by("ann")).code == 4  # the servers do not know the account yet
    shown = auth.ok("auth account push APP", *auth.by("sys"))
    assert "✓ Update completed on s1" in shown
    assert shown.endswith("Success 1 Failed 0 Expected 1\n")
    assert auth.run("pub orders.new hello", *auth.by("ann")).code == 0
    refused = auth.run("pub other hello", *auth.by("ann"))
    assert "Permissions Violation for Publish" in refused.err


def test_the_servers_have_what_the_folders_have(auth: Auth) -> None:
    missing = auth.run("auth account query APP", *auth.by("sys"))
    assert missing.code == 3 and "have no account" in missing.err
    auth.ok("auth account push APP", *auth.by("sys"))
    theirs = json.loads(auth.ok("auth account query APP app.jwt -o json", *auth.by("sys")))
    ours = json.loads(auth.ok("auth account info APP -o json"))
    assert theirs["claims"] == ours["claims"]
    assert json.loads(auth.ok("nsc describe account APP -J"))["sub"] == ours["claims"]["sub"]
    token = json.loads(auth.ok("auth account info APP --json"))["token"]
    assert (auth.cli.home / "app.jwt").read_text() == token
    by_key = auth.ok(f"auth account query {ours['claims']['sub']}", *auth.by("sys"))
    assert by_key.startswith(f"Account APP ({ours['claims']['sub']})")


def test_a_revoked_user_is_refused_once_the_account_is_pushed(auth: Auth) -> None:
    auth.ok("auth account push APP", *auth.by("sys"))
    auth.ok("pub orders.x y", *auth.by("ann"))
    auth.ok("auth user rm ann APP --revoke -f")
    auth.ok("pub orders.x y", *auth.by("ann"))
    auth.ok("auth account push APP", *auth.by("sys"))
    assert auth.run("pub orders.x y", *auth.by("ann")).code == 4


def test_only_a_user_of_the_system_account_can_push(auth: Auth) -> None:
    auth.ok("auth account push APP", *auth.by("sys"))
    result = auth.run("auth account push APP --timeout 500ms", *auth.by("ann"))
    assert result.code == 6
    assert "no servers were updated" in result.err and "system account" in result.err


def test_a_shared_bucket_is_read_and_written_by_the_other_account(auth: Auth) -> None:
    auth.ok("auth account edit APP --jetstream --js-disk 1MB --js-memory 1MB")
    auth.ok("auth user add owner APP --defaults --credential owner.creds")
    auth.ok("auth account add GUEST --defaults")
    auth.ok("auth user add guest GUEST --defaults --credential guest.creds")
    auth.ok("auth account exports kv CONFIG --account APP")
    auth.ok("auth account imports kv CONFIG FROM.APP APP --account GUEST")
    for account in ("APP", "GUEST"):
        auth.ok(f"auth account push {account}", *auth.by("sys"))
    auth.ok("kv add CONFIG --storage memory", *auth.by("owner"))
    auth.ok("kv put CONFIG color red", *auth.by("owner"))
    guest = (*auth.by("guest"), "--js-api-prefix", "FROM.APP", "--inbox-prefix", "_INBOX.KV_CONFIG")
    assert auth.ok("kv get CONFIG color --raw", *guest) == "red"
    auth.ok("kv put CONFIG color blue", *guest)
    assert auth.ok("kv get CONFIG color --raw", *auth.by("owner")) == "blue"
    assert auth.ok("kv ls CONFIG", *guest) == "color\n"
    assert auth.run("stream ls", *guest, "--timeout", "300ms").code == 6
