"""Whatever lists or shows something prints valid output in each form of `-o`, on both servers."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from typing import Any

import pytest
import yaml
from lib.cli import Cli
from lib.process import ServerProcess
from pyjs.cli.output.options import FORMATS

from .test_outputs import CONFIG, OF_ACCOUNT, OF_SYSTEM

MORE = (
    "bench pub x --msgs 10 --size 10 --no-progress",
    "bench js pub sync orders.a --stream ORDERS --msgs 3 --size 10 --no-progress",
    "consumer report EMPTY",
    "consumer ls EMPTY",
    "context info home",
    "dlq ls",
    "dlq ls ORDERS",
    "errors ls",
    "errors lookup 10059",
    "explain stream ORDERS",
    "explain consumer ORDERS C",
    "explain subject orders.a",
    "kv ls",
    "kv ls B",
    "kv info B",
    "kv get B k",
    "kv history B k",
    "object ls",
    "object ls O",
    "object info O",
    "object info O thing",
    "pipeline ls",
    "schema cli stream report",
    "schema info io.nats.jetstream.api.v1.stream_create_request",
    "stream gaps EMPTY",
    "stream subjects EMPTY",
    "stream get ORDERS -S orders.b",
    "stream get ORDERS 4",
)
FINDINGS = (0, 1, 2)  # of commands whose exit code says what they found


@pytest.fixture
def at(cli: Cli, serve: Callable[[str], ServerProcess]) -> Callable[[str], Cli]:
    """Return the user who may run a line, of a server with some of everything."""
    url = serve(CONFIG).url
    app = cli.with_flags("--server", url, "--user", "app", "--password", "a")
    if app.run("stream", "info", "EMPTY").code:
        app.ok("stream", "add", "ORDERS", "--subjects", "orders.>", "--defaults")
        app.ok("stream", "add", "COPY", "--source", "ORDERS", "--defaults")
        app.ok("stream", "add", "EMPTY", "--subjects", "empty", "--defaults")
        app.ok("consumer", "add", "ORDERS", "C", "--pull", "--defaults")
        for body in ("x", 'a "comma", a | and\na second line', "ünïcode ✓", "x" * 300):
            app.ok("pub", "--jetstream", "orders.b", body, "-H", "Some:header")
        app.ok("stream", "rmm", "ORDERS", "2", "-f")
        app.ok("dlq", "add", "ORDERS")
        app.ok("consumer", "next", "ORDERS", "C", "--term")
        app.ok("kv", "add", "B", "--history", "5")
        for value in ("v", "a,b|c", ""):
            app.ok("kv", "put", "B", "k", value)
        app.ok("object", "add", "O")
        (cli.home / "thing").write_text("an object")
        app.ok("object", "put", "O", "thing", "--name", "thing", "--no-progress")
    app.ok("context", "save", "home", "--description", "here, | there")
    system = cli.with_flags("--server", url, "--user", "sys", "--password", "s")
    return lambda line: system if line.startswith("server") else app


def _is_json(text: str) -> None:
    json.loads(text)


def _is_ndjson(text: str) -> None:
    for line in text.splitlines():
        json.loads(line)


def _is_yaml(text: str) -> None:
    assert "\t" not in text
    yaml.safe_load(text)


def _is_csv(text: str) -> None:
    rows = list(csv.reader(io.StringIO(text), strict=True))
    assert rows and {len(row) for row in rows} == {len(rows[0])}
    assert len(set(rows[0])) == len(rows[0])  # each column has a name of its own


def _is_md(text: str) -> None:
    assert not set("╭│├╰") & set(text)
    width = 0
    for line in text.splitlines():
        cells = len(re.findall(r"(?<!\\)\|", line)) if line.startswith("|") else 0
        assert not (width and cells) or cells == width, line
        width = cells


def _is_names(text: str) -> None:
    assert all(line.strip() for line in text.splitlines())


def _is_shown(text: str) -> None:
    assert "\x1b" not in text


CHECKS: dict[str, Callable[[str], Any]] = {
    "table": _is_shown,
    "wide": _is_shown,
    "json": _is_json,
    "ndjson": _is_ndjson,
    "yaml": _is_yaml,
    "csv": _is_csv,
    "md": _is_md,
    "name": _is_names,
}


@pytest.mark.parametrize("form", FORMATS)
def test_each_form_is_what_its_name_says(at: Callable[[str], Cli], form: str) -> None:
    wrong = []
    for line in (*OF_ACCOUNT, *OF_SYSTEM, *MORE, "doctor"):
        result = at(line).run(*line.split(), "--output", form)
        if result.code not in (FINDINGS if line.startswith(("doctor", "explain")) else (0,)):
            wrong.append(f"{line}: {result.code}: {result.err}")
            continue
        try:
            CHECKS[form](result.out)
        except (AssertionError, ValueError, csv.Error, yaml.YAMLError) as error:
            wrong.append(f"{line}: {error!r}: {result.out[:300]}")
        if "Traceback" in result.err:
            wrong.append(f"{line}: {result.err}")
    assert not wrong, "\n".join(wrong)
