"""Auth callout by the configuration: what a service is asked, what its answers do, and what is no answer."""

from __future__ import annotations

import base64
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from lib.callout_service import SUBJECT, Answer, CalloutService, assigned, response
from lib.process import ServerProcess
from lib.wire import Frame, Wire
from pyjs.keys import AuthorizationRequestClaims, KeyPair, KeyRole

ISSUER = KeyPair.create(KeyRole.ACCOUNT)
OTHER = KeyPair.create(KeyRole.ACCOUNT)
CURVE = KeyPair.create(KeyRole.CURVE)
CONFIG = """
listen: 127.0.0.1:<client>
server_name: S
server_tags: [one, two]
accounts {
  AUTH { users: [{ user: auth, password: pwd }, { user: crypt, password: "%s" }] }
  FOO { users: [{ user: foo, password: pwd }] }
  BAR { users: [{ user: bar, password: pwd }] }
  SYS { users: [{ user: sys, password: pwd }] }
}
system_account: SYS
authorization {
  timeout: %s
  auth_callout { issuer: %s, account: AUTH, auth_users: [auth, crypt, sys] %s }
}
%s
"""
BCRYPT = "$2a$04$UNcqdpdqsmsVcYbvpJZxX.A2mHVrktYTmNzY7sd4xCFxxYXAUjUIO"
VIOLATION = [b"-ERR 'Authorization Violation'"]
REQUEST = AuthorizationRequestClaims


def config(callout: str = "", more: str = "", timeout: str = "20") -> str:
    return CONFIG % (BCRYPT, timeout, ISSUER.public_key, callout, more)


@pytest.fixture
def server(serve: Callable[[str], ServerProcess]) -> ServerProcess:
    return serve(config())


@pytest.fixture
def service(server: ServerProcess) -> Iterator[CalloutService]:
    with server.connect(user="auth", **{"pass": "pwd"}) as wire:
        yield CalloutService(wire)


def allow(account: str = "FOO", **fields: Any) -> Answer:
    return lambda request: response(request, ISSUER, assigned(request, ISSUER, account, **fields))


def enter(server: ServerProcess, service: CalloutService, answer: Answer, **connect: Any) -> Wire:
    """Return a connection that the service has let in."""
    wire = server.raw()
    wire.login(**connect)
    service.take(answer)
    assert wire.sync() == []
    return wire


def refused(server: ServerProcess, service: CalloutService, answer: Answer, **connect: Any) -> list[Frame]:
    """Return what a client hears that the service's answer does not let in."""
    with server.raw() as wire:
        wire.login(**connect)
        service.take(answer)
        return wire.ends()


def who(wire: Wire) -> dict[str, Any]:
    found: dict[str, Any] = wire.request("$SYS.REQ.USER.INFO").json()["data"]
    return found


def test_the_question(server: ServerProcess, service: CalloutService) -> None:
    with server.raw() as wire:
        wire.login(user="ann", name="app", lang="python", version="1.2", **{"pass": "secret"})
        before = time.time()
        request, message = service.hear()
        assert message.subject == SUBJECT
        assert message.reply.startswith("$SYS._INBOX.")
        assert not message.header
        info = wire.info
        body = request.nats
        assert request.iss == info["server_id"]
        assert request.sub == ISSUER.public_key
        assert request.aud == "nats-authorization-request"
        assert before + 15 < request.exp < before + 25
        assert body.user_nkey.startswith("U")
        assert (body.server_id.name, body.server_id.id) == ("S", info["server_id"])
        assert (body.server_id.host, body.server_id.version) == ("127.0.0.1", info["version"])
        assert (body.server_id.tags, body.server_id.xkey) == (["one", "two"], "")
        client = body.client_info
        assert (client.host, client.id, client.user) == ("127.0.0.1", info["client_id"], "ann")
        assert (client.name, client.kind, client.type, client.nonce) == ("app", "Client", "nats", "")
        given = body.connect_opts
        assert (given.user, given.password, given.name) == ("ann", "secret", "app")
        assert (given.lang, given.version, given.protocol) == ("python", "1.2", 1)
        assert body.client_tls is None
        service.say(message, allow()(request))
        assert wire.sync() == []


