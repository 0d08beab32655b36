"""A document is read whole or refused, with the path, line and column of each mistake."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyjs.documents.problem import DocumentError
from pyjs.pipeline.declared.options import Overlay
from pyjs.pipeline.declared.reading import LoadedDocument, parse

HEAD = """\
name: orders
connection: {servers: "nats://127.0.0.1:4222"}
"""
SOURCES = """\
sources:
  orders:
    stream: ORDERS
"""
SINKS = """\
sinks:
  lake:
    from: orders
    format: parquet
    path: out
"""
WHOLE = HEAD + SOURCES + SINKS


def read(text: str, folder: Path, trigger: str = "", overlay: Overlay | None = None) -> LoadedDocument:
    return parse(text, folder / "p.yaml", trigger=trigger, overlay=overlay or Overlay())


def mistakes(text: str, folder: Path) -> list[tuple[str, int, int, str, str]]:
    with pytest.raises(DocumentError) as caught:
        read(text, folder)
    return [(p.path, p.line, p.column, p.message, p.hint) for p in caught.value.problems]


def test_a_document_has_its_defaults(tmp_path: Path) -> None:
    document = read(WHOLE, tmp_path).document
    assert (document.name, document.trigger, document.continuous) == ("orders", "availableNow", False)
    assert document.sources["orders"].options == {"stream": "ORDERS"}
    assert document.sinks["lake"].origin == "orders"
    assert read(WHOLE, tmp_path, trigger="10 seconds").document.continuous


def test_an_unknown_key_is_reported_with_its_place_and_the_nearest_one(tmp_path: Path) -> None:
    text = WHOLE.replace("    path: out", "    path: out\n    partitonBy: [a]")
    assert mistakes(text, tmp_path) == [
        ("sinks.lake.partitonBy", 11, 5, "unknown key", "did you mean partitionBy?")
    ]


def test_all_mistakes_of_a_step_are_reported_at_once(tmp_path: Path) -> None:
    text = """\
name: 1st
triger: 10s
sources: {}
transforms:
  a: {sql: "SELECT 1", python: "x.py:f"}
sinks:
  one: {from: orders, format: parket}
  two: {from: orders, path: x}
"""
    assert [(path, line, message) for path, line, _, message, _ in mistakes(text, tmp_path)] == [
        ("name", 1, "is a name of letters, digits, - and _ that begins with a letter"),
        ("triger", 2, "unknown key"),
        ("sources", 3, "is empty"),
        ("transforms.a", 5, "has either sql or python, or from and a step such as decode"),
        ("sinks.one.format", 7, 'unknown format "parket"'),
        ("sinks.two", 8, "has no format"),
    ]


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("name: a\nname: b\n", 2, "is there twice"),
        ("name: [a\n", 2, "not YAML: "),
        ("name:\n\tx: 1\n", 2, "not YAML: "),
        ("a: &a [*a]\n", 1, "nested too deeply"),
        ("? [a]\n: b\n", 1, "a key has to be a word"),
        ("- a\n", 1, "holds no pipeline"),
        ("", 1, "holds no pipeline"),
        ("name: !!python/object:os.system x\n", 1, "not YAML: "),
        ("when: 2026-13-45\n", 1, "is none"),
    ],
)
def test_what_is_no_plain_yaml_is_refused(text: str, line: int, said: str, tmp_path: Path) -> None:
    (found,) = mistakes(text, tmp_path)
    assert found[1] == line
    assert said in found[3]


def test_merged_keys_count_and_own_ones_go_before(tmp_path: Path) -> None:
    text = HEAD + "sources:\n  a: &a {stream: A, subjects: x}\n  b: {<<: *a, stream: B}\n"
    document = read(text + SINKS.replace("orders", "b"), tmp_path).document
    assert document.sources["b"].options == {"stream": "B", "subjects": "x"}


def test_sections_are_validated_by_each_other(tmp_path: Path) -> None:
    (tmp_path / "t.py").write_text("def clean(orders, custmers): pass\n")
    text = (
        HEAD
        + """\
trigger: 10s
sources:
  orders: {stream: ORDERS}
  Orders: {stream: B}
transforms:
  a: {python: "t.py:clean"}
  b: {python: "t.py:claen"}
  c: {python: "t.py:clean", inputs: [orders, d]}
  d: {python: "none.py:f"}
sinks:
  one: {from: ordrs, format: csv, path: x}
  two: {from: orders, format: csv, path: ./x, mode: overwrite, outputMode: complete}
