"""Trusted proxies: whose signature counts, who may only come through one, what monitoring shows, reloads."""

from __future__ import annotations

import base64
import http.client
import json
import signal
from collections.abc import Callable
from typing import Any

import pytest
from lib.callout_service import CalloutService, assigned, response
from lib.eventually import eventually
from lib.operator_fixture import OperatorEnv
from lib.process import ServerProcess
from lib.wire import Frame, Wire
from pyjs.keys import KeyPair, KeyRole

PROXY, SECOND, STRANGE = (KeyPair.create(KeyRole.SERVER) for _ in range(3))
ISSUER = KeyPair.create(KeyRole.ACCOUNT)
USER = KeyPair.create(KeyRole.USER)
TRUSTED = f"proxies {{ trusted: [ {{ key: {PROXY.public_key} }}, {{ key: {SECOND.public_key} }} ] }}\n"
CONFIG = "listen: 127.0.0.1:<client>\nhttp: 127.0.0.1:<http>\nserver_name: S\n%s%s"
USERS = f"""
authorization {{ users: [
  {{ user: ann, password: pwd, proxy_required: true }}
  {{ user: bob, password: pwd }}
  {{ nkey: {USER.public_key}, proxy_required: true }}
] }}
"""
VIOLATION = [b"-ERR 'Authorization Violation'"]
Serve = Callable[[str], ServerProcess]


def signed(key: KeyPair, wire: Wire) -> str:
    return base64.urlsafe_b64encode(key.sign(wire.info.get("nonce", "").encode())).decode().rstrip("=")


def attempt(server: ServerProcess, by: KeyPair | None = None, **connect: Any) -> list[Frame]:
    """Return what a client hears that logs in, through the proxy with a key if there is one."""
    with server.raw() as wire:
        if by is not None:
            connect["proxy_sig"] = signed(by, wire)
        wire.login(**connect)
        wire.send("PING\r\n")
        said = wire.next()
        return [] if said == b"PONG" else [said]


ANN = {"user": "ann", "pass": "pwd"}
BOB = {"user": "bob", "pass": "pwd"}


def document(server: ServerProcess, path: str) -> dict[str, Any]:
    link = http.client.HTTPConnection("127.0.0.1", server.ports["http"], timeout=20)
    try:
        link.request("GET", path)
        found: dict[str, Any] = json.loads(link.getresponse().read())
        return found
    finally:
        link.close()


@pytest.mark.parametrize(
    ("login", "by", "enters"),
    [
        (ANN, PROXY, True),
        (ANN, SECOND, True),
        (ANN, STRANGE, False),
        (ANN, None, False),
        (BOB, None, True),
        (BOB, PROXY, True),
        (BOB, STRANGE, False),
    ],
)
def test_who_comes_through_a_proxy(
    serve: Serve, login: dict[str, str], by: KeyPair | None, enters: bool
) -> None:
    server = serve(CONFIG % (TRUSTED, USERS))
    assert attempt(server, by, **login) == ([] if enters else VIOLATION)


def test_a_signature_that_is_none(serve: Serve) -> None:
    server = serve(CONFIG % (TRUSTED, USERS))
    for text in ("x", "!!", "A" * 86):
        assert attempt(server, None, **BOB, proxy_sig=text) == VIOLATION


def test_without_trusted_proxies_a_signature_says_nothing(serve: Serve) -> None:
    server = serve(CONFIG % ("", USERS))
    assert attempt(server, STRANGE, **BOB) == []
    assert attempt(server, PROXY, **ANN) == VIOLATION


def test_an_nkey_through_a_proxy(serve: Serve) -> None:
    server = serve(CONFIG % (TRUSTED, USERS))
    for by, enters in ((PROXY, True), (None, False)):
        with server.raw() as wire:
            proof = {} if by is None else {"proxy_sig": signed(by, wire)}
            wire.login(nkey=USER.public_key, sig=signed(USER, wire), **proof)
            wire.send("PING\r\n")
            assert (wire.next() == b"PONG") is enters


@pytest.mark.parametrize(
    ("block", "login"),
    [
        ("user: one, password: pwd", {"user": "one", "pass": "pwd"}),
        ("token: t0k3n", {"auth_token": "t0k3n"}),
    ],
)
def test_everybody_has_to_come_through_a_proxy(serve: Serve, block: str, login: dict[str, str]) -> None:
    server = serve(CONFIG % (TRUSTED, f"authorization {{ {block}, proxy_required: true }}"))
    assert attempt(server, PROXY, **login) == []
    assert attempt(server, None, **login) == VIOLATION


