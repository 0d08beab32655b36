"""Wrong arguments of the compiled functions raise an exception, whatever stands where: the process goes on.

What peers send is never such: these are mistakes of the server itself, which a traceback has to show.
"""

from __future__ import annotations

import contextlib
import copy
from array import array
from collections.abc import Callable, Iterator
from typing import Any

import pytest

_native = pytest.importorskip("pyjs.native._native", reason="there was no compiler")
_blocks = pytest.importorskip("pyjs.native._blocks", reason="there was no compiler")

VERBS = (b"PUB ", b"HPUB ")
FRAME = b"HPUB a r 1 2\r\nNx\r\n"
SCAN = FRAME, 0, 5, 100, 100, VERBS
MESSAGE = (1, "a", b"", b"b", 5)


class Row(tuple[Any, ...]):
    """A class of messages."""

    __slots__ = ()


class Subscriber(_native.SubscriptionFields):  # type: ignore[misc, name-defined]
    """What is read of a subscription."""

    def __init__(self) -> None:
        self.sid, self.direct = b"1", queue()


def queue() -> Any:
    """A queue without anything in it."""
    made = _native.QueueFields()
    made.out, made.headers = [], True
    return made


def plan(**fields: Any) -> Any:
    """A plan with one target."""
    made, target = _native.PlanFields(), (Subscriber(), queue(), None, b"M ", b"H ", b"g ")
    usual: dict[str, Any] = {
        "targets_for": ((target,), None),
        "choices": ((((target,), ()), (1, 2)),),
        "targets": (target,),
    }
    usual |= {"callbacks": (), "shares": {b"g": (target,)}, "simple": True, "headers": True}
    for name, value in (usual | {"draw": lambda: 0.5} | fields).items():
        setattr(made, name, value)
    return made


def lookups(known: Any) -> tuple[Any, ...]:
    """What subjects are looked up in, with one plan."""
    interest: tuple[Any, ...] = node(bucket()), {}, {}
    return {b"a": known}, {}, b".", {b"": (Subscriber(), queue())}, {}, {}, {}, {b"a.": None}, interest


def bucket() -> Any:
    """The subscriptions of a pattern: one."""
    made = _native.BucketFields()
    made.plain, made.groups = {Subscriber(): None}, {}
    return made


def node(rest: Any) -> Any:
    """The root of a tree with one pattern, `>`."""
    made = _native.NodeFields()
    made.children, made.rest = {}, rest
    return made


RECEIVERS = {b"a": (Subscriber(), queue())}
RIGHT: dict[str, tuple[Any, ...]] = {
    "scan_publishes": (*SCAN, []),
    "scan_acks": (*SCAN, [], []),
    "deliver_publishes": (lookups(plan()), (((b"a",),), ()), 0, b"T", [], [], 3, *SCAN),
    "take_publishes": ([(b"a", b"r", 0, 1, b"r 1\r\nx\r\n")], 0, 9, {}, b"A", 1, 5, [], [], []),
    "take_copies": ([MESSAGE], ["a"], 0, 100, {}, (b"L", b"B", b"E"), 1, 5, [], []),
    "match_names": (["a"], 0, 1, [(b"a",)]),
    "add_sequences": ({}, [], [("a", b"", b"")], 0, array("Q", [5]), array("I"), list, []),
    "frame_replies": ([(b"a.1", b"x")], 0, 5, set(), RECEIVERS, set(), set()),
    "frame_answers": ([(b"a.1", b"H", b"x")], 0, 5, set(), RECEIVERS, set(), set()),
    "read_gets": ([(b"a.b.c.d.S.x", b"r", 0, 0, b"r 0\r\n\r\n")],),
    "head_answers": ([(b"r", MESSAGE)], "S", lambda _second: "x"),
    "frame_deliveries": ([MESSAGE], 1, b"1", b"A", 1, 1),
    "encode_messages": ([("a", b"", b"b")], array("Q", [1]), array("q", [1]), 1, 0),
    "decode_message": (Row, bytes(40), 1, 1, "a"),
    "decode_messages": (
        *(Row, bytes(40), 0, 1, [1], array("I", [0]), array("I", [40]), array("I", [0]), ["a"]),
    ),
    "keep_messages": ({}, [("a", b"", b"b")], array("Q", [1]), array("q", [1])),
    "mask_bytes": (b"a", b"abcd"),
    "crc32c": (b"a",),
    "compress_s2": (b"aaaaaaaaaaaaaaaaaaaaaaaa", 1),
    "decompress_s2": (b"\x01\x00a", 10),
    "take_acks": (b'MSG i.7 1 23\r\n{"stream":"S","seq":12}\r\n', 0, 39, b"MSG i.", b'{"stream":"S",', []),
    "take_deliveries": (
        *(b"MSG a 1 $JS.ACK.S.C.1.2.1.3.4 1\r\nx\r\n", 0, 36, b"1", 0, (0, 0, 0, 0)),
        tuple(bytearray(16) for _ in range(9)),
    ),
    "take_frames": (bytearray(b"\x82\x01a"), 5, False),
}
WRONG: tuple[Any, ...] = (None, 0, -1, 1 << 70, "x", b"x", (), (1,), [], [()], [(1,)], [None], {}, {b"a": ()})
WRONG += (array("I"), array("d", [1.0]), bytearray(b"x"), object(), int)