def test_a_token_is_sent_and_never_shown(server: ServerProcess, service: CalloutService) -> None:
    with server.raw() as wire:
        wire.login(auth_token="t0k3n")
        request, message = service.hear()
        assert request.nats.connect_opts.auth_token == "t0k3n"
        assert request.nats.client_info.user == "[REDACTED]"
        service.say(message, allow()(request))
        assert wire.sync() == []
        assert who(wire)["user"] == "[REDACTED]"


def test_a_signature_is_sent_with_its_nonce(server: ServerProcess, service: CalloutService) -> None:
    key = KeyPair.create(KeyRole.USER)
    with server.raw() as wire:
        nonce = wire.info.get("nonce", "")
        signature = base64.urlsafe_b64encode(key.sign(nonce.encode())).decode().rstrip("=")
        wire.login(nkey=key.public_key, sig=signature)
        request, message = service.hear()
        assert request.nats.connect_opts.sig == signature
        assert request.nats.connect_opts.nkey == request.nats.client_info.user == key.public_key
        assert request.nats.client_info.nonce == nonce
        service.say(message, allow()(request))
        assert wire.sync() == []


def test_the_answer_names_account_and_user(server: ServerProcess, service: CalloutService) -> None:
    with enter(server, service, allow("BAR", name="ann of bar"), user="ann") as wire:
        assert who(wire)["account"] == "BAR"
        assert who(wire)["user"] == "ann of bar"
    with enter(server, service, allow("$G"), user="ann") as wire:
        assert who(wire)["account"] == "$G"
        assert who(wire)["user"] == "ann"


def test_permissions_and_limits_hold(server: ServerProcess, service: CalloutService) -> None:
    rights: dict[str, Any] = {"pub": {"allow": ["out.>"]}, "sub": {"deny": ["secret"]}}
    with enter(server, service, allow(**rights), user="ann") as wire:
        wire.pub("out.a", "x")
        wire.sub("in", sid="1")
        assert wire.sync() == []
        wire.pub("elsewhere", "x")
        assert wire.sync() == [b"-ERR 'Permissions Violation for Publish to \"elsewhere\"'"]
        wire.sub("secret", sid="2")
        assert wire.sync() == [b"-ERR 'Permissions Violation for Subscription to \"secret\"'"]


def test_limits_of_the_token_hold(
    server: ServerProcess, service: CalloutService, implementation: str
) -> None:
    """nats-server takes no notice of them (docs/differences.md)."""
    with enter(server, service, allow(subs=1, payload=10), user="ann") as wire:
        wire.sub("a", sid="1")
        wire.sub("b", sid="2")
        said = wire.sync()
        assert said == ([b"-ERR 'maximum subscriptions exceeded'"] if implementation == "pyjs" else [])
    with enter(server, service, allow(subs=-1, payload=10), user="ann") as wire:
        wire.pub("a", "x" * 11)
        wire.send("PING\r\n")
        if implementation == "pyjs":
            assert wire.ends()[0] == b"-ERR 'Maximum Payload Violation'"
        else:
            assert wire.next() == b"PONG"


@pytest.mark.parametrize(
    "rights", [{"src": ["10.0.0.0/8"]}, {"allowed_connection_types": ["WEBSOCKET"]}], ids=["net", "kind"]
)
def test_whence_and_how_the_user_may_come(
    server: ServerProcess, service: CalloutService, rights: dict[str, Any], implementation: str
) -> None:
    """nats-server takes no notice of either (docs/differences.md)."""
    if implementation == "pyjs":
        assert refused(server, service, allow(**rights), user="ann") == VIOLATION
    else:
        enter(server, service, allow(**rights), user="ann").close()


def test_outside_of_the_hours(server: ServerProcess, service: CalloutService) -> None:
    second = time.strftime("%H:%M:%S", time.gmtime(time.time() - 7200))
    hours: dict[str, Any] = {"times": [{"start": second, "end": second[:-1] + "9"}], "times_location": "UTC"}
    assert refused(server, service, allow(**hours), user="ann") == VIOLATION


def test_the_user_leaves_when_its_token_ends(server: ServerProcess, service: CalloutService) -> None:
    with enter(server, service, allow(exp=int(time.time()) + 2), user="ann") as wire:
        assert wire.ends() == [b"-ERR 'User Authentication Expired'"]


def no_reason(_: REQUEST) -> bytes:
    return b""


