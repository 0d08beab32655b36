"""Pages of names, and lists that ask many leaders."""

from __future__ import annotations

from typing import Any

from lib.meta_fixture import MetaFixture
from pyjs.server.jetstream.api.cluster.list_api import InfoGather, consumers_page, streams_page
from pyjs.server.jetstream.api.page import Page


def names(page: Page[Any]) -> list[str]:
    return [item.name for item in page.items]


def test_names_come_in_pages() -> None:
    meta = MetaFixture()
    for number in range(5):
        meta.create(name=f"S{number}", subjects=[f"s.{number}"])
    page = streams_page(meta.state, "A", 3, 1)
    assert (names(page), page.numbers()) == (["S3"], {"total": 5, "offset": 3, "limit": 1})
    assert streams_page(meta.state, "A", 9).numbers() == {"total": 5, "offset": 5, "limit": 1024}
    assert names(streams_page(meta.state, "A", -1, subject="*.2")) == ["S2"]
    assert names(streams_page(meta.state, "B")) == []
    meta.consume("S1", "b")
    meta.consume("S1", "a")
    assert names(consumers_page(meta.state, "A", "S1")) == ["a", "b"]


def test_a_list_is_answered_once_with_what_came() -> None:
    meta = MetaFixture()
    for name in "abcd":
        meta.create(name=name)
    gather = InfoGather(streams_page(meta.state, "A", limit=256), {"d": {"name": "d"}})
    assert gather.waiting == {"a", "b", "c"}
    assert gather.take("b", {"name": "b"}) and not gather.take("b", {"name": "other"})
    assert not gather.take("x", {})
    answer = gather.answer("streams")
    assert answer == {
        "total": 4,
        "offset": 0,
        "limit": 256,
        "streams": [{"name": "b"}, {"name": "d"}],
        "missing": ["a", "c", "d"],
    }
    assert gather.take("a", {"name": "a"}) and gather.take("c", {"name": "c"}) and not gather.waiting


def test_an_empty_list() -> None:
    gather = InfoGather(consumers_page(MetaFixture().state, "A", "S", limit=256))
    assert gather.answer("consumers") == {"total": 0, "offset": 0, "limit": 256, "consumers": []}
