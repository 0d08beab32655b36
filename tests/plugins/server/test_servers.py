"""What the system account sees: lists, information, pings and reports of a hub and a leaf."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from lib.cli import Cli
from lib.leaf_pair import Pair
from pyjs.plugins.server.profile import save

NOTHING = "no results received, ensure the account used has system privileges and appropriate permissions"


@pytest.fixture(scope="module")
def pairs() -> Iterator[dict[str, Pair]]:
    """The pairs that the tests of this module share, by implementation."""
    found: dict[str, Pair] = {}
    yield found
    for pair in found.values():
        pair.close()


@pytest.fixture
def pair(pairs: dict[str, Pair], implementation: str) -> Pair:
    """A hub and a leaf, joined for both accounts."""
    if implementation not in pairs:
        pairs[implementation] = Pair(implementation, implementation)
        pairs[implementation].joined("admin")
        pairs[implementation].joined("acc")
    return pairs[implementation]


def as_user(pair: Pair, home: Path, user: str) -> Cli:
    return Cli(home, "--server", f"nats://{user}:{user}@127.0.0.1:{pair.hub.port}")


@pytest.fixture
def system(pair: Pair, tmp_path: Path) -> Cli:
    """The command line of the system account's user."""
    return as_user(pair, tmp_path, "admin")


@pytest.fixture
def user(pair: Pair, tmp_path: Path) -> Cli:
    """The command line of a user without system rights."""
    return as_user(pair, tmp_path, "acc")


def cells(table: str, first: str) -> list[str]:
    """The cells after `first` in its row."""
    row = next(line for line in table.splitlines() if line.startswith(f"│ {first} "))
    return [cell.strip() for cell in row.strip("│").split("│")][1:]


def test_the_jetstream_report_is_the_documents(system: Cli, user: Cli, unique: str) -> None:
    user.ok("stream", "add", unique, "--subjects", unique, "--defaults")
    try:
        user.ok("pub", unique, "x" * 100, "-J", "-q")
        out = system.ok("server", "report", "jetstream")
        lines = out.splitlines()
        assert lines[1].strip("│").strip() == "JetStream Summary"
        titles = [each.strip() for each in lines[3].strip("│").split("│")]
        assert titles[:5] == ["Server", "Cluster", "Domain", "Streams", "Consumers"]
        assert titles[5:] == ["Messages", "Bytes", "Memory", "File", "API Req", "API Err"]
        assert lines[5].startswith("│ leaf-server │ leaf-server │ leaf   │ 0 ")
        assert lines[6].startswith("│ hub-server  │             │ hub    │ 1       │ 0         │ 1 ")
        assert lines[8].startswith("│             │             │        │ 1       │ 0         │ 1 ")
        size = f"{30 + len(unique) + 100} B"
        assert cells(out, "hub-server")[5:8] == [size, "0 B", size]
    finally:
        user.ok("stream", "rm", unique, "-f")


def test_reports_are_sorted_filtered_and_limited(system: Cli) -> None:
    def order(*flags: str) -> list[str]:
        out = system.ok("server", "report", "jetstream", *flags)
        return re.findall(r"│ ((?:hub|leaf)-server) ", out)

    assert order("--sort", "name")[0] == "leaf-server"
    assert order("--sort", "name", "-R")[0] == "hub-server"
    assert NOTHING in system.run("srv", "rep", "js", "--cluster", "nowhere", "--timeout", "300ms").err
    only = system.ok("server", "report", "jsz", "--cluster", "leaf-server")
    assert "hub-server" not in only
    assert "│ leaf-server │" in only
    assert "JetStream Summary for Account ACC" in system.ok("server", "report", "js", "--account", "ACC")