def wrong(**changes: Any) -> Answer:
    """An answer whose user is right, but not the answer itself."""
    return lambda request: response(request, ISSUER, assigned(request, ISSUER, "FOO"), **changes)


def elsewhere(**changes: Any) -> Answer:
    """An answer that is right about a user that is not."""
    return lambda request: response(
        request, ISSUER, assigned(request, ISSUER, **({"account": "FOO"} | changes))
    )


def stranger() -> str:
    return KeyPair.create(KeyRole.USER).public_key


BAD: dict[str, Answer] = {
    "nothing": no_reason,
    "rubbish": lambda _: b"rubbish",
    "half a token": lambda request: allow()(request)[:-20],
    "error": lambda request: response(request, ISSUER, error="no such user"),
    "error and user": lambda request: response(
        request, ISSUER, assigned(request, ISSUER, "FOO"), error="no such user"
    ),
    "for another user": wrong(sub=stranger()),
    "for another server": wrong(aud=KeyPair.create(KeyRole.SERVER).public_key),
    "expired answer": wrong(exp=int(time.time()) - 100),
    "about another user": elsewhere(user=stranger()),
    "expired user": elsewhere(exp=int(time.time()) - 100),
    "unknown account": elsewhere(account="NONE"),
    "no account": elsewhere(account=""),
    "issuer_account": elsewhere(issuer_account=ISSUER.public_key),
    "of another issuer": lambda request: response(request, ISSUER, assigned(request, OTHER, "FOO")),
    "by another issuer": lambda request: response(request, OTHER, assigned(request, OTHER, "FOO")),
    "a user instead of an answer": lambda request: assigned(request, ISSUER, "FOO").encode(),
    "only through a proxy": elsewhere(proxy_required=True),
}


@pytest.mark.parametrize("name", BAD)
def test_answers_that_let_nobody_in(server: ServerProcess, service: CalloutService, name: str) -> None:
    assert refused(server, service, BAD[name], user="ann") == VIOLATION


def test_an_answer_is_of_no_use_for_another_question(server: ServerProcess, service: CalloutService) -> None:
    kept: list[bytes] = []

    def first(request: REQUEST) -> bytes:
        kept.append(allow()(request))
        return kept[0]

    enter(server, service, first, user="ann").close()
    assert refused(server, service, lambda _: kept[0], user="ann") == VIOLATION


def test_a_second_answer_changes_nothing(
    server: ServerProcess, service: CalloutService, implementation: str
) -> None:
    """nats-server may take it for the first one, or close the client that it has let in."""
    with server.raw() as wire:
        wire.login(user="ann")
        request, message = service.hear()
        service.say(message, allow()(request))
        service.say(message, b"")
        service.wire.sync()
        wire.send("PING\r\n")
        assert wire.next() == b"PONG" or implementation == "reference"


def test_a_silent_service_lets_nobody_in(serve: Callable[[str], ServerProcess]) -> None:
    server = serve(config(timeout="0.2"))
    with server.connect(user="auth", **{"pass": "pwd"}) as auth:
        service = CalloutService(auth)
        with server.raw() as wire:
            wire.login(user="ann")
            wire.send("PING\r\n")
            request, message = service.hear()
            assert wire.ends() == VIOLATION
            service.say(message, allow()(request))  # too late
            assert auth.sync() == []


def test_without_a_service_nobody_gets_in(serve: Callable[[str], ServerProcess]) -> None:
    server = serve(config(timeout="0.2"))
    with server.raw() as wire:
        wire.login(user="ann")
        assert wire.ends() == VIOLATION


@pytest.mark.parametrize("name", ["auth", "crypt"])
def test_the_service_itself_is_never_asked_about(
    server: ServerProcess, service: CalloutService, name: str
) -> None:
    with server.raw() as wire:
        wire.login(user=name, **{"pass": "wrong"})
        assert wire.ends() == VIOLATION
    assert service.wire.sync() == []


def test_nobody_may_ask_the_service_but_the_server(server: ServerProcess, service: CalloutService) -> None:
    denied = f"-ERR 'Permissions Violation for Publish to \"{SUBJECT}\"'".encode()
    with server.connect(user="auth", **{"pass": "pwd"}) as wire:
        wire.pub(SUBJECT, "x")
        assert wire.sync() == [denied]
    with enter(server, service, allow("AUTH"), user="ann") as wire:
        wire.pub(SUBJECT, "x")
        assert wire.sync() == [denied]
        wire.pub("a", "x")
        assert wire.sync() == []


