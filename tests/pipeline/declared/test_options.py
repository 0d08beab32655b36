"""Which options a source or sink gets: of its section, the command line, the connection, the environment."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyjs.documents.problem import DocumentError
from pyjs.pipeline.declared.options import Overlay, of_sink, of_source
from pyjs.pipeline.declared.reading import parse

TEXT = """\
name: p
CONNECTION
sources:
  a: {stream: A, subjects: [x, y.>], startingOffsets: {A: 7}, includeHeaders: true}
  b: {stream: B, domains: [north, south], Servers: "nats://b:4222"}
sinks:
  out: {from: a, format: jetstream, subject: out.a}
"""
DECLARED = "connection: {servers: nats://declared:4222, creds: d.creds}"
LINE = {"servers": "nats://line:4222"}
AROUND = {"context": "selected", "token": "t"}


def options(connection: str, overlay: Overlay) -> tuple[dict[str, str], list[dict[str, str]], dict[str, str]]:
    document = parse(
        TEXT.replace("CONNECTION", DECLARED), Path("p.yaml")
    ).document  # validated with a connection that needs no file
    if not connection:
        document = document.model_copy(update={"connection": {}})
    (a,) = of_source(document, "a", overlay)
    return a, of_source(document, "b", overlay), of_sink(document, "out", overlay)


def test_values_become_the_texts_that_the_data_source_reads() -> None:
    a, _, _ = options(DECLARED, Overlay())
    assert a == {
        "servers": "nats://declared:4222",
        "creds": "d.creds",
        "stream": "A",
        "subjects": "x,y.>",
        "startingOffsets": '{"A": 7}',
        "includeHeaders": "true",
    }


def test_each_domain_is_read_for_itself() -> None:
    _, b, _ = options(DECLARED, Overlay())
    assert [each["domain"] for each in b] == ["north", "south"]
    assert {each["stream"] for each in b} == {"B"}


def test_the_section_goes_before_the_line_and_the_line_before_the_connection() -> None:
    a, b, out = options(DECLARED, Overlay(LINE, AROUND))
    assert a["servers"] == out["servers"] == "nats://line:4222"
    assert a["creds"] == "d.creds"
    assert {each["Servers"] for each in b} == {"nats://b:4222"}
    assert "servers" not in b[0]


def test_a_context_on_the_line_replaces_the_connection() -> None:
    a, _, _ = options(DECLARED, Overlay({"context": "other"}, AROUND))
    assert (a["context"], "creds" in a, "servers" in a) == ("other", False, False)


def test_the_environment_count_only_where_no_server_is_named() -> None:
    assert "context" not in options(DECLARED, Overlay({}, AROUND))[0]
    a, _, _ = options("", Overlay({}, AROUND))
    assert (a["context"], a["token"]) == ("selected", "t")


def test_domain_and_domains_exclude_each_other() -> None:
    text = TEXT.replace("CONNECTION", DECLARED).replace("domains: [north, south]", "domains: [n], domain: m")
    with pytest.raises(DocumentError, match=r"sources\.b\.domain: is given besides domains"):
        parse(text, Path("p.yaml"))


def test_secrets_of_the_environment_are_in_no_repr() -> None:
    assert "hush" not in repr(Overlay({"token": "hush"}, {"password": "hush"}))
