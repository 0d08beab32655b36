"""Both servers accept what `pyjs nsc generate` writes: configurations, and the credentials of a user."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable
from pathlib import Path

import nats
import pytest
from lib.callout_service import CalloutService, assigned, response
from lib.cli import Cli
from lib.process import ServerProcess
from pyjs.keys import AuthorizationRequestClaims, KeyPair, KeyRole, parse_credentials

Launch = Callable[[str], ServerProcess]


@pytest.fixture
def nsc(tmp_path: Path) -> Callable[..., str]:
    """`pyjs nsc` with an operator, SYS, and ann in account A."""
    cli = Cli(tmp_path, "nsc", "-H", str(tmp_path / "nsc"))

    def run(*words: str) -> str:
        result = cli.run(*words)
        assert result.code == 0, result.out + result.err
        return result.out

    for line in ("add operator OP --sys", "add account A", "add user ann"):
        run(*line.split())
    return run


def said(server: ServerProcess, credentials: Path) -> bytes:
    """What ann hears of what she says."""

    async def talk() -> bytes:
        client = await nats.connect(server.url, user_credentials=str(credentials), max_reconnect_attempts=1)
        heard = await client.subscribe("a.b")
        await client.publish("a.b", b"hello")
        message = await heard.next_msg(5)
        await client.close()
        return bytes(message.data)

    return asyncio.run(talk())


def credentials(nsc: Callable[..., str], folder: Path) -> Path:
    path = folder / "ann.creds"
    nsc("generate", "creds", "-a", "A", "-n", "ann", "-o", str(path))
    return path


def config(nsc: Callable[..., str], kind: str) -> str:
    made = nsc("generate", "config", f"--{kind}").replace("'./jwt'", '"<store>"')
    return f'listen: "127.0.0.1:<client>"\n{made}'


def test_with_a_memory_resolver(nsc: Callable[..., str], launch: Launch, tmp_path: Path) -> None:
    server = launch(config(nsc, "mem-resolver"))
    assert said(server, credentials(nsc, tmp_path)) == b"hello"


def test_with_a_folder_and_a_push(nsc: Callable[..., str], launch: Launch, tmp_path: Path) -> None:
    server = launch(config(nsc, "nats-resolver"))
    nsc("push", "-A", "-u", server.url)
    assert said(server, credentials(nsc, tmp_path)) == b"hello"


def test_a_cache_starts(nsc: Callable[..., str], launch: Launch) -> None:
    assert launch(config(nsc, "nats-resolver-cache")).port


def test_without_tokens(nsc: Callable[..., str], launch: Launch, tmp_path: Path) -> None:
    server = launch(config(nsc, "nkey"))
    text = credentials(nsc, tmp_path).read_text()
    seed = tmp_path / "ann.nk"
    seed.write_text(next(line for line in text.splitlines() if line.startswith("SU")))

    async def talk() -> bool:
        client = await nats.connect(server.url, nkeys_seed=str(seed), max_reconnect_attempts=1)
        connected = client.is_connected
        await client.close()
        return bool(connected)

    assert asyncio.run(talk())


def test_a_folder_of_files(nsc: Callable[..., str], launch: Launch, tmp_path: Path) -> None:
    nsc("generate", "config", "--mem-resolver", "--dir", str(tmp_path / "site"))
    made = (tmp_path / "site/resolver.conf").read_text()
    made = made.replace('"OP.jwt"', f'"{tmp_path / "site" / "OP.jwt"}"')
    server = launch(f'listen: "127.0.0.1:<client>"\n{made}')
    assert said(server, credentials(nsc, tmp_path)) == b"hello"


def test_an_account_with_an_auth_callout(nsc: Callable[..., str], launch: Launch, tmp_path: Path) -> None:
    """ann's account asks a service of its own, which signs by a signing key, about everyone but ann."""
    signing, curve = KeyPair.create(KeyRole.ACCOUNT), KeyPair.create(KeyRole.CURVE)
    nsc("add", "user", "-a", "A", "sentinel", "--bearer")
    nsc("edit", "account", "A", "--sk", signing.public_key)
    nsc("edit", "authcallout", "A", "--auth-user", "ann", "--curve", curve.public_key)
    server = launch(config(nsc, "mem-resolver"))
    nsc("generate", "creds", "-a", "A", "-n", "sentinel", "-o", str(tmp_path / "sentinel.creds"))
    ann = parse_credentials(credentials(nsc, tmp_path).read_text())
    sentinel = parse_credentials((tmp_path / "sentinel.creds").read_text())

    def assign(request: AuthorizationRequestClaims) -> bytes:
        token = assigned(request, signing, name="bob", issuer_account=request.sub)
        return response(request, signing, token, issuer_account=request.sub)

    with server.raw() as runner, server.raw() as client:
        signature = ann.key.sign(runner.info["nonce"].encode())
        runner.login(jwt=ann.jwt, sig=base64.urlsafe_b64encode(signature).decode().rstrip("="))
        service = CalloutService(runner, curve)
        client.login(jwt=sentinel.jwt, user="bob")
        service.take(assign)
        assert client.request("$SYS.REQ.USER.INFO").json()["data"]["user"] == "bob"
