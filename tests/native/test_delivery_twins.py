"""The compiled pass that delivers does what the plain one does: on any plans, permissions and bytes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lib.deliveries import Drawn, FakePlan, Interested, Receiver, deliver
from lib.publishes import Scan, names, scans
from pyjs.native import deliveries

_native = pytest.importorskip("pyjs.native._native", reason="there was no compiler")


plans = st.lists(
    st.tuples(
        names,
        st.lists(st.integers(0, 9), max_size=4),
        st.booleans(),
        st.sampled_from([False, False, True]),
        st.booleans(),
    ),
    max_size=5,
)


patterns = st.lists(
    st.lists(names | st.sampled_from([b"*", b">", b"a", b"i"]), min_size=1, max_size=3).map(tuple), max_size=3
).map(tuple)


tokens = names.map(lambda name: name.decode("utf-8", "surrogateescape"))
interests = st.lists(
    st.tuples(
        st.lists(tokens | st.sampled_from(["*", ">", "a", "i", "\udce9"]), min_size=1, max_size=3).map(
            ".".join
        ),
        st.lists(st.integers(0, 3), max_size=3, unique=True),
        st.sampled_from([False, False, False, True]),
    ),
    max_size=6,
)


@given(
    plans,
    scans(),
    st.none() | st.tuples(st.none() | patterns, patterns),
    st.integers(0, 1),
    st.booleans(),
    st.none() | interests,
)
def test_deliveries_are_those_of_the_plain_function(
    drawn: list[Drawn],
    scan: Scan,
    rules: Any,
    kind: int,
    others: bool,
    interested: list[Interested] | None,
) -> None:
    arguments = drawn, scan, rules, kind, others, interested
    assert deliver(_native.deliver_publishes, *arguments) == deliver(deliveries.deliver_publishes, *arguments)


@pytest.mark.parametrize("function", [_native.deliver_publishes, deliveries.deliver_publishes])
@pytest.mark.parametrize(
    ("subject", "header", "taken"),
    [
        (b"i.1", b"", True),
        (b"i.1", b"N", True),
        (b"i.seen", b"", False),
        (b"i.end", b"", False),
        (b"i.lit", b"", False),
        (b"i.", b"", False),
        (b"i", b"", True),  # its head is empty
        (b"x", b"N", False),  # the receiver takes no headers
        (b"j.1", b"", False),
        (b"k.1", b"", False),
    ],
)
def test_an_inbox_needs_no_plan(function: Any, subject: bytes, header: bytes, taken: bool) -> None:
    frame = b"PUB %b 1\r\nx\r\n" % subject
    if header:
        frame = b"HPUB %b 1 2\r\nNx\r\n" % subject
    scan = frame * 2, 0, 512, 4096, 1 << 20, (b"PUB ", b"HPUB ")
    (stop, count, _, _, _), receivers, _, _, seen = deliver(function, [], scan, others=True)
    assert (stop, count, hash(subject) in seen) == (
        (2 * len(frame), 2, True) if taken else (0, 0, subject == b"i.seen")
    )
    if taken:
        number, verb = (0, b"H" * bool(header)) if b"." in subject else (1, b"")
        assert receivers[number][3][0] == verb + b"MSG %b %d " % (subject, number)


@pytest.mark.parametrize("function", [_native.deliver_publishes, deliveries.deliver_publishes])
@pytest.mark.parametrize(
    ("allow", "deny", "subject", "permitted"),
    [
        (None, (), b"a.b", True),
        ((), (), b"a.b", False),
        (((b">",),), (), b"a.b", True),
        (((b"a", b">"),), (), b"a.b", True),
        (((b"a", b">"),), (), b"a.b.c", True),
        (((b"a", b">"),), (), b"a", False),
        (((b"a", b"*"),), (), b"a.b", True),
        (((b"a", b"*"),), (), b"a.b.c", False),
        (((b"a", b"*"),), (), b"a", False),
        (((b"*", b"b"), (b"c",)), (), b"a.b", True),
        (((b"b",), (b"a", b"b")), (), b"a.b", True),
        (((b"a", b"bb"),), (), b"a.b", False),
        (((b"a", b"b"),), (), b"a.bb", False),
        (((b">",),), ((b"a", b"*"),), b"a.b", False),
        (((b">",),), ((b"a", b"*"),), b"a.b.c", True),
        (None, ((b">",),), b"a", False),
        (((b">",),), (), b"a.*", False),  # these are decided elsewhere
        (((b">",),), (), b">", False),
        (((b">",),), (), b"a..b", False),
        (((b">",),), (), b"a.b.", False),
        (((b">",),), (), b".a", False),
        (((b">",),), (), b"a.b*", True),
    ],
)
def test_only_what_is_permitted_is_delivered(
    function: Any, allow: Any, deny: Any, subject: bytes, permitted: bool
) -> None:
    scan = b"PUB %b 1\r\nx\r\n" % subject, 0, 512, 4096, 1 << 20, (b"PUB ", b"HPUB ")
    result = deliver(function, [(subject, [0], True, False, False)], scan, (allow, deny))
    assert result[0][1] == permitted


@pytest.mark.parametrize("function", [_native.deliver_publishes, deliveries.deliver_publishes])
def test_a_pass_ends_after_many_deliveries_of_wide_plans(function: Any) -> None:
    scan = b"PUB a 1\r\nx\r\n" * 3, 0, 512, 4096, 1 << 20, (b"PUB ", b"HPUB ")
    (_, count, _, queued, _), *_ = deliver(function, [(b"a", [2], True, True, False)], scan)
    assert (count, queued) == (2, 1200)


@pytest.mark.parametrize("function", [_native.deliver_publishes, deliveries.deliver_publishes])
def test_one_of_each_choice_is_served(function: Any) -> None:
    scan = b"PUB a 1\r\nx\r\n" * 3, 0, 512, 4096, 1 << 20, (b"PUB ", b"HPUB ")
    result = deliver(function, [(b"a", [6, 1, 2], True, False, False)], scan)
    # The target of each message (1), that of the first choice (6), those that are drawn of the second (2, 1,
    # 6), and all of the third once. 6, 1 and 2 have the receivers 0, 1 and 2.
    assert [one[0] for one in result[1]] == [5, 5, 2]
    assert result[0][1] == 3


PUBLISHES = b"PUB a 3\r\none\r\nPUB a r 3\r\ntwo\r\n"


@pytest.mark.parametrize("function", [_native.deliver_publishes, deliveries.deliver_publishes])
@pytest.mark.parametrize(
    ("plan", "data", "count"),
    [
        ((b"a", [0, 1], True, False, False), PUBLISHES, 2),
        ((b"b", [0], True, False, False), PUBLISHES, 0),  # no plan
        ((b"a", [9], True, False, False), PUBLISHES, 0),  # another target for each message
        ((b"a", [1], True, True, False), PUBLISHES, 0),  # a callback
        ((b"a", [], True, True, True), PUBLISHES, 1),  # nobody: the second one's sender is told so
        ((b"a", [0], True, False, False), b"PUB a _R_.x 0\r\n\r\n", 0),
        ((b"a", [0], True, False, False), b"PUB a $JS.ACK 0\r\n\r\n", 0),
        ((b"a", [0], True, False, False), b"HPUB a 3 4\r\nN\r\nx\r\n", 1),
        ((b"a", [0], False, False, False), b"HPUB a 3 4\r\nN\r\nx\r\n", 0),
        ((b"a", [0], True, False, False), b"HPUB a 5 5\r\nTRACE\r\n", 0),
        ((b"a", [0], True, False, False), b"HPUB a 4 9\r\nxxxxTRACE\r\n", 1),  # in the payload
        ((b"a", [0], True, False, False), PUBLISHES[:-1], 1),
        ((b"a", [7], True, True, False), PUBLISHES, 2),
        ((b"a", [7], True, True, False), PUBLISHES * 2, 3),  # no more than fit together
        ((b"a", [7], True, True, True), PUBLISHES, 0),  # not simple
        ((b"a", [7], True, False, False), b"HPUB a 5 5\r\nTRACE\r\n", 0),
    ],
)
def test_deliveries_end_before_what_needs_more(
    function: Any, plan: tuple[bytes, list[int], bool, bool, bool], data: bytes, count: int
) -> None:
    (stop, delivered, _, _, receiver), receivers, _, run, _ = deliver(
        function, [plan], (data, 0, 512, 4096, 1 << 20, (b"PUB ", b"HPUB "))
    )
    read = plan[1] == [7]
    assert (delivered, receivers[0][0]) == (count, 0 if read or not plan[1] else count)
    assert (len(run), receiver) == ((count, "one") if read and count else (0, None))
    assert data[stop:].startswith((b"PUB", b"HPUB")) or stop == len(data)


@pytest.mark.parametrize("function", [_native.deliver_publishes, deliveries.deliver_publishes])
def test_a_run_is_for_one_receiver(function: Any) -> None:
    plans = [
        (b"%c" % letter, [number], True, True, False)
        for letter, number in zip(b"abc", (7, 8, 0), strict=True)
    ]
    plans[2] = (b"c", [0], True, False, False)
    data = b"PUB c 0\r\n\r\nPUB a 0\r\n\r\nPUB %b 0\r\n\r\n"
    for following in (b"b", b"c"):
        (stop, count, _, _, receiver), receivers, _, run, _ = deliver(
            function, plans, (data % following, 0, 512, 4096, 1 << 20, (b"PUB ", b"HPUB "))
        )
        assert (data[:stop], count, receiver, len(run)) == (data[:22], 2, "one", 1)
        assert receivers[0][0] == 1


@pytest.mark.parametrize("function", [_native.deliver_publishes, deliveries.deliver_publishes])
@pytest.mark.parametrize(
    ("subject", "expected"),
    [
        (b"a.one.x", 1),
        (b"a.one.x.y", 1),
        (b"a.one", 0),
        (b"a.one.", 0),
        (b"a.one..x", 0),
        (b"a..x", 0),
        (b"a.", 0),
        (b"a.none.x", 0),
        (b"a.two.x", 0),
        (b"b.one.x", 0),
        (b"b.a.one.x", 0),
    ],
)
def test_subjects_share_a_plan_by_the_token_after_the_prefix(
    function: Any, subject: bytes, expected: int
) -> None:
    plan = FakePlan((None, None), batch_subscription="one")
    shared = {b"one": plan, b"": plan, b"none": None}
    run: list[Any] = []
    data = b"PUB %b r 3\r\none\r\n" % subject
    limits = 512, 4096, 1 << 20, (b"PUB ", b"HPUB ")
    lookups: tuple[Any, ...] = {}, shared, b"a.", {}, {}, {}, {}, {}, None
    stop, count, size, _, receiver = function(lookups, None, 0, b"TRACE", [], run, 3, data, 0, *limits)
    assert (stop, count, size) == ((len(data), 1, 3) if expected else (0, 0, 0))
    assert run == ([(subject, b"r", 0, 3, b"r 3\r\none\r\n")] if expected else [])
    assert receiver == ("one" if expected else None)


@pytest.mark.parametrize("function", [_native.deliver_publishes, deliveries.deliver_publishes])
@pytest.mark.parametrize(
    ("subject", "expected"),
    [
        (b"o.1", 1),
        (b"o.1.2", 0),
        (b"p.1", 0),
        (b"p.q.1", 1),
        (b"p.r.1", 0),
        (b"p.s.1", 0),
        (b"t" * 128 + b".1", 1),
        (b"u" * 129 + b".1", 0),
        (b"v" + b".1" * 15, 1),
        (b"v" + b".1" * 16, 0),
        (b"o", 0),
        (b"o.", 0),
        (b".1", 0),
        (b"o.*", 0),
        (b"o.>", 0),
        (b"p.q.*", 0),
        (b"p..1", 0),
        (b"o.literal", 0),
    ],
)
def test_subjects_share_a_plan_by_their_first_tokens(function: Any, subject: bytes, expected: int) -> None:
    plan = FakePlan((None, None), batch_subscription="one")
    routes = {b"o.": plan, b"p..": None, b"p.q.": plan, b"p.r.": None, b"t" * 128 + b".": plan}
    routes |= {b"u" * 129 + b".": plan, b"v" + b"." * 15: plan, b"v" + b"." * 16: plan, b".": plan}
    run: list[Any] = []
    data = b"PUB %b r 3\r\none\r\n" % subject
    limits = 512, 4096, 1 << 20, (b"PUB ", b"HPUB ")
    lookups: tuple[Any, ...] = {}, {}, b".", {}, {}, {}, {"o.literal": 1}, routes, None
    stop, count, size, _, receiver = function(lookups, None, 0, b"TRACE", [], run, 3, data, 0, *limits)
    assert (stop, count, size) == ((len(data), 1, 3) if expected else (0, 0, 0))
    assert run == ([(subject, b"r", 0, 3, b"r 3\r\none\r\n")] if expected else [])
    assert receiver == ("one" if expected else None)


@pytest.mark.parametrize("function", [_native.deliver_publishes, deliveries.deliver_publishes])
@pytest.mark.parametrize(
    ("arguments", "queued"),
    [
        (b"| g 1\r\nx", [b"M0 ", b"1\r\nx\r\n", b"M0 ", b"1\r\nx\r\n"]),
        (b"+ r g 1\r\nx", [b"M0 ", b"r 1\r\nx\r\n", b"M0 ", b"r 1\r\nx\r\n"]),
        (b"+ r g g 1\r\nx", [b"M0 ", b"r 1\r\nx\r\n"] * 3),
        (b"+ 1\r\nx", [b"M0 ", b"+ 1\r\nx\r\n"]),
        (b"| g o 1\r\nx", []),  # not all of these groups have members here
        (b"+ r 1\r\nx", []),
        (b"+ $JS.ACK.x@y g 1\r\nx", []),
        (b"+ $JS.ACK.x g 1\r\nx", [b"M0 ", b"$JS.ACK.x 1\r\nx\r\n"] * 2),
        (b"+ $JS.ACX.x@y g 1\r\nx", [b"M0 ", b"$JS.ACX.x@y 1\r\nx\r\n"] * 2),
        (b"$JS.ACK.x@y 1\r\nx", []),
        (b"_GR_.x 1\r\nx", []),
        (b"+ _GR_.x g 1\r\nx", []),
        (b"_GR_x 1\r\nx", [b"M0 ", b"_GR_x 1\r\nx\r\n"]),
        (b"| " + b"g " * 8 + b"1\r\nx", [b"M0 ", b"1\r\nx\r\n"] * 9),
        (b"| " + b"g " * 9 + b"1\r\nx", []),
    ],
)
def test_a_server_names_the_groups_that_are_served(
    function: Any, arguments: bytes, queued: list[bytes]
) -> None:
    receiver = Receiver(0)
    target = receiver.subscription, receiver, receiver.out.append, b"M0 ", b"H0 ", b""
    plan = FakePlan(((), (target,)), shares={b"g": (target,)})
    lookups: tuple[Any, ...] = {b"s": plan}, {}, b".", {}, {}, {}, {}, {}, None
    limits = b"LMSG s %b\r\n" % arguments, 0, 512, 4096, 1 << 20, (b"LMSG ", b"HMSG ")
    function(lookups, None, 1, b"#", [], [], 1, *limits)
    assert receiver.out == queued


@pytest.mark.parametrize("function", [_native.deliver_publishes, deliveries.deliver_publishes])
@pytest.mark.parametrize(
    ("reply", "lead"), [(b"", b"RMSG A s | g h "), (b"r ", b"RMSG A s + r g h ")], ids=["none", "reply"]
)
def test_a_server_is_told_the_groups_to_serve(function: Any, reply: bytes, lead: bytes) -> None:
    receiver = Receiver(0)
    target = receiver.subscription, receiver, receiver.out.append, b"RMSG A s ", b"HMSG A s ", b"g h "
    plan = FakePlan((None, None), choices=((((target,),), None),))
    lookups: tuple[Any, ...] = {b"s": plan}, {}, b".", {}, {}, {}, {}, {}, None
    frames = b"PUB s %b1\r\nx\r\nHPUB s %b1 2\r\nNx\r\n" % (reply, reply)
    limits = frames, 0, 512, 4096, 1 << 20, (b"PUB ", b"HPUB ")
    function(lookups, None, 0, b"#", [], [], 1, *limits)
    assert receiver.out == [lead, b"1\r\nx\r\n", lead.replace(b"RMSG", b"HMSG"), b"1 2\r\nNx\r\n"]
    assert receiver.out_bytes == 3
