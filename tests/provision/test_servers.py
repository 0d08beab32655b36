"""Random servers' states made by random documents, on both servers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, assume, given
from hypothesis import strategies as st
from lib.eventually import eventually
from lib.examples import one_in
from lib.jetstream import ALONE, JetStream
from lib.process import ServerProcess
from lib.provision_documents import WireApi, clear, documents
from pyjs.provision import (
    ChangePlan,
    ConflictError,
    DomainDocument,
    LossError,
    ObservedState,
    Result,
    StateChangedError,
    Verb,
    apply,
    declare,
    export,
    make,
    observe,
    read_domain,
)

OWNER = "team"
NOW = 1_800_000_000 * 10**9
ON_A_SERVER = one_in(
    8,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture
def js(serve: Callable[[str], ServerProcess]) -> Iterator[JetStream]:
    with JetStream.of(serve(ALONE)) as found:
        yield found


def observed_of(document: DomainDocument, js: JetStream) -> ObservedState:
    return asyncio.run(observe(declare([document], OWNER), lambda _: WireApi(js), prune=OWNER))


def plan_of(document: DomainDocument, js: JetStream) -> ChangePlan:
    return make(declare([document], OWNER), observed_of(document, js), NOW, prune=OWNER)


def is_exchange(document: DomainDocument, js: JetStream) -> bool:
    """Whether streams exchange their subjects, which cannot be done in one run."""
    try:
        plan_of(document, js)
    except ConflictError as error:
        return "no order" in error.message
    return False


def applied(document: DomainDocument, js: JetStream, left: int | None = None) -> Result:
    api = WireApi(js, left)
    return asyncio.run(apply(plan_of(document, js), lambda _: api, allow_loss=["all"]))


def shape(document: DomainDocument, js: JetStream) -> object:
    """What there is, without what the servers write and when."""
    domain = observed_of(document, js).domains[""]
    return {
        name: (stream.config.replace(metadata={}), sorted(stream.consumers))
        for name, stream in sorted(domain.streams.items())
    }


@ON_A_SERVER
@given(documents(), documents())
def test_after_apply_the_plan_is_empty(js: JetStream, first: DomainDocument, second: DomainDocument) -> None:
    clear(js)
    for document in (first, second):
        assume(not is_exchange(document, js))
        result = applied(document, js)
        assert result.error is None, (result.failed, result.error)
        assert plan_of(document, js).pending == ()
    names = {f"KV_{each}" for each in second.kv} | {f"OBJ_{each}" for each in second.objects}
    assert set(js.call("STREAM.NAMES").get("streams") or ()) == names | set(second.streams)


@ON_A_SERVER
@given(documents(), documents(), st.integers(0, 12))
def test_a_repetition_ends_the_same_wherever_it_was_interrupted(
    js: JetStream, first: DomainDocument, second: DomainDocument, left: int
) -> None:
    clear(js)
    assert applied(first, js).error is None
    assume(not is_exchange(second, js))
    whole = plan_of(second, js).pending
    cut = applied(second, js, left)
    assert (*cut.done, *([cut.failed] if cut.failed else []), *cut.not_begun) == whole
    assert isinstance(cut.error, ConnectionError) or cut.done == whole
    again = applied(second, js)
    assert again.error is None, (again.failed, again.error)
    assert plan_of(second, js).pending == ()
    interrupted = shape(second, js)
    clear(js)
    assert applied(second, js).error is None
    assert shape(second, js) == interrupted


@ON_A_SERVER
@given(documents())
def test_what_is_exported_is_what_is_there(js: JetStream, document: DomainDocument) -> None:
    clear(js)
    assert applied(document, js).error is None
    found = [
        DomainDocument.model_validate(each.document) for each in export(asyncio.run(read_domain(WireApi(js))))
    ]
    plan = make(declare(found), asyncio.run(observe(declare(found), lambda _: WireApi(js))), NOW)
    assert plan.pending == ()
    assert {each.id for each in plan.actions} == {each.id for each in declare([document])}
    clear(js)
    assert asyncio.run(apply(plan_of_all(found, js), lambda _: WireApi(js))).error is None
    assert plan_of(document, js).pending == ()


def plan_of_all(found: list[DomainDocument], js: JetStream) -> ChangePlan:
    declared = declare(found)
    return make(declared, asyncio.run(observe(declared, lambda _: WireApi(js))), NOW)


def test_messages_are_never_lost_unless_told(js: JetStream, tmp_path: Path) -> None:
    clear(js)
    before = DomainDocument.model_validate({"streams": {"A": {"subjects": ["one.*"]}}})
    assert applied(before, js).error is None
    for number in range(3):
        js.publish(f"one.{number}")
    after = DomainDocument.model_validate({"streams": {"A": {"subjects": ["one.*"], "storage": "memory"}}})
    plan = plan_of(after, js)
    assert [(each.verb, each.fixed, each.losses) for each in plan.actions] == [
        (Verb.REPLACE, ("storage",), ("all 3 messages",))
    ]
    with pytest.raises(Exception, match="all 3 messages"):
        asyncio.run(apply(plan, lambda _: WireApi(js)))
    assert js.call("STREAM.INFO.A")["state"]["messages"] == 3
    assert asyncio.run(apply(plan, lambda _: WireApi(js), allow_loss=["A"])).error is None
    assert js.call("STREAM.INFO.A")["config"]["storage"] == "memory"


class Meddled(WireApi):
    """An API where others do something right before the first request that asks for one thing."""

    def __init__(self, js: JetStream, meddle: Callable[[], object]) -> None:
        super().__init__(js)
        self.meddle: Callable[[], object] | None = meddle

    async def request(self, name: str, payload: object = None) -> dict[str, Any]:
        if ".INFO." in name and self.meddle is not None:
            self.meddle()
            self.meddle = None
        return await super().request(name, payload)


def meddled(document: DomainDocument, js: JetStream, meddle: Callable[[], object], **options: Any) -> Result:
    api = Meddled(js, meddle)
    return asyncio.run(apply(plan_of(document, js), lambda _: api, **options))


def stream(**settings: Any) -> DomainDocument:
    return DomainDocument.model_validate({"streams": {"A": {"subjects": ["one.*"], **settings}}})


def test_what_others_change_between_plan_and_apply_stays_as_they_made_it(js: JetStream) -> None:
    clear(js)
    assert applied(stream(), js).error is None

    def change() -> None:
        config = js.call("STREAM.INFO.A")["config"]
        js.call("STREAM.UPDATE.A", {**config, "max_msgs": 7})

    result = meddled(stream(max_age="1h"), js, change)
    assert isinstance(result.error, StateChangedError)
    assert js.call("STREAM.INFO.A")["config"]["max_msgs"] == 7
    assert applied(stream(max_age="1h"), js).error is None
    assert js.call("STREAM.INFO.A")["config"]["max_msgs"] == -1


def test_messages_that_come_between_plan_and_apply_are_not_lost(js: JetStream) -> None:
    clear(js)
    assert applied(stream(), js).error is None
    result = meddled(stream(storage="memory"), js, lambda: js.publish("one.late"))
    assert isinstance(result.error, LossError)
    assert js.call("STREAM.INFO.A")["state"]["messages"] == 1
    pruned = DomainDocument.model_validate({"streams": {"B": {"subjects": ["two"]}}})
    js.call("STREAM.PURGE.A")
    result = meddled(pruned, js, lambda: js.publish("one.late"))
    assert isinstance(result.error, LossError)
    assert [each.title for each in result.done] == ["B"]
    assert meddled(pruned, js, lambda: None, allow_loss=["A"]).error is None
    assert js.call("STREAM.NAMES")["streams"] == ["B"]


def test_what_somebody_does_with_a_consumer_while_it_runs_is_left_alone(js: JetStream) -> None:
    clear(js)
    first = stream(consumers={"c": {"ack_policy": "explicit"}})
    assert applied(first, js).error is None

    def pause() -> None:
        js.call("CONSUMER.PAUSE.A.c", {"pause_until": "2040-01-01T00:00:00Z"})

    second = stream(consumers={"c": {"ack_policy": "explicit", "description": "paused"}})
    assert meddled(second, js, pause).error is None
    assert plan_of(second, js).pending == ()
    config = js.call("CONSUMER.INFO.A.c")["config"]
    assert (config["pause_until"], config["description"]) == ("2040-01-01T00:00:00Z", "paused")


def test_messages_that_only_a_filter_keeps_are_not_lost_unless_told(js: JetStream) -> None:
    clear(js)

    def document(subject: str) -> DomainDocument:
        return stream(retention="interest", consumers={"c": {"ack_policy": "all", "filter_subject": subject}})

    assert applied(document("one.a"), js).error is None
    js.publish("one.a")
    plan = plan_of(document("one.b"), js)
    assert plan.losses == {"A > c": ("messages that only it wants",)}
    with pytest.raises(LossError, match="messages that only it wants"):
        asyncio.run(apply(plan, lambda _: WireApi(js)))
    assert applied(document("one.b"), js).error is None
    eventually(lambda: js.call("STREAM.INFO.A")["state"]["messages"] == 0)


def test_long_names_and_many_streams(js: JetStream) -> None:
    clear(js)
    wide = DomainDocument.model_validate(
        {
            "streams": {
                "S" * 255: {"subjects": ["long"], "consumers": {"C" * 255: {"ack_policy": "explicit"}}},
                **{f"S{n}": {"storage": "memory"} for n in range(100)},
            }
        }
    )
    assert applied(wide, js).error is None
    assert plan_of(wide, js).pending == ()
    clear(js)
