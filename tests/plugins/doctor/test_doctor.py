"""`pyjs doctor` on both servers: faults that were made are found, and nothing is found where all is well."""

from __future__ import annotations

import json
import re
import subprocess
import textwrap
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from lib.cli import Cli
from lib.eventually import eventually
from lib.jetstream import JetStream
from lib.operator_fixture import OperatorEnv
from lib.process import ServerProcess
from lib.source_facts import ROOT
from lib.wire import Wire

CONFIG = """
listen: "127.0.0.1:<client>"
server_name: alone
jetstream { store_dir: "<store>", domain: home }
no_auth_user: ill
accounts {
    ILL: { jetstream: enabled, users: [{ user: ill, password: ill }] }
    WELL: { jetstream: enabled, users: [{ user: well, password: well }] }
    PLAIN: { users: [
        { user: plain, password: plain }
    ] }
    DENIED: { jetstream: enabled, users: [
        { user: denied, password: denied, permissions: { publish: { deny: "$JS.API.STREAM.LIST" } } }
        { user: meek, password: meek, permissions: { publish: { deny: "$SYS.>" } } }
        { user: deaf, password: deaf, permissions: { subscribe: { deny: "_INBOX.>" } } }
    ] }
}
"""
SERVERS = """
listen: "127.0.0.1:<client>"
server_name: alone
max_payload: 100000
max_pending: 200000
write_deadline: "1s"
jetstream { store_dir: "<store>", sync_interval: "5m" }
accounts {
    APP: { jetstream: enabled, users: [{ user: app, password: app }] }
    SYS: { users: [{ user: sys, password: sys }] }
}
system_account: SYS
"""
TLS = """
listen: "127.0.0.1:<client>"
server_name: secured
tls {{ cert_file: "{0}/server.pem", key_file: "{0}/server.key" }}
"""


class Examined:
    """What an examination found: severities by checks, and its exit code."""

    def __init__(self, cli: Cli, *flags: str) -> None:
        result = cli.run("doctor", "-o", "json", *flags)
        self.code = result.code
        self.records = json.loads(result.out)
        self.found = {each["check"]: each["severity"] for each in self.records}


def cli_of(serve: Callable[[str], ServerProcess], tmp_path: Path, user: str) -> Cli:
    return Cli(tmp_path, "--server", serve(CONFIG).url, "--user", user, "--password", user)


def test_nothing_is_found_where_all_is_well(serve: Callable[[str], ServerProcess], tmp_path: Path) -> None:
    cli = cli_of(serve, tmp_path, "well")
    cli.ok("stream", "add", "ORDERS", "--subjects=orders.*", "--max-msgs=10", "--defaults")
    cli.ok("consumer", "add", "ORDERS", "NEW", "--pull", "--defaults")
    cli.ok("pub", "orders.new", "an order", "--count=20", "--jetstream", "--quiet")
    cli.ok("consumer", "next", "ORDERS", "NEW", "--ack")
    examined = Examined(cli)
    assert (examined.found, examined.code) == ({"jetstream_domain": "note"}, 0)
    assert cli.ok("doctor").startswith("Examination: nothing is wrong\n")


def test_faults_of_streams_and_consumers(serve: Callable[[str], ServerProcess], tmp_path: Path) -> None:
    cli = cli_of(serve, tmp_path, "ill")
    limits = ("--max-msgs=10", "--discard=new", "--dupe-window=2h", "--max-consumers=1")
    cli.ok("stream", "add", "ORDERS", "--subjects=orders.*", *limits, "--defaults")
    cli.ok("consumer", "add", "ORDERS", "NEW", "--pull", "--max-pending=1", "--defaults")
    cli.ok("pub", "orders.new", "an order", "--count=9", "--jetstream", "--quiet")
    with JetStream.of(serve(CONFIG)) as js:
        js.pull("ORDERS", "NEW")
    examined = Examined(cli)
    assert examined.found == {
        "jetstream_domain": "note",
        "limit_near": "warning",
        "long_duplicate_window": "warning",
        "consumer_limit": "warning",
        "max_ack_pending": "error",
        "never_acked": "warning",
    }
    assert examined.code == 8
    page = cli.run("doctor").out
    assert page.startswith(
        "Examination: 1 error, 4 warnings, 1 note\n\nERROR max_ack_pending (ORDERS > NEW)\n"
    )
    cli.ok("consumer", "rm", "ORDERS", "NEW", "--force")
    assert Examined(cli).code == 7
    cli.ok("stream", "rm", "ORDERS", "--force")


