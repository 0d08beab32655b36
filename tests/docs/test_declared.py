"""The page on declared pipelines: its documents are valid, and it names every key of the sections."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pyjs.pipeline.declared import document, table_steps
from pyjs.pipeline.declared.reading import parse
from pyjs.pipeline.declared.section import PipelineSection

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "declared.md").read_text("utf-8")
DOCUMENTS = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
HEAD = "connection: {servers: s}\n"
SOURCES = "sources:\n  counted: {stream: A, expect: {a: {sql: x > 0, otherwise: drop}}}\n"
SINKS = "sinks:\n  out: {from: orders, format: console}\n"


@pytest.mark.parametrize("text", DOCUMENTS)
def test_its_documents_are_valid(text: str) -> None:
    if "name:" not in text.splitlines()[0]:
        text = "name: p\n" + text
    text += "" if "sources:" in text else SOURCES
    text += "" if "sinks:" in text else SINKS
    parse(HEAD + text, Path("p.yaml"))


@pytest.mark.parametrize(
    "section",
    [
        table_steps.Decoding,
        table_steps.Masking,
        table_steps.TableSection,
        document.SparkSource,
        document.JdbcSink,
        document.FolderSink,
        document.SparkSink,
    ],
)
def test_it_names_every_key(section: type[PipelineSection]) -> None:
    assert [key for key in section.keys() if not re.search(rf"`{key}`|\b{key}:", PAGE)] == []  # noqa: SIM118
