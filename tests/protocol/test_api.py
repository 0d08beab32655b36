"""API types against recorded JSON of nats-server 2.15.1: equal bytes, equal refusals, unknown fields."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyjs.protocol import gojson
from pyjs.protocol.api import account, cluster, consumer, messages, record, stream
from pyjs.protocol.errors import ApiError

GOLDEN = Path(__file__).parent.parent / "golden" / "api"
RESPONSES = json.loads((GOLDEN / "responses_2_15_1.json").read_text("utf-8"))
REFUSALS = json.loads((GOLDEN / "refusals_2_15_1.json").read_text("utf-8"))
KINDS: dict[str, type[record.Record]] = {
    "stream": stream.StreamInfo,
    "consumer": consumer.ConsumerInfo,
    "account": account.AccountInfo,
    "message": messages.StoredMsg,
}
RECORDS = [
    value
    for module in (account, cluster, consumer, messages, stream)
    for value in vars(module).values()
    if isinstance(value, type) and issubclass(value, record.Record) and value is not record.Record
]


@pytest.mark.parametrize(
    "case", [case for case in RESPONSES if case["kind"] in KINDS], ids=lambda c: c["subject"]
)
def test_what_the_reference_wrote_comes_back_byte_for_byte(case: dict[str, str]) -> None:
    body = gojson.decode(case["response"].encode())
    for name in ("type", "did_create", "total", "offset", "limit"):
        body.pop(name, None)
    body = body.get("message", body)
    made = KINDS[case["kind"]].from_json(body, strict=True)
    assert gojson.encode(made.to_json()) == gojson.encode(body)
    assert gojson.encode(body)[1:-1].decode() in case["response"]
    assert not made.extra


@pytest.mark.parametrize("case", REFUSALS, ids=lambda case: f"{case['type']}-{case['request'][:60]}")
def test_refusals_are_the_reference_ones(case: dict[str, str]) -> None:
    try:
        getattr(messages, case["type"]).parse(case["request"].encode("latin-1"), strict=True)
        said = ""
    except ApiError as error:
        assert (error.code, error.err_code) == (400, 10025)
        said = error.description
    assert said == case["error"]


@pytest.mark.parametrize("cls", RECORDS, ids=lambda cls: cls.__name__)
def test_every_type_reads_back_what_it_writes(cls: type[record.Record]) -> None:
    made = cls()
    made.extra["x_unknown"] = {"deep": [1, None, "é"]}
    again = cls.from_json(json.loads(gojson.encode(made.to_json())))
    assert again == made
    assert again.to_json() == made.to_json()


def test_unknown_fields_stay_at_every_depth() -> None:
    body = {
        "name": "S",
        "new_thing": 1,
        "mirror": {"name": "x", "external": {"api": "a", "deliver": "", "q": [2]}},
    }
    written = stream.StreamConfig.from_json(body).to_json()
    assert written["new_thing"] == 1
    assert written["mirror"] == body["mirror"]


def test_defaults_are_absence_not_what_a_server_fills_in() -> None:
    config = stream.StreamConfig.from_json({"name": "S"})
    assert (config.max_msgs, config.storage, config.retention, config.discard) == (0, "file", "limits", "old")


def test_a_stream_request_is_a_config_and_pedantic() -> None:
    request = messages.StreamRequest.parse(b'{"name":"S","pedantic":true,"max_msgs":5}', strict=True)
    assert request.pedantic
    assert request.config() == stream.StreamConfig(name="S", max_msgs=5)


def test_no_text_is_an_empty_request() -> None:
    assert messages.PullRequest.parse(b"  ", strict=True) == messages.PullRequest()


def test_source_info_has_the_sequence_after_the_lag() -> None:
    body = {"name": "S", "lag": 0, "seq": 3, "active": 5, "filter_subject": "s.1"}
    assert list(stream.StreamSourceInfo.from_json(body, strict=True).to_json()) == list(body)


def test_replace_is_a_deep_copy() -> None:
    config = stream.StreamConfig(name="S", subjects=["a"], metadata={"k": "v"})
    other = config.replace(name="T")
    other.subjects.append("b")
    other.metadata["k"] = "w"
    assert (config.name, config.subjects, config.metadata) == ("S", ["a"], {"k": "v"})


def test_response_envelopes() -> None:
    assert messages.response("stream_delete", success=True) == {
        "type": "io.nats.jetstream.api.v1.stream_delete_response",
        "success": True,
    }
    refused = messages.error_response("stream_info", ApiError(404, 10059, "stream not found"), total=0)
    assert list(refused) == ["type", "error", "total"]
    assert refused["error"] == {"code": 404, "err_code": 10059, "description": "stream not found"}


values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=4,
)


@given(st.sampled_from(RECORDS), st.data())
def test_any_json_gives_a_record_or_error_10025(cls: type[record.Record], data: st.DataObject) -> None:
    names = [*cls().to_json(), *getattr(cls, "__dataclass_fields__", {}), "x"]
    body = data.draw(st.dictionaries(st.sampled_from(names), values, max_size=4))
    try:
        made = cls.from_json(body, strict=data.draw(st.booleans()))
    except ApiError as error:
        assert error.err_code == 10025
        return
    gojson.encode(made.to_json())