def test_what_an_older_api_level_cannot_have(system: Cli, user: Cli, unique: str) -> None:
    user.ok("stream", "add", unique, "--subjects", unique, "--allow-msg-ttl", "--defaults")
    user.ok("consumer", "add", unique, "C", "--pull", "--defaults")
    try:
        found = json.loads(system.ok("server", "report", "downgrade", "0", "--all", "-o", "json"))
        assert [each for each in found["streams"] if each["name"] == unique] == [
            {"account": "ACC", "domain": "hub", "name": unique, "api_level": 1}
        ]
        assert [each["api_level"] for each in found["consumers"] if each["stream"] == unique] == [0]
        drawn = system.ok("server", "report", "downgrade", "0", "--all")
        assert re.search(rf"│ {unique}\* +│ C ", drawn)
        legacy = {"account": "ACC", "name": unique, "api_level": 1}
        assert legacy in json.loads(system.ok("server", "report", "downgrade", "0", "--json"))["streams"]
        assert "compatible with API level 9" in system.ok("server", "report", "downgrade", "9")
    finally:
        user.ok("stream", "rm", unique, "-f")


def test_the_largest_is_first_in_reverse(system: Cli) -> None:
    usage = json.loads(system.ok("server", "report", "mem", "--json", "-R"))
    assert len(usage) == 2
    assert list(usage.values()) == sorted(usage.values(), reverse=True)


def test_json_may_stand_before_the_command(system: Cli) -> None:
    assert json.loads(system.ok("server", "account", "--json", "info", "ACC"))["account_name"] == "ACC"


def test_the_list_has_a_row_for_each_server_and_sums(system: Cli) -> None:
    out = system.ok("server", "list")
    assert "Server Overview" in out
    assert cells(out, "hub-server")[1:4] == ["127.0.0.1", "2.15.1", "yes"]
    assert cells(out, "leaf-server")[:4] == ["leaf-server", "127.0.0.1", "2.15.1", "yes"]
    assert "Cluster Overview" in out
    footer = next(line for line in out.splitlines() if line.startswith("│             │ 1 "))
    assert [each.strip() for each in footer.strip("│").split("│")][1:5] == ["1 Cluster", "2 Servers", "", "2"]
    names = [
        re.findall(r"│ ((?:hub|leaf)-server) ", system.ok("server", "ls", "--sort", "name", *flags))[:2]
        for flags in ((), ("-R",))
    ]
    assert names[0][0] == "hub-server"
    assert names[1][0] == "leaf-server"


def test_the_list_as_json(system: Cli) -> None:
    found = json.loads(system.ok("server", "ls", "2", "--json"))
    assert {each["server"]["name"] for each in found} == {"hub-server", "leaf-server"}
    assert all("connections" in each["statsz"] for each in found)


def test_information_about_a_server_by_name_by_id_and_of_the_one_connected_to(system: Cli) -> None:
    own = system.ok("server", "info")
    assert own.startswith("Server information for hub-server (N")
    for line in ("Version: 2.15.1", "Domain: hub", "Auth Required: true", "Maximum Payload: 1.0 MiB"):
        assert line in own
    leaf = system.ok("server", "info", "leaf-server")
    assert leaf.startswith("Server information for leaf-server (N")
    identifier = re.search(r"\((N[A-Z0-9]{55})\)", leaf)
    assert identifier is not None
    assert system.ok("server", "info", identifier[1]).startswith("Server information for leaf-server")
    wrong = system.run("server", "info", "leaf-sever")
    assert wrong.code == 3
    assert "did you mean leaf-server" in wrong.err


def test_a_server_reads_its_configuration_again(pair: Pair, system: Cli) -> None:
    before = system.ok("server", "info", "leaf-server")
    assert "--force" in system.run("server", "config", "reload", "leaf-server").err
    page = system.ok("server", "config", "reload", "leaf-server", "-f")
    assert page.partition("\n")[0] == before.partition("\n")[0]
    file = pair.leaf.directory / "server.conf"
    kept = file.read_text()
    try:
        file.write_text(kept + "\nnonsense: 1\n")
        wrong = system.run("server", "config", "reload", "leaf-server", "-f")
        assert wrong.code == 1
        assert "leaf-server" in wrong.err
    finally:
        file.write_text(kept)


def test_pings(system: Cli) -> None:
    out = system.ok("server", "ping", "2")
    for name in ("hub-server", "leaf-server"):
        assert re.search(rf"(?m)^{name} {{40,}}rtt=\S+s$", out)
    assert re.search(r"2 replies max: \d+\.\d\d min: \d+\.\d\d avg: \d+\.\d\d", out)
    out = system.ok("server", "ping", "3", "--timeout", "500ms", "--graph", "--id")
    assert "Missing 1 server(s)" in out
    assert "█" in out
    assert re.search(r"(?m)^N[A-Z0-9]{55} hub-server", out)


