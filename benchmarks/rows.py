"""The rows of results.md that compare the two servers, as tables: mixed traffic, and repeated traffic."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .turns import Case

SYNCED = "max_mem: 2G"  # what pyjs does at its default; the reference is lazy then
LAZY = 'max_mem: 2G, sync_interval: "2m"'
ALWAYS = "max_mem: 2G, sync_interval: always"
SIZES = (16, 128, 4096)

_FAN: dict[str, Any] = {"count": 200_000, "headed": 0.5, "wildcards": 2, "members": 4}
_FILE = {"count": 200_000}
_MEMORY = {"count": 200_000, "storage": "memory"}
_R3 = {"count": 60_000}
_ACROSS = {"count": 200_000}
_COPY = {"count": 100_000}
_CUT = "The consumer of the stream with 1,000,000 subjects has 20 s to be made and to deliver."


def _awaited(count: int, clients: int, kind: str, pyjs: str, reference: str, where: str = "one") -> Case:
    many = f"{clients} client{'s' if clients > 1 else ''}"
    options = {"count": count, "window": 1, "clients": clients}
    title = f"publish and await, {many}, {kind}"
    return Case(title, "stored", options, pyjs, reference, where, lead=clients == 1)


def _get(title: str, by: str, *, lead: bool = False, key: str = "") -> Case:
    options = {"count": 80_000, "by": by}
    return Case(f"{title}, 32 in flight", "got", options, SYNCED + key, SYNCED + key, lead=lead)


def _copied(kind: str, link: str, where: str) -> Case:
    return Case(
        f"a {kind} catches up, across a {link}", "copied", {**_COPY, "kind": kind}, SYNCED, SYNCED, where
    )


_LINKS = (("route", "three"), ("leaf connection", "leaf"))

MIXED: tuple[Case, ...] = (
    Case("core, one wildcard subscriber", "core", {"count": 400_000}, lead=True),
    Case("core, headers on half, two wildcards and a queue of 4", "core", _FAN, lead=True),
    Case("core, across a route", "core", _ACROSS, where="route", lead=True),
    Case("core, across a leaf connection", "core", _ACROSS, where="leaf", lead=True),
    Case("requests with inboxes, 32 in flight", "requests", {"count": 100_000}, lead=True),
    Case("publish to a file, synced / lazy", "stored", _FILE, SYNCED, LAZY, lead=True),
    Case("publish to a file, lazy / lazy", "stored", _FILE, LAZY, LAZY),
    Case("publish to an encrypted file, lazy / lazy", "stored", _FILE, *2 * (f"{LAZY}, key: k",)),
    Case("publish to memory", "stored", _MEMORY, SYNCED, SYNCED, lead=True),
    *(_awaited(20_000, clients, "lazy / lazy", LAZY, LAZY) for clients in (1, 8, 64)),
    *(_awaited(6_000, clients, "synced / always", SYNCED, ALWAYS) for clients in (1, 8, 64)),
    Case("pull in batches of 200, an ack each", "pulled", {"count": 200_000}, SYNCED, SYNCED, lead=True),
    _get("get a key", "subject", lead=True),
    _get("direct get of the last of a subject", "last"),
    _get("direct get by sequence", "sequence"),
    _get("direct get by sequence, encrypted", "sequence", key=", key: k"),
    Case("publish, R3, quorum synced / lazy", "stored", _R3, SYNCED, LAZY, where="three", lead=True),
    Case("publish, R3, quorum synced / always", "stored", _R3, SYNCED, ALWAYS, where="three", lead=True),
    *(
        _awaited(6_000, clients, "R3, quorum synced / always", SYNCED, ALWAYS, "three")
        for clients in (1, 8, 64)
    ),
    Case("a mirror catches up", "copied", {**_COPY, "kind": "mirror"}, SYNCED, SYNCED, lead=True),
    Case("a source catches up", "copied", {**_COPY, "kind": "source"}, SYNCED, SYNCED),
    *(_copied(kind, link, where) for link, where in _LINKS for kind in ("mirror", "source")),
    Case(
        "a new consumer with a filter, 1,000,000 subjects",
        "filtered",
        {"count": 50_000},
        SYNCED,
        SYNCED,
        rounds=1,
        note=_CUT,
    ),
)


def _repeated(size: int) -> Iterator[Case]:
    scale = 1 if size < 1024 else 8

    def row(title: str, scenario: str, pyjs: str = "", reference: str = "", **options: Any) -> Case:
        where = "route" if scenario == "across" else "three" if scenario == "r3_publish" else "one"
        whole = {"size": size, **options, "count": options["count"] // scale}
        return Case(title, scenario, whole, pyjs, reference, where, "load")

    yield row("core publish", "publish", count=2_000_000)
    yield row("core publish → 1 subscriber", "fan_out", count=800_000)
    yield row("core publish → 10 subscribers", "fan_out", count=80_000, subscribers=10)
    yield row("core publish → a subscriber of another server", "across", count=400_000)
    yield row("request/reply, one at a time", "request_reply", count=5_000 * scale)
    yield row("JetStream publish, file (each at its default)", "js_publish", SYNCED, SYNCED, count=150_000)
    slow = 12_000 * scale
    yield row("JetStream publish, file, ack after sync", "js_publish", SYNCED, ALWAYS, count=slow)
    memory: dict[str, Any] = {"count": 150_000, "storage": "memory"}
    yield row("JetStream publish, memory", "js_publish", SYNCED, SYNCED, **memory)
    yield row("JetStream publish, R3 (each at its default)", "r3_publish", SYNCED, SYNCED, count=60_000)
    yield row("JetStream publish, R3, ack after a quorum synced", "r3_publish", SYNCED, ALWAYS, count=60_000)
    yield row("pull-consume, batches of 100", "pull", SYNCED, SYNCED, count=50_000)


REPEATED: tuple[Case, ...] = tuple(case for size in SIZES for case in _repeated(size))
