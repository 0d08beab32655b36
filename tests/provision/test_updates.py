"""Which fields an update changes: a plan says what servers do. And documents for two domains."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from lib.jetstream import ALONE, ApiFailureError, JetStream
from lib.leaf_pair import Pair, api
from lib.process import ServerProcess
from lib.provision_documents import WireApi, clear
from pyjs.provision import ChangePlan, ConflictError, DomainDocument, Verb, apply, declare, make, observe

NOW = 1_800_000_000 * 10**9
Json = dict[str, Any]
S = 10**9
# (field, before, after) of a stream with the subject s, and of its consumer; None: left out
STREAM: list[tuple[str, Any, Any]] = [
    ("description", None, "x"),
    ("subjects", ["s"], ["s", "t"]),
    ("retention", None, "interest"),
    ("retention", "interest", None),
    ("retention", None, "workqueue"),
    ("retention", "workqueue", None),
    ("retention", "workqueue", "interest"),
    ("max_consumers", None, 5),
    ("max_consumers", 5, 7),
    ("max_msgs", 10, None),
    ("max_bytes", None, 10_000),
    ("max_age", "1h", "2h"),
    ("max_msgs_per_subject", None, 3),
    ("max_msg_size", None, 100),
    ("discard", None, "new"),
    ("storage", "file", "memory"),
    ("no_ack", None, True),
    ("duplicate_window", "1m", None),
    ("first_seq", 5, None),
    ("subject_transform", None, {"src": "s", "dest": "u"}),
    ("republish", None, {"src": "s", "dest": "again"}),
    ("republish", {"src": "s", "dest": "again"}, None),
    ("allow_direct", None, True),
    ("deny_delete", None, True),
    ("deny_delete", True, None),
    ("deny_purge", True, None),
    ("allow_rollup_hdrs", True, None),
    ("consumer_limits", None, {"max_ack_pending": 2000}),
    ("allow_msg_ttl", None, True),
    ("allow_msg_ttl", True, None),
    ("subject_delete_marker_ttl", None, "1m"),
    ("persist_mode", None, "async"),
    ("metadata", {"a": "b"}, {"c": "d"}),
]
CONSUMER: list[tuple[str, Any, Any]] = [
    ("description", None, "x"),
    ("deliver_policy", None, "new"),
    ("ack_policy", "explicit", "all"),
    ("ack_wait", None, "1m"),
    ("max_deliver", 5, None),
    ("backoff", None, ["1s", "2s"]),
    ("filter_subject", None, "s"),
    ("filter_subjects", ["s"], None),
    ("replay_policy", None, "original"),
    ("sample_freq", None, "30"),
    ("max_waiting", None, 7),
    ("max_ack_pending", 7, None),
    ("headers_only", None, True),
    ("max_batch", None, 5),
    ("max_expires", None, "1m"),
    ("max_bytes", None, 1000),
    ("inactive_threshold", None, "1h"),
    ("mem_storage", None, True),
    ("metadata", {"a": "b"}, None),
    ("deliver_subject", None, "there"),
    ("deliver_subject", "here", "there"),
    ("deliver_subject", "here", None),
]


@pytest.fixture
def js(serve: Callable[[str], ServerProcess]) -> Iterator[JetStream]:
    with JetStream.of(serve(ALONE)) as found:
        clear(found)
        yield found


def section(usual: Json, field: str, value: Any) -> Json:
    return {**usual, **({} if value is None else {field: value})}


def planned(document: Json, js: JetStream) -> ChangePlan:
    declared = declare([DomainDocument.model_validate(document)])
    return make(declared, asyncio.run(observe(declared, lambda _: WireApi(js))), NOW)


def applied(document: Json, js: JetStream) -> None:
    result = asyncio.run(apply(planned(document, js), lambda _: WireApi(js), allow_loss=["all"]))
    assert result.error is None, (result.failed, result.error)


@pytest.mark.parametrize("change", STREAM, ids=str)
def test_a_stream_is_replaced_where_no_update_can_change_it(
    js: JetStream, change: tuple[str, Any, Any]
) -> None:
    field, before, after = change
    applied({"streams": {"A": section({"subjects": ["s"]}, field, before)}}, js)
    then = {"streams": {"A": section({"subjects": ["s"]}, field, after)}}
    (action,) = planned(then, js).pending
    assert action.config is not None
    try:
        js.call("STREAM.UPDATE.A", action.config.to_json())
        accepted = True
    except ApiFailureError:
        accepted = False
    assert (action.verb is Verb.CHANGE) == accepted, (action.verb, action.fixed)
    applied(then, js)
    assert planned(then, js).pending == ()


@pytest.mark.parametrize("change", CONSUMER, ids=str)
def test_a_consumer_is_replaced_where_no_update_can_change_it(
    js: JetStream, change: tuple[str, Any, Any]
) -> None:
    field, before, after = change

    def document(value: Any) -> Json:
        consumer = section({"ack_policy": "explicit"}, field, value)
        return {"streams": {"A": {"subjects": ["s", "t"], "consumers": {"c": consumer}}}}

    applied(document(before), js)
    (action,) = planned(document(after), js).pending
    assert action.config is not None
    try:
        request = {"stream_name": "A", "config": action.config.to_json(), "action": "update"}
        js.call("CONSUMER.CREATE.A.c", request)
        accepted = True
    except ApiFailureError:
        accepted = False
    assert (action.verb is Verb.CHANGE) == accepted, (action.verb, action.fixed)
    applied(document(after), js)
    assert planned(document(after), js).pending == ()


@pytest.mark.parametrize("kind", ["reference", "pyjs"])
def test_documents_for_two_domains_are_applied_over_one_connection(kind: str, tmp_path: Any) -> None:
    pair = Pair(kind, kind)
    try:
        pair.joined()
        with api(pair.hub) as js:
            hub = DomainDocument.model_validate(
                {"domain": "hub", "streams": {"ALL": {"sources": [{"name": "ORDERS", "domain": "leaf"}]}}}
            )
            leaf = DomainDocument.model_validate(
                {"domain": "leaf", "streams": {"ORDERS": {"subjects": ["orders.*"]}}}
            )
            declared = declare([hub, leaf])

            def api_of(domain: str) -> WireApi:
                return WireApi(JetStream(js.wire, f"$JS.{domain}.API"))

            plan = make(declared, asyncio.run(observe(declared, api_of)), NOW)
            assert [each.title for each in plan.pending] == ["ORDERS in leaf", "ALL in hub"]
            assert asyncio.run(apply(plan, api_of)).error is None
            assert make(declared, asyncio.run(observe(declared, api_of)), NOW).pending == ()
            # The domain of the connection is the hub's: pruning would take what the other document declares.
            mixed = declare([hub, DomainDocument.model_validate({"streams": {"B": {}}})])
            prefixes = {"": "$JS.API", "hub": "$JS.hub.API"}
            with pytest.raises(ConflictError, match="name the domain hub and others none"):
                asyncio.run(observe(mixed, lambda each: WireApi(JetStream(js.wire, prefixes[each]))))
    finally:
        pair.close()
