"""Clusters on the command line: leaders and replicas are shown and moved, servers reported on and checked."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lib.cli import Cli
from lib.eventually import eventually
from lib.jetstream_cluster import JetMesh

NAMES = ["s0", "s1", "s2"]


@pytest.fixture(params=["reference", "pyjs"])
def implementation(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def meshes() -> Iterator[dict[str, JetMesh]]:
    """The clusters that the tests of this module share, by implementation."""
    found: dict[str, JetMesh] = {}
    yield found
    for mesh in found.values():
        mesh.close()


@pytest.fixture
def mesh(meshes: dict[str, JetMesh], implementation: str) -> JetMesh:
    if implementation not in meshes:
        meshes[implementation] = JetMesh(implementation)
    return meshes[implementation]


@pytest.fixture
def cli(mesh: JetMesh, tmp_path: Path) -> Cli:
    """The command line of a user."""
    return Cli(tmp_path, "--server", mesh.url())


@pytest.fixture
def system(mesh: JetMesh, tmp_path: Path) -> Cli:
    """The command line of the system account's user."""
    return Cli(tmp_path, "--server", mesh.url(user="admin"))


@pytest.fixture
def name(cli: Cli, unique: str) -> Iterator[str]:
    """A stream with three replicas."""
    cli.ok("stream", "add", unique, "--subjects", unique, "--replicas", "3", "--defaults")
    yield unique
    cli.run("stream", "rm", unique, "-f")


