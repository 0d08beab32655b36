"""`latency` on both servers: every message is measured; the figures and the files agree."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from lib.cli import Cli
from lib.process import ServerProcess

FLAGS = ("--rate", "500", "--duration", "100ms")
CLUSTER = """
listen: "127.0.0.1:<client>"
server_name: {name}
cluster {{ name: C, listen: "127.0.0.1:<route>", routes: [{routes}] }}
"""


def test_every_message_is_measured(cli: Cli, server: ServerProcess, tmp_path: Path) -> None:
    words = ("latency", "--server-b", server.url, *FLAGS, "--size", "100", "--histogram", "saved")
    found = json.loads(cli.ok(*words, "-o", "json"))
    assert (found["messages"], found["size"], found["rate"]) == (50, 100, 500)
    assert 0 < found["min"] <= found["median"] <= found["max"]
    assert 0 < found["achieved_rate"] < 600
    assert found["sent_after"] > 97_000_000  # ns; the 50th message is due after 98 ms
    assert len(found["percentiles"]) == 11
    assert found["percentiles"]["100"] == found["max"]
    raw = [float(line) for line in (tmp_path / "saved.raw").read_text().split()]
    assert len(raw) == 50
    assert min(raw) * 1e6 == pytest.approx(found["min"], abs=1)
    assert max(raw) * 1e6 == pytest.approx(found["max"], abs=1)
    lines = [line.split() for line in (tmp_path / "saved.histogram").read_text().splitlines()]
    assert [line[2] for line in lines[1:4]] == ["5", "12", "25"]
    assert float(lines[-1][0]) == pytest.approx(max(raw), abs=1e-5)
    page = cli.ok(*words)
    assert "Messages: 50 of 100 B" in page
    assert "│ 99.99999   │" in page


def test_from_one_server_of_a_cluster_to_another(
    launch: Callable[[str], ServerProcess], tmp_path: Path
) -> None:
    first = launch(CLUSTER.format(name="one", routes=""))
    second = launch(CLUSTER.format(name="two", routes=f"nats://127.0.0.1:{first.ports['route']}"))
    cli = Cli(tmp_path, "--server", first.url)
    found = json.loads(cli.ok("lat", "--server-b", second.url, *FLAGS, "-o", "json"))
    assert found["messages"] == 50


def test_servers_that_are_not_connected(cli: Cli, launch: Callable[[str], ServerProcess]) -> None:
    other = launch('listen: "127.0.0.1:<client>"')
    result = cli.run("latency", "--server-b", other.url, *FLAGS, "--timeout", "1s")
    assert (result.code, result.out) == (6, "")
    assert "no message comes from the first server to the second" in result.err


@pytest.mark.parametrize(
    ("code", "words", "said"),
    [
        (2, (), "--server-b"),
        (2, ("--server-b", "x", "--size", "7"), "at least 8 bytes"),
        (2, ("--server-b", "x", "--duration", "1us"), "no message"),
        (6, ("--server-b", "nats://127.0.0.1:1"), "no server answers at nats://127.0.0.1:1"),
    ],
)
def test_mistakes(cli: Cli, code: int, words: tuple[str, ...], said: str) -> None:
    result = cli.run("latency", *words)
    assert (result.code, result.out) == (code, "")
    assert said in result.err
