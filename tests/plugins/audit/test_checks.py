"""Each check of `audit analyze` finds the fault that it is about, and nothing in healthy servers."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lib.cli import Cli
from pyjs.cli.errors import CliError
from pyjs.plugins.audit.listing import EVERY
from pyjs.plugins.audit.writing import ArchiveWriter, as_bytes
from pyjs.plugins.server import archive as reading

Info = dict[str, Any]
NOW = "2026-11-23T12:00:00Z"


def healthy() -> dict[str, Info]:
    """Two healthy servers of one cluster, as data of their answers by endpoint, and a stream on both."""
    found: dict[str, Info] = {}
    for name in ("a", "b"):
        found[name] = {
            "variables": {"version": "2.15.1", "mem": 100, "cores": 2, "cpu": 10, "auth_required": True,
                          "now": NOW, "tls_cert_not_after": "2027-11-23T12:00:00Z"},
            "gateways": {"outbound_gateways": {"X": {"configured": True}}, "inbound_gateways": {}},
            "leafs": {"leafs": [{"name": "edge"}]},
            "jetstream_info": {
                "ha_assets": 1, "memory": 0, "storage": 10, "config": {"max_storage": 100},
                "meta_cluster": {"leader": "a", "replicas": [{"name": "a" if name == "b" else "b"}]},
            },
            "health": {"status": "ok", "status_code": 200},
            "account_info": {"account_name": "A", "client_connections": 1,
                             "decoded_jwt": {"nats": {"limits": {"conn": 10, "leaf": -1, "subs": -1}}}},
            "stream_info": {
                "name": "S", "cluster": {"name": "C", "leader": "a", "replicas": [{"name": "b"}]},
                "config": {"name": "S", "max_msgs": 100, "num_replicas": 2, "metadata": {}},
                "state": {"messages": 10, "bytes": 10, "last_seq": 100, "num_subjects": 1},
                "consumer_detail": [{"name": "D", "config": {"metadata": {}}, "num_pending": 5}],
            },
        }  # fmt: skip
    return found


def monitored(info: Info, **limits: str) -> None:
    info["config"]["metadata"] = {"io.nats.monitor.enabled": "true"} | {
        f"io.nats.monitor.{name.replace('_', '-')}": value for name, value in limits.items()
    }


def write(path: Path, servers: dict[str, Info], cluster: str = "C") -> None:
    writer = ArchiveWriter(path)
    for name, answers in servers.items():
        for kind, data in answers.items():
            tags = {"account": "A"} if kind in ("account_info", "stream_info") else {}
            if kind == "stream_info":
                writer.add(as_bytes(data), kind, server=name, cluster=cluster, stream="S", **tags)
                continue
            server = {"name": name, "id": name.upper(), "cluster": cluster}
            writer.add(as_bytes({"server": server, "data": data}), kind, server=name, cluster=cluster, **tags)
    writer.add_special("audit_gather_metadata", "json", as_bytes({"capture_timestamp": NOW}))
    writer.finish()


def outcomes(home: Path, servers: dict[str, Info], cluster: str = "C") -> dict[str, tuple[str, list[str]]]:
    """Outcome and findings of each check."""
    write(home / "w.zip", servers, cluster)
    report = json.loads(Cli(home).ok("audit", "analyze", "w.zip", "--max-examples", "0", "-o", "json"))
    assert [each for each in report["checks"] if "error" in each["examples"]] == []
    return {
        each["check"]["code"]: (each["outcome_string"], each["examples"].get("examples", []))
        for each in report["checks"]
    }


def test_a_healthy_world_passes_each_check(tmp_path: Path) -> None:
    found = outcomes(tmp_path, healthy())
    assert {code: outcome for code, (outcome, _) in found.items()} == {check.code: "PASS" for check in EVERY}


def change(path: str, value: object) -> Callable[[dict[str, Info]], None]:
    """What sets a value of server b: `variables.mem`."""

    def apply(servers: dict[str, Info]) -> None:
        *above, last = path.split(".")
        node: Any = servers["b"]
        for name in above:
            node = node[int(name)] if isinstance(node, list) else node[name]
        node[last] = value

    return apply


def lead_by_metadata(servers: dict[str, Info]) -> None:
    monitored(servers["a"]["stream_info"], msgs_critical="50")


def consumer_by_metadata(servers: dict[str, Info]) -> None:
    monitored(servers["a"]["stream_info"]["consumer_detail"][0], unprocessed_critical="5")


@pytest.mark.parametrize(
    ("fault", "code", "outcome", "text"),
    [
        (change("account_info.client_connections", 11), "ACCOUNTS_001", "FAIL",
         "account A (on b) exceeded client connections limit (110.0%, 11/10)"),
        (change("account_info.client_connections", 10), "ACCOUNTS_001", "WARN",
         "account A (on b) using 100.0% of client connections limit (10/10)"),
        (change("variables.mem", 1000), "CLUSTER_001", "WARN",
         "Cluster C avg: 550 B, server b: 1000 B"),
        (change("gateways.outbound_gateways", {}), "CLUSTER_002", "FAIL",
         "Cluster C, outbound gateways server b: [] != server a: ['X']"),
        (change("jetstream_info.ha_assets", 1001), "CLUSTER_003", "WARN", "b: 1001 HA assets"),
        (change("leafs.leafs", [{"name": "an edge"}]), "LEAF_001", "FAIL", "C/b: an edge"),
        (change("jetstream_info.meta_cluster.replicas", [{"name": "a", "offline": True}]), "META_001", "FAIL",
         "C - b reports peer a as offline"),
        (change("jetstream_info.meta_cluster.leader", "b"), "META_002", "FAIL",
         "Members of C disagree on meta leader (a: a; b: b)"),
        (change("jetstream_info.meta_cluster.leader", ""), "META_002", "FAIL",
         "Members of C have no meta leader: b"),
        (change("health.status", "error"), "SERVER_001", "WARN", "b: 200 - error"),
        (change("variables.version", "2.10.0"), "SERVER_002", "FAIL", "b - 2.10.0"),
        (change("variables.cpu", 190), "SERVER_003", "FAIL", "C - b: 95.0%"),
        (change("variables.slow_consumers", 3), "SERVER_004", "WARN", "C/b: 3 slow consumers"),
        (change("jetstream_info.storage", 95), "SERVER_005", "WARN", "b store usage: 95 B of 100 B"),
        (change("jetstream_info.config.domain", "my hub"), "SERVER_006", "WARN",
         "Cluster C Server b Domain my hub"),
        (change("variables.auth_required", False), "SERVER_007", "WARN", "b: authentication not required"),
        (change("variables.tls_cert_not_after", "2026-12-01T12:00:00Z"), "SERVER_008", "WARN",
         "C/b server TLS certificate expires in 8d0h0m0s (2026-12-01T12:00:00Z)"),
        (change("variables.leaf", {"tls_cert_not_after": "2026-11-01T12:00:00Z"}), "SERVER_008", "FAIL",
         "C/b leafnode TLS certificate expired (2026-11-01T12:00:00Z)"),
        (change("stream_info.state.last_seq", 89), "JETSTREAM_001", "FAIL",
         "A/S server b lastSequence: 89 is behind highest lastSequence: 100 on server: a"),
        (change("stream_info.state.num_subjects", 2_000_000), "JETSTREAM_002", "WARN",
         "A/S: 2000000 subjects"),
        (change("stream_info.state.messages", 91), "JETSTREAM_003", "WARN",
         "stream S (in A on b) using 91.0% of messages limit (91/100)"),
        (lead_by_metadata, "JETSTREAM_004", "FAIL", "CRITICAL: stream S in A: 10 messages"),
        (consumer_by_metadata, "JETSTREAM_005", "FAIL",
         "CRITICAL: consumer D in stream S in A: Unprocessed Messages: 5"),
    ],
    ids=lambda each: each if isinstance(each, str) and each[-1].isdigit() and "_" in each else "",
)  # fmt: skip
def test_a_check_finds_its_fault(
    tmp_path: Path, fault: Callable[[dict[str, Info]], None], code: str, outcome: str, text: str
) -> None:
    servers = healthy()
    fault(servers)
    found = outcomes(tmp_path, servers)
    assert found[code][0] == outcome
    assert text in found[code][1]
    assert {each for each, (result, _) in found.items() if result != "PASS"} == {code}


def test_a_cluster_with_a_blank_in_its_name_is_found(tmp_path: Path) -> None:
    assert outcomes(tmp_path, healthy(), "my cluster")["CLUSTER_004"] == ("FAIL", ["Cluster: my cluster"])


def test_an_archive_without_answers_is_skipped_and_said(tmp_path: Path) -> None:
    write(tmp_path / "w.zip", {"a": {"health": {"status": "ok"}}})
    report = json.loads(Cli(tmp_path).ok("audit", "analyze", "w.zip", "-o", "json"))
    results = {each["check"]["code"]: each for each in report["checks"]}
    assert results["SERVER_001"]["outcome_string"] == "PASS"
    assert results["SERVER_002"]["outcome_string"] == "SKIP"
    assert results["SERVER_002"]["examples"]["error"] == "the archive has no VARZ of such a server"


def test_examples_are_bounded(tmp_path: Path) -> None:
    servers = {f"s{number}": {"variables": {"auth_required": False, "now": NOW}} for number in range(9)}
    write(tmp_path / "w.zip", servers)
    lines = Cli(tmp_path).ok("audit", "analyze", "w.zip", "--max-examples", "2").splitlines()
    at = next(number for number, line in enumerate(lines) if "SERVER_007" in line)
    assert lines[at + 1 : at + 4] == [
        " - s0: authentication not required",
        " - s1: authentication not required",
        " - ... and 7 more ...",
    ]


def test_names_cannot_leave_the_archive_and_a_cut_one_does_not_look_whole(tmp_path: Path) -> None:
    for name in ("../x", "a/b", "..", "", "a\\b"):
        writer = ArchiveWriter(tmp_path / "w.zip")
        with pytest.raises(CliError, match="cannot be part of an archive's file names"):
            writer.add(b"{}", "variables", server=name, cluster="C")
        assert [path.name for path in tmp_path.iterdir()] == ["w.zip.part"]
        writer.abandon()
        assert list(tmp_path.iterdir()) == []


def test_a_damaged_or_huge_archive_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "w.zip", healthy())
    whole = (tmp_path / "w.zip").read_bytes()
    cli = Cli(tmp_path)
    for place in range(0, len(whole) - 1, max(1, len(whole) // 60)):
        flipped = bytearray(whole)
        flipped[place] ^= 0xFF
        (tmp_path / "f.zip").write_bytes(flipped)
        assert cli.run("server", "list", "--archive", "f.zip").code in (0, 1, 3)
        (tmp_path / "f.zip").write_bytes(whole[:place])
        assert cli.run("server", "list", "--archive", "f.zip").code == 1
    monkeypatch.setattr(reading, "MOST", 100)
    result = cli.run("server", "list", "--archive", "w.zip")
    assert (result.code, "is larger than" in result.err) == (1, True)
    with zipfile.ZipFile(tmp_path / "m.zip", "w") as odd:
        odd.writestr(reading.MANIFEST, "[]")
    assert cli.run("server", "list", "--archive", "m.zip").code == 1
