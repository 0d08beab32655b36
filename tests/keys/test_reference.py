"""A real nats-server in operator mode takes the tokens made here, and refuses those that the chain does."""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nats
import pytest
from lib.reference import start
from lib.wire import Wire
from pyjs.keys import read_credentials, write_credentials
from pyjs.keys.chain import CONNECT_ERROR
from pyjs.keys.claims import AccountClaims, Export, Import
from pyjs.keys.nkey import KeyRole

NOW = time.time_ns()


def _account(party: Any) -> AccountClaims:
    claims: AccountClaims = party.account_claims()
    scope = claims.nats.signing_keys[party.scoped.public_key]
    assert scope is not None
    scope.template.pub.allow = scope.template.sub.allow = ["u.{{name()}}.>", "_INBOX.>"]
    claims.nats.exports = [Export(subject="open.>", type="stream")]
    claims.revoke(party.key(KeyRole.USER, "revoked").public_key, NOW // 10**9)
    return claims


@pytest.fixture(scope="module")
def url(party: Any) -> Iterator[str]:
    importer = AccountClaims.new(party.other.public_key, "IMP")
    importer.nats.imports = [Import(subject="open.>", account=party.account.public_key, type="stream")]
    tokens = [party.signed(claims, party.operator_signing, NOW) for claims in (_account(party), importer)]
    preload = dict(zip((party.account.public_key, party.other.public_key), tokens, strict=True))
    lines = "\n".join(f"{key}: {token}" for key, token in preload.items())
    operator = party.signed(party.operator_claims(), party.operator, NOW)
    server = start(
        f"listen: 127.0.0.1:<client>\noperator: {operator}\n"
        f"resolver: MEMORY\nresolver_preload: {{\n{lines}\n}}\n"
    )
    try:
        yield f"nats://127.0.0.1:{server.ports['client']}"
    finally:
        server.stop()


def _user(party: Any, tmp_path: Path, name: str, by: Any, **more: Any) -> str:
    """The credentials file of a new user."""
    pair = party.key(KeyRole.USER, name)
    claims = type(party.user_claims()).new(pair.public_key, name, **more)
    path = tmp_path / f"{name}.creds"
    write_credentials(path, party.signed(claims, by, NOW), pair.seed)
    return str(path)


async def _heard(url: str, publisher: str, subscriber: str, subject: str) -> str:
    """What the subscriber receives, or what the server complains of, whichever comes."""
    complaint: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def note(error: Exception) -> None:
        if not complaint.done():
            complaint.set_result(str(error))

    one = await nats.connect(url, user_credentials=publisher, error_cb=note, allow_reconnect=False)
    two = await nats.connect(url, user_credentials=subscriber, error_cb=note, allow_reconnect=False)
    try:
        heard = await two.subscribe(subject)
        await two.flush()
        await two.flush()  # the client's first PING overtakes what waits to be written
        await one.publish(subject, b"hello")
        message = asyncio.ensure_future(heard.next_msg(timeout=20))
        waiting: list[asyncio.Future[Any]] = [message, complaint]
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        if complaint.done():
            message.cancel()
            return complaint.result()
        return message.result().data.decode()
    finally:
        await one.close()
        await two.close()


def test_users_of_identity_and_signing_keys_talk_across_accounts(
    party: Any, url: str, tmp_path: Path
) -> None:
    ann = _user(party, tmp_path, "ann", party.account)
    bob = _user(party, tmp_path, "bob", party.signing, issuer_account=party.account.public_key)
    eve = _user(party, tmp_path, "eve", party.other)
    assert asyncio.run(_heard(url, ann, bob, "a")) == "hello"
    assert asyncio.run(_heard(url, ann, eve, "open.x")) == "hello"


def test_a_scoped_user_has_the_templates_permissions(party: Any, url: str, tmp_path: Path) -> None:
    who = {"issuer_account": party.account.public_key, "scoped": True}
    ann = _user(party, tmp_path, "ann", party.scoped, **who)
    assert asyncio.run(_heard(url, ann, ann, "u.ann.x")) == "hello"
    assert "permissions violation" in asyncio.run(_heard(url, ann, ann, "u.bob.x"))


@pytest.mark.parametrize("name", ["revoked", "stranger", "welcome"])
def test_the_server_refuses_whom_the_chain_refuses_with_its_text(
    party: Any, url: str, tmp_path: Path, name: str
) -> None:
    by = party.key(KeyRole.ACCOUNT, "unknown") if name == "stranger" else party.account
    credentials = read_credentials(_user(party, tmp_path, name, by))
    with Wire(int(url.rpartition(":")[2])) as wire:
        signature = credentials.key.sign(wire.info["nonce"].encode())
        text = base64.urlsafe_b64encode(signature).decode().rstrip("=")
        wire.login(jwt=credentials.jwt, sig=text)
        wire.send("PING\r\n")
        assert wire.next() == (b"PONG" if name == "welcome" else f"-ERR '{CONNECT_ERROR}'".encode())