def test_a_client_without_connect_comes_through_no_proxy(serve: Serve) -> None:
    server = serve(CONFIG % (TRUSTED, "no_auth_user: ann" + USERS))
    assert attempt(server) == VIOLATION
    with server.raw() as wire:
        wire.send("PING\r\n")
        assert wire.ends()[-1:] == VIOLATION


def test_monitoring_shows_proxies(serve: Serve) -> None:
    server = serve(CONFIG % (TRUSTED, USERS))
    trusted = document(server, "/varz")["proxies"]["trusted"]
    assert trusted == [{"key": PROXY.public_key}, {"key": SECOND.public_key}]
    with server.raw() as wire:
        wire.login(**BOB, proxy_sig=signed(SECOND, wire))
        assert wire.sync() == []
        (found,) = document(server, f"/connz?cid={wire.info['client_id']}")["connections"]
        assert found["proxy"] == {"key": SECOND.public_key}


@pytest.mark.parametrize(
    ("login", "by", "reason"), [(ANN, None, "Proxy Required"), (BOB, STRANGE, "Proxy Not Trusted")]
)
def test_why_a_connection_was_closed(
    serve: Serve, login: dict[str, str], by: KeyPair | None, reason: str
) -> None:
    server = serve(CONFIG % (TRUSTED, USERS))
    with server.raw() as wire:
        proof = {} if by is None else {"proxy_sig": signed(by, wire)}
        wire.login(**login, **proof)
        assert wire.ends() == VIOLATION
        cid = wire.info["client_id"]

    def closed() -> bool:
        rows = document(server, f"/connz?state=closed&cid={cid}")["connections"]
        return [row["reason"] for row in rows] == [reason]

    eventually(closed)


def test_a_proxy_that_is_trusted_no_longer(launch: Callable[[str], ServerProcess]) -> None:
    server = launch(CONFIG % (TRUSTED, USERS))
    with server.raw() as through, server.raw() as other:
        through.login(**BOB, proxy_sig=signed(PROXY, through))
        other.login(**BOB, proxy_sig=signed(SECOND, other))
        assert through.sync() == other.sync() == []
        server.configure(CONFIG % (TRUSTED.replace(f"{{ key: {PROXY.public_key} }},", ""), USERS))
        server.signal(signal.SIGHUP)
        assert through.ends() == VIOLATION
        assert other.sync() == []


def test_a_token_may_demand_a_proxy(serve: Serve) -> None:
    env = OperatorEnv()
    account = env.account("A")
    user = account.user("ann", proxy_required=True)
    server = serve(env.memory(account, more=TRUSTED))
    assert user.refusal(server) == VIOLATION
    with server.raw() as wire:
        wire.login(**user.proof(wire, proxy_sig=signed(PROXY, wire)))
        assert wire.sync() == []


def test_a_callout_service_may_demand_a_proxy(serve: Serve, implementation: str) -> None:
    callout = f"""
authorization {{
  timeout: 20
  users: [ {{ user: auth, password: pwd }}, {{ user: ann, password: pwd, proxy_required: true }} ]
  auth_callout {{ issuer: {ISSUER.public_key}, auth_users: [ auth ] }}
}}
"""
    server = serve(CONFIG % (TRUSTED, callout))
    with server.connect(user="auth", **{"pass": "pwd"}) as auth:
        service = CalloutService(auth)
        for by in (PROXY, None):
            with server.raw() as wire:
                proof = {} if by is None else {"proxy_sig": signed(by, wire)}
                wire.login(user="eve", **proof)
                service.take(lambda r: response(r, ISSUER, assigned(r, ISSUER, "$G", proxy_required=True)))
                wire.send("PING\r\n")
                assert (wire.next() == b"PONG") is (by is not None)
        with server.raw() as wire:  # whom the configuration lets come through a proxy only
            wire.login(**ANN)
            if implementation == "reference":  # it asks, and refuses whatever is answered
                service.take(lambda r: response(r, ISSUER, assigned(r, ISSUER, "$G")))
            assert wire.ends() == VIOLATION
            assert auth.sync() == []
