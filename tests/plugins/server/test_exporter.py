"""`server check exporter`: checks of a file as metrics, over HTTP."""

from __future__ import annotations

import re
import signal
import ssl
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from lib.cli import PYJS, Cli
from lib.process import ServerProcess
from pyjs.cli.errors import UsageError
from pyjs.plugins.server.check.exporter import read
from pyjs.plugins.server.check.properties import KINDS, arguments

PEM = Path(__file__).parents[2] / "server" / "config" / "pem"
CHECKS = """
checks:
  - {name: conn, kind: connection, properties: {connect_time_critical: 30, server_rtt_warning: 20.5}}
  - {name: missing, kind: stream, properties: {stream_name: NOSUCH}}
  - {name: js, kind: jetstream, reuse_connection: true}
"""


@contextmanager
def exporting(cli: Cli, file: Path, *flags: str) -> Iterator[str]:
    """Yield the URL of an exporter that runs."""
    words = ("server", "check", "exporter", "--config", str(file), "--port", "0", *flags)
    process = subprocess.Popen(
        [*PYJS, *cli.flags, *words], env=cli.environment(), stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stderr is not None
        found = re.search(r"(https?)://0.0.0.0:(\d+)/metrics", process.stderr.readline())
        assert found is not None
        yield f"{found[1]}://127.0.0.1:{found[2]}"
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate()


def test_metrics_of_several_checks(cli: Cli, server: ServerProcess, tmp_path: Path) -> None:
    file = tmp_path / "checks.yaml"
    file.write_text(CHECKS)
    with exporting(cli, file, "--namespace", "mine") as url:
        for _ in range(2):
            with urllib.request.urlopen(f"{url}/metrics") as answer:
                text = answer.read().decode()
            assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
            assert 'mine_connection_status_code{item="conn",status="OK"} 0' in text
            assert 'mine_stream_status_code{item="missing",status="CRITICAL"} 2' in text
            assert 'mine_jetstream_streams{item="js"} ' in text
            assert text.count("# TYPE mine_stream_status_code gauge\n") == 1
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(f"{url}/varz")
        with pytest.raises(urllib.error.HTTPError, match="405"):
            urllib.request.urlopen(f"{url}/metrics", data=b"x")


def test_https(tmp_path: Path) -> None:
    file = tmp_path / "checks.yaml"
    file.write_text("checks: [{name: gone, kind: connection}]")
    cli = Cli(tmp_path, "--server", "nats://127.0.0.1:1", "--timeout", "300ms")
    assert cli.run("server", "check", "exporter", "--config", str(file), "--https-key", str(file)).code == 2
    flags = ("--https-certificate", str(PEM / "server.pem"), "--https-key", str(PEM / "server-key.pem"))
    with exporting(cli, file, *flags) as url:
        trusted = ssl.create_default_context(cafile=str(PEM / "ca.pem"))
        with urllib.request.urlopen(f"{url}/metrics", context=trusted) as answer:
            assert 'status_code{item="gone",status="CRITICAL"} 2' in answer.read().decode()


def test_all_mistakes_are_told(tmp_path: Path) -> None:
    file = tmp_path / "checks.yaml"
    file.write_text(
        "checks:\n"
        "- {name: a, kind: strem}\n"
        "- {name: b, kind: stream, properties: {stream: X}}\n"
        "- {name: b, kind: stream, properties: {stream_name: X, messages_warn: many}}\n"
        "- {kind: kv, properties: {bucket: B}, context: nosuch}\n"
        "- {name: c, kind: kv}\n"
        "- 7\n"
        "contxt: x\n"
    )
    with pytest.raises(UsageError) as told:
        read(file)
    for text in (
        'unknown kind of check "strem"; did you mean stream',
        'unknown property "stream"; did you mean stream_name?',
        "'many' is not a valid integer",
        "the check has no name",
        'there is no context "nosuch"',
        "Missing option '--bucket'",
        "a check is a map",
        'unknown field "contxt"; did you mean context?',
    ):
        assert text in str(told.value), text


@pytest.mark.parametrize("text", ["", "7", "checks: []", "checks: [", "checks: [{name: 1, kind: kv}]"])
def test_what_is_no_file_of_checks(tmp_path: Path, text: str) -> None:
    file = tmp_path / "checks.yaml"
    file.write_text(text)
    with pytest.raises(UsageError):
        read(file)


def test_each_property_is_an_option_of_its_command(tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    for kind, properties in KINDS.items():
        helps = cli.ok("server", "check", kind, "--help")
        for option, _ in properties.values():
            assert re.search(rf"{option}\b", helps), (kind, option)


def test_a_file_asks_for_what_it_says() -> None:
    assert arguments("jetstream", {}) == ("--no-replicas",)
    assert arguments("jetstream", {"check_replicas": True}) == ("--no-replicas", "--replicas")
    assert arguments("request", {"headers": {"A": "b"}}) == ("--match-headers=A=b",)
    assert arguments("meta", {"seen_critical": 1.5}) == ("--seen-critical=1.500000000s",)
