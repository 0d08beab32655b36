"""Mirrors and sources of pyjs over a leaf connection that is cut, from either server: no gap or duplicate."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from lib.eventually import eventually
from lib.leaf_pair import Pair, api, login
from lib.process import ServerProcess

COUNT = 500
# hub, leaf, where the copies are
CASES = [
    ("pyjs", "pyjs", "hub"),
    ("pyjs", "reference", "hub"),
    ("pyjs", "pyjs", "leaf"),
    ("reference", "pyjs", "leaf"),
]


@pytest.fixture(params=CASES, ids=lambda c: f"{c[0]}-hub-{c[1]}-leaf-copies-at-{c[2]}")
def case(request: pytest.FixtureRequest) -> Iterator[tuple[Pair, str]]:
    hub, leaf, at = request.param
    pair = Pair(hub, leaf)
    try:
        pair.joined()
        yield pair, at
    finally:
        pair.close()


def sides(pair: Pair, at: str) -> tuple[ServerProcess, ServerProcess, str]:
    """(server with the copies, server with the origin, the origin's domain)."""
    return (pair.hub, pair.leaf, "leaf") if at == "hub" else (pair.leaf, pair.hub, "hub")


def load(server: ServerProcess, first: int) -> None:
    """Publish COUNT numbered messages; return when the last, and so all, are acknowledged."""
    with login(server) as wire:
        *most, last = range(first, first + COUNT)
        for number in most:
            wire.pub("numbers", str(number))
        assert "seq" in wire.request("numbers", str(last)).json()


def bodies(server: ServerProcess, stream: str) -> list[bytes]:
    """All bodies of a stream, in order."""
    with api(server) as js:
        found = js.stored(stream)
        assert len(found) == js.state(stream)["messages"]
        return [*found.values()]


def count(server: ServerProcess, stream: str) -> int:
    with api(server) as js:
        return int(js.state(stream)["messages"])


def same(copies: ServerProcess, origin: ServerProcess) -> None:
    """Wait until all is copied, then compare."""
    expected = count(origin, "ORIGIN")
    for copy in ("MIRROR", "SOURCED"):
        eventually(lambda copy=copy: count(copies, copy) == expected, 60)  # type: ignore[misc]
    original = bodies(origin, "ORIGIN")
    assert bodies(copies, "MIRROR") == original
    assert bodies(copies, "SOURCED") == original


def test_copies_go_on_after_the_link_and_either_end_broke(case: tuple[Pair, str]) -> None:
    copies, origin, domain = sides(*case)
    external = {"name": "ORIGIN", "external": {"api": f"$JS.{domain}.API", "deliver": ""}}
    with api(origin) as js:
        js.create("ORIGIN", storage="file", subjects=["numbers"], allow_direct=True)
    with api(copies) as js:
        js.create("MIRROR", storage="file", mirror=external, allow_direct=True)
        js.create("SOURCED", storage="file", sources=[external], allow_direct=True)
    load(origin, 0)
    same(copies, origin)
    load(origin, COUNT)
    origin.crash()
    origin.launch()
    load(origin, 2 * COUNT)
    same(copies, origin)
    load(origin, 3 * COUNT)
    copies.kill()
    copies.launch()
    load(origin, 4 * COUNT)
    same(copies, origin)
