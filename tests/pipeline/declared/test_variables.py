"""Variables of a document: where their values come from, and what is said of one without a value."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyjs.documents.problem import DocumentError
from pyjs.pipeline.declared.reading import LoadedDocument, parse
from pyjs.pipeline.declared.variables import NONE, Variables

TEXT = """\
name: p
connection: {servers: s}
sources:
  orders: {stream: "${STREAM:-ORDERS}", subjects: ["orders.${KIND}"]}
sinks:
  lake: {from: orders, format: parquet, path: "out/${KIND}/$${x}"}
"""


def read(text: str, variables: Variables = NONE) -> LoadedDocument:
    return parse(text, Path("p.yaml"), variables=variables)


def mistakes(text: str, variables: Variables = NONE) -> list[tuple[str, int, str, str]]:
    with pytest.raises(DocumentError) as caught:
        read(text, variables)
    return [(each.path, each.line, each.message, each.hint) for each in caught.value.problems]


def test_a_value_is_that_of_the_line_or_the_environment_or_the_default(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("KIND", "tea")
    found = read(TEXT)
    assert found.document.sources["orders"].options == {"stream": "ORDERS", "subjects": ["orders.tea"]}
    assert found.document.sinks["lake"].path == "out/tea/${x}"  # type: ignore[union-attr]
    found = read(TEXT, Variables({"KIND": "coffee", "STREAM": "OTHER"}))
    assert found.document.sources["orders"].options == {"stream": "OTHER", "subjects": ["orders.coffee"]}
    assert read(TEXT, Variables(implied={"KIND": "milk"})).document.sinks["lake"].path == "out/milk/${x}"  # type: ignore[union-attr]


def test_a_value_changes_no_structure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORDS", "x\nname: other\n${STREAM} &a *a")
    text = TEXT.replace("${KIND}", "k").replace("sources:", 'description: "${WORDS}"\nsources:')
    document = read(text).document
    assert (document.name, document.description) == ("p", "x\nname: other\n${STREAM} &a *a")


def test_numbers_and_truths_are_read_from_the_text() -> None:
    text = TEXT.replace('parquet, path: "out/${KIND}/$${x}"', 'console, rows: "${ROWS}"')
    document = read(text, Variables({"ROWS": "7", "KIND": "x"})).document
    assert document.sinks["lake"].rows == 7  # type: ignore[union-attr]


def test_what_has_no_value_is_said_with_its_place_and_the_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KIND", raising=False)
    hint = "--set KIND=VALUE, the environment, or a default: ${KIND:-VALUE}"
    assert mistakes(TEXT) == [
        ("sources.orders.subjects[0]", 4, "the variable KIND has no value", hint),
        ("sinks.lake.path", 6, "the variable KIND has no value", hint),
    ]
    (found,) = mistakes(TEXT.replace("${KIND}", "${kind.x}", 1).replace("/${KIND}", ""))
    assert found[:3] == ("sources.orders.subjects[0]", 4, "${ begins no variable")


def test_a_value_that_the_document_does_not_use_is_a_mistake() -> None:
    assert mistakes(TEXT, Variables({"KIND": "x", "STREM": "y"})) == [
        ("--set STREM", 1, "the document has no such variable", "did you mean STREAM?")
    ]


def test_the_text_on_record_has_the_variables_and_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KIND", "tea")
    monkeypatch.setenv("PASS", "hunter2")
    base = '  base: {from: orders, format: jdbc, url: "jdbc:x:y", table: t, password: "${PASS}"}\n'
    found = read(TEXT + base)
    assert found.document.sinks["base"].password == "hunter2"  # type: ignore[union-attr]
    assert found.text == TEXT + base
    assert "hunter3" not in read(TEXT + base.replace("${PASS}", "${OTHER:-hunter3}")).text
