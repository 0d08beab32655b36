"""Tokens of version 1, as accounts had them before 2021, are read everywhere and in force like today's."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import nats
import pytest
from lib.operator_fixture import OperatorAccount, OperatorEnv, User
from lib.process import ServerProcess
from pyjs.keys import KeyPair, KeyRole
from pyjs.keys.token import payload_of

VIOLATION = [b"-ERR 'Authorization Violation'"]
BESIDE = ("type", "tags", "issuer_account")  # what stood beside `nats`
JETSTREAM = ("mem_storage", "disk_storage", "streams", "consumer")


def old(token: str, by: KeyPair, **changes: Any) -> str:
    """The same claims as version 1 wrote them: another layout, algorithm and signature."""
    document = payload_of(token)
    body = document.pop("nats") | changes
    body.pop("version")
    document |= {name: body.pop(name) for name in BESIDE if name in body}
    if document["type"] == "activation":
        body["type"] = body.pop("kind")
    header, payload = (
        _base64(json.dumps(part).encode())
        for part in ({"typ": "jwt", "alg": "ed25519"}, document | {"nats": body})
    )
    return f"{header}.{payload}.{_base64(by.sign(payload.encode()))}"


def _base64(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


class OldOperatorEnv(OperatorEnv):
    """A site whose operator and accounts are of version 1."""

    def text(self, resolver: str, *preloaded: OperatorAccount) -> str:
        """A server's configuration."""
        rows = "".join(f"{a.id}: {self.old_account(a)}\n" for a in (self.sys, *preloaded))
        return (
            f"listen: 127.0.0.1:<client>\nserver_name: S\noperator: {old(self.token, self.key)}\n"
            f"system_account: {self.sys.id}\nresolver: {resolver}\nresolver_preload: {{\n{rows}}}\n"
            'jetstream { store_dir: "<store>", max_mem: 10MB, max_file: 10MB }\n'
        )

    def old_account(self, account: OperatorAccount) -> str:
        """The account's token as its claims are now."""
        return old(account.token(), self.signer)


def old_user(account: OperatorAccount, **fields: Any) -> User:
    """A user with a token of version 1."""
    user = account.user("ann", **fields)
    signer = account.signing[0] if account.signing else account.key
    return replace(user, token=old(user.token, signer))


@pytest.fixture
def env() -> OldOperatorEnv:
    return OldOperatorEnv()


def test_preloaded(env: OldOperatorEnv, launch: Callable[[str], ServerProcess], tmp_path: Path) -> None:
    account = env.account("A", tags=["t"])
    account.signing_key()
    server = launch(env.text("MEMORY", account))
    with old_user(account).connect(server) as wire, account.user("bob").connect(server) as new:
        new.sub("subject")
        new.sync()
        wire.pub("subject", "hello")
        assert new.msg().body == b"hello"
    assert asyncio.run(_round_trip(server, old_user(account).write(tmp_path))) == b"hello"
    info = site_info(env, server, account)
    assert (info["name_tag"], info["tags"]) == ("A", ["t"])
    assert info["decoded_jwt"]["nats"]["version"] == 1


async def _round_trip(server: ServerProcess, path: Path) -> bytes:
    client = await nats.connect(server.url, user_credentials=str(path))
    heard = await client.subscribe("subject")
    await client.publish("subject", b"hello")
    message = await heard.next_msg()
    await client.close()
    return bytes(message.data)


def site_info(env: OldOperatorEnv, server: ServerProcess, account: OperatorAccount) -> Any:
    with env.system(server) as wire:
        return wire.request(f"$SYS.REQ.ACCOUNT.{account.id}.INFO").json()["data"]


def test_pushed_and_kept(env: OldOperatorEnv, launch: Callable[[str], ServerProcess]) -> None:
    server = launch(env.text('{ type: full, dir: "<store>/jwt" }'))
    account = env.account("A")
    token = env.old_account(account)
    env.push(server, token)
    user = old_user(account)
    user.connect(server).close()
    server.restart()
    user.connect(server).close()
    with env.system(server) as wire:
        assert wire.request(f"$SYS.REQ.ACCOUNT.{account.id}.CLAIMS.LOOKUP").body.decode() == token


def test_permissions_limits_and_revocations_hold(
    env: OldOperatorEnv, launch: Callable[[str], ServerProcess]
) -> None:
    account = env.account("A", limits={"conn": 1})
    user = old_user(account, pub={"allow": ["may.>"]}, payload=100)
    server = launch(env.text('{ type: full, dir: "<store>/jwt" }', account))
    with user.connect(server) as wire:
        wire.pub("may.not.be.more", "x")
        wire.pub("other", "x")
        assert wire.sync() == [b"-ERR 'Permissions Violation for Publish to \"other\"'"]
        with pytest.raises(ConnectionError, match="maximum account active connections exceeded"):
            old_user(account).connect(server)
        wire.send("PUB may.x 101\r\n")
        assert wire.ends() == [b"-ERR 'Maximum Payload Violation'"]
    with user.connect(server) as wire:
        account.set(revocations={user.key.public_key: payload_of(user.token)["iat"]})
        env.push(server, env.old_account(account))
        assert wire.ends() == [b"-ERR 'User Authentication Revoked'"]
    assert user.refusal(server) == VIOLATION


def test_there_was_no_jetstream(env: OldOperatorEnv, launch: Callable[[str], ServerProcess]) -> None:
    account = env.account("A", jetstream=True)
    server = launch(env.text("MEMORY", account))
    with old_user(account).connect(server) as wire:
        answer = wire.request("$JS.API.INFO")
        assert answer.status.startswith("503") or answer.json()["error"]["err_code"] == 10039


def test_an_activation_of_version_1_lets_import(
    env: OldOperatorEnv, launch: Callable[[str], ServerProcess]
) -> None:
    exporter = env.account(
        "E", exports=[{"name": "s", "subject": "s.>", "type": "stream", "token_req": True}]
    )
    importer = env.account("I")
    leave = old(exporter.activation(importer, "s.>", "stream"), exporter.key)
    importer.set(
        imports=[{"name": "s", "subject": "s.>", "account": exporter.id, "token": leave, "type": "stream"}]
    )
    server = launch(env.text("MEMORY", exporter, importer))
    with old_user(exporter).connect(server) as speaks, old_user(importer).connect(server) as hears:
        hears.sub("s.>")
        hears.sync()
        speaks.pub("s.x", "hello")
        speaks.sync()
        assert hears.msg().body == b"hello"


@pytest.mark.parametrize("which", ["account", "user"])
def test_a_signature_over_another_payload_does_not_count(
    env: OldOperatorEnv, launch: Callable[[str], ServerProcess], which: str
) -> None:
    account = env.account("A")
    user = old_user(account)
    stranger = KeyPair.create(KeyRole.ACCOUNT if which == "user" else KeyRole.OPERATOR)
    server = launch(env.text('{ type: full, dir: "<store>/jwt" }', account))
    user.connect(server).close()
    if which == "user":
        forged = replace(user, token=old(account.user("ann", key=user.key).token, stranger))
        assert forged.refusal(server) == VIOLATION
        return
    account.set(limits={"conn": 0})
    with env.system(server) as wire:
        answer = wire.request("$SYS.REQ.CLAIMS.UPDATE", old(account.token(), stranger)).json()
    assert answer["error"]["code"] == 500
    user.connect(server).close()
