"""`server check`: what is checked, how it is reported, and the exit codes of Nagios."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml
from lib.cli import Cli
from lib.eventually import eventually
from lib.process import ServerProcess

CONFIG = """
listen: "127.0.0.1:<client>"
server_name: alone
jetstream { store_dir: "<store>" }
accounts {
    SYS: { users: [{ user: admin, password: admin }] }
    ACC: { users: [{ user: acc, password: acc }], jetstream: { max_streams: 4 } }
}
system_account: SYS
"""


@pytest.fixture
def server(serve: Callable[[str], ServerProcess]) -> ServerProcess:
    return serve(CONFIG)


def as_user(server: ServerProcess, home: Path, user: str) -> Cli:
    return Cli(home, "--server", f"nats://{user}:{user}@127.0.0.1:{server.port}")


@pytest.fixture
def cli(server: ServerProcess, tmp_path: Path) -> Cli:
    return as_user(server, tmp_path, "acc")


@pytest.fixture
def system(server: ServerProcess, tmp_path: Path) -> Cli:
    return as_user(server, tmp_path, "admin")


@pytest.fixture
def name(cli: Cli, unique: str) -> Iterator[str]:
    """A stream of three messages: `one` and `two` on <name>.a, `three` on <name>.b."""
    cli.ok("stream", "add", unique, "--subjects", f"{unique}.>", "--defaults")
    for subject, body in (("a", "one"), ("a", "two"), ("b", "three")):
        cli.ok("pub", f"{unique}.{subject}", body, "-J", "-q")
    yield unique
    cli.run("stream", "rm", unique, "-f")


def checked(cli: Cli, *words: str) -> tuple[int, str]:
    result = cli.run("server", "check", *words)
    return result.code, result.out


def test_messages_of_a_stream_are_counted(cli: Cli, name: str) -> None:
    def check(*flags: str) -> tuple[int, str]:
        return checked(cli, "stream", "--stream", name, *flags)

    assert check("--msgs-warn", "2", "--msgs-critical", "1") == (
        0, f"OK {name} OK:3 messages OK:0 sources | messages=3;2;1 sources=0\n"
    )  # fmt: skip
    assert check("--msgs-warn", "3", "--msgs-critical", "1") == (
        1, f"WARNING {name} Warn:3 messages OK:0 sources | messages=3;3;1 sources=0\n"
    )  # fmt: skip
    code, out = check("--msgs-critical", "3")
    assert (code, out.startswith(f"CRITICAL {name} Crit:3 messages ")) == (2, True)


@pytest.mark.parametrize(
    ("warn", "critical", "code"),
    [("3", "5", 0), ("2", "5", 1), ("1", "2", 2), ("1", "0", 0), ("2", "1", 1), ("3", "2", 2)],
)
def test_too_many_or_too_few_subjects(cli: Cli, name: str, warn: str, critical: str, code: int) -> None:
    flags = ("--subjects-warn", warn, "--subjects-critical", critical)
    found, out = checked(cli, "stream", "--stream", name, *flags)
    assert (found, "2 subjects" in out) == (code, True)


def test_thresholds_in_the_metadata_count_unless_a_flag_is_given(cli: Cli, name: str) -> None:
    cli.ok("stream", "edit", name, "--metadata", "io.nats.monitor.msgs-critical=5", "-f")
    assert checked(cli, "stream", "--stream", name)[0] == 2
    assert checked(cli, "stream", "--stream", name, "--msgs-critical", "1")[0] == 0
    cli.ok("stream", "edit", name, "--metadata", "io.nats.monitor.msgs-critical=many", "-f")
    code, out = checked(cli, "stream", "--stream", name)
    assert code == 2
    assert "could not configure based on metadata" in out


def test_sources_and_mirrors(cli: Cli, name: str) -> None:
    cli.ok("stream", "add", f"{name}S", "--source", name, "--defaults")
    cli.ok("stream", "add", f"{name}M", "--mirror", name, "--defaults")
    try:
        assert checked(cli, "stream", "--stream", f"{name}S", "--min-sources", "2")[0] == 2
        assert checked(cli, "stream", "--stream", f"{name}S", "--max-sources", "1")[0] == 0
        limits = ("--lag-critical", "100", "--seen-critical", "1h")

        def is_well() -> bool:
            return f"OK:Mirror {name} " in checked(cli, "stream", "--stream", f"{name}M", *limits)[1]

        eventually(is_well)
        assert "Crit:not mirrored" in checked(cli, "stream", "--stream", name, *limits)[1]
    finally:
        cli.run("stream", "rm", f"{name}S", "-f")
        cli.run("stream", "rm", f"{name}M", "-f")


def test_a_stream_that_is_not_there_or_not_clustered_is_critical(cli: Cli, name: str) -> None:
    code, out = checked(cli, "stream", "--stream", f"{name}X")
    assert (code, "stream not found (10059)" in out) == (2, True)
    code, out = checked(cli, "stream", "--stream", name, "--peer-expect", "3")
    assert (code, "Crit:Stream is not clustered" in out) == (2, True)


def test_an_account_and_its_limits(cli: Cli, name: str) -> None:
    code, out = checked(cli, "jetstream")
    assert code == 0
    assert out.startswith("OK JetStream | memory=0B memory_pct=0%;75;90 storage=")
    assert " streams=1 streams_pct=25% consumers=0 consumers_pct=0% replicas_ok=1 " in out
    assert checked(cli, "js", "--streams-warn", "20", "--streams-critical", "50")[0] == 1
    code, out = checked(cli, "js", "--streams-warn", "10", "--streams-critical", "20", "--no-replicas")
    assert (code, "Crit:25% streams" in out, "replicas" in out) == (2, True, False)
    assert "Crit:memory: invalid thresholds" in checked(cli, "js", "--mem-warn", "95")[1]


def test_a_consumers_progress(cli: Cli, name: str) -> None:
    cli.ok("consumer", "add", name, "DUR", "--pull", "--defaults")

    def check(*flags: str) -> tuple[int, str]:
        return checked(cli, "consumer", "--stream", name, "--consumer", "DUR", *flags)

    assert check() == (0, f"OK {name}_DUR | ack_pending=0 pull_waiting=0 pending=3 redelivered=0\n")
    assert check("--unprocessed-critical", "4")[0] == 0
    code, out = check("--unprocessed-critical", "3", "--last-delivery-critical", "1h")
    assert code == 2
    assert "Crit:Unprocessed Messages: 3 Crit:No deliveries" in out
    cli.ok("consumer", "next", name, "DUR")
    code, out = check("--last-delivery-critical", "1h", "--outstanding-ack-critical", "1")
    assert code == 0
    assert "OK:Last delivery 0." in out
    assert "Crit:Not pinned client priority mode" in check("--pinned")[1]


def test_the_last_message_of_a_subject(cli: Cli, name: str) -> None:
    def check(*flags: str) -> tuple[int, str]:
        return checked(cli, "message", "--stream", name, *flags)

    code, out = check("--subject", f"{name}.a", "--content", "^t.o$", "--age-critical", "1h")
    assert (code, f"OK:Valid message on {name} > {name}.a | age=" in out) == (0, True)
    code, out = check("--subject", f"{name}.a", "--content", "one")
    assert (code, "Crit:does not match regex: one" in out) == (2, True)
    assert "Crit:no message found" in check("--subject", f"{name}.c")[1]
    assert "Crit:invalid timestamp body" in check("--subject", f"{name}.b", "--body-timestamp")[1]
    assert check("--subject", f"{name}.>")[0] == 2
    cli.ok("pub", f"{name}.t", "1000000000", "-J", "-q")
    assert check("--subject", f"{name}.t", "--body-timestamp", "--age-warn", "1y")[0] == 1


def test_a_bucket_and_its_keys(cli: Cli, unique: str) -> None:
    cli.ok("stream", "add", f"KV_{unique}", "--subjects", f"$KV.{unique}.>", "--defaults")
    try:
        cli.ok("pub", f"$KV.{unique}.here", "value", "-J", "-q")
        cli.ok("pub", f"$KV.{unique}.gone", "", "-J", "-q", "-H", "KV-Operation: DEL")

        def check(*flags: str) -> tuple[int, str]:
            return checked(cli, "kv", "--bucket", unique, *flags)

        code, out = check("--key", "here", "--values-warn", "1", "--values-critical", "0")
        assert (code, f"OK:bucket {unique} OK:key here found OK:2 values | values=2;1" in out) == (0, True)
        assert "Crit:key gone is deleted" in check("--key", "gone")[1]
        assert "Crit:key else not found" in check("--key", "else")[1]
        assert check("--values-warn", "1", "--values-critical", "5")[0] == 1
        assert check("--values-warn", "1", "--values-critical", "2")[0] == 2
    finally:
        cli.run("stream", "rm", f"KV_{unique}", "-f")
    assert f"Crit:bucket {unique} not found" in checked(cli, "kv", "--bucket", unique)[1]


def test_a_connection_and_a_service(cli: Cli, name: str) -> None:
    code, out = checked(cli, "connection", "--connect-critical", "30s", "--connect-warn", "20s")
    assert (code, out.startswith("OK Connection OK:connected to nats://127.0.0.1:")) == (0, True)
    code, out = checked(cli, "request", "--subject", "$JS.API.STREAM.NAMES", "--match-payload", name)
    assert (code, "OK:Valid response | time=0." in out) == (0, True)
    code, out = checked(
        cli, "req", "--subject", "$JS.API.STREAM.NAMES", "--match-payload", "nope", "--match-headers", "A=b"
    )
    assert code == 2
    assert 'Crit:response does not match regexp Crit:invalid header "A" = ""' in out
    assert "Crit:could not send request: " in checked(cli, "request", "--subject", f"nobody.{name}")[1]
    nobody = cli.with_flags("--server", "nats://127.0.0.1:1")
    code, out = checked(nobody, "jetstream")
    assert (code, "nats: no servers available for connection" in out) == (2, True)


def test_a_server(system: Cli, cli: Cli) -> None:
    def check(*flags: str) -> tuple[int, str]:
        return checked(system, "server", "--name", "alone", *flags)

    code, out = check("--js-required", "--auth-required")
    assert (code, out.startswith("OK alone OK:JetStream enabled OK:Authentication required | uptime=")) == (
        0,
        True,
    )
    assert "Crit:TLS not required" in check("--tls-required")[1]
    assert check("--subs-warn", "1", "--subs-critical", "100000")[0] == 1
    assert check("--subs-warn", "100000", "--subs-critical", "1")[0] == 1
    assert "Crit:CPU invalid thresholds" in check("--cpu-warn", "2", "--cpu-critical", "1")[1]
    assert check("--uptime-warn", "1y", "--uptime-critical", "0s")[0] == 1
    assert check("--uptime-warn", "2y", "--uptime-critical", "1y")[0] == 2
    assert "no TLS certificates found" in check("--tls-cert-warn", "2d", "--tls-cert-crit", "1d")[1]
    assert "Crit:varz failed" in checked(cli, "server", "--name", "alone", "--timeout", "300ms")[1]
    limits = ("--expect", "3", "--lag-critical", "1", "--seen-critical", "1s")
    assert checked(system, "meta", *limits, "--timeout", "300ms")[0] == 2


def test_how_long_credentials_are_valid(tmp_path: Path) -> None:
    home = Cli(tmp_path)
    store = ("--data-dir", "store", "--keystore-dir", "keys")
    home.ok("nsc", "add", "operator", "O", *store)
    home.ok("nsc", "add", "account", "A", *store)
    home.ok("nsc", "add", "user", "short", "--expiry", "2d", *store)
    home.ok("nsc", "add", "user", "long", *store)

    def check(user: str, *flags: str) -> tuple[int, str]:
        return checked(home, "credential", "--credential", f"keys/creds/O/A/{user}.creds", *flags)

    assert check("short")[0] == 0
    assert check("short", "--validity-warn", "3d", "--validity-critical", "1d")[0] == 1
    assert check("short", "--validity-warn", "4d", "--validity-critical", "3d")[0] == 2
    assert check("long") == (2, "CRITICAL Credential Crit:never expires | expiry=0.0000s\n")
    assert check("long", "--no-require-expiry")[0] == 0
    (tmp_path / "bad.creds").write_text("nothing")
    assert checked(home, "credential", "--credential", "bad.creds")[0] == 2


def test_the_same_finding_in_every_format(cli: Cli, name: str, tmp_path: Path) -> None:
    words = ("stream", "--stream", name, "--msgs-warn", "5")
    code, out = checked(cli, *words, "--format", "json")
    assert code == 1
    assert json.loads(out) == {
        "status": "WARNING",
        "check_suite": "stream",
        "check_name": name,
        "warning": ["3 messages"],
        "ok": ["0 sources"],
        "perf_data": [
            {"name": "messages", "value": 3, "warning": 5, "critical": 0},
            {"name": "sources", "value": 0, "warning": 0, "critical": 0},
        ],
    }
    code, out = checked(cli, *words, "--format", "prometheus", "--namespace", "ns")
    assert code == 0
    assert out.splitlines()[:3] == [
        "# HELP ns_stream_messages Messages stored in the stream",
        "# TYPE ns_stream_messages gauge",
        f'ns_stream_messages{{item="{name}"}} 3',
    ]
    assert f'ns_stream_status_code{{item="{name}",status="WARNING"}} 1\n' in out
    code, out = checked(cli, "--format", "text", *words)
    assert code == 1
    assert f"{name}: WARNING\n\nStatus Detail\n" in out
    assert "│ Warning │ 3 messages │" in out
    assert checked(cli, *words, "-o", "table") == (1, out)
    document = json.loads(checked(cli, *words, "--format", "json")[1])
    for flags, read in (
        (("-o", "json"), json.loads),
        (("-o", "yaml"), yaml.safe_load),
        (("-j",), json.loads),
    ):
        code, out = checked(cli, *words, *flags)
        assert (code, read(out)) == (1, document)
    assert json.loads(checked(cli, "-o", "json", *words)[1]) == document
    assert checked(cli, "--template", "{status}", *words) == (1, "WARNING\n")
    assert cli.run("server", "check", "-o", "json", *words, "--format", "json").code == 2
    assert checked(cli, *words, "-o", "ndjson")[1].count("\n") == 1
    assert checked(cli, *words, "-o", "name") == (1, f"{name}\n")
    assert checked(cli, *words, "--template", "{status} {warning}") == (1, "WARNING 3 messages\n")
    assert "perf_data.0.value,3\n" in checked(cli, *words, "-o", "csv")[1]
    both = cli.run("server", "check", *words, "-o", "json", "--format", "json")
    assert (both.code, both.out) == (2, "")
    assert checked(cli, *words, "-o", "json", "--outfile", "found.json") == (1, "")
    assert json.loads((tmp_path / "found.json").read_text()) == document
    assert checked(cli, "--outfile", "found", *words) == (1, "")
    written = tmp_path / "found"
    assert written.read_text().startswith(f"WARNING {name} Warn:3 messages ")
    assert stat.S_IMODE(written.stat().st_mode) == 0o600
