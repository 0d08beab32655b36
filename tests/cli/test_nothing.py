"""A list with nothing in it is an empty list in every form, and people are told in words."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from lib.cli import Cli
from lib.process import ServerProcess

CONFIG = """
listen: "127.0.0.1:<client>"
server_name: empty
jetstream { store_dir: "<store>" }
"""
# Lines, and how they end if there is nothing: as those of nats do, which fails or not.
EMPTY = {
    "stream ls": 0,
    "stream find": 0,
    "stream report": 0,
    "consumer ls BARE": 0,
    "consumer find BARE": 0,
    "consumer report BARE": 0,
    "stream subjects BARE": 0,
    "stream gaps BARE": 0,
    "stream view BARE": 0,
    "kv ls": 0,
    "kv ls CONFIG": 0,
    "object ls": 0,
    "object ls FILES": 0,
    "dlq ls": 0,
    "dlq ls BARE": 0,
    "dlq replay BARE --all --dry-run": 0,
    "counter list --stream COUNTS": 3,
    "service ls": 3,
    "service ping": 0,
    "errors ls nosuchword": 3,
    "schema search nosuchword": 0,
    "context ls": 0,
    "auth operator ls": 0,
    "pipeline ls": 0,
}
SILENT = {"consumer find BARE", "stream view BARE", "service ping"}  # on stdout, as nats


@pytest.fixture
def empty(cli: Cli, serve: Callable[[str], ServerProcess]) -> Callable[[str], Cli]:
    """The command line at a server that has nothing, or for a line about a stream, little."""
    found = cli.with_flags("--server", serve(CONFIG).url)

    def ready(line: str) -> Cli:
        name = line.split()[2:3]
        if name == ["BARE"] and found.run("stream", "info", "BARE").code:
            found.ok("stream", "add", "BARE", "--subjects", "bare", "--defaults")
            found.ok("dlq", "add", "BARE")
        if name == ["CONFIG"]:
            found.run("kv", "add", "CONFIG")
        if name == ["FILES"]:
            found.run("object", "add", "FILES")
        if name == ["--stream"] and found.run("stream", "info", "COUNTS").code:
            found.ok("stream", "add", "COUNTS", "--subjects", "c.*", "--allow-counter", "--defaults")
        if len(line.split()) == 2:
            for each in found.ok("stream", "ls", "--names", "--all").split():
                found.ok("stream", "rm", each, "--force")
        return found

    return ready


@pytest.mark.parametrize("line", EMPTY)
@pytest.mark.parametrize("implementation", ["reference"], indirect=True)
def test_nothing_is_an_empty_list_in_every_form(empty: Callable[[str], Cli], line: str) -> None:
    cli = empty(line)
    words = line.split()
    form = "--output" if line.endswith("report") or "report " in line else "-o"
    results = {
        each: cli.run(*words, form, each) for each in ("json", "ndjson", "yaml", "csv", "md", "name", "wide")
    }
    assert {each: result.code for each, result in results.items()} == dict.fromkeys(results, EMPTY[line])
    document = json.loads(results["json"].out)
    lists = document.values() if isinstance(document, dict) else [document]
    assert [each for each in lists if each] == []
    assert results["ndjson"].out == results["name"].out == ""
    assert results["yaml"].out == "[]\n" or document
    assert results["csv"].out.count("\n") == 1
    shown = cli.run(*words)
    assert shown.code == EMPTY[line]
    said = shown.err if EMPTY[line] or line in SILENT else shown.out
    assert said.strip() or line == "consumer find BARE"
    assert results["md"].out.strip() or EMPTY[line]
