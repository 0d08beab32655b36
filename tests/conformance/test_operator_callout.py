"""Auth callout in operator mode: accounts whose tokens name a service, signers, scopes, other accounts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from lib.callout_service import Answer, CalloutService, assigned, response
from lib.operator_fixture import Deployment, OperatorAccount, OperatorEnv, User
from lib.process import ServerProcess
from lib.wire import Frame, Wire
from pyjs.keys import KeyPair, KeyRole

VIOLATION = [b"-ERR 'Authorization Violation'"]
BAD_SIGNATURE = "A" * 86


@dataclass
class Scene:
    """An account AUTH with a service, a sentinel that everybody uses, and another account."""

    server: ServerProcess
    auth: OperatorAccount
    other: OperatorAccount
    sentinel: User
    service: CalloutService

    def ask(self, **connect: Any) -> Wire:
        """Return a connection that waits for the service."""
        wire = self.server.raw()
        wire.login(**{"jwt": self.sentinel.token, "user": "ann", "pass": "x"} | connect)
        return wire

    def enters(self, answer: Answer, **connect: Any) -> Wire:
        """Return a connection that the service has let in."""
        wire = self.ask(**connect)
        self.service.take(answer)
        assert wire.sync() == []
        return wire

    def refused(self, answer: Answer, **connect: Any) -> list[Frame]:
        """Return what a client hears that the service's answer does not let in."""
        with self.ask(**connect) as wire:
            self.service.take(answer)
            return wire.ends()

    def allow(self, **fields: Any) -> Answer:
        """Return an answer that assigns a user of AUTH itself."""
        return lambda request: response(request, self.auth.key, assigned(request, self.auth.key, **fields))


def scene(op: Deployment, *, xkey: KeyPair | None = None, allowed: list[str] | None = None) -> Scene:
    other = op.account("OTHER")
    auth = op.env.account("AUTH")
    runner, sentinel = auth.user("runner"), auth.user("sentinel", bearer_token=True)
    authorization: dict[str, Any] = {"auth_users": [runner.key.public_key]}
    if allowed is not None:
        authorization["allowed_accounts"] = [other.id if key == "OTHER" else key for key in allowed]
    if xkey is not None:
        authorization["xkey"] = xkey.public_key
    auth.set(authorization=authorization)
    op.push(auth)
    service = CalloutService(runner.connect(op.server), xkey)
    return Scene(op.server, auth, other, sentinel, service)


@pytest.fixture
def stage(op: Deployment) -> Iterator[Scene]:
    made = scene(op, allowed=["OTHER"])
    yield made
    made.service.wire.close()


def who(wire: Wire) -> dict[str, Any]:
    found: dict[str, Any] = wire.request("$SYS.REQ.USER.INFO").json()["data"]
    return found


def test_the_question(stage: Scene) -> None:
    with stage.ask() as wire:
        request, message = stage.service.hear()
        assert request.sub == stage.auth.id
        assert request.iss == wire.info["server_id"] == request.nats.server_id.id
        assert request.nats.connect_opts.jwt == stage.sentinel.token
        assert request.nats.client_info.user == "ann"
        assert request.nats.client_info.name_tag == "sentinel"
        stage.service.say(message, stage.allow(name="Ann")(request))
        assert wire.sync() == []
        found = who(wire)
        assert (found["user"], found["account"]) == ("Ann", stage.auth.id)


def test_permissions_hold(stage: Scene) -> None:
    with stage.enters(stage.allow(pub={"allow": ["out"]})) as wire:
        wire.pub("elsewhere", "x")
        assert wire.sync() == [b"-ERR 'Permissions Violation for Publish to \"elsewhere\"'"]


def test_the_token_alone_lets_nobody_in(stage: Scene) -> None:
    assert stage.refused(lambda _: b"") == VIOLATION


def test_a_user_of_another_account_that_is_allowed(stage: Scene) -> None:
    other = stage.other.key
    answer: Answer = lambda request: response(request, stage.auth.key, assigned(request, other))  # noqa: E731
    with stage.enters(answer) as wire:
        assert who(wire)["account"] == stage.other.id


