"""The page docs/clusters.md: its session on three servers prints what stands there."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from lib import pyjs_server, transcript
from lib.cli import Cli
from lib.eventually import eventually
from lib.process import ServerProcess, free_port

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "clusters.md").read_text("utf-8")
BLOCKS = re.findall(r"(?ms)^```\n(.*?)^```$", PAGE)
ROUTES = ("11248", "12248", "13248")
REPLICA = re.compile(r"(?m)^ +Replica: (s\d), (.*)$")


class Three:
    """The page's servers, on ports of their own."""

    def __init__(self) -> None:
        self.servers: dict[str, ServerProcess] = {}
        ports = [str(free_port()) for _ in ROUTES]
        for number, port in enumerate(ports, 1):
            config = BLOCKS[0].replace("listen: localhost:11222", "listen: 127.0.0.1:<client>")
            config = config.replace("listen: localhost:11248", f"listen: 127.0.0.1:{port}")
            for written, free in zip(ROUTES, ports, strict=True):
                config = config.replace(f"localhost:{written}", f"127.0.0.1:{free}")
            config = config.replace("s1", f"s{number}").replace(f'"./s{number}"', '"<store>"')
            self.servers[f"s{number}"] = pyjs_server.start(config)

    def close(self) -> None:
        """Stop all."""
        for server in self.servers.values():
            server.stop()


@pytest.fixture
def three() -> Iterator[Three]:
    servers = Three()
    try:
        yield servers
    finally:
        servers.close()


def alike(lines: list[str]) -> list[str]:
    """Lines without the leader's star, whichever server leads."""
    return [re.sub(r" +", " ", line.replace("*", "")) for line in transcript.normal(lines)]


def test_the_session_of_the_page(tmp_path: Path, three: Three) -> None:
    cli = Cli(tmp_path, "--server=" + ",".join(server.url for server in three.servers.values()))
    export, *steps = transcript.parse(re.sub(r"(?m)^\$ ", "> ", BLOCKS[1]))
    assert export.command.startswith("export NATS_URL=nats://localhost:11222,")
    for step in steps:
        transcript.play(cli, step, alike)
    killed = _leader(cli)
    three.servers[killed].kill()
    eventually(lambda: _leader(cli) not in {killed, ""})
    published, shown = transcript.parse(re.sub(r"(?m)^\$ ", "> ", BLOCKS[2]))
    transcript.play(cli, published)
    eventually(lambda: "OFFLINE" in _replicas(cli)[killed])
    assert sorted(map(_kind, _replicas(cli).values())) == sorted(
        map(_kind, _written(shown.expected).values())
    )

    shutil.rmtree(three.servers[killed].directory / "store")
    three.servers[killed].launch()
    eventually(lambda: sorted(map(_kind, _replicas(cli).values())) == ["current", "current"])
    assert list(map(_kind, _written(BLOCKS[3].splitlines()).values())) == ["current", "current"]


def _leader(cli: Cli) -> str:
    """Return the stream's leader, "" while there is none."""
    found = re.search(r"(?m)^ +Leader: (s\d)$", cli.run("stream", "info", "ORDERS").out)
    return found[1] if found else ""


def _replicas(cli: Cli) -> dict[str, str]:
    return _written(cli.ok("stream", "info", "ORDERS").splitlines())


def _written(lines: list[str]) -> dict[str, str]:
    return dict(REPLICA.findall("\n".join(lines)))


def _kind(replica: str) -> str:
    """What is said of a replica, without numbers."""
    return re.sub(r", seen .*? ago|, \d+ operations? behind", "", replica)
