"""What a pipeline consists of: the names that queries and functions read, and how it is described."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyjs.pipeline.declared import functions, plan
from pyjs.pipeline.declared.reading import parse

TEXT = """\
name: p
trigger: 10s
connection: {servers: "nats://u:s3cret@h:4222"}
sources:
  orders: {stream: ORDERS, subjects: "orders.>", watermark: {column: timestamp, delay: 5 minutes}}
  spare: {streams: [A, B], domains: [n, s]}
transforms:
  parsed:
    sql: |
      SELECT 'spare' AS word, o.* -- not from spare
      FROM Orders o /* nor spare */
  cleaned: {python: "t.py:clean"}
  chosen: {python: "t.py:any_name", inputs: [cleaned]}
sinks:
  lake: {from: cleaned, format: parquet, path: out, partitionBy: [day]}
  db: {from: chosen, format: jdbc, url: "jdbc:derby:db;password=s3cret", table: t}
  back: {from: chosen, format: jetstream, subject: back.to}
  screen: {from: parsed, format: console, rows: 5}
"""


def test_a_plan_says_what_is_read_made_and_written(tmp_path: Path) -> None:
    (tmp_path / "t.py").write_text("def clean(parsed, limit=3): ...\ndef any_name(x): ...\n")
    loaded = parse(TEXT, tmp_path / "p.yaml")
    steps = {step.name: step for step in plan.steps(loaded.document, loaded.folder)}
    assert {name: step.reads for name, step in steps.items() if step.kind != "source"} == {
        "parsed": ("orders",),
        "cleaned": ("parsed",),
        "chosen": ("cleaned",),
        "lake": ("cleaned",),
        "db": ("chosen",),
        "back": ("chosen",),
        "screen": ("parsed",),
    }
    assert [name for name, step in steps.items() if not step.used] == ["spare"]
    assert steps["orders"].what == "stream ORDERS; subjects orders.>; timestamp may be 5 minutes late"
    assert steps["spare"].what == "stream A,B; domains n, s"
    assert steps["lake"].what == "parquet out by day"
    assert steps["db"].what == "jdbc jdbc:derby:db;password=******** table t (at least once)"
    assert steps["screen"].what == "console, 5 rows of a batch"
    assert plan.trigger(loaded.document) == "a batch every 10 s until stopped"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("def f(a, b, c=1): ...", ("a", "b")),
        ("def f(): ...", ()),
        ("import functools\n@functools.cache\ndef f(a): ...", None),
        ("from operator import add as f", None),
        ("f = lambda a: a", None),
        ("from operator import *", None),
    ],
)
def test_a_function_is_validated_by_its_source(
    source: str, expected: tuple[str, ...] | None, tmp_path: Path
) -> None:
    (tmp_path / "t.py").write_text(source)
    assert functions.read_parameters("t.py:f", tmp_path).parameters == expected


def test_validating_runs_nothing(tmp_path: Path) -> None:
    (tmp_path / "t.py").write_text("raise SystemExit('run')\ndef f(a): ...\n")
    assert functions.read_parameters("t.py:f", tmp_path).parameters == ("a",)


@pytest.mark.parametrize(
    ("source", "named", "said"),
    [
        ("def f(: ...", "t.py:f", "is not Python"),
        ("def g(): ...", "t.py:f", "has no function f"),
        ("", "no_such_module_here:f", "there is no module no_such_module_here"),
        ("", "no_such_package.inner:f", "cannot be found"),
    ],
)
def test_a_function_that_is_not_there_is_reported(source: str, named: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "t.py").write_text(source)
    with pytest.raises(functions.FunctionError, match=said):
        functions.read_parameters(named, tmp_path)


def test_what_an_import_raises_is_reported(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("import no_such_thing\ndef f(a): ...\n")
    with pytest.raises(functions.FunctionError, match=r"broken\.py cannot be imported: ModuleNotFoundError"):
        functions.load("broken.py:f", tmp_path)


def test_a_files_function_is_loaded_with_what_stands_beside_it(tmp_path: Path) -> None:
    (tmp_path / "beside_the_document.py").write_text("FACTOR = 3\n")
    (tmp_path / "times.py").write_text(
        "from beside_the_document import FACTOR\ndef f(a): return a * FACTOR\n"
    )
    assert functions.load("times.py:f", tmp_path)(2) == 6
