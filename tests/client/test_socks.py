"""Connections through a SOCKS5 proxy, by commands with an event loop and without, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from lib.cli import Cli
from lib.process import ServerProcess
from lib.socks_proxy import SocksServer
from pyjs.client import ClientError
from pyjs.client.socks import SocksProxy

CONFIG = "listen: 127.0.0.1:<client>"


@pytest.fixture
def cli(serve: Callable[[str], ServerProcess], tmp_path: Path) -> Cli:
    return Cli(tmp_path, "--server", f"nats://localhost:{serve(CONFIG).port}", "--timeout", "2s")


def test_commands_connect_through_a_proxy(cli: Cli) -> None:
    with SocksServer() as proxy:
        for words in (("pub", "a", "x"), ("rtt", "1"), ("sub", "a", "--wait", "50ms")):
            result = cli.run(*words, "--socks-proxy", f"socks5://127.0.0.1:{proxy.port}")
            assert result.code == 0, result.err
        assert proxy.asked == ["localhost"] * 3  # the name is resolved by the proxy
        settings = {"NATS_SOCKS_PROXY": f"socks5://127.0.0.1:{proxy.port}"}
        assert cli.run("pub", "a", "x", env=settings).code == 0
        assert cli.run("pub", "a", "x", "--socks-proxy", "none", env=settings).code == 0
        assert len(proxy.asked) == 4


def test_a_proxy_wants_a_user(cli: Cli) -> None:
    with SocksServer("ada", "p w") as proxy:
        for words in (("pub", "a", "x"), ("sub", "a", "--wait", "50ms")):
            for user, said in (("ada:p%20w@", ""), ("ada:wrong@", "refused"), ("", "refused")):
                result = cli.run(*words, "--socks-proxy", f"socks5://{user}127.0.0.1:{proxy.port}")
                assert (result.code == 0) is not bool(said), result.err
                assert "wrong" not in result.err


def test_a_context_keeps_the_proxy(cli: Cli) -> None:
    with SocksServer() as proxy:
        cli.ok("context", "save", "behind", "--socks-proxy", f"socks5h://127.0.0.1:{proxy.port}")
        assert json.loads(cli.ok("context", "info", "behind", "--json"))["socks_proxy"].startswith("socks5h")
        cli.ok("--context", "behind", "pub", "a", "x")
        assert len(proxy.asked) == 1


@pytest.mark.parametrize(
    "url", ["localhost:1", "http://localhost:1", "socks5://", f"socks5://{'u' * 256}:p@h"]
)
def test_what_is_no_proxy_is_refused(cli: Cli, url: str) -> None:
    for words in (("pub", "a", "x"), ("sub", "a")):
        result = cli.run(*words, "--socks-proxy", url)
        assert (result.code, "SOCKS proxy" in result.err) == (2, True)


def test_what_a_proxy_refuses_is_said() -> None:
    with SocksServer(code=5) as proxy:
        given = SocksProxy.of(f"socks5://127.0.0.1:{proxy.port}")
        with pytest.raises(ClientError, match=rf"SOCKS proxy 127.0.0.1:{proxy.port}: connection refused"):
            given.open("127.0.0.1", 1, 2)
        assert proxy.asked == ["127.0.0.1"]
        with pytest.raises(ClientError, match="more than 255 bytes"):
            given.open("a" * 256, 1, 2)
    with SocksServer("ada", "x") as proxy, pytest.raises(ClientError, match="wants a user"):
        SocksProxy.of(f"socks5://127.0.0.1:{proxy.port}").open("127.0.0.1", 1, 2)