def info(cli: Cli, *words: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(cli.ok(words[0], "info", *words[1:], "-j"))
    return found


def leader(cli: Cli, *words: str) -> str:
    return str(info(cli, *words)["cluster"]["leader"])


def others(name: str) -> list[str]:
    return [each for each in NAMES if each != name]


def rows(table: str) -> list[list[str]]:
    """The cells of all lines that have several, titles too."""
    lines = [line.strip("│").split("│") for line in table.splitlines() if line.count("│") > 2]
    return [[cell.strip() for cell in line] for line in lines]


def test_the_page_of_a_new_stream_has_its_replicas_as_the_documents_show_them(cli: Cli, unique: str) -> None:
    page = cli.ok("stream", "add", unique, "--subjects", unique, "--replicas", "3", "--defaults")
    pattern = r"""             Replicas: 3
(?s:.*)
    Maximum Consumers: unlimited


Cluster Information:

                 Name: mesh
               Leader: (s\d)
              Replica: (s\d), current, seen \d\.\d\ds ago
              Replica: (s\d), current, seen \d\.\d\ds ago

State:
"""
    found = re.search(pattern, page)
    assert found is not None, page
    assert sorted(found.groups()) == NAMES
    replicas = next(row[-1] for row in rows(cli.ok("s", "report")) if row[0] == unique)
    assert sorted(replicas.replace("*", "").split(", ")) == NAMES
    assert f"{found[1]}*" in replicas.split(", ")
    cli.ok("stream", "rm", unique, "-f")


def test_a_consumer_is_replicated_as_its_stream(cli: Cli, name: str) -> None:
    page = cli.ok("consumer", "add", name, "DUR", "--pull", "--defaults")
    assert re.search(
        r"\nCluster Information:\n\n                Name: mesh\n              Leader: s\d\n", page
    )
    assert len(re.findall(r"(?m)^             Replica: s\d, current, seen \d\.\d\ds ago$", page)) == 2
    assert re.fullmatch(r"s0\*?, s1\*?, s2\*?", rows(cli.ok("c", "report", name))[-1][-1])


def test_a_stream_with_one_replica_is_shown_where_it_is_and_has_no_other_leader(
    cli: Cli, unique: str
) -> None:
    page = cli.ok("stream", "add", unique, "--subjects", unique, "--defaults")
    assert re.search(r"\n                 Name: mesh\n               Leader: s\d\n\nState:", page)
    down = cli.run("stream", "cluster", "step-down", unique)
    assert down.code == 1
    assert f'stream "{unique}" is not clustered' in down.err
    removed = cli.run("stream", "cluster", "peer-remove", unique, leader(cli, "stream", unique))
    assert removed.code == 2
    assert "--force" in removed.err
    cli.ok("stream", "rm", unique, "-f")


def test_replicas_are_changed_by_edit(cli: Cli, unique: str) -> None:
    cli.ok("stream", "add", unique, "--subjects", unique, "--defaults")
    page = cli.ok("stream", "edit", unique, "--replicas", "3", "-f")
    assert '-  "num_replicas": 1,\n+  "num_replicas": 3,' in page

    def is_whole() -> bool:
        cluster = info(cli, "stream", unique)["cluster"]
        return bool(cluster.get("leader")) and len(cluster.get("replicas") or []) == 2

    eventually(is_whole)
    cli.ok("stream", "rm", unique, "-f")


def test_a_placement_that_no_server_meets_is_refused(cli: Cli, unique: str) -> None:
    result = cli.run("stream", "add", unique, "--subjects", unique, "--tag", "ssd", "--defaults")
    assert result.code == 4
    assert "could not create Stream: " in result.err
    assert "(10005)" in result.err
    result = cli.run("stream", "add", unique, "--subjects", unique, "--cluster", "elsewhere", "--defaults")
    assert "(10005)" in result.err
    cli.ok("stream", "add", unique, "--subjects", unique, "--cluster", "mesh", "--defaults")
    assert "    Placement Cluster: mesh\n" in cli.ok("stream", "info", unique)
    cli.ok("stream", "rm", unique, "-f")


def test_a_leader_stands_down_and_the_next_one_is_shown(cli: Cli, name: str) -> None:
    before = leader(cli, "stream", name)
    result = cli.run("stream", "cluster", "down", name)
    assert result.code == 0, result.err
    asked, elected = result.err.splitlines()
    assert asked.endswith(
        f'Requesting leader step down of "{before}" for stream "{name}" in a 3 peer cluster group'
    )
    after = re.search(r"               Leader: (s\d)\n", result.out)
    assert after is not None
    assert after[1] in others(before)
    assert elected.endswith(f'New leader elected "{after[1]}"')


def test_a_preferred_server_leads(cli: Cli, name: str) -> None:
    wanted = others(leader(cli, "stream", name))[0]
    found = json.loads(cli.ok("s", "c", "sd", name, "--preferred", wanted, "-j"))
    assert found["cluster"]["leader"] == wanted
    wrong = cli.run("stream", "cluster", "step-down", name, "--preferred", "s9")
    assert wrong.code == 4
    assert 'preferred server "s9" not known (10005)' in wrong.err
    assert leader(cli, "stream", name) == wanted
    assert name in cli.ok("stream", "find", "--leader", wanted, "--replicas", "3", "--names").split()
    assert name in cli.ok("stream", "find", "--server-name", "^s[0]$", "--cluster", "es", "--names").split()
    assert name not in cli.ok("stream", "find", "--leader", others(wanted)[0], "--names").split()


def test_a_consumers_leader_stands_down(cli: Cli, name: str) -> None:
    cli.ok("consumer", "add", name, "DUR", "--pull", "--defaults")
    before = leader(cli, "consumer", name, "DUR")
    out = cli.ok("consumer", "cluster", "step-down", name, "DUR")
    assert f"Information for Consumer {name} > DUR created" in out
    assert leader(cli, "consumer", name, "DUR") in others(before)
    assert re.fullmatch(r"Balanced \d consumers on \S+\n", cli.ok("c", "cluster", "balance", name))
    cli.ok("consumer", "rm", name, "DUR", "-f")
    assert cli.ok("consumer", "cluster", "balance", name) == f"No consumers on {name}\n"


def test_leaders_are_balanced(cli: Cli, unique: str) -> None:
    streams = [f"{unique}{number}" for number in range(3)]
    for each in streams:
        cli.ok("stream", "add", each, "--subjects", each, "--replicas", "3", "--defaults")
        if leader(cli, "stream", each) != "s0":
            cli.ok("stream", "cluster", "step-down", each, "--preferred", "s0")
    result = cli.run("stream", "cluster", "balance", "--subject", f"{unique}*")
    assert (result.code, result.out) == (0, "Balanced 0 streams.\n"), (
        result.err
    )  # no stream has such a subject
    result = cli.run("stream", "cluster", "balance", "--leader", "s0")
    assert result.out == "Balanced 2 streams.\n", result.err
    assert sorted(leader(cli, "stream", each) for each in streams) == NAMES
    assert len(re.findall(r'Moving the leader of stream "\w+" from "s0" to "s[12]"', result.err)) == 2
    for each in streams:
        cli.ok("stream", "rm", each, "-f")


def test_a_peer_is_named_or_nothing_is_removed(cli: Cli, name: str) -> None:
    nameless = cli.run("stream", "cluster", "peer-remove", name)
    assert nameless.code == 2
    assert "<PEER>" in nameless.err
    wrong = cli.run("stream", "cluster", "peer-remove", name, "s9")
    assert wrong.code == 4
    assert "peer not a member (10040)" in wrong.err
    assert len(info(cli, "stream", name)["cluster"]["replicas"]) == 2


def test_on_a_terminal_a_peer_is_chosen_and_confirmed(cli: Cli, name: str) -> None:
    with cli.terminal(["stream", "cluster", "peer-remove", name]) as terminal:
        terminal.answer("Select a Peer", "s1")
        terminal.answer(f"Really remove peer s1 from Stream {name}", "n")
        assert terminal.finish() == 0
    assert len(info(cli, "stream", name)["cluster"]["replicas"]) == 2


def test_the_list_has_all_servers_and_their_cluster(system: Cli) -> None:
    shown = rows(system.ok("server", "list", "3"))
    assert shown[0] == [
        "Name", "Cluster", "IP", "Version", "JS", "Conns", "Subs", "Routes", "GWs", "Mem", "CPU", "Slow",
        "Uptime", "RTT",
    ]  # fmt: skip
    assert sorted(row[:3] + row[4:5] for row in shown[1:4]) == [
        [each, "mesh", "127.0.0.1", "yes"] for each in NAMES
    ]
    assert shown[4][:5] == ["", "1 Cluster", "3 Servers", "", "3"]
    assert shown[5][:2] == ["Cluster", "Node Count"]
    assert shown[6][:4] == ["mesh", "3", "0", "0"]
    assert shown[7][:2] == ["", "3"]


def test_the_jetstream_report_has_the_meta_group_and_leaders(
    mesh: JetMesh, system: Cli, cli: Cli, name: str
) -> None:
    cli.ok("consumer", "add", name, "DUR", "--pull", "--defaults")

    def is_everywhere() -> bool:
        table = rows(system.ok("server", "report", "jetstream"))
        return [row[2:4] for row in table[1:4]] == [["1", "1"]] * 3

    eventually(is_everywhere)
    out = system.ok("server", "report", "jetstream", "-l")
    summary, group, streams, consumers = (rows(part) for part in out.split("\n\n")[:4])
    head = mesh.ready()
    assert [row[0] for row in summary[1:4]] == [f"{each}*" if each == head else each for each in NAMES]
    assert "RAFT Meta Group Information - Lead cluster: mesh" in out
    assert group[0] == ["Connection Name", "ID", "Leader", "Current", "Online", "Active", "Lag"]
    assert [(row[0], row[2], row[3], row[4]) for row in group[1:]] == [
        (each, "yes" if each == head else "", "true", "true") for each in NAMES
    ]
    assert streams[0] == ["Server", "Cluster", "Stream Leaders", "Distribution"]
    assert consumers[0][2] == "Consumer Leaders"
    assert sum(int(row[2]) for row in streams[1:]) == 1
    assert sum(int(row[2]) for row in consumers[1:]) == 1
    of_account = rows(system.ok("server", "report", "jetstream", "--account", "ACC"))
    assert [row[2:4] for row in of_account[1:5]] == [["1", "1"], ["1", "1"], ["1", "1"], ["3", "3"]]
    nothing = rows(system.ok("server", "report", "jetstream", "--account", "OTHER"))
    assert nothing[4][2] == "0"


def test_the_meta_leader_stands_down(mesh: JetMesh, system: Cli, cli: Cli) -> None:
    before = mesh.ready()
    result = system.run("server", "cluster", "step-down")
    assert result.code == 0, result.err
    assert f'Requesting leader step down of "{before}" in a 3 peer RAFT group' in result.err
    after = mesh.ready()
    assert after in others(before)
    assert f'New leader elected "{after}"' in result.err
    found = json.loads(system.ok("server", "raft", "sd", "--host", before, "-j"))
    assert found["leader"] == before == mesh.ready()
    wrong = system.run("server", "cluster", "step-down", "--host", "s9")
    assert "(10005)" in wrong.err
    assert system.run("server", "cluster", "step-down", "--js-domain", "hub").code == 2
    assert cli.run("server", "cluster", "step-down", "--timeout", "300ms").code == 6


def test_removing_a_server_is_confirmed_or_forced(mesh: JetMesh, system: Cli) -> None:
    head = mesh.ready()
    wrong = system.run("server", "cluster", "peer-remove", "s9")
    assert "did not find a replica named s9" in wrong.err
    leading = system.run("server", "cluster", "peer-remove", head, "-f")
    assert leading.code == 1
    assert "step-down" in leading.err
    piped = system.run("server", "cluster", "rm", others(head)[0])
    assert piped.code == 2
    assert "--force" in piped.err
    with system.terminal(["server", "cluster", "peer-remove", others(head)[0]]) as terminal:
        assert terminal.question().startswith(f"Really remove online peer {others(head)[0]} with id ")
        terminal.type("\r")
        assert terminal.finish() == 0
    assert mesh.meta(mesh[head])["cluster_size"] == 3


def test_all_of_an_account_is_deleted(mesh: JetMesh, system: Cli, tmp_path: Path, unique: str) -> None:
    other = Cli(tmp_path, "--server", mesh.url(user="other"))
    other.ok("stream", "add", unique, "--subjects", unique, "--replicas", "3", "--defaults")
    assert system.ok("server", "account", "purge", "OTHER", "-f") == (
        "Purge operation on account OTHER initiated\n"
    )
    eventually(lambda: other.ok("stream", "ls", "--names") == "")


def test_reports_on_health_routes_and_use(system: Cli) -> None:
    health = rows(system.ok("server", "report", "health"))
    assert [row[:4] for row in health[1:4]] == [[each, "mesh", "", "ok (200)"] for each in NAMES]
    assert health[4][3] == "ok: 3 / err: 0"
    routes = rows(system.ok("server", "report", "routes"))
    assert routes[0][:3] == ["Server", "Cluster", "Name"]
    assert [row[0] for row in routes[1:] if row[0].startswith("s")] == NAMES
    assert {row[2] for row in routes[1:]} >= set(NAMES)
    assert set(json.loads(system.ok("server", "report", "mem", "-j"))) == set(NAMES)
    assert system.ok("server", "report", "cpu").startswith("CPU Usage\n\n  s")


def test_clients_are_spread_over_the_servers(mesh: JetMesh, system: Cli) -> None:
    clients = [mesh.login(mesh["s1"], "other") for _ in range(6)]
    refused = system.run("server", "cluster", "balance", "100ms", "--account", "OTHER")
    assert refused.code == 2
    assert "--force" in refused.err
    result = system.run("server", "cluster", "balance", "100ms", "--account", "OTHER", "-f")
    assert result.out == "Balanced 4 connections\n", result.err
    assert len(re.findall(r"Balanced client \d+ in account OTHER on s1\n", result.err)) == 4
    assert system.ok("server", "cluster", "balance", "--idle", "1h", "-f") == "Balanced 0 connections\n"
    assert system.run("server", "cluster", "balance", "--subject", "x", "-f").code == 2
    for client in clients:
        client.close()


def test_a_watched_report_is_made_until_ctrl_c(system: Cli) -> None:
    with system.terminal(["server", "report", "mem", "--watch", "60"]) as terminal:
        eventually(lambda: terminal.read(0.1) and "Memory Usage" in "\n".join(terminal.lines()))
        terminal.type("\x03")
        assert terminal.finish() == 0


def test_requests_give_each_servers_answer_on_a_line(system: Cli) -> None:
    def names(*words: str) -> list[str]:
        lines = system.ok("server", "request", *words).splitlines()
        return sorted(json.loads(line)["server"]["name"] for line in lines)

    for kind in ("varz", "connz", "routez", "leafz", "subsz", "accountz", "jsz", "healthz", "gatewayz"):
        assert names(kind, "3") == NAMES
    assert names("variables", "--name", "s1") == names("--name", "s1", "variables") == ["s1"]
    assert len(names("jetstream", "--leader")) == 1
    found = json.loads(system.ok("server", "req", "conn", "--name", "s1", "--limit", "1"))
    assert found["data"]["limit"] == 1


def test_checks_of_a_cluster(mesh: JetMesh, system: Cli, cli: Cli, name: str) -> None:
    limits = ("--lag-critical", "100", "--seen-critical", "30s")
    well = system.run("server", "check", "meta", "--expect", "3", *limits)
    assert well.code == 0, well.out
    assert well.out.startswith(
        f"OK JetStream Meta Cluster OK:3 peers led by {mesh.ready()} | peers=3;3;3 peer_offline=0 "
    )
    short = system.run("server", "check", "raft", "--expect", "5", *limits, "--format", "json")
    assert short.code == 2
    assert json.loads(short.out)["critical"] == ["3 peers of expected 5"]
    peers = ("--peer-lag-critical", "100", "--peer-seen-critical", "30s")
    out = cli.ok("server", "check", "stream", "--stream", name, *peers)
    expected = "OK:3 peers OK:replicas are current OK:replicas are active OK:0 sources | sources=0"
    assert out == f"OK {name} {expected}\n"
    assert cli.run("server", "check", "stream", "--stream", name, "--peer-expect", "5").code == 2
    account = cli.run("server", "check", "jetstream")
    assert account.code == 0
    assert "replicas_ok=1 replicas_no_leader=0 replicas_missing_replicas=0" in account.out
