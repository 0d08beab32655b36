"""Memory, URL and folder resolvers by themselves."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from lib.token_issuer import Operated
from pyjs.keys import KeyPair, KeyRole
from pyjs.server.accounts import AccountRegistry
from pyjs.server.config.options import Options, ResolverOptions
from pyjs.server.operator.resolver import AccountAbsentError, Resolver, ResolverError, make_resolver
from pyjs.server.operator.resolver.memory import MemoryResolver
from pyjs.server.operator.resolver.url import UrlResolver
from pyjs.server.slices import at_once


def made(operated: Operated, **options: object) -> Resolver:
    given = ResolverOptions(**options)  # type: ignore[arg-type]
    registry = AccountRegistry(Options(), operated.clock)
    return make_resolver(
        Options(resolver=given),
        trust=operated.trust,
        registry=registry,
        clock=operated.clock,
        log=operated.log,
        random_bytes=bytes,
    )


# --- memory and preload


def test_memory_serves_what_is_preloaded(operated: Operated) -> None:
    async def scenario() -> None:
        resolver, key, token = made(operated, kind="memory"), operated.accounts[0], operated.token()
        await resolver.start({key: token})
        assert await resolver.fetch(key) == token
        with pytest.raises(AccountAbsentError, match=operated.accounts[1]):
            await resolver.fetch(operated.accounts[1])

    asyncio.run(scenario())


def test_a_reload_follows_the_configuration_only_where_that_changed(operated: Operated) -> None:
    resolver = MemoryResolver(operated.trust, operated.log)
    pushed, gone, edited = operated.accounts[:3]
    preload = {key: operated.token(key, 1) for key in (pushed, gone, edited)}
    at_once(resolver.reloading(preload))
    resolver.store(pushed, operated.token(pushed, 2), newer_only=False)
    after = {pushed: preload[pushed], edited: operated.token(edited, 0)}
    assert at_once(resolver.reloading(after)) == sorted([gone, edited])
    assert resolver.known(pushed) == operated.token(pushed, 2)
    assert resolver.known(edited) == operated.token(edited, 0)
    assert resolver.known(gone) == ""


def test_a_preload_that_is_none_stops_the_start(operated: Operated, tmp_path: Path) -> None:
    key = operated.accounts[0]
    for kind in ("memory", "full", "cache"):
        for token in ("no token", operated.token(1)):
            resolver = made(operated, kind=kind, dir=str(tmp_path / kind))
            with pytest.raises(ResolverError, match=f'preload account error for "{key}"'):
                asyncio.run(resolver.start({key: token}))


def test_a_preload_of_another_operator_is_named_and_not_used(operated: Operated) -> None:
    resolver, key = made(operated, kind="memory"), operated.accounts[0]
    asyncio.run(resolver.start({key: operated.token(by=KeyPair.create(KeyRole.OPERATOR))}))
    assert resolver.keys() == []
    assert [line for line in operated.log.lines if key in line and "not trusted" in line]


def test_an_older_preload_does_not_take_the_place_of_a_newer_token(
    operated: Operated, tmp_path: Path
) -> None:
    key, old, new = operated.accounts[0], operated.token(issued=1), operated.token(issued=2)
    for preload, expected in ((old, old), (new, new), (old, new)):

        async def scenario(preload: str = preload, expected: str = expected) -> None:
            resolver = made(operated, kind="full", dir=str(tmp_path))
            await resolver.start({key: preload})
            assert resolver.known(key) == expected
            await resolver.stop()

        asyncio.run(scenario())
    assert operated.clock.pending() == 0


def test_without_anybody_to_ask_an_unknown_account_is_absent_at_once(
    operated: Operated, tmp_path: Path
) -> None:
    async def scenario() -> None:
        resolver = made(operated, kind="full", dir=str(tmp_path))
        await resolver.start({})
        with pytest.raises(AccountAbsentError, match=operated.accounts[0]):
            await resolver.fetch(operated.accounts[0])
        await resolver.stop()

    asyncio.run(scenario())


# --- HTTP


class Answers:
    """What the HTTP server says, by path; and what it was asked."""

    def __init__(self) -> None:
        self.bodies: dict[str, tuple[int, bytes]] = {"/jwt/": (200, b"")}
        self.redirects: dict[str, str] = {}
        self.asked: list[tuple[str, str]] = []
        self.hold = threading.Event()
        self.url = ""


@pytest.fixture
def http() -> Iterator[Answers]:
    answers = Answers()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answers.asked.append((self.path, self.headers.get("Authorization", "")))
            if self.path in answers.redirects:
                self.send_response(302)
                self.send_header("Location", answers.redirects[self.path])
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            if self.path.endswith("slow"):
                answers.hold.wait(20)
            status, body = answers.bodies.get(self.path, (404, b"no such account"))
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    answers.url = f"http://127.0.0.1:{server.server_port}/jwt"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield answers
    answers.hold.set()
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_url_resolver_asks_for_each_account(operated: Operated, http: Answers) -> None:
    key, token = operated.accounts[0], operated.token()
    http.bodies[f"/jwt/{key}"] = (200, token.encode() + b"\n")
    http.redirects[f"/jwt/{operated.accounts[1]}"] = f"/jwt/{key}"

    async def scenario() -> None:
        resolver = made(operated, kind="url", url=http.url.replace("//", "//ann:p%40ss@"))
        await resolver.start({})
        assert await resolver.fetch(key) == token
        assert await resolver.fetch(operated.accounts[1]) == token
        with pytest.raises(AccountAbsentError, match="404") as refused:
            await resolver.fetch(operated.accounts[2])
        assert "p@ss" not in str(refused.value) and "p%40ss" not in str(refused.value)
        await resolver.stop()

    asyncio.run(scenario())
    assert http.asked[0] == ("/jwt/", "Basic YW5uOnBAc3M=")


def test_a_redirect_does_not_take_the_password_elsewhere(operated: Operated, http: Answers) -> None:
    key, token = operated.accounts[0], operated.token()
    elsewhere = http.url.replace("127.0.0.1", "localhost")
    http.bodies[f"/jwt/{key}.copy"] = (200, token.encode())
    http.redirects[f"/jwt/{key}"] = f"{elsewhere}/{key}.copy"
    http.redirects[f"/jwt/{operated.accounts[1]}"] = "ftp://127.0.0.1/token"

    async def scenario() -> None:
        resolver = made(operated, kind="url", url=http.url.replace("//", "//ann:secret@"))
        assert await resolver.fetch(key) == token
        with pytest.raises(ResolverError, match="unknown url type"):
            await resolver.fetch(operated.accounts[1])
        await resolver.stop()

    asyncio.run(scenario())
    assert http.asked == [
        (f"/jwt/{key}", "Basic YW5uOnNlY3JldA=="),
        (f"/jwt/{key}.copy", ""),
        *http.asked[2:],
    ]


def test_an_address_that_does_not_answer_stops_the_start(operated: Operated, http: Answers) -> None:
    http.bodies["/jwt/"] = (500, b"")
    for url, why in ((http.url, "500"), ("http://127.0.0.1:1/", "refused"), ("ftp://x/", "http or https")):
        with pytest.raises(ResolverError, match=why):
            asyncio.run(made(operated, kind="url", url=url).start({}))
    with pytest.raises(ResolverError, match="preloads only available"):
        asyncio.run(made(operated, kind="url", url=http.url).start({operated.accounts[0]: operated.token()}))


def test_a_slow_or_endless_answer_is_an_error(operated: Operated, http: Answers) -> None:
    http.bodies["/jwt/endless"] = (200, b"x" * (2 * 1024 * 1024))

    async def scenario() -> None:
        resolver = UrlResolver(http.url, operated.clock, operated.log, timeout=200_000_000)
        await resolver.start({})
        with pytest.raises(ResolverError, match="timed out"):
            await resolver.fetch("slow")
        with pytest.raises(ResolverError, match="larger"):
            await resolver.fetch("endless")
        http.hold.set()
        await resolver.stop()

    asyncio.run(scenario())
