"""Documents: they have the API's fields, writing a default changes nothing, mistakes name their place."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lib.examples import one_in
from pyjs.documents import located_yaml
from pyjs.documents.problem import DocumentError
from pyjs.protocol import duration, size
from pyjs.protocol.api.consumer import ConsumerConfig
from pyjs.protocol.api.stream import StreamConfig
from pyjs.provision import ConflictError, DomainDocument, declare, load, parse, planfile, schema
from pyjs.provision.declared import consumer_config, stream_config
from pyjs.provision.defaults import (
    NOT_DECLARED,
    consumer_defaults,
    normal_consumer,
    normal_stream,
    stream_defaults,
)
from pyjs.provision.model import SPANS, ConsumerSection, StreamSection
from pyjs.provision.units import size_value, span_text

WHOLE = {"name", *NOT_DECLARED}


def fields_of(record: type[Any]) -> set[str]:
    return {each.name for each in dataclasses.fields(record)} - {"extra", *WHOLE}


def test_sections_have_the_fields_of_the_api() -> None:
    assert set(StreamSection.model_fields) - {"consumers"} == fields_of(StreamConfig)
    assert set(ConsumerSection.model_fields) == fields_of(ConsumerConfig)


@pytest.mark.parametrize("record", [StreamConfig, ConsumerConfig])
def test_spans_of_the_api_are_spans_of_documents(record: type[Any]) -> None:
    spans = {
        each.name
        for each in dataclasses.fields(record)
        if getattr(each.metadata.get("kind"), "go_type", "").endswith("time.Duration")
    }
    section = StreamSection if record is StreamConfig else ConsumerSection
    assert spans - WHOLE == set(section.model_fields) & SPANS


@pytest.mark.parametrize("field", sorted(set(StreamSection.model_fields) - {"consumers"}))
def test_a_default_of_a_stream_that_is_written_changes_nothing(field: str) -> None:
    usual = StreamSection().model_dump(mode="json")
    written = StreamSection.model_validate({field: usual[field]} if usual[field] is not None else {})

    def full(section: StreamSection) -> object:
        return normal_stream(stream_defaults(stream_config("S", section), lambda _: None))

    assert full(written) == full(StreamSection())


@pytest.mark.parametrize("field", sorted(ConsumerSection.model_fields))
def test_a_default_of_a_consumer_that_is_written_changes_nothing(field: str) -> None:
    usual = ConsumerSection().model_dump(mode="json")
    written = ConsumerSection.model_validate({field: usual[field]} if usual[field] is not None else {})

    def full(section: ConsumerSection) -> object:
        return normal_consumer(consumer_defaults(consumer_config("C", section), StreamConfig()))

    assert full(written) == full(ConsumerSection())


@given(st.integers(0, duration.MAX))
def test_a_span_is_written_exactly(nanoseconds: int) -> None:
    assert duration.parse(span_text(nanoseconds)) == nanoseconds


@given(st.integers(1, size.MAX) | st.integers(0, 40).map(lambda power: 1 << power))
def test_a_size_is_written_exactly(number: int) -> None:
    written = size_value(number)
    assert (size.parse(written) if isinstance(written, str) else written) == number


def test_the_schema_describes_each_section() -> None:
    found = schema()
    assert set(found["properties"]) == set(DomainDocument.model_fields)
    sections = {"StreamSection", "ConsumerSection", "KeyValueSection", "ObjectStoreSection"}
    assert sections <= set(found["$defs"])
    stream = found["$defs"]["StreamSection"]["properties"]
    assert stream["max_age"]["description"]
    origin = [{"type": "string"}, {"$ref": "#/$defs/OriginSection"}]
    assert stream["mirror"]["anyOf"][:2] == stream["sources"]["items"]["anyOf"] == origin


MISTAKES = {
    "[1, 2]": "holds no document",
    "streams: {A: {max_age: 5 minutes}}": "a.yaml:1:15: streams.A.max_age:",
    "streams: {A: {max_msgs: -2}}": "streams.A.max_msgs:",
    "streams: {A: {max_msgs: many}}": "streams.A.max_msgs:",
    "streams: {A: {subjects: [1.10]}}": "streams.A.subjects[0]:",
    "streams: {A: {}, A: {}}": "is there twice",
    "streams: {'a b': {}}": "is no name",
    "kv: {config: {history: 65}}": "kv.config.history:",
    "kv: {a.b: {}}": "kv.a.b: is no name",
    "streams: {A: {consumers: {c: {filter: x}}}}": "did you mean filter_subject",
    "streams: {A: {mirror: {name: B, opt_start_time: 2026-01-01T00:00:00Z}}}": "has to be in quotes",
    "streams: {A: {mirror: {name: B, opt_start_time: yesterday}}}": "is no time",
    "stream: {}": "did you mean streams",
    "a: &a [*a]": "nested too deeply",
    "a: &a {<<: *a}": "contains itself",
    "streams: !!python/object/apply:os.system [id]": "a.yaml:1:10: streams: the tag",
    "streams: {A: {description: !!python/name:os.system }}": "constructor for the tag",
    "streams: {A: {max_age: 1:30}}": "1:30 is 90 in YAML",
    "streams: {A: {max_msgs: 010}}": "010 is 8 in YAML",
    "a: \0": "not YAML",
    "streams: {A: {}}\n---\nstreams: {}": "single document",
    '{"pyjs_plan": 1}': "is a plan and no document",
    "name: ORDERS\nconfig: 3": "streams.ORDERS.config: is no field here",
    "config: {name: c, ack_policy: none}": "is an ephemeral consumer",
    "config: {durable_name: c}": "does not say which stream",
}


@pytest.mark.parametrize("text", MISTAKES)
def test_a_mistake_is_told_with_its_place(text: str) -> None:
    with pytest.raises(DocumentError) as raised:
        parse(text, "a.yaml")
    problems_shown = [f"{each.text('a.yaml')} {each.hint}" for each in raised.value.problems]
    assert any(MISTAKES[text] in each for each in problems_shown), problems_shown


def aliases(count: int) -> str:
    """A text whose aliases of aliases stand for 9 ** count words."""
    lines = ["a0: &a0 [x]", *(f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 9)}]" for n in range(1, count))]
    return "\n".join(lines)


def merges(count: int) -> str:
    """Mappings that take their two keys from the one before nine times."""
    lines = ["a0: &a0 {b: 1, c: 2}"]
    lines += [f"a{n}: &a{n} {{<<: [{','.join([f'*a{n - 1}'] * 9)}]}}" for n in range(1, count)]
    return "\n".join(lines)


@pytest.mark.parametrize(
    "text",
    [aliases(20), "a: [" + "1," * 3000 + "]", "[" * 100_000, "- " * 100_000, "? " * 100_000],
    ids=["aliases", "values", "brackets", "dashes", "keys"],
)
def test_a_text_that_would_become_huge_is_refused(text: str) -> None:
    with pytest.raises(DocumentError, match=r"too many values|nested too deeply"):
        located_yaml.read(text, "a.yaml", 2000)


def test_merging_costs_what_the_keys_cost() -> None:
    found = located_yaml.read(merges(100), "a.yaml", 3000).value
    assert len(found) == 100
    assert found["a99"] == {"b": 1, "c": 2}
    with pytest.raises(DocumentError, match="too many values"):
        located_yaml.read(merges(100), "a.yaml", 1500)


def test_a_file_that_is_too_large_is_not_read_whole(tmp_path: Path) -> None:
    (tmp_path / "large.yaml").touch()
    os.truncate(tmp_path / "large.yaml", 100_000_000)
    for endless in (tmp_path / "large.yaml", Path("/dev/zero")):
        with pytest.raises(DocumentError, match="has more than 16 MiB"):
            load([endless])
        with pytest.raises(DocumentError, match="has more than 16 MiB"):
            planfile.load(endless)


@one_in(4)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "streams",
                        "consumers",
                        "kv",
                        "A",
                        "max_age",
                        "sources",
                        "metadata",
                        "config",
                        "name",
                        "accounts",
                        "limits",
                    ]
                )
                | st.text(max_size=3),
                inner,
                max_size=3,
            )
        ),
    )
)
def test_whatever_a_file_holds_is_a_document_or_a_mistake(value: object) -> None:
    text = json.dumps(value)
    for name in ("a.json", "a.yaml"):
        with contextlib.suppress(DocumentError):
            parse(text, name)


def test_json_is_read_as_json() -> None:
    found = parse('{"streams": {"A": {"description": "\\u2028\\/"}}}', "a.json")
    assert found.streams["A"].description == "\u2028/"
    with pytest.raises(DocumentError, match="A is there twice"):
        parse('{"streams": {"A": {}, "A": {}}}', "a.json")
    with pytest.raises(DocumentError, match=r"a\.json:1:2: not JSON"):
        parse("{,}", "a.json")
    with pytest.raises(DocumentError, match="nested too deeply"):
        parse("[" * 100_000, "a.json")
    with pytest.raises(DocumentError, match=r"a\.json: not JSON"):
        parse("1" * 5000, "a.json")


def test_a_folder_is_read_whole_and_hidden_files_are_not(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / ".git").mkdir()
    (tmp_path / "empty").mkdir()
    (tmp_path / "a.yaml").write_text("streams: {A: {}}")
    (tmp_path / "below/b.json").write_text(json.dumps({"streams": {"B": {}}}))
    (tmp_path / ".git/c.yaml").write_text("streams: {C: {}}")
    (tmp_path / "notes.txt").write_text("streams: {D: {}}")
    assert [list(each.streams) for each in load([tmp_path])] == [["A"], ["B"]]
    with pytest.raises(DocumentError, match="has no documents"):
        load([tmp_path / "empty"])


def test_a_stream_and_a_bucket_of_the_same_name_do_not_go_together() -> None:
    pair: list[dict[str, Any]] = [{"kv": {"x": {}}}, {"streams": {"KV_x": {}}}]
    documents = [DomainDocument.model_validate(each) for each in pair]
    with pytest.raises(ConflictError, match="KV_x is declared twice"):
        declare(documents)
    in_domains = [
        DomainDocument.model_validate({"domain": name, "streams": {"A": {}}}) for name in ("hub", "leaf")
    ]
    assert len(declare(in_domains).streams) == 2