def test_faults_that_keep_messages_from_one_consumer(
    serve: Callable[[str], ServerProcess], tmp_path: Path
) -> None:
    cli = cli_of(serve, tmp_path, "ill")
    cli.ok("stream", "add", "ORDERS", "--subjects=orders.>", "--defaults")
    cli.ok("pub", "orders.eu.1", "an order", "--jetstream", "--quiet")
    cli.ok("consumer", "add", "ORDERS", "PAUSED", "--pull", "--defaults")
    cli.ok("consumer", "add", "ORDERS", "CASE", "--pull", "--filter=orders.EU.>", "--defaults")
    cli.ok("consumer", "add", "ORDERS", "PUSH", "--target=to.nobody", "--deliver=all", "--defaults")
    cli.ok("consumer", "pause", "ORDERS", "PAUSED", "1h", "--force")
    examined = Examined(cli)
    assert examined.found == {
        "jetstream_domain": "note",
        "paused": "warning",
        "filter_matches_nothing": "warning",
        "no_push_interest": "warning",
    }
    assert examined.code == 7
    cli.ok("consumer", "resume", "ORDERS", "PAUSED", "--force")
    cli.ok("consumer", "edit", "ORDERS", "CASE", "--filter=orders.eu.>", "--force")
    cli.ok("consumer", "rm", "ORDERS", "PUSH", "--force")
    assert Examined(cli).found == {"jetstream_domain": "note"}
    cli.ok("stream", "rm", "ORDERS", "--force")


def test_who_may_ask_little_is_told_in_a_note(serve: Callable[[str], ServerProcess], tmp_path: Path) -> None:
    meek = Examined(cli_of(serve, tmp_path, "meek"))
    assert (meek.found, meek.code) == ({"permissions": "note", "jetstream_domain": "note"}, 0)
    shown = cli_of(serve, tmp_path, "meek").run("account", "info")
    assert (shown.code, shown.err.count("permissions violation")) == (0, 1)  # it asks once
    deaf = Examined(cli_of(serve, tmp_path, "deaf"), "--timeout", "300ms")
    assert deaf.found == {"inbox": "error", "jetstream": "error"}


@pytest.mark.parametrize("implementation", ["reference"], indirect=True)
def test_the_page_shows_what_is_printed(cli: Cli, server: ServerProcess) -> None:
    limits = ("--max-msgs=10", "--discard=new", "--dupe-window=2h", "--max-consumers=1")
    cli.ok("stream", "add", "ORDERS", "--subjects=orders.*", *limits, "--defaults")
    cli.ok("consumer", "add", "ORDERS", "NEW", "--pull", "--defaults")
    cli.ok("pub", "orders.new", "an order", "--count=10", "--jetstream", "--quiet")
    page = (ROOT / "docs/cli/doctor.md").read_text("utf-8")
    (session,) = re.findall(r"(?m)^    > pyjs doctor\n((?:(?: {4}.*)?\n)+)^The exit", page)
    shown = cli.with_flags().run("doctor", env={"NATS_URL": server.url})
    assert shown.out.strip() == textwrap.dedent(session).strip()


def test_faults_of_connections(serve: Callable[[str], ServerProcess], tmp_path: Path) -> None:
    assert Examined(cli_of(serve, tmp_path, "plain")).found == {"jetstream": "warning"}
    wrong = Examined(cli_of(serve, tmp_path, "well"), "--js-domain", "nowhere")
    assert (wrong.found, wrong.code) == ({"jetstream": "error"}, 8)
    denied = Examined(cli_of(serve, tmp_path, "denied"), "--timeout", "300ms")
    assert denied.found == {"permissions": "warning", "jetstream_domain": "note"}
    (told,) = [each["text"] for each in denied.records if each["check"] == "permissions"]
    assert "$js.api.stream.list" in told.lower()
    refused = Examined(cli_of(serve, tmp_path, "nobody"))
    assert (refused.found, refused.code) == ({"connection": "error"}, 8)
    assert "token" not in refused.records[0]["text"]
    assert Examined(Cli(tmp_path, "--server", "127.0.0.1:1")).found == {"connection": "error"}


def test_faults_of_contexts(serve: Callable[[str], ServerProcess], tmp_path: Path) -> None:
    cli = cli_of(serve, tmp_path, "well")
    cli.ok("context", "save", "prod", "--select")
    bare = cli.with_flags()
    bare_found = Examined(bare).found
    assert "overridden" not in bare_found
    assert "readable_secret" not in bare_found
    (file,) = tmp_path.rglob("prod.json")
    file.chmod(0o644)
    same = {"NATS_CONTEXT": "prod", "NATS_TIMEOUT": "9s", "NATS_URL": serve(CONFIG).url}
    assert "overridden" not in bare.run("doctor", "-o", "json", env=same).out
    elsewhere = serve(CONFIG).url.replace("127.0.0.1", "localhost")
    result = bare.run("doctor", "-o", "json", env={"NATS_URL": elsewhere})
    found = {each["check"]: each for each in json.loads(result.out)}
    assert found["overridden"]["evidence"] == {"context": "prod", "variables": ["NATS_URL"]}
    assert found["readable_secret"]["commands"] == [f"chmod 600 {file}"]


