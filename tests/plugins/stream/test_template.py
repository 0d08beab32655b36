"""`pyjs stream template` on a server with `legacy_api`, and without."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from lib import pyjs_server
from lib.cli import Cli
from lib.process import ServerProcess

CONFIG = """
listen: "127.0.0.1:<client>"
server_name: alone
jetstream { store_dir: "<store>", legacy_api: true }
"""
PAGE = """\
Information for Stream Template CLIENTS

Configuration:

             Subjects: CLIENT.*
     Acknowledgements: true
            Retention: File - Limits
             Replicas: 1
       Discard Policy: Old
     Duplicate Window: 2m0s
     Maximum Messages: unlimited
        Maximum Bytes: unlimited
          Maximum Age: 0.00s
 Maximum Message Size: 2.0 KiB
    Maximum Consumers: unlimited
      Maximum Streams: 5


Managed Streams:

"""
NO_STREAMS = PAGE + "  No Streams have been defined by this template\n"


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    """One server for the module."""
    running = pyjs_server.start(CONFIG)
    try:
        yield running
    finally:
        running.stop()


@pytest.fixture
def cli(server: ServerProcess, tmp_path: Path) -> Iterator[Cli]:
    """`pyjs --server …`; the template and its streams are gone afterwards."""
    found = Cli(tmp_path, "--server", server.url)
    yield found
    found.run("stream", "template", "rm", "CLIENTS", "-f")


def create(cli: Cli, *flags: str) -> str:
    words = ["--subjects", "CLIENT.*", "--max-msg-size", "2048", "--defaults", "--max-streams", "5", *flags]
    return cli.ok("stream", "template", "add", "CLIENTS", *words)


def test_from_creation_to_deletion(cli: Cli) -> None:
    assert create(cli).rstrip("\n") == f"Stream Template CLIENTS was created\n\n{NO_STREAMS}".rstrip("\n")
    cli.ok("pub", "CLIENT.acme", "hello")
    assert cli.ok("stream", "template", "info", "CLIENTS").rstrip("\n") == f"{PAGE}    CLIENT_acme"
    assert "CLIENTS" in cli.ok("str", "templ", "ls")
    assert json.loads(cli.ok("str", "t", "ls", "--json")) == ["CLIENTS"]
    assert cli.ok("stream", "ls", "-n").split() == ["CLIENT_acme"]
    cli.ok("stream", "template", "rm", "CLIENTS", "-f")
    assert cli.ok("stream", "ls", "-n").split() == []
    assert cli.ok("stream", "template", "ls").strip() == "No Stream Templates defined"


def test_its_document(cli: Cli) -> None:
    create(cli)
    found = json.loads(cli.ok("stream", "template", "info", "CLIENTS", "-o", "json"))
    assert [*found] == ["config", "streams"]
    assert (found["config"]["name"], found["config"]["max_streams"], found["streams"]) == ("CLIENTS", 5, [])
    listed = json.loads(cli.ok("stream", "template", "ls", "-o", "json"))
    assert listed == [{"name": "CLIENTS"}]


def test_a_configuration_from_a_file(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "clients.json").write_text(json.dumps({"subjects": ["CLIENT.*"], "max_msgs": 7}))
    created = cli.ok("stream", "template", "add", "CLIENTS", "--config", "clients.json", "--max-streams", "5")
    assert "Maximum Messages: 7\n" in created


def test_errors(cli: Cli) -> None:
    assert "template not found (10068)" in cli.run("stream", "template", "info", "CLIENTS").err
    assert "--force requires a template name" in cli.run("stream", "template", "rm", "-f").err
    create(cli)
    refused = cli.run(
        "stream", "template", "add", "CLIENTS", "--subjects", "x", "--defaults", "--max-streams=1"
    )
    assert 'could not create Stream Template: template with name "CLIENTS" already exists' in refused.err


def test_without_the_option_the_error_names_it(serve: Callable[[str], ServerProcess], tmp_path: Path) -> None:
    plain = Cli(tmp_path, "--server", serve(CONFIG.replace(", legacy_api: true", "")).url)
    result = plain.run("--timeout", "100ms", "stream", "template", "ls")
    assert result.code == 6
    assert "legacy_api: true" in result.err
