"""Configurations of the WebSocket listener that no server starts with, and the texts that both say."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from lib.eventually import eventually
from lib.process import ServerProcess
from lib.reference import binary
from lib.web_socket import WebSocket

COMMANDS = {"reference": [binary()], "pyjs": [sys.executable, "-m", "pyjs.server.main"]}
PLAIN = "websocket {{ listen: 127.0.0.1:-1, no_tls: true, {} }}"
USERS = "authorization { users: [{ user: a, password: b }] }"
WRONG = {
    "no TLS": ("websocket { listen: 127.0.0.1:-1 }", "websocket requires TLS configuration"),
    "no origin": (PLAIN.format('allowed_origins: ["foo"]'), "unable to parse allowed origin"),
    "origin's scheme": (
        PLAIN.format('allowed_origins: ["ftp://a"]'),
        "allowed origins must be absolute URLs with http or https scheme",
    ),
    "origin without host": (PLAIN.format('allowed_origins: ["http://"]'), "host is required"),
    "origin's port": (PLAIN.format('allowed_origins: ["http://a:b"]'), "unable to parse allowed origin"),
    "header": (PLAIN.format('headers: { "Upgrade": x }'), 'invalid header "Upgrade" not allowed'),
    "header's prefix": (
        PLAIN.format('headers: { "Sec-WebSocket-Foo": x }'),
        '"Sec-WebSocket-" prefix not allowed',
    ),
    "no users": (
        PLAIN.format("no_auth_user: a"),
        'no_auth_user: "a" present, but users/nkeys are not defined',
    ),
    "other users": (PLAIN.format("no_auth_user: x") + "\n" + USERS, 'no_auth_user: "x" not present as user'),
    "user and users": (
        PLAIN.format("authorization { user: x, password: y }") + "\n" + USERS,
        "websocket authentication username not compatible with presence of users/nkeys",
    ),
    "token and users": (
        PLAIN.format("authorization { token: x }") + "\n" + USERS,
        "websocket authentication token not compatible with presence of users/nkeys",
    ),
    "cookie of a JWT": (
        PLAIN.format("jwt_cookie: x"),
        'trusted operators or trusted keys configuration is required for JWT authentication via cookie "x"',
    ),
    "mixed remotes": (
        'leafnodes { remotes: [{ urls: ["ws://127.0.0.1:1", "nats-leaf://127.0.0.1:2"] }] }',
        "cannot have a mix of websocket and non-websocket urls",
    ),
    "half a login of a proxy": (
        'leafnodes { remotes: [{ url: "ws://a:1"\n proxy { url: "http://127.0.0.1:2", username: a } }] }',
        "proxy username and password must both be specified or both be empty",
    ),
}


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("case", WRONG)
def test_a_start_that_fails_says_why(name: str, case: str, tmp_path: Path) -> None:
    config, said = WRONG[case]
    (tmp_path / "server.conf").write_text(f"host: 127.0.0.1\nport: -1\n{config}\n")
    done = subprocess.run(
        [*COMMANDS[name], "-c", "server.conf"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        timeout=60,
    )
    assert done.returncode == 1
    assert said in done.stdout + done.stderr


def test_a_port_that_is_taken(tmp_path: Path, launch: Callable[[str], ServerProcess]) -> None:
    taken = launch("listen: 127.0.0.1:<client>").port
    text = f"listen: 127.0.0.1:-1\nwebsocket {{ listen: 127.0.0.1:{taken}, no_tls: true }}"
    (tmp_path / "server.conf").write_text(text)
    for command in COMMANDS.values():
        done = subprocess.run(
            [*command, "-c", str(tmp_path / "server.conf")],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert done.returncode == 1
        assert "address already in use" in done.stdout + done.stderr


def test_the_ports_file_names_the_listener(launch: Callable[[str], ServerProcess], tmp_path: Path) -> None:
    server = launch(
        "listen: 127.0.0.1:<client>\n"
        f'ports_file_dir: "{tmp_path}"\n'
        "websocket { listen: 127.0.0.1:<ws>, no_tls: true }"
    )
    eventually(lambda: list(tmp_path.glob("*.ports")))
    (path,) = tmp_path.glob("*.ports")
    assert json.loads(path.read_text())["websocket"] == [f"ws://127.0.0.1:{server.ports['ws']}"]


def test_lame_duck_mode_takes_no_more_clients(launch: Callable[[str], ServerProcess]) -> None:
    server = launch(
        'listen: 127.0.0.1:<client>\nlame_duck_duration: "30s"\nlame_duck_grace_period: "20s"\n'
        "websocket { listen: 127.0.0.1:<ws>, no_tls: true }"
    )
    client = WebSocket(server.ports["ws"])
    client.upgrade()
    client.info()
    client.login()
    server.signal(signal.SIGUSR2)

    def closed() -> bool:
        try:
            WebSocket(server.ports["ws"]).close()
        except ConnectionError:
            return True
        return False

    eventually(closed)
    client.nats("PING\r\n")
    assert client.line() == b"PONG"
    assert client.infos[-1]["ldm"] is True
    client.close()