def test_credentials_that_end_soon(launch: Callable[[str], ServerProcess], tmp_path: Path) -> None:
    env = OperatorEnv()
    account = env.account("A", jetstream=True)
    now = int(time.time())
    soon, later = account.user("soon", exp=now + 3600), account.user("later", exp=now + 30 * 86400)
    url = launch(env.memory(account, more='jetstream { store_dir: "<store>" }')).url

    def examined(creds: Path) -> Examined:
        return Examined(Cli(tmp_path, "--server", url, "--creds", str(creds)))

    assert examined(soon.write(tmp_path)).found == {"jetstream_domain": "note", "credentials": "error"}
    assert examined(later.write(tmp_path)).found == {"jetstream_domain": "note"}
    expired = examined(account.user("expired", exp=now - 60).write(tmp_path))
    assert expired.found == {"connection": "error", "credentials": "error"}
    (told,) = [each["text"] for each in expired.records if each["check"] == "connection"]
    assert "The token of the user expired expired 1m" in told
    assert "nsc edit user --name expired --expiry 90d' signs a new one" in told


def test_an_account_that_has_limits_for_three_replicas_only(
    launch: Callable[[str], ServerProcess], tmp_path: Path
) -> None:
    env = OperatorEnv()
    tiers = {"R3": {"mem_storage": -1, "disk_storage": -1, "streams": -1, "consumer": -1}}
    account = env.account("A", limits={"tiered_limits": tiers})
    url = launch(env.memory(account, more='jetstream { store_dir: "<store>" }')).url
    cli = Cli(tmp_path, "--server", url, "--creds", str(account.user("u").write(tmp_path)))
    refused = cli.run("stream", "add", "ORDERS", "--subjects", "orders", "--defaults")
    assert refused.code == 4
    assert "account info' shows how many --replicas the account has limits for" in refused.err
    assert Examined(cli).found == {"jetstream_domain": "note", "tiers": "note"}


def test_servers(launch: Callable[[str], ServerProcess], tmp_path: Path) -> None:
    server = launch(SERVERS)
    app = Cli(tmp_path, "--server", server.url, "--user", "app", "--password", "app")
    sys = app.with_flags("--server", server.url, "--user", "sys", "--password", "sys")
    assert Examined(app).found == {"jetstream_domain": "note"}
    assert Examined(sys).found == {"sync_interval": "warning"}
    sys.ok("context", "save", "sys")
    with (
        Wire.connected(server.port, user="app", **{"pass": "app"}) as slow,
        Wire.connected(server.port, user="app", **{"pass": "app"}) as fast,
    ):
        slow.sub("orders")
        slow.sync()  # and reads nothing from here on
        with suppress(ConnectionError):
            for _ in range(400):
                fast.pub("orders", b"x" * 60_000)
            fast.sync()

        def both() -> bool:
            found = Examined(app, "--system", "sys").found
            return found == {
                "jetstream_domain": "note",
                "sync_interval": "warning",
                "slow_consumers": "warning",
            }

        eventually(both)
    app.ok("context", "save", "app")
    (told,) = [each for each in Examined(app, "--sys", "app").records if each["check"] == "system_account"]
    assert (told["severity"], told["about"]) == ("error", "app")


def test_an_operator_whose_token_ends_soon(launch: Callable[[str], ServerProcess], tmp_path: Path) -> None:
    env = OperatorEnv()
    env.claims.exp = int(time.time()) + 20 * 86400
    env.token = env.sign(env.claims, env.key)
    system = env.admin.write(tmp_path)
    url = launch(env.memory()).url
    examined = Examined(Cli(tmp_path, "--server", url, "--creds", str(system), "--timeout", "20s"))
    assert (examined.found, examined.code) == ({"operator_token": "warning"}, 7)


def test_certificates_that_end_soon(launch: Callable[[str], ServerProcess], tmp_path: Path) -> None:
    words = ("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    files = ("-keyout", "server.key", "-out", "server.pem", "-days", "20", "-subj", "/CN=server")
    names = ("-addext", "subjectAltName=IP:127.0.0.1")
    subprocess.run([*words, *files, *names], check=True, capture_output=True, cwd=tmp_path)
    address = launch(TLS.format(tmp_path)).url.partition("://")[2]
    authority = str(tmp_path / "server.pem")
    key = ("--tlscert", authority, "--tlskey", str(tmp_path / "server.key"))
    cli = Cli(tmp_path, "--server", f"tls://{address}", "--tlsca", authority, *key)
    assert Examined(cli).found == {
        "server_certificate": "warning",
        "client_certificate": "warning",
        "jetstream": "warning",
    }