def spoilt(right: Any, depth: int = 4) -> Iterator[Any]:
    """Copies of a value with something wrong in one place: in it, or instead of it."""
    yield from map(copy.copy, WRONG)
    if not depth:
        return
    if isinstance(right, tuple | list):
        yield right[:-1]
        for place, item in enumerate(right):
            for other in spoilt(item, depth - 1):
                changed = [*right]
                changed[place] = other
                yield type(right)(changed)
    elif isinstance(right, dict):
        for key, item in right.items():
            for other in spoilt(item, depth - 1):
                yield {**right, key: other}


@pytest.mark.parametrize("name", RIGHT)
def test_a_wrong_argument_raises_an_exception(name: str) -> None:
    function: Callable[..., Any] = getattr(_native, name, None) or getattr(_blocks, name)
    function(*copy.copy(RIGHT[name]))
    raised = 0
    for place, right in enumerate(RIGHT[name]):
        for other in spoilt(right):
            arguments = [copy.copy(one) for one in RIGHT[name]]
            arguments[place] = other
            try:
                function(*arguments)
            except Exception:  # of any kind: what counts is that there is one
                raised += 1
    assert raised


@pytest.mark.parametrize("field", ["targets_for", "choices", "targets", "shares", "callbacks", "draw"])
def test_a_plan_with_a_wrong_field_raises_an_exception(field: str) -> None:
    right = getattr(plan(), field)
    for other in spoilt(right):
        for form in ({}, {"targets_for": (None, None)}):
            try:
                known = plan(**form | {field: other})
                _native.deliver_publishes(lookups(known), None, 0, b"T", [], [], 3, *SCAN)
            except Exception:  # as above
                continue


@pytest.mark.parametrize(
    ("kind", "field"),
    [
        ("subscription", "sid"),
        ("subscription", "direct"),
        ("bucket", "plain"),
        ("bucket", "groups"),
        ("node", "children"),
        ("node", "rest"),
        ("node", "here"),
    ],
)
@pytest.mark.parametrize("other", [None, 1, b"", [], {}, {1: 2}, {"b": 3}, {"*": None}, {"b": "c"}])
def test_interest_with_a_wrong_field_raises_an_exception_or_is_nobodys(
    kind: str, field: str, other: Any
) -> None:
    subscription, found = Subscriber(), bucket()
    root = node(found)
    with contextlib.suppress(TypeError):
        setattr({"subscription": subscription, "bucket": found, "node": root}[kind], field, other)
        if kind == "subscription":
            found.plain = {subscription: None}
    *before, _ = lookups(None)
    data = b"PUB b.c 1\r\nx\r\n"
    with contextlib.suppress(TypeError):
        _native.deliver_publishes((*before, (root, {}, {})), None, 0, b"T", [], [], 3, data, 0, *SCAN[2:])


def test_all_functions_are_tried() -> None:
    compiled = {
        name for name, found in (vars(_native) | vars(_blocks)).items() if callable(found) and name.islower()
    }
    assert set(RIGHT) == {name for name in compiled if not name.startswith("_")}