"""
    )
    assert [(path, message) for path, _, _, message, _ in mistakes(text, tmp_path)] == [
        ("sources.Orders", "is called as sources.orders is: Spark's tables do not tell case"),
        ("transforms.a.python", "parameter custmers: there is no table custmers"),
        ("transforms.b.python", "t.py has no function claen"),
        ("transforms.c.inputs[1]", "d comes later: a table is made of those above it"),
        ("transforms.d.python", "cannot read none.py: No such file or directory"),
        ("sinks.one.from", "there is no table ordrs"),
        ("sinks.two.path", "is that of sinks.one: each needs a folder of its own"),
        ("sinks.two.mode", "a stream only appends"),
        ("sinks.two.outputMode", "files are only appended to"),
    ]


def test_options_are_the_data_sources_own(tmp_path: Path) -> None:
    text = (
        HEAD
        + """\
sources:
  orders: {stream: ORDERS, startingOffset: earliest}
  more: {stream: ORDERS, endingOffsets: latest}
sinks:
  out: {from: orders, format: jetstream, subject: "a.*"}
"""
    )
    found = mistakes(text, tmp_path)
    assert [(path, line, column) for path, line, column, _, _ in found] == [
        ("sources.orders.startingOffset", 4, 28),
        ("sources.more.endingOffsets", 5, 26),
        ("sinks.out.subject", 7, 42),
    ]
    assert found[0][4] == "did you mean startingOffsets?"
    assert "a stream read" in found[1][3]


def test_all_mistakes_of_a_document_are_reported_at_once(tmp_path: Path) -> None:
    text = """\
name: p
triger: 10s
connection: {servers: s, startingOffsets: latest, timeout: soon}
sources:
  orders: {strem: A, minPartitions: no, failOnDataLoss: perhaps}
  third: {stream: A, startingOffsets: {C: 1, A: 2}, startingTimestamp: 2026-11-22, domains: []}
  north: {stream: A, domains: [n, s], timeout: later}
transforms:
  t: {python: "none.py:f"}
sinks:
  out: {from: ordrs, format: jetstream, subject: "a.*", guarantee: once}
  two: {from: orders, format: parquet, pth: x}
  bad: {from: orders, format: parket}
"""
    assert [(path, line) for path, line, *_ in mistakes(text, tmp_path)] == [
        ("triger", 2),
        ("connection.startingOffsets", 3),
        ("connection.timeout", 3),
        ("sources.orders.strem", 5),
        ("sources.orders.minPartitions", 5),
        ("sources.orders.failOnDataLoss", 5),
        ("sources.third.startingOffsets", 6),
        ("sources.third.startingTimestamp", 6),
        ("sources.third.domains", 6),
        ("sources.north.timeout", 7),
        ("transforms.t.python", 9),
        ("sinks.out.from", 11),
        ("sinks.out.subject", 11),
        ("sinks.out.guarantee", 11),
        ("sinks.two.path", 12),
        ("sinks.two.pth", 12),
        ("sinks.bad.format", 13),
    ]


def test_what_is_left_out_for_a_mistake_makes_no_others(tmp_path: Path) -> None:
    text = WHOLE.replace("    stream: ORDERS", "    stream: []").replace("lake:", "lake: 7\n  more:")
    assert [(path, message) for path, _, _, message, _ in mistakes(text, tmp_path)] == [
        ("sources.orders.stream", "is empty"),
        ("sinks.lake", "is a section of keys and values"),
    ]
    text = WHOLE.replace("  orders:\n    stream: ORDERS", "  orders: []")
    assert [path for path, *_ in mistakes(text, tmp_path)] == ["sources.orders"]


def test_a_date_has_to_stand_in_quotes(tmp_path: Path) -> None:
    text = WHOLE.replace("ORDERS\n", "ORDERS\n    startingTimestamp: 2026-11-22T08:00:00Z\n")
    ((path, *_, hint),) = mistakes(text, tmp_path)
    assert (path, hint) == ("sources.orders.startingTimestamp", "in quotes: YAML makes a date of it")


def test_a_connection_has_only_options_of_connections(tmp_path: Path) -> None:
    text = WHOLE.replace("{servers", "{startingOffsets: latest, servers")
    assert [(path, line) for path, line, *_ in mistakes(text, tmp_path)] == [
        ("connection.startingOffsets", 2)
    ]


@pytest.mark.parametrize("trigger", ["soon", "10", "-5s", "10 fortnights"])
def test_a_trigger_is_a_word_or_a_span(trigger: str, tmp_path: Path) -> None:
    ((path, line, *_),) = mistakes(f'trigger: "{trigger}"\n' + WHOLE, tmp_path)
    assert (path, line) == ("trigger", 1)
