"""`audit gather`, and reports of what it saved: the archive says what the servers said."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from lib.cli import Cli
from lib.process import ServerProcess
from pyjs.cli.output.options import FORMATS

CONFIG = """
listen: "127.0.0.1:<client>"
server_name: one
jetstream { store_dir: "<store>" }
accounts {
  SYS { users: [ { user: sys, password: s } ] }
  APP { jetstream: enabled, users: [ { user: app, password: a } ] }
}
system_account: SYS
"""


@pytest.fixture
def system(cli: Cli, serve: Callable[[str], ServerProcess]) -> Cli:
    """The user of the system account, of a server with a stream and a consumer."""
    url = serve(CONFIG).url
    app = cli.with_flags("--server", url, "--user", "app", "--password", "a")
    if app.run("stream", "info", "ORDERS").code:
        app.ok("stream", "add", "ORDERS", "--subjects", "orders.>", "--defaults")
        app.ok("consumer", "add", "ORDERS", "C", "--pull", "--defaults")
        app.ok("pub", "--jetstream", "orders.a", "x")
    return cli.with_flags("--server", url, "--user", "sys", "--password", "s", "--timeout", "1s")


@pytest.fixture
def archive(system: Cli) -> Path:
    """An archive of that server, without profiles."""
    system.ok("audit", "gather", "--output", "a.zip", "--no-server-profiles", "--no-progress")
    return system.home / "a.zip"


REPORTS = (
    "server list",
    "server info one",
    "server account info APP",
    "server report jetstream",
    "server report jetstream --account APP",
    "server report health",
    "server report cpu",
    "server report mem",
    "server report routes",
    "server report gateways",
    "server report leafnodes",
    "server report downgrade 0",
    "server stream-check",
    "server consumer-check",
)
REQUESTS = ("accounts", "connections", "gateways", "ipqueue", "jetstream", "jetstream-health", "leafnodes",
            "raft", "routes", "subscriptions", "variables")  # fmt: skip
# What differs between two looks at one server.
PASSING = {"uptime", "rtt", "now", "age", "update_time"}


def settled(value: object) -> object:
    """A document without what passes, and without counters."""
    if isinstance(value, dict):
        return {
            name: settled(each)
            for name, each in value.items()
            if name not in PASSING and not isinstance(each, (int, float))
        }
    if isinstance(value, list):
        return sorted((settled(each) for each in value), key=json.dumps)  # some have no order
    return value


def test_reports_of_an_archive_are_those_of_the_servers(system: Cli, archive: Path) -> None:
    offline = Cli(system.home, "--server", "nats://127.0.0.1:1")
    for line in REPORTS:
        live = json.loads(system.ok(*line.split(), "-o", "json"))
        saved = json.loads(offline.ok(*line.split(), "--archive", "a.zip", "-o", "json"))
        if line == "server info one":
            assert saved["server_id"] == live["server_id"]
            continue
        for each in (live, saved) if isinstance(live, dict) else ():
            each.pop("sublist_stats", None)
        assert settled(saved) == settled(live), line


def test_requests_are_answered_from_an_archive(system: Cli, archive: Path) -> None:
    offline = Cli(system.home, "--server", "nats://127.0.0.1:1")
    for name in REQUESTS:
        answer = json.loads(offline.ok("server", "request", name, "--archive", "a.zip"))
        assert answer["server"]["name"] == "one", name
    connections = offline.ok("server", "report", "connections", "--archive", "a.zip", "-o", "json")
    assert {each["account"] for each in json.loads(connections)["connections"]} == {"SYS"}
    accounts = json.loads(offline.ok("server", "report", "accounts", "--archive", "a.zip", "-o", "json"))
    assert [each["account"] for each in accounts] == ["SYS"]


def test_what_an_archive_does_not_know_is_refused(system: Cli, archive: Path) -> None:
    for line, code, said in (
        ("server report connections --username x", 2, "an archive cannot select by user"),
        ("server report health --account APP", 2, "an archive cannot select by account"),
        ("server stream-check --health", 2, "does not go with --archive"),
        ("server info", 2, "which server?"),
        ("server info two", 3, "no server answers to the name"),
        ("server list --archive nosuch.zip", 3, "does not exist"),
        ("server request profile heap", 3, "the archive has no PROFILEZ of such a server"),
    ):
        result = system.run(*line.split(), *([] if "--archive" in line else ["--archive", "a.zip"]))
        assert (result.code, result.out) == (code, ""), line
        assert said in result.err
    (system.home / "no.zip").write_bytes(b"no zip file")
    result = system.run("server", "list", "--archive", "no.zip")
    assert (result.code, "is no archive of 'audit gather'" in result.err) == (1, True)
    with zipfile.ZipFile(system.home / "other.zip", "w") as other:
        other.writestr("x", "y")
    result = system.run("server", "list", "--archive", "other.zip")
    assert "it is not an archive of 'audit gather'" in result.err


def test_profiles_are_saved_and_read(system: Cli, implementation: str) -> None:
    said = system.run("audit", "gather", "-o", "p.zip", "--no-streams", "--no-account-endpoints")
    assert said.code == 0
    assert "Archive created at: p.zip" in said.out
    names = zipfile.ZipFile(system.home / "p.zip").namelist()
    assert "capture/profiles/unclustered/one__goroutine_1.prof" in names
    assert not [name for name in names if name.startswith("capture/accounts/")]
    assert "Discovered 1 servers" in said.err
    system.ok("server", "request", "profile", "goroutine", "--level", "1", "--archive", "p.zip")
    assert len(list(system.home.glob("goroutine-*"))) == 1


def test_what_was_done_is_told_as_documented(system: Cli) -> None:
    little = "--no-server-profiles", "--no-streams", "--no-account-endpoints", "--no-progress"
    told = json.loads(system.ok("audit", "gather", "-o", "j.zip", "--json", *little))
    schema = json.loads(system.ok("schema", "cli", "audit gather"))
    assert set(told) == set(schema["properties"])
    assert told == {**told, "archive": "j.zip", "servers": 1, "streams": 0, "profiles": 0, "failed": 0}
    assert zipfile.is_zipfile(system.home / "j.zip")


@pytest.mark.parametrize("word", FORMATS)
@pytest.mark.parametrize("flag", ["-o", "--output"])
def test_a_format_is_not_taken_for_the_name_of_an_archive(cli: Cli, flag: str, word: str) -> None:
    result = cli.run("audit", "gather", flag, word)
    assert (result.code, result.out) == (2, "")
    assert f"use --json, or ./{word} for an archive of this name" in result.err
    assert list(cli.home.glob(f"{word}*")) == []


def test_the_command_line_of_a_server_is_left_out(system: Cli, archive: Path, implementation: str) -> None:
    answer = json.loads(system.ok("request", "$SYS.REQ.SERVER.PING.EXPVARZ", "", "--raw"))
    told = answer["data"]["cmdline"]  # which may have a password in it, as in `nats-server --pass`
    assert told == ["pyjs-server"] if implementation == "pyjs" else len(told) > 1
    with zipfile.ZipFile(archive) as saved:
        files = {name: json.loads(saved.read(name)) for name in saved.namelist() if name.endswith(".json")}
    (expvarz,) = (files[name] for name in files if name.endswith("exp_variables/0001.json"))
    assert expvarz["data"].keys() == answer["data"].keys() - {"cmdline"}
    assert json.dumps(told) not in json.dumps(files)
    assert "cmdline" not in json.dumps(files)


def test_only_servers_of_a_cluster_are_gathered(system: Cli) -> None:
    result = system.run("audit", "gather", "-o", "c.zip", "--cluster", "elsewhere")
    assert (result.code, result.out) == (6, "")
    assert list(system.home.glob("c.zip*")) == []


def test_an_archive_is_examined(system: Cli, archive: Path) -> None:
    report = json.loads(system.ok("audit", "analyze", "a.zip", "--save", "r.json", "-o", "json"))
    assert report["outcomes"]["FAIL"] == 0
    assert report["outcomes"]["PASS"] + report["outcomes"]["SKIP"] + report["outcomes"]["WARN"] == 21
    errors = [each["examples"]["error"] for each in report["checks"] if "error" in each["examples"]]
    assert errors == []
    assert archive.stat().st_mode & 0o777 == 0o600
    assert json.loads((system.home / "r.json").read_text()) == report
    page = system.ok("audit", "analyze", "--load", "r.json")
    assert "[PASS] [SERVER_007] Each server requires authentication" in page
    again = system.run("audit", "analyze", "a.zip", "--save", "r.json")
    assert (again.code, "use --force to overwrite" in again.err) == (2, True)
    skipped = json.loads(system.ok("audit", "analyze", "a.zip", "--skip", "server_007", "--json"))
    assert skipped["skipped_checks"] == ["SERVER_007"]
    assert system.ok("audit", "analyze", "a.zip", "--markdown").startswith("# NATS Audit Report produced 2")