@pytest.mark.parametrize(("allowed", "enters"), [(None, False), (["*"], True)])
def test_which_accounts_are_allowed(op: Deployment, allowed: list[str] | None, enters: bool) -> None:
    stage = scene(op, allowed=allowed)
    other = stage.other.key
    answer: Answer = lambda request: response(request, stage.auth.key, assigned(request, other))  # noqa: E731
    if enters:
        stage.enters(answer).close()
    else:
        assert stage.refused(answer) == VIOLATION
    stage.service.wire.close()


def test_signing_keys_sign_users_and_answers(op: Deployment) -> None:
    stage = scene(op)
    signing = stage.auth.signing_key()
    role = stage.auth.scoped_key(pub={"allow": ["role.>"]})
    op.push(stage.auth)

    def of(key: KeyPair, *, scoped: bool = False) -> Answer:
        def answer(request: Any) -> bytes:
            token = assigned(request, key, issuer_account=stage.auth.id, scoped=scoped)
            return response(request, signing, token, issuer_account=stage.auth.id)

        return answer

    stage.enters(of(signing)).close()
    with stage.enters(of(role, scoped=True)) as wire:
        wire.pub("elsewhere", "x")
        assert wire.sync() == [b"-ERR 'Permissions Violation for Publish to \"elsewhere\"'"]
    assert stage.refused(of(role)) == VIOLATION
    strange = KeyPair.create(KeyRole.ACCOUNT)
    assert stage.refused(of(strange)) == VIOLATION
    stage.service.wire.close()


def test_who_may_sign_answers(stage: Scene) -> None:
    strange = KeyPair.create(KeyRole.ACCOUNT)

    def answer(request: Any) -> bytes:
        return response(request, strange, assigned(request, stage.auth.key))

    assert stage.refused(answer) == VIOLATION


def test_encrypted_questions(op: Deployment) -> None:
    stage = scene(op, xkey=KeyPair.create(KeyRole.CURVE))
    with stage.ask() as wire:
        request, message = stage.service.hear()
        assert message.headers["Nats-Server-Xkey"] == request.nats.server_id.xkey
        stage.service.say(message, stage.allow()(request))
        assert wire.sync() == []
    stage.service.wire.close()


def test_an_assigned_user_leaves_when_its_token_ends(stage: Scene) -> None:
    with stage.enters(stage.allow(exp=int(time.time()) + 2)) as wire:
        assert wire.ends() == [b"-ERR 'User Authentication Expired'"]


def test_a_token_that_is_no_good_asks_nobody(stage: Scene) -> None:
    signed = stage.auth.user("signs")
    with stage.ask(jwt=signed.token, sig=BAD_SIGNATURE) as wire:
        assert wire.ends() == VIOLATION
    assert stage.service.wire.sync() == []


def test_the_runner_with_a_wrong_signature(stage: Scene) -> None:
    runner = stage.auth.claims.nats.authorization
    assert runner is not None
    fake = stage.auth.user("fake", bearer_token=False)
    with stage.ask(jwt=fake.token, sig=BAD_SIGNATURE, nkey=runner.auth_users[0]) as wire:
        assert wire.ends() == VIOLATION
    assert stage.service.wire.sync() == []


def test_the_default_sentinel_leads_to_the_service(serve: Callable[[str], ServerProcess]) -> None:
    env = OperatorEnv()
    auth = env.account("AUTH")
    runner, sentinel = auth.user("runner"), auth.user("sentinel", bearer_token=True)
    auth.set(authorization={"auth_users": [runner.key.public_key]})
    server = serve(env.memory(auth, more=f"default_sentinel: {sentinel.token}"))
    with runner.connect(server) as wire:
        service = CalloutService(wire)
        with server.raw() as client:
            client.login(user="ann", **{"pass": "x"})
            request = service.take(lambda r: response(r, auth.key, assigned(r, auth.key, name="ann")))
            assert request.nats.connect_opts.user == "ann"
            assert client.sync() == []
