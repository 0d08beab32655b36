"""Operator mode: what a reload changes and what it leaves alone; accounts on an HTTP server."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from lib.eventually import eventually
from lib.operator_fixture import Deployment, OperatorAccount, OperatorEnv, User, ask
from lib.process import ServerProcess

VIOLATION = [b"-ERR 'Authorization Violation'"]


def reload(server: ServerProcess, config: str) -> None:
    server.configure(config)
    server.signal(signal.SIGHUP)


def admitted(user: User, server: ServerProcess) -> bool:
    try:
        user.connect(server).close()
    except ConnectionError:
        return False
    return True


def test_sessions_stand_a_reload_of_something_else(launch: Callable[[str], ServerProcess]) -> None:
    env = OperatorEnv()
    account = env.account("A")
    config = env.full(account)
    server = launch(config + "max_payload: 1000")
    with account.user().connect(server) as wire:
        reload(server, config + "max_payload: 500")
        eventually(lambda: server_info(server) == 500)
        assert wire.sync() == []
        assert admitted(account.user(), server)


def server_info(server: ServerProcess) -> int:
    with server.raw() as wire:
        return int(wire.info["max_payload"])


def test_a_changed_preload_is_read_again(launch: Callable[[str], ServerProcess]) -> None:
    env = OperatorEnv()
    account, late = env.account("A"), env.account("B")
    server = launch(env.memory(account))
    assert late.user().refusal(server) == VIOLATION
    with account.user().connect(server) as wire:
        account.set(limits={"payload": 3})
        reload(server, env.memory(account, late))
        eventually(lambda: admitted(late.user(), server))
        wire.send("PUB subject 4\r\nxxxx\r\n")
        assert wire.ends() == [b"-ERR 'Maximum Payload Violation'"]


def test_an_account_that_a_reload_no_longer_preloads(launch: Callable[[str], ServerProcess]) -> None:
    env = OperatorEnv()
    account, other = env.account("A"), env.account("B")
    server = launch(env.memory(account, other))
    with account.user().connect(server) as stays:
        reload(server, env.memory(account))
        eventually(lambda: other.user().refusal(server) == VIOLATION)
        assert stays.sync() == []


class Library:
    """An account server over HTTP: tokens by public key, and what was asked of it."""

    def __init__(self) -> None:
        self.tokens: dict[str, str] = {}
        self.asked: list[str] = []
        library = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                key = self.path.rsplit("/", 1)[1]
                library.asked.append(key)
                body = library.tokens.get(key, "").encode()
                self.send_response(200 if body or not key else 404)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Quiet."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05})
        self.thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}/jwt/v1/accounts/"

    def hold(self, *accounts: OperatorAccount) -> None:
        self.tokens |= {account.id: account.token() for account in accounts}

    def close(self) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture
def library() -> Iterator[Library]:
    made = Library()
    yield made
    made.close()


def test_accounts_come_from_an_http_server(launch: Callable[[str], ServerProcess], library: Library) -> None:
    env = OperatorEnv()
    account, unknown = env.account("A"), env.account("B")
    library.hold(env.sys, account)
    server = launch(env.config(f'URL("{library.url}")').partition("resolver_preload")[0])
    assert "" in library.asked
    with account.user().connect(server) as wire:
        assert wire.sync() == []
    assert unknown.user().refusal(server) == VIOLATION
    assert unknown.id in library.asked


def test_an_operators_account_server_is_the_resolver(
    launch: Callable[[str], ServerProcess], library: Library
) -> None:
    base = library.url.removesuffix("accounts/")
    env = OperatorEnv(account_server_url=base.rstrip("/"))
    account = env.account("A")
    library.hold(env.sys, account)
    server = launch(f"listen: 127.0.0.1:<client>\nserver_name: S\noperator: {env.token}\n")
    assert admitted(account.user(), server)


def test_an_account_of_an_http_server_is_updated_by_a_push(
    launch: Callable[[str], ServerProcess], library: Library
) -> None:
    env = OperatorEnv()
    account = env.account("A")
    library.hold(env.sys, account)
    server = launch(env.config(f'URL("{library.url}")').partition("resolver_preload")[0])
    with account.user().connect(server) as wire:
        account.set(limits={"payload": 3})
        subject = f"$SYS.ACCOUNT.{account.id}.CLAIMS.UPDATE"
        assert ask(server, env, subject, account.token())["data"]["code"] == 200
        wire.send("PUB subject 4\r\nxxxx\r\n")
        assert wire.ends() == [b"-ERR 'Maximum Payload Violation'"]


def test_an_http_server_that_is_not_there_stops_the_start(launch: Callable[[str], ServerProcess]) -> None:
    env = OperatorEnv()
    with pytest.raises(RuntimeError, match="ended with 1"):
        launch(env.config('URL("http://127.0.0.1:1/accounts/")').partition("resolver_preload")[0])


def test_monitoring_shows_operator_and_account(launch: Callable[[str], ServerProcess]) -> None:
    env = OperatorEnv()
    account = env.account("A")
    op = Deployment(env, launch(env.memory(account)))
    user = account.user("ann")
    with user.connect(op.server):
        varz = op.ask("$SYS.REQ.SERVER.PING.VARZ")["data"]
        connz = op.ask("$SYS.REQ.SERVER.PING.CONNZ", '{"auth": true}')["data"]
        accountz = op.ask("$SYS.REQ.SERVER.PING.ACCOUNTZ", f'{{"account": "{account.id}"}}')["data"]
    assert varz["trusted_operators_jwt"] == [env.token]
    assert varz["trusted_operators_claim"][0]["sub"] == env.key.public_key
    assert varz["system_account"] == env.sys.id
    mine = next(c for c in connz["connections"] if c.get("account") == account.id)
    assert mine["jwt"] == user.token
    assert mine["issuer_key"] == account.id
    assert mine["authorized_user"] == user.key.public_key
    assert mine["name_tag"] == "A"
    detail = accountz["account_detail"]
    assert detail["account_name"] == account.id
    assert detail["name_tag"] == "A"
    assert detail["jwt"]
    assert detail["decoded_jwt"]["sub"] == account.id
    assert detail["issuer_key"] == env.key.public_key
    assert detail["complete"] is True
    assert detail["expired"] is False
