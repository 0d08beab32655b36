"""Plans as values: their order, what they lose, whom they leave alone, and their files."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lib.examples import one_in
from lib.provision_documents import documents
from pyjs.documents.problem import DocumentError
from pyjs.protocol.api.consumer import ConsumerConfig
from pyjs.protocol.api.stream import StreamConfig, StreamState
from pyjs.protocol.duration import HOUR, MINUTE
from pyjs.protocol.subject import collide
from pyjs.provision import (
    ChangePlan,
    ConflictError,
    Declared,
    DomainDocument,
    Id,
    ObservedState,
    declare,
    make,
    overlaps,
    planfile,
)
from pyjs.provision.defaults import consumer_defaults, stream_defaults
from pyjs.provision.errors import StateChangedError
from pyjs.provision.observed_state import ObservedConsumer, ObservedDomain, ObservedStream

FEW = one_in(4)  # each plans everything
NOW = 1_800_000_000 * 10**9
Json = dict[str, Any]


def document(**sections: Any) -> DomainDocument:
    return DomainDocument.model_validate(sections)


def observed_as(declared: Declared, state: StreamState | None = None) -> ObservedState:
    """The observed state in which servers have what is declared, with the defaults and marks of servers."""

    def stream(of: Id) -> ObservedStream:
        configs = {
            each.id.stream: each.config for each in declared.streams.values() if each.id.domain == of.domain
        }
        config = stream_defaults(configs[of.stream], configs.get)
        config.metadata = {**config.metadata, "_nats.level": "1"}
        consumers = {
            each.id.consumer: ObservedConsumer(consumer_defaults(each.config, config), "today", 3, 2)
            for each in declared.consumers.values()
            if each.id._replace(consumer="") == of
        }
        return ObservedStream(config, state or StreamState(), "today", consumers)

    return ObservedState(
        {
            domain: ObservedDomain(
                {each.stream: stream(each) for each in declared.streams if each.domain == domain}
            )
            for domain in declared.domains
        }
    )


NOTHING = ObservedState({"": ObservedDomain()})


def planned(then: DomainDocument, now: DomainDocument, **options: Any) -> ChangePlan:
    """The plan from servers as the first document declares to the second."""
    state = options.pop("state", None)
    owner = options.pop("owner", "")
    return make(declare([now], owner), observed_as(declare([then], owner), state), NOW, **options)


def steps(plan: ChangePlan) -> list[str]:
    return [f"{each.verb} {each.title}" for each in plan.pending]


@FEW
@given(documents())
def test_a_world_as_declared_needs_nothing(found: DomainDocument) -> None:
    declared = declare([found], "team")
    assert make(declared, observed_as(declared), NOW, prune="team").pending == ()


@FEW
@given(documents(), st.randoms(use_true_random=False))
def test_order_in_lists_of_subjects_means_nothing(found: DomainDocument, random: Any) -> None:
    shuffled = found.model_dump(exclude_unset=True)
    for stream in shuffled.get("streams", {}).values():
        random.shuffle(stream.get("subjects", []))
        random.shuffle(stream.get("sources", []))
    assert planned(found, DomainDocument.model_validate(shuffled)).pending == ()


@FEW
@given(documents(), documents())
def test_every_difference_is_told(first: DomainDocument, second: DomainDocument) -> None:
    """The other way round: where a plan is empty, the two documents make the same state."""
    one, other = declare([first]), declare([second])
    try:
        plan = make(one, observed_as(other), NOW)
    except ConflictError:
        return
    if not plan.pending:
        for name in one.streams:
            configs = [observed_as(each).stream(name) for each in (one, other)]
            assert configs[0] is not None
            assert configs[1] is not None
            assert configs[0].config.to_json() == configs[1].config.to_json()


def test_origins_come_first_and_across_domains() -> None:
    plan = make(
        declare(
            [
                document(
                    domain="leaf",
                    streams={
                        "ALL": {"sources": ["B", {"name": "FAR", "domain": "hub"}], "consumers": {"c": {}}},
                        "B": {"mirror": "C"},
                        "C": {},
                    },
                ),
                document(domain="hub", streams={"FAR": {}}),
            ]
        ),
        ObservedState({"hub": ObservedDomain(), "leaf": ObservedDomain()}),
        NOW,
    )
    order = steps(plan)
    assert (
        order.index("create C in leaf") < order.index("create B in leaf") < order.index("create ALL in leaf")
    )
    assert order.index("create FAR in hub") < order.index("create ALL in leaf")
    assert order.index("create ALL in leaf") < order.index("create ALL > c in leaf")


def test_a_stream_that_gives_up_a_subject_comes_before_the_one_that_takes_it() -> None:
    then = document(streams={"A": {"subjects": ["x.>", "y"]}, "B": {"subjects": ["z"]}})
    now = document(streams={"A": {"subjects": ["y"]}, "B": {"subjects": ["z", "x.1"]}})
    assert steps(planned(then, now)) == ["change A", "change B"]
    other = document(streams={"B": {"subjects": ["z", "y"]}, "A": {"subjects": ["x.>"]}})
    assert steps(planned(then, other)) == ["change A", "change B"]
    # A deletion comes last, unless its subjects are needed.
    gone = document(streams={"B": {"subjects": ["z", "y"]}})
    assert steps(planned(then, gone, owner="t", prune="t")) == ["delete A", "change B"]
    apart = document(streams={"B": {"subjects": ["z", "q"]}})
    assert steps(planned(then, apart, owner="t", prune="t")) == ["change B", "delete A"]


@pytest.mark.parametrize(
    ("stream", "order"),
    [
        ({}, ["create A > new", "delete A > old", "delete A > older"]),
        ({"retention": "interest"}, ["create A > new", "delete A > old", "delete A > older"]),
        ({"retention": "workqueue"}, ["delete A > old", "delete A > older", "create A > new"]),
        ({"max_consumers": 2}, ["delete A > old", "delete A > older", "create A > new"]),
    ],
    ids=str,
)
def test_consumers_make_room_for_new_ones_where_there_is_none(stream: Json, order: list[str]) -> None:
    then = document(streams={"A": {**stream, "consumers": {"old": {}, "older": {}}}})
    now = document(streams={"A": {**stream, "consumers": {"new": {}}}})
    assert steps(planned(then, now, owner="t", prune="t")) == order


def test_streams_that_exchange_subjects_are_refused() -> None:
    then = document(streams={"A": {"subjects": ["x"]}, "B": {"subjects": ["y"]}})
    now = document(streams={"A": {"subjects": ["y"]}, "B": {"subjects": ["x"]}})
    with pytest.raises(ConflictError, match="A, B"):
        planned(then, now)
    with pytest.raises(ConflictError, match="no order"):
        make(declare([document(streams={"A": {"mirror": "B"}, "B": {"mirror": "A"}})]), NOTHING, NOW)


TOKENS = st.sampled_from(["a", "b", "*"])
PATTERNS = st.builds(
    lambda tokens, rest: ".".join([*tokens, *rest]),
    st.lists(TOKENS, min_size=1, max_size=3),
    st.sampled_from([[], [">"]]),
)


@given(st.lists(st.tuples(st.sampled_from("ABCDE"), PATTERNS), max_size=8))
def test_overlaps_are_those_of_any_two_streams(pairs: list[tuple[str, str]]) -> None:
    held: dict[str, list[str]] = {}
    for name, subject in pairs:
        held.setdefault(name, []).append(subject)
    names = sorted(held)
    expected = {
        f"{two} and {one} "
        for place, one in enumerate(names)
        for two in names[place + 1 :]
        if any(collide(left, right) for left in held[one] for right in held[two])
    }
    # Those that are there already, and those that are declared; two that are there cannot overlap.
    for there in (0, 1):
        old = {name: ObservedStream(StreamConfig(name=name, subjects=held[name])) for name in names[:there]}
        new = {Id("", name): StreamConfig(name=name, subjects=held[name]) for name in names[there:]}
        try:
            overlaps.refuse(new, ObservedState({"": ObservedDomain(old)}), ())
            told = set()
        except ConflictError as error:
            told = {reason.partition("would")[0] for reason in error.reasons}
        assert told == expected


def test_a_stream_may_have_the_subjects_of_one_that_is_deleted_or_elsewhere() -> None:
    there = observed_as(declare([document(streams={"OLD": {"subjects": ["x.*"]}})], "us"))
    declared = declare([document(streams={"NEW": {"subjects": ["x.1"]}})], "us")
    assert steps(make(declared, there, NOW, prune="us")) == ["delete OLD", "create NEW"]
    with pytest.raises(ConflictError, match=r"NEW and OLD would both store messages on x\.1 and x"):
        make(declared, there, NOW)
    elsewhere = ObservedState({**there.domains, "leaf": ObservedDomain()})
    moved = declare([document(domain="leaf", streams={"NEW": {"subjects": ["x.1"]}})])
    assert steps(make(moved, elsewhere, NOW)) == ["create NEW in leaf"]


def test_two_consumers_of_a_work_queue_are_refused_if_they_take_the_same() -> None:
    def queue(**filters: str) -> DomainDocument:
        consumers = {
            name: {"filter_subject": each, "ack_policy": "explicit"} for name, each in filters.items()
        }
        section = {"subjects": ["w.>"], "retention": "workqueue", "consumers": consumers}
        return document(streams={"W": section})

    with pytest.raises(ConflictError, match=r"W > b and W > a would both take messages on w\.> and w\.a"):
        make(declare([queue(a="w.a", b="w.>")]), NOTHING, NOW)
    apart = declare([queue(a="w.a", b="w.b")])
    assert len(make(apart, NOTHING, NOW).pending) == 3
    there = observed_as(apart)
    assert not make(apart, there, NOW).pending
    with pytest.raises(ConflictError, match=r"W > c and W > a would both take messages on w\.a"):
        make(declare([queue(c="w.a")]), there, NOW)
    mine = observed_as(declare([queue(a="w.a")], "us"))
    assert len(make(declare([queue(c="w.a")], "us"), mine, NOW, prune="us").pending) == 2  # a goes


def test_a_consumer_at_the_end_of_an_empty_stream_loses_nothing() -> None:
    consumers = {"c": ObservedConsumer(ConsumerConfig(durable_name="c"))}
    stream = ObservedStream(StreamConfig(name="A", metadata={"pyjs.owner": "us"}), consumers=consumers)
    there = ObservedState({"": ObservedDomain({"A": stream})})
    plan = make(Declared(domains=("",)), there, NOW, prune="us")
    assert (steps(plan), plan.losses) == (["delete A"], {})


def test_a_long_chain_of_mirrors_is_put_in_order() -> None:
    chain = {f"S{n}": {"mirror": f"S{n + 1}"} for n in range(1_999)} | {"S1999": {}}
    plan = make(declare([document(streams=chain)]), NOTHING, NOW)
    assert [each.id.stream for each in plan.actions] == [f"S{n}" for n in reversed(range(2_000))]


STATE = StreamState(messages=10, bytes=1000, num_subjects=4, first_ts=NOW - 2 * HOUR, last_seq=10)
LOSSES: dict[str, tuple[Json, Json, list[str]]] = {
    "fewer messages": ({}, {"max_msgs": 4}, ["6 of 10 messages: max_msgs"]),
    "enough messages": ({}, {"max_msgs": 10}, []),
    "fewer bytes": ({}, {"max_bytes": 400}, ["600 of 1000 bytes of messages: max_bytes"]),
    "younger ones": ({}, {"max_age": "1h"}, ["messages older than 1h: max_age"]),
    "old enough": ({}, {"max_age": "3h"}, []),
    "an older limit": ({"max_age": "30m"}, {"max_age": "1h"}, []),
    "fewer of each subject": (
        {},
        {"max_msgs_per_subject": 2},
        ["up to 6 messages: max_msgs_per_subject"],
    ),
    "more of each subject": ({"max_msgs_per_subject": 1}, {"max_msgs_per_subject": 2}, []),
    "without interest": (
        {},
        {"retention": "interest"},
        ["up to 10 messages, those that no consumer wants: retention"],
    ),
    "another storage": ({}, {"storage": "memory"}, ["all 10 messages"]),
    "a cancelled ban": ({"deny_delete": True}, {}, ["all 10 messages"]),
    "another description": ({}, {"description": "x"}, []),
}


@pytest.mark.parametrize("case", LOSSES)
def test_what_is_lost_is_told(case: str) -> None:
    then, now, lost = LOSSES[case]
    plan = planned(document(streams={"A": then}), document(streams={"A": now}), state=STATE)
    assert list(plan.losses.get("A", ())) == lost


def test_a_consumer_that_is_replaced_loses_its_place() -> None:
    then = document(streams={"A": {"consumers": {"c": {}, "other": {}}}})
    plan = planned(then, document(streams={"A": {"consumers": {"c": {"ack_policy": "explicit"}}}}))
    place = "its place in the stream: 2 not acknowledged, 3 not delivered"
    assert (steps(plan), plan.losses) == (["replace A > c"], {"A > c": (place,)})
    whole = planned(then, document(streams={"A": {"storage": "memory", "consumers": {"c": {}}}}))
    assert steps(whole) == ["replace A", "create A > c"]
    assert whole.losses == {"A": (f"the consumer c: {place}", f"the consumer other: {place}")}


def test_others_are_left_alone() -> None:
    theirs = observed_as(declare([document(streams={"A": {}, "B": {}})], "them"))
    with pytest.raises(ConflictError, match="A belongs to them, not to us"):
        make(declare([document(streams={"A": {"max_msgs": 5}})], "us"), theirs, NOW)
    assert (
        make(declare([document(streams={"C": {}})], "us"), theirs, NOW, prune="us").pending[0].id.stream
        == "C"
    )
    # Without an owner the mark that is there is no difference, and stays.
    unowned = make(declare([document(streams={"A": {"max_msgs": 5}})]), theirs, NOW)
    (change,) = unowned.pending
    assert [each.field for each in change.changes] == ["max_msgs"]
    assert change.config is not None
    assert change.config.metadata == {"pyjs.owner": "them"}


def test_a_consumer_needs_its_stream() -> None:
    with pytest.raises(ConflictError, match="there is no stream A, and none is declared"):
        make(declare([document(consumers={"A": {"c": {}}})]), NOTHING, NOW)
    ours = observed_as(declare([document(streams={"A": {}})], "us"))
    with pytest.raises(ConflictError, match="which would be pruned"):
        make(declare([document(consumers={"A": {"c": {}}})], "us"), ours, NOW, prune="us")


def test_fields_that_documents_do_not_know_are_not_compared() -> None:
    declared = declare([document(streams={"A": {"consumers": {"c": {}}}})])
    config = stream_defaults(StreamConfig.from_json({"name": "A", "new_in_3": True}), lambda _: None)
    mine = consumer_defaults(ConsumerConfig.from_json({"durable_name": "c", "newer": 5, "name": "c"}), config)
    observed = ObservedState(
        {"": ObservedDomain({"A": ObservedStream(config, consumers={"c": ObservedConsumer(mine)})})}
    )
    assert make(declared, observed, NOW).pending == ()


def test_the_limits_of_the_account_are_defaults() -> None:
    declared = declare([document(streams={"A": {"consumers": {"c": {"ack_policy": "explicit"}}}})])
    stream = stream_defaults(StreamConfig(name="A"), lambda _: None)
    consumer = ConsumerConfig(
        durable_name="c", ack_policy="explicit", ack_wait=MINUTE // 2, max_ack_pending=7
    )
    full = consumer_defaults(consumer, stream)
    observed = ObservedState(
        {"": ObservedDomain({"A": ObservedStream(stream, consumers={"c": ObservedConsumer(full)})}, 7)}
    )
    assert make(declared, observed, NOW).pending == ()


@FEW
@given(documents(), documents())
def test_a_plan_file_says_all(then: DomainDocument, now: DomainDocument) -> None:
    declared, observed = declare([now], "us"), observed_as(declare([then], "us"))
    try:
        plan = make(declared, observed, NOW, prune="us")
    except ConflictError:
        return
    text = planfile.of_plan(plan, declared, "now", "us").text()
    read = planfile.parse(text, "plan.json")
    again = make(read.declarations(), observed, NOW, prune=read.prune)
    assert again == plan
    planfile.require_unchanged(read, again)


def test_a_plan_file_that_was_changed_is_refused() -> None:
    declared, observed = (
        declare([document(streams={"A": {"max_msgs": 5}})]),
        observed_as(declare([document(streams={"A": {}})])),
    )
    found = json.loads(planfile.of_plan(make(declared, observed, NOW), declared, "now").text())
    found["declared"][0]["config"]["max_msgs"] = 1
    changed = planfile.parse(json.dumps(found), "plan.json")
    with pytest.raises(StateChangedError, match="A"):
        planfile.require_unchanged(changed, make(changed.declarations(), observed, NOW))
    for wrong in (
        "{}",
        "[]",
        "nothing",
        json.dumps(found | {"more": 1}),
        json.dumps(found | {"declared": [{}]}),
    ):
        with pytest.raises(DocumentError):
            planfile.parse(wrong, "plan.json")
    found["declared"][0]["config"]["max_msgs"] = "many"
    with pytest.raises(DocumentError, match="cannot unmarshal"):
        planfile.parse(json.dumps(found), "plan.json")


def test_what_is_made_anew_meanwhile_is_another_world() -> None:
    declared = declare([document(streams={"A": {"max_msgs": 5}})])
    observed = observed_as(declare([document(streams={"A": {}})]))
    read = planfile.of_plan(make(declared, observed, NOW), declared, "now")
    facts = observed.domains[""].streams["A"]
    later = ObservedStream(facts.config, STATE, "tomorrow")
    busy = ObservedStream(facts.config, STATE, facts.created)
    planfile.require_unchanged(read, make(declared, ObservedState({"": ObservedDomain({"A": busy})}), NOW))
    with pytest.raises(StateChangedError, match="made anew or changed by others"):
        planfile.require_unchanged(
            read, make(declared, ObservedState({"": ObservedDomain({"A": later})}), NOW)
        )