def test_users_of_the_configuration_are_asked_about(server: ServerProcess, service: CalloutService) -> None:
    """Whatever their password: the service decides."""
    with enter(server, service, allow("BAR"), user="foo", **{"pass": "pwd"}) as wire:
        assert who(wire)["account"] == "BAR"
    with enter(server, service, allow("BAR"), user="foo", **{"pass": "wrong"}) as wire:
        assert who(wire)["account"] == "BAR"
    assert refused(server, service, no_reason, user="foo", **{"pass": "pwd"}) == VIOLATION


def test_allowed_accounts_are_those_that_are_asked_about(serve: Callable[[str], ServerProcess]) -> None:
    server = serve(config(", allowed_accounts: [BAR]", "no_auth_user: foo"))
    with server.connect(user="auth", **{"pass": "pwd"}) as auth:
        service = CalloutService(auth)
        with server.connect(user="foo", **{"pass": "pwd"}) as wire:
            assert who(wire)["account"] == "FOO"
        with server.connect() as wire:
            assert who(wire) | {"permissions": None} == {
                "user": "foo",
                "account": "FOO",
                "account_name": "FOO",
                "permissions": None,
            }
        enter(server, service, allow("BAR"), user="bar", **{"pass": "pwd"}).close()
        enter(server, service, allow("BAR"), user="foo", **{"pass": "wrong"}).close()
        enter(server, service, allow("BAR"), user="nobody").close()


@pytest.mark.parametrize("seals", [True, False])
def test_encrypted_questions(serve: Callable[[str], ServerProcess], seals: bool) -> None:
    server = serve(config(f", xkey: {CURVE.public_key}"))
    with server.connect(user="auth", **{"pass": "pwd"}) as auth:
        service = CalloutService(auth, CURVE, seals=seals)
        with server.raw() as wire:
            wire.login(user="ann")
            request, message = service.hear()
            key = message.headers["Nats-Server-Xkey"]
            assert key == request.nats.server_id.xkey == wire.info["xkey"]
            service.say(message, allow()(request))
            assert wire.sync() == []
        if seals:
            strange = CalloutService(auth, KeyPair.create(KeyRole.CURVE))
            with server.raw() as wire:
                wire.login(user="ann")
                request, message = service.hear()
                strange.say(message, allow()(request))
                assert wire.ends() == VIOLATION


def test_the_account_hears_who_was_refused(server: ServerProcess, service: CalloutService) -> None:
    service.wire.sub("$SYS.ACCOUNT.CLIENT.AUTH.ERR", sid="9")
    service.wire.sync()
    with server.raw() as wire:
        wire.login(user="ann", name="app")
        service.take(lambda request: response(request, ISSUER, error="WRONG PASSWORD"))
        assert wire.ends() == VIOLATION
    event = service.wire.msg()
    assert event.sid == "9"
    document = event.json()
    assert document["type"] == "io.nats.server.advisory.v1.client_disconnect"
    assert document["reason"].lower().endswith("returned an error: wrong password")
    assert (document["client"]["user"], document["client"]["name"]) == ("ann", "app")
    assert document["client"]["acc"] == "AUTH"


def test_what_system_users_hear_of_an_assigned_user(server: ServerProcess, service: CalloutService) -> None:
    with server.connect(user="sys", **{"pass": "pwd"}) as watch:
        watch.sub("$SYS.ACCOUNT.FOO.*")
        watch.sync()
        enter(server, service, allow(name="Ann"), user="ann").close()
        came, went = watch.msg().json(), watch.msg().json()
    for event in (came, went):
        client = event["client"]
        assert (client["user"], client["acc"]) == ("Ann", "FOO")
        assert "jwt" not in client
    assert went["reason"] == "Client Closed"


def test_a_client_that_says_nothing_but_ping(serve: Callable[[str], ServerProcess]) -> None:
    """Without CONNECT nobody is let in as the no_auth_user that a service would be asked about."""
    server = serve(config(more="no_auth_user: foo", timeout="0.3"))
    with server.raw() as wire:
        wire.send("PING\r\n")
        assert wire.ends()[-1:] == VIOLATION
