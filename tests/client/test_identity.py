"""How a connection identifies itself: each way against real servers, from files and references."""

from __future__ import annotations

import pickle
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from lib.operator_fixture import OperatorEnv
from lib.process import ServerProcess
from pyjs.client import AuthorizationError, BlockingConnection, ConnectionOptions, NoServers
from pyjs.keys.nkey import KeyPair, KeyRole

PASSWORD, TOKEN = "pass-3141", "token-2718"


def refused(address: ConnectionOptions) -> str:
    """The words of a refusal."""
    with pytest.raises(AuthorizationError) as failed:
        BlockingConnection.open(address)
    return str(failed.value)


def test_user_and_password(
    serve: Callable[[str], ServerProcess], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    server = serve(f"listen: 127.0.0.1:<client>\nauthorization {{ user: me, password: {PASSWORD} }}")
    monkeypatch.setenv("LINK_PASSWORD", PASSWORD)
    (tmp_path / "password").write_text(PASSWORD + "\n")
    for password in (PASSWORD, "env://LINK_PASSWORD", f"file://{tmp_path}/password"):
        with BlockingConnection.open(
            ConnectionOptions((server.url,), user="me", password=password)
        ) as connection:
            connection.flush()
    with BlockingConnection.open(
        ConnectionOptions((server.url.replace("//", f"//me:{PASSWORD}@"),))
    ) as connection:
        assert connection.url == server.url
    wrong = ConnectionOptions((server.url.replace("//", f"//me:{PASSWORD}x@"),))
    assert PASSWORD not in refused(wrong) + repr(wrong)
    wrong = ConnectionOptions((server.url,), user="me", password=PASSWORD + "x")
    text = refused(wrong)
    assert "Authorization Violation" in text
    assert PASSWORD not in text + repr(wrong)
    assert "NO_SUCH_NAME is not set" in refused(
        ConnectionOptions((server.url,), user="me", password="env://NO_SUCH_NAME")
    )


def test_token(serve: Callable[[str], ServerProcess]) -> None:
    server = serve(f"listen: 127.0.0.1:<client>\nauthorization {{ token: {TOKEN} }}")
    for address in (
        ConnectionOptions((server.url,), token=TOKEN),
        ConnectionOptions((server.url.replace("//", f"//{TOKEN}@"),)),
    ):
        assert TOKEN not in repr(address)
        with BlockingConnection.open(address) as connection:
            connection.flush()
    assert TOKEN not in refused(ConnectionOptions((server.url,), token=TOKEN + "x"))


def test_nkey(serve: Callable[[str], ServerProcess], tmp_path: Path) -> None:
    pair = KeyPair.create(KeyRole.USER)
    server = serve(f"listen: 127.0.0.1:<client>\nauthorization {{ users: [{{ nkey: {pair.public_key} }}] }}")
    (tmp_path / "user.nk").write_text(pair.seed)
    for nkey in (str(tmp_path / "user.nk"), pair.seed):
        address = ConnectionOptions((server.url,), nkey=nkey)
        assert pair.seed not in repr(address)
        with BlockingConnection.open(address) as connection:
            connection.flush()
    assert "nowhere.nk" in refused(ConnectionOptions((server.url,), nkey=str(tmp_path / "nowhere.nk")))
    other = KeyPair.create(KeyRole.USER).seed
    assert other not in refused(ConnectionOptions((server.url,), nkey=other))
    (tmp_path / "damaged.nk").write_text(pair.seed[:-2] + "AA")
    assert pair.seed[:-2] not in refused(ConnectionOptions((server.url,), nkey=str(tmp_path / "damaged.nk")))


def test_creds(
    launch: Callable[[str], ServerProcess], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = OperatorEnv()
    account = env.account("A")
    user = account.user()
    server = launch(env.memory(account))
    path = user.write(tmp_path)
    monkeypatch.setenv("LINK_CREDS", user.credentials())
    for creds in (str(path), f"file://{path}", "env://LINK_CREDS"):
        address = pickle.loads(pickle.dumps(ConnectionOptions((server.url,), creds=creds)))
        with BlockingConnection.open(address) as connection:
            connection.flush()
    stranger = OperatorEnv().account("A").user()
    assert "Authorization Violation" in refused(
        ConnectionOptions((server.url,), creds=str(stranger.write(tmp_path)))
    )
    assert "nowhere" in refused(ConnectionOptions((server.url,), creds=str(tmp_path / "nowhere")))


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """A certificate for 127.0.0.1 that is its own authority, and its key."""
    folder = tmp_path_factory.mktemp("tls")
    cert, key = str(folder / "cert.pem"), str(folder / "key.pem")
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
    ]
    command += ["-keyout", key, "-out", cert, "-days", "2", "-subj", "/CN=localhost"]
    command += ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    subprocess.run(command, check=True, capture_output=True)
    return cert, key


@pytest.mark.parametrize("first", [False, True])
def test_tls(serve: Callable[[str], ServerProcess], certificate: tuple[str, str], first: bool) -> None:
    cert, key = certificate
    # Whoever is silent for so long is told what the server is after all: the test's own look does that.
    handshake = "500ms" if first else "false"
    tls = f"cert_file: '{cert}', key_file: '{key}', handshake_first: {handshake}"
    server = serve(f"listen: 127.0.0.1:<client>\ntls {{ {tls} }}")
    url = server.url.replace("nats://", "tls://")
    with BlockingConnection.open(ConnectionOptions((url,), tls_ca=cert, tls_first=first)) as connection:
        connection.subscribe("a")
        connection.publish("a", b"x" * 300_000)
        assert len(connection.receive().payload) == 300_000
    with pytest.raises(NoServers, match=r"(?i)certificate.verify.failed"):
        BlockingConnection.open(ConnectionOptions((url,), tls_first=first))
    missing = refused(ConnectionOptions((url,), tls_ca=cert + ".missing", tls_first=first))
    assert "tlsCa" in missing


def test_tls_files_are_read_before_the_connection_is_made(tmp_path: Path) -> None:
    """A server waits only for a moment whether the client begins the handshake."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"tls://127.0.0.1:{listener.getsockname()[1]}"
        assert "tlsCa" in refused(ConnectionOptions((url,), tls_ca=str(tmp_path / "missing"), tls_first=True))
        listener.setblocking(False)
        with pytest.raises(BlockingIOError):
            listener.accept()


def test_tls_is_not_given_up_silently(serve: Callable[[str], ServerProcess]) -> None:
    server = serve("listen: 127.0.0.1:<client>")
    with pytest.raises(NoServers, match="TLS was asked for, but the server has none"):
        BlockingConnection.open(ConnectionOptions((server.url.replace("nats://", "tls://"),)))
    with pytest.raises(NoServers):
        BlockingConnection.open(ConnectionOptions((server.url,), tls_first=True, timeout=0.5))


def test_an_address_shows_what_is_no_secret() -> None:
    address = ConnectionOptions(("nats://me:hidden@h:1",), user="me", creds="/a/b.creds", tls_first=True)
    assert repr(address) == "Address(servers=('nats://h:1',), creds='/a/b.creds', user='me', tls_first=True)"
