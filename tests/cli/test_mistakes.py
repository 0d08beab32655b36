"""Objections of a client library or a server reach the user as a sentence, not as a traceback."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from lib.cli import Cli
from lib.eventually import turns
from lib.process import ServerProcess
from pyjs.cli import context
from pyjs.cli.connection import connect
from pyjs.cli.profile import Profile


@pytest.fixture
def at_server(serve: Callable[[str], ServerProcess], tmp_path: Path) -> Cli:
    """`pyjs` told of an open server."""
    return Cli(tmp_path, "--server", serve('listen: "127.0.0.1:<client>"').url)


@pytest.mark.parametrize("subject", ["a..b", ""])
def test_a_subject_that_is_none(at_server: Cli, subject: str) -> None:
    result = at_server.run("sub", subject)
    assert result.code == 2
    assert f'could not subscribe to "{subject}": nats: invalid subject' in result.err


def test_a_subject_that_only_the_client_validates(at_server: Cli) -> None:
    result = at_server.run("reply", "a..b", "x")
    assert result.code == 1
    assert result.err.strip() == "pyjs: error: nats: invalid subject"


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("stream report -o json", "write --output json: -o is something else here"),
        ("stream add X -o json", "No such option '-o'; --json prints JSON here"),
        ("stream ls json", "unexpected extra argument (json)\n"),
        ("stream rm X -o json", "No such option '-o'.\n"),
    ],
)
def test_a_form_where_o_is_something_else(tmp_path: Path, line: str, text: str) -> None:
    result = Cli(tmp_path).run(*line.split())
    assert (result.code, result.out, text in result.err) == (2, "", True)


def test_json_that_is_nested_too_deeply(tmp_path: Path) -> None:
    (tmp_path / "deep.json").write_text('{"name":"S","x":' + "[" * 100_000)
    for words in (("audit", "analyze", "--load"), ("errors", "validate")):
        result = Cli(tmp_path).run(*words, "deep.json")
        assert (result.code, result.out) == (1, "")
        assert "pyjs: error: what was read is nested too deeply" in result.err


def test_a_flush_that_was_cut_short_leaves_the_connection_alive(
    serve: Callable[[str], ServerProcess],
) -> None:
    profile = Profile(fields={**context.FIELDS, "url": serve('listen: "127.0.0.1:<client>"').url})

    async def body() -> None:
        async with connect(profile) as connection:
            flush = asyncio.ensure_future(connection.nc.flush(5))
            await turns(1)
            flush.cancel()
            await asyncio.gather(flush, return_exceptions=True)
            await connection.nc.flush(5)
            assert connection.nc.is_connected

    asyncio.run(body())
