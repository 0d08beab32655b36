"""`server report downgrade`: which streams and consumers need a newer API level, each once."""

from __future__ import annotations

from typing import Any

from pyjs.plugins.server.downgrade import incompatible

Info = dict[str, Any]


def described(name: str, level: object, **more: object) -> Info:
    return {"name": name, "config": {"metadata": {"_nats.req.level": level}}, **more}


def document(domain: str, *streams: Info) -> Info:
    details = [{"name": "APP", "stream_detail": list(streams)}]
    return {"server": {"domain": domain}, "data": {"account_details": details}}


OLD = described("OLD", "0", consumer_detail=[described("C", "2"), described("D", "1")])
NEW = described("NEW", "2", consumer_detail=[described("E", "0"), {"name": "F"}])
ODD = described("ODD", "many", consumer_detail=[described("G", None), described("H", "\u00b2")])


def names(found: list[Info]) -> list[tuple[str, ...]]:
    return [tuple(str(each[name]) for name in ("domain", "name", "api_level")) for each in found]


def test_replicas_count_once_and_domains_apart() -> None:
    documents = [document("hub", OLD, NEW, ODD), document("hub", NEW), document("leaf", NEW), {}]
    streams, consumers = incompatible(documents, 1, everything=False)
    assert names(streams) == [("hub", "NEW", "2"), ("leaf", "NEW", "2")]
    assert names(consumers) == [("hub", "C", "2")]
    assert incompatible(documents, 2, everything=True) == ([], [])


def test_consumers_go_with_their_stream() -> None:
    _, consumers = incompatible([document("", OLD, NEW)], 1, everything=True)
    assert [(each["name"], each["of_stream"]) for each in consumers] == [
        ("E", True),
        ("F", True),
        ("C", False),
    ]