def test_connections_and_accounts(system: Cli, pair: Pair) -> None:
    with pair.hub.connect(**{"user": "acc", "pass": "acc", "name": "somebody"}) as wire:
        wire.sub("some.subject")
        wire.sync()
        out = system.ok("server", "report", "connections")
        assert cells(out, re.search(r"│ (\d+) +│ somebody ", out)[1])[:2] == ["somebody", "hub-server"]  # type: ignore[index]
        assert "Connections per server" in out
        assert "Totals for " in out
        found = json.loads(
            system.ok("server", "report", "conn", "--account", "ACC", "--subject", "some.subject", "-j")
        )
        assert "somebody" in [each.get("name") for each in found]
        words = ("server", "report", "connections", "-j", "--filter")
        chosen = json.loads(system.ok(*words, 'conn.name == "somebody" and server.name == "hub-server"'))
        assert [each["name"] for each in chosen] == ["somebody"]
        assert json.loads(system.ok(*words, "conn.subscriptions > 1000000")) == []
        assert system.run(*words, "conn.name").code == 2
        accounts = system.ok("server", "report", "accounts")
        assert "Accounts Overview" in accounts
        assert int(cells(accounts, "ACC")[0]) >= 1
        only = json.loads(system.ok("server", "report", "accounts", "ACC", "-j"))
        assert {each["account"] for each in only} == {"ACC"}
    closed = system.ok("server", "report", "connections", "--state", "closed")
    assert "Reason" in closed
    assert "somebody" in closed


def test_an_account_as_the_servers_see_it(system: Cli) -> None:
    out = system.ok("server", "account", "info", "ACC")
    assert out.startswith(
        "Account information for account ACC\n\nDetails:\n\n                Complete: true\n"
    )
    assert "\n               JetStream: true\n" in out
    assert "\n          System Account: true\n" in system.ok(
        "srv", "acct", "i", "SYS", "--host", "leaf-server"
    )
    assert json.loads(system.ok("server", "account", "info", "ACC", "-j"))["account_name"] == "ACC"
    assert system.run("server", "account", "info", "NOBODY").code == 1
    assert "--force" in system.run("server", "account", "purge", "ACC").err


@pytest.mark.parametrize(
    "words",
    [["report", "jetstream"], ["list"], ["info"], ["ping"]],
    ids=" ".join,
)
def test_without_system_rights_the_message_of_nats(user: Cli, words: list[str]) -> None:
    result = user.run("server", *words)
    assert result.code == 6
    assert NOTHING in result.err
    assert "system_account" in result.err


def test_a_server_without_answers_is_reported_within_the_timeout(system: Cli) -> None:
    missing = system.run("server", "report", "jetstream", "--tags", "nowhere", "--timeout", "200ms")
    assert missing.code == 6
    assert NOTHING in missing.err


def test_leaf_connections_are_seen_from_both_ends(system: Cli) -> None:
    out = system.ok("server", "report", "leafnodes")
    rows = [
        [cell.strip() for cell in line.strip("│").split("│")] for line in out.splitlines() if "127.0" in line
    ]
    assert sorted((row[0], row[2], row[-1]) for row in rows) == [
        ("hub-server", "ACC", "no"),
        ("hub-server", "SYS", "no"),
        ("leaf-server", "ACC", "yes"),
        ("leaf-server", "SYS", "yes"),
    ]
    only = system.ok("server", "report", "leaf", "--account", "ACC")
    assert "ACC" in only
    assert "SYS" not in only


def test_trace_shows_what_is_asked_and_answered(system: Cli) -> None:
    traced = system.run("server", "report", "jetstream", "2", "--trace")
    assert ">>> $SYS.REQ.SERVER.PING.JSZ" in traced.err
    assert "<<< $SYS.REQ.SERVER.PING.JSZ" in traced.err


