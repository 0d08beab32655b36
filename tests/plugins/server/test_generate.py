"""`server generate`: the configurations that it writes are accepted by both servers."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from lib.cli import Cli
from lib.reference import binary
from pyjs.plugins.server.generate_files import TEMPLATES, ConfigTemplate, OperatorToTrust, Question

ODD = 'a"b $X \\ {c} # ü'


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path)


def accepted(cli: Cli, file: Path, **variables: str) -> None:
    """Check that pyjs and the reference accept a configuration."""
    result = cli.run("server", "check-config", str(file), env=variables)
    assert result.code == 0, result.err
    done = subprocess.run(
        [binary(), "-t", "-c", str(file)],
        env={**os.environ, **variables},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("clusters", [1, 2])
def test_clusters(cli: Cli, tmp_path: Path, clusters: int) -> None:
    words = ("server", "generate", "net", "--source", "cluster", "--set", f"clusters={clusters}")
    out = cli.ok(*words, "--set", "members=2", "--set", f"password={ODD}", "--set", "port=20000")
    assert "docker compose up" in out
    net = tmp_path / "net"
    accepted(cli, net / "cluster.conf", NAME="n1.c1", GATEWAY="c1", ADVERTISE="n1.c1.nats.internal:20000")
    compose = yaml.safe_load((net / "docker-compose.yaml").read_text())
    servers = {name: each for name, each in compose["services"].items() if not name.startswith("cli.")}
    assert len(servers) == 2 * clusters
    assert servers["n2.c1.nats.internal"]["ports"] == ["20001:4222"]
    assert servers["n2.c1.nats.internal"]["environment"]["NAME"] == "n2.c1"
    assert set(compose["networks"]) == {"shared", *(f"nats-cluster{n}" for n in range(1, clusters + 1))}
    context = json.loads((net / "cli" / "context" / "system_c1.json").read_text())
    assert (context["user"], context["password"]) == ("system", ODD)
    assert context["url"] == "nats://n1.c1.nats.internal:4222,nats://n2.c1.nats.internal:4222"
    assert {each.stat().st_mode & 0o077 for each in net.rglob("*.*") if each.is_file()} == {0}


def test_a_password_is_made_up(cli: Cli, tmp_path: Path) -> None:
    for name in ("a", "b"):
        cli.ok("server", "gen", name, "--source", "cluster")
    first, second = (
        json.loads((tmp_path / name / "cli" / "context" / "user.json").read_text())["password"]
        for name in "ab"
    )
    assert len(first) > 15
    assert first != second


def test_a_server_of_an_operator(cli: Cli, tmp_path: Path) -> None:
    missing = cli.run("server", "generate", "s", "--source", "operator")
    assert (missing.code, missing.out) == (1, "")
    assert "nsc add operator" in missing.err
    cli.ok("nsc", "add", "operator", "--generate-signing-key", "--sys", "--name", "acme")
    words = ("--set", f"store_dir={tmp_path}/js", "--set", f"dir={tmp_path}/jwt", "--set", "max_file=1GB")
    cli.ok("server", "generate", "s", "--source", "operator", *words, "--set", 'server_name=a"b')
    accepted(cli, tmp_path / "s" / "server.conf")
    cli.ok("server", "generate", "k", "--source", "kubernetes", "--set", "streams=no")
    values = yaml.safe_load((tmp_path / "k" / "values.yaml").read_text())["config"]
    assert values["cluster"] == {"enabled": True, "replicas": 3}
    assert "jetstream" not in values
    text = (tmp_path / "s" / "server.conf").read_text()
    assert f"operator: {values['merge']['operator']}\n" in text
    assert f"system_account: {values['merge']['system_account']}\n" in text


def test_a_leaf_node(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "my.creds").write_text("-----BEGIN NATS USER JWT-----")
    cli.ok(
        "server", "generate", "leaf", "--source", "leafnode", "--set", "jetstream=true", "--set", "port=5000",
        "--set", f"credentials={tmp_path}/my.creds",
    )  # fmt: skip
    accepted(cli, tmp_path / "leaf" / "leafnode.conf")
    text = (tmp_path / "leaf" / "leafnode.conf").read_text()
    assert 'domain: "LEAF"' in text
    assert "monitor_port" not in text


def test_questions_are_answered_on_a_terminal(cli: Cli, tmp_path: Path) -> None:
    with cli.terminal(["server", "generate", "leaf", "--set", "monitor_port=8223"]) as terminal:
        terminal.answer("Select a template", "leaf")
        for question, answer in (
            ("URL of the hub", ""),
            ("File of the credentials", "x.creds"),
            ("Port for clients", "0"),
        ):
            terminal.answer(question, answer)
        terminal.answer("Port for clients", "4300")
        terminal.answer("JetStream?", "n")
        assert terminal.finish() == 0
        line = terminal.errors().splitlines()[-1]
    assert (
        "--source=leafnode --set=url=tls://connect.ngs.global --set=credentials=x.creds --set=port=4300"
        in line
    )
    assert 'listen: "0.0.0.0:4300"' in (tmp_path / "leaf" / "leafnode.conf").read_text()


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["there"], 1, "exists already"),
        (["new"], 2, "--source takes one of"),
        (["new", "--source", "https://example.com/bundle.zip"], 2, "Go templates"),
        (["new", "--source", "there"], 2, "Go templates"),
        (["new", "--source", "leafnod"], 3, "did you mean leafnode?"),
        (["new", "--source", "leafnode", "--set", "prot=1"], 2, "did you mean port?"),
        (["new", "--source", "leafnode", "--set", "port=70000"], 2, "between 1 and 65535"),
        (["new", "--source", "leafnode", "--set", "jetstream=perhaps"], 2, "answer yes or no"),
        (["new", "--source", "leafnode", "--set", "store_dir=a\nb"], 2, "cannot be printed"),
        (["there/file/new", "--source", "leafnode"], 1, "could not write"),
    ],
)
def test_mistakes_write_nothing(cli: Cli, tmp_path: Path, words: list[str], code: int, message: str) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "file").write_text("")
    result = cli.run("server", "generate", *words)
    assert (result.code, result.out) == (code, "")
    assert message in result.err
    assert sorted(each.name for each in tmp_path.iterdir()) == ["there"]


def test_no_value_is_taken_for_something_else(cli: Cli, tmp_path: Path) -> None:
    def odd(question: Question) -> Any:
        default = question.default() if callable(question.default) else question.default
        return ODD if isinstance(default, str) and not question.name.startswith("max_") else default

    def files(template: ConfigTemplate) -> dict[str, str]:
        trusted = OperatorToTrust("acme", "TOKEN", "AKEY", "TOKEN")
        return template.files({each.name: odd(each) for each in template.questions} | {"operator": trusted})

    values = yaml.safe_load(files(TEMPLATES["kubernetes"])["values.yaml"])
    assert values["config"]["jetstream"]["fileStore"]["pvc"]["size"] == ODD
    compose = yaml.safe_load(files(TEMPLATES["cluster"])["docker-compose.yaml"])
    assert {each["image"] for name, each in compose["services"].items() if not name.startswith("cli.")} == {
        ODD
    }
    made = files(TEMPLATES["operator"])["server.conf"]
    assert f"server_name: {json.dumps(ODD, ensure_ascii=False)}\n" in made
