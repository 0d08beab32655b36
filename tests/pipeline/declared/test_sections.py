"""Sections of other formats and of steps: what is read, and which mistakes are told with which cure."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyjs.documents.problem import DocumentError
from pyjs.pipeline.declared import plan
from pyjs.pipeline.declared.document import FolderSink, SparkSink, SparkSource
from pyjs.pipeline.declared.reading import LoadedDocument, parse

HEAD = "name: p\nconnection: {servers: s}\n"
STREAM = "sources:\n  orders: {stream: ORDERS}\n"
SINK = "sinks:\n  lake: {from: orders, format: orc, path: out}\n"


def read(text: str) -> LoadedDocument:
    return parse(HEAD + text, Path("p.yaml"))


def mistakes(text: str) -> list[tuple[str, int, str, str]]:
    with pytest.raises(DocumentError) as caught:
        read(text)
    return [(each.path, each.line, each.message, each.hint) for each in caught.value.problems]


SOURCES = """\
sources:
  orders: {stream: ORDERS}
  clicks: {format: kafka, options: {subscribe: clicks}}
  items: {format: parquet, path: items}
  files: {format: json, as: stream, path: in, schema: "a INT"}
  names: {bucket: names, lastPerSubject: true, as: table}
  own: {format: com.acme.Source, table: a.b}
sinks:
  lake: {from: orders, format: orc, path: out}
  topic: {from: clicks, format: kafka, options: {topic: t}}
  hudi: {from: orders, format: hudi, table: shop.orders}
"""


def test_any_format_of_spark_is_a_source_or_a_sink() -> None:
    document = read(SOURCES).document
    assert [name for name in document.sources if document.streams(name)] == ["orders", "clicks", "files"]
    assert isinstance(document.sources["own"], SparkSource)
    assert isinstance(document.sinks["lake"], FolderSink)
    assert isinstance(document.sinks["hudi"], SparkSink)
    steps = plan.steps(document, Path())
    assert [step.what for step in steps] == [
        "stream ORDERS",
        "kafka as a stream",
        "parquet items",
        "json in as a stream",
        "stream ; as a table",
        "com.acme.Source a.b",
        "orc out",
        "kafka",
        "hudi shop.orders",
    ]


def test_a_batch_reads_all_sources_as_tables() -> None:
    text = SOURCES.replace("as: stream, ", "")
    document = read("trigger: batch\n" + text).document
    assert not any(document.streams(name) for name in document.sources)
    assert mistakes("trigger: batch\n" + SOURCES) == [
        (
            "sources.files.as",
            8,
            "trigger: batch reads tables",
            "trigger: availableNow reads what has come since the last run, and ends",
        )
    ]


@pytest.mark.parametrize(
    ("text", "path", "said", "hint"),
    [
        (
            "sources:\n  a: {format: parqet, path: x}\n" + SINK.replace("orders", "a"),
            "sources.a.format",
            'unknown format "parqet"',
            "did you mean parquet?",
        ),
        (
            STREAM + SINK.replace("orc", "kafak"),
            "sinks.lake.format",
            'unknown format "kafak"',
            "did you mean kafka?",
        ),
        (
            "sources:\n  orders: {format: parquet, path: x, pth: y}\n  s: {stream: S}\n" + SINK,
            "sources.orders.pth",
            "unknown key",
            "did you mean path?",
        ),
        (
            "sources:\n  orders: {format: parquet, path: x}\n" + SINK,
            "sources",
            "there is no stream among them",
            "trigger: batch for tables alone; as: stream for files or topics that grow",
        ),
        (
            STREAM + "  t: {format: parquet, path: x, table: y}\n" + SINK,
            "sources.t",
            "has either path or table",
            "",
        ),
        (
            STREAM + SINK + "  d: {from: deadLetters, format: json, path: d}\n",
            "sinks.d.from",
            "there are no dead letters: no step drops rows",
            "otherwise: drop, of decode or an expectation, makes dead letters",
        ),
        (
            STREAM + "  deadletters: {stream: A}\n" + SINK,
            "sources.deadletters",
            "is called as the table of all dead letters is: Spark's tables do not tell case",
            "",
        ),
        (
            STREAM + "transforms: {a: {from: ordrs, decode: json}}\n" + SINK,
            "transforms.a.from",
            "there is no table ordrs",
            "did you mean orders?",
        ),
    ],
)
def test_mistakes_about_formats_and_tables(text: str, path: str, said: str, hint: str) -> None:
    assert [(each[0], each[2], each[3]) for each in mistakes(text)] == [(path, said, hint)]


STEPS = """\
sources:
  orders:
    stream: ORDERS
    STEP
"""


@pytest.mark.parametrize(
    ("step", "path", "said"),
    [
        ("decode: xml", "decode", "is one of 'json', 'csv', 'avro' or 'protobuf'"),
        ("decode: csv", "decode", "csv has a schema: such as 'a BIGINT, b STRING'"),
        ("decode: avro", "decode", "avro has a schema: Avro's JSON, or a file with it"),
        (
            "decode: protobuf",
            "decode",
            "protobuf has message (its name) and descriptor (a file made by protoc)",
        ),
        ("decode: {format: json, message: M}", "decode", "message and descriptor are for protobuf"),
        ("decode: {format: json, schema: a INT, sample: 7}", "decode", "has either schema or sample"),
        ("decode: {format: json, shema: a INT}", "decode.shema", "unknown key"),
        (
            "expect: {a: {sql: x > 0, otherwise: dorp}}",
            "expect.a.otherwise",
            "is one of 'fail', 'drop' or 'warn'",
        ),
        ("expect: {a: {sq: x > 0}}", "expect.a.sql", "is missing"),
        ("mask: {a: md5}", "mask.a", "is one of 'hmac', 'sha2', 'redact' or 'null'"),
        ("mask: {a: hmac}", "mask.a", "hmac has a secret, such as env://NAME: without one it can be guessed"),
        (
            "mask: {a: {method: hmac, secret: hunter2}}",
            "mask.a.secret",
            "is a reference to the secret: env://NAME or file://PATH",
        ),
        ("mask: {a: {method: 'null', last: 4}}", "mask.a", "text and last are for redact"),
    ],
)
def test_mistakes_in_steps(step: str, path: str, said: str) -> None:
    found = mistakes(STEPS.replace("STEP", step) + SINK)
    assert (found[0][0], found[0][1], found[0][2]) == (f"sources.orders.{path}", 6, said)
    assert "hunter2" not in str(found)


def test_steps_are_in_the_plan_without_their_secrets() -> None:
    step = """decode: {format: json, schema: a INT, otherwise: drop}
    expect: {positive: a > 0}
    mask: {a: {method: hmac, secret: "env://KEY"}}"""
    loaded = read(STEPS.replace("STEP", step) + SINK + "  d: {from: deadLetters, format: json, path: d}\n")
    first, _, dead = plan.steps(loaded.document, Path())
    assert (
        first.what == "stream ORDERS; data is json, else drop; positive: a > 0, else fail; a masked by hmac"
    )
    assert (first.used, dead.reads) == (True, ("deadLetters",))