def test_the_topology_shows_the_leaf_and_where_a_stream_is_copied(
    system: Cli, user: Cli, unique: str
) -> None:
    mirror = json.dumps({"name": unique, "external": {"api": "$JS.leaf.API", "deliver": ""}})
    user.ok("stream", "add", unique, "--subjects", unique, "--defaults", "--js-domain", "leaf")
    user.ok("stream", "add", f"{unique}-copy", "--mirror", mirror, "--defaults")
    try:
        found = json.loads(system.ok("server", "topology", "-o", "json"))
        assert [(each["name"], each["domain"]) for each in found["servers"]] == [
            ("hub-server", "hub"),
            ("leaf-server", "leaf"),
        ]
        assert found["leafs"] == [{"spoke": "leaf-server", "hub": "hub-server", "accounts": ["ACC", "SYS"]}]
        (copy,) = (each for each in found["copies"] if each["target"] == f"{unique}-copy")
        assert (copy["kind"], copy["origin_domain"], copy["origin"]) == ("mirror", "leaf", unique)
        drawn = system.ok("server", "topology")
        assert f"    mirror of {unique} in domain leaf" in drawn.splitlines()
        assert "  leaf-server → hub-server  (ACC, SYS)" in drawn.splitlines()
        assert "-.->|mirror|" in system.ok("server", "topology", "-o", "mermaid")
        assert unique not in system.ok("server", "topology", "--no-streams")
    finally:
        user.ok("stream", "rm", f"{unique}-copy", "-f")
        user.ok("stream", "rm", unique, "-f", "--js-domain", "leaf")


def test_profiles_are_saved_in_files_of_their_own(system: Cli, tmp_path: Path) -> None:
    words = ("request", "profile", "goroutine", str(tmp_path), "--level", "1")
    out = system.ok("server", *words)
    paths = re.findall(r'Server "(\S+)" profile written: (\S+)', out)
    assert sorted(name for name, _ in paths) == ["hub-server", "leaf-server"]
    for _, path in paths:
        assert Path(path).read_bytes()
        assert Path(path).stat().st_mode & 0o777 == 0o600
    only = system.ok("server", *words, "--name", "hub-server")
    assert "leaf-server" not in only
    assert len(list(tmp_path.glob("goroutine-*"))) == 3
    assert system.run("server", "request", "profile", "nonsense").code == 2


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({"error": "not found"}, "not found"),
        ({"profile": "%%"}, "no base64"),
        ({}, "no profile"),
    ],
)
def test_a_server_without_a_profile_is_told(
    document: dict[str, str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert not save({"server": {"name": "A"}, "data": document}, "heap", tmp_path)
    assert said in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_profile_stays_in_its_directory_whatever_the_server_is_called(tmp_path: Path) -> None:
    inside = tmp_path / "in"
    inside.mkdir()
    for _ in range(2):
        assert save({"server": {"name": "../../x y"}, "data": {"profile": "eA=="}}, "heap", inside)
    assert [path.read_bytes() for path in inside.iterdir()] == [b"x", b"x"]
    assert list(tmp_path.iterdir()) == [inside]


def test_replicas_are_checked(system: Cli, user: Cli, unique: str) -> None:
    user.ok("stream", "add", unique, "--subjects", unique, "--defaults")
    try:
        user.ok("consumer", "add", unique, "C", "--pull", "--defaults")
        (stream,) = json.loads(
            system.ok("server", "stream-check", "--stream", unique, "--health", "-o", "json")
        )
        assert (stream["server"], stream["account"], stream["domain"]) == ("hub-server", "ACC", "hub")
        assert (stream["status"], stream["health"], stream["consumers"]) == ("IN SYNC", "ok", 1)
        (consumer,) = json.loads(system.ok("server", "consumer-check", "--stream", unique, "-o", "json"))
        assert (consumer["consumer"], consumer["status"]) == ("C", "EMPTY")
        assert system.ok("server", "stream-check", "--unsynced").strip() == "All replicas agree"
        line = system.ok("server", "stream-check", "--csv", "--stream", unique).splitlines()[1]
        assert line.startswith(f"{unique},")
    finally:
        user.ok("stream", "rm", unique, "-f")
