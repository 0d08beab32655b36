"""Tables and values look as in the NATS documents."""

# ruff: noqa: E501 - tables are as wide as they are

from __future__ import annotations

import json

import pytest
from pyjs.cli import render

DOCUMENTED = [
    """\
╭─────────────────────────────────────────────────────────────────────────────╮
│                                Stream Report                                │
├────────┬─────────┬───────────┬──────────┬───────┬──────┬─────────┬──────────┤
│ Stream │ Storage │ Consumers │ Messages │ Bytes │ Lost │ Deleted │ Replicas │
├────────┼─────────┼───────────┼──────────┼───────┼──────┼─────────┼──────────┤
│ test   │ File    │ 0         │ 1        │ 45 B  │ 0    │ 0       │          │
╰────────┴─────────┴───────────┴──────────┴───────┴──────┴─────────┴──────────╯""",
    """\
╭────────────────────────────────────────────────────────────────────────────────────╮
│                                 Replication Report                                 │
├─────────────────────┬────────┬──────────────┬───────────────┬────────┬─────┬───────┤
│ Stream              │ Kind   │ API Prefix   │ Source Stream │ Active │ Lag │ Error │
├─────────────────────┼────────┼──────────────┼───────────────┼────────┼─────┼───────┤
│ backup-test-leaf    │ Mirror │ $JS.leaf.API │ test          │ 0.21s  │ 0   │       │
│ aggregate-test-leaf │ Source │ $JS.leaf.API │ test          │ 1.23s  │ 0   │       │
╰─────────────────────┴────────┴──────────────┴───────────────┴────────┴─────┴───────╯""",
    """\
╭─────────────────────────────────────────────────────────────────────────────────────────────────────────────────╮
│                                                JetStream Summary                                                │
├─────────────┬─────────────┬────────┬─────────┬───────────┬──────────┬───────┬────────┬──────┬─────────┬─────────┤
│ Server      │ Cluster     │ Domain │ Streams │ Consumers │ Messages │ Bytes │ Memory │ File │ API Req │ API Err │
├─────────────┼─────────────┼────────┼─────────┼───────────┼──────────┼───────┼────────┼──────┼─────────┼─────────┤
│ leaf-server │ leaf-server │ leaf   │ 0       │ 0         │ 0        │ 0 B   │ 0 B    │ 0 B  │ 0       │ 0       │
│ hub-server  │             │ hub    │ 0       │ 0         │ 0        │ 0 B   │ 0 B    │ 0 B  │ 0       │ 0       │
├─────────────┼─────────────┼────────┼─────────┼───────────┼──────────┼───────┼────────┼──────┼─────────┼─────────┤
│             │             │        │ 0       │ 0         │ 0        │ 0 B   │ 0 B    │ 0 B  │ 0       │ 0       │
╰─────────────┴─────────────┴────────┴─────────┴───────────┴──────────┴───────┴────────┴──────┴─────────┴─────────╯""",
    """\
╭────────────────────────────────────────────────────────────────────────────────────────────────────╮
│                                           Stream Report                                            │
├──────────┬─────────┬───────────┬──────────┬───────┬──────┬─────────┬───────────────────────────────┤
│ Stream   │ Storage │ Consumers │ Messages │ Bytes │ Lost │ Deleted │ Replicas                      │
├──────────┼─────────┼───────────┼──────────┼───────┼──────┼─────────┼───────────────────────────────┤
│ recv-cnc │ File    │ 0         │ 10       │ 440 B │ 0    │ 0       │ srv-4242, srv-4252*, srv-4292 │
╰──────────┴─────────┴───────────┴──────────┴───────┴──────┴─────────┴───────────────────────────────╯""",
]


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("│").split("│")]


@pytest.mark.parametrize("drawn", DOCUMENTED, ids=lambda drawn: cells(drawn.splitlines()[1])[0])
def test_a_table_is_drawn_as_in_the_documents(drawn: str) -> None:
    lines = [cells(line) for line in drawn.splitlines() if line.startswith("│")]
    footer = lines.pop() if drawn.count("├") == 3 else None
    assert render.table(lines[0][0], lines[1], lines[2:], footer) == drawn


def test_a_title_wider_than_its_columns_widens_the_last_one() -> None:
    drawn = render.table("A title of some length", ("A", "B"), [("1", "2")]).splitlines()
    assert len({len(line) for line in drawn}) == 1
    assert drawn[1] == "│ A title of some length │"


def test_wide_characters_keep_the_borders_straight() -> None:
    from rich.cells import cell_len

    drawn = render.table("T", ("Name",), [("流れ",), ("abcdef",)]).splitlines()
    assert len({cell_len(line) for line in drawn}) == 1


def test_labels_of_a_page_end_in_one_column() -> None:
    assert render.fields([("Subjects", "test"), ("Sources", "a"), ("", "b")]).splitlines() == [
        "             Subjects: test",
        "              Sources: a",
        "                       b",
    ]


@pytest.mark.parametrize(
    ("nanoseconds", "words"),
    [
        (0, "0.00s"),
        (210_000_000, "0.21s"),
        (53_840_000_000, "53.84s"),
        (62_000_000_000, "1m2s"),
        (3_723_000_000_000, "1h2m3s"),
        (93_784_000_000_000, "1d2h3m4s"),
        (31_536_000_000_000_000, "1y0d0h0m0s"),
        (-1, "never"),
        (2**63 - 1, "never"),
    ],
)
def test_spans_read_as_in_the_documents(nanoseconds: int, words: str) -> None:
    assert render.span(nanoseconds) == words


@pytest.mark.parametrize(
    ("value", "words"), [(0, "0 B"), (45, "45 B"), (1741, "1.7 KiB"), (149 * 2**20, "149 MiB")]
)
def test_sizes_read_as_in_the_documents(value: int, words: str) -> None:
    assert render.size(value) == words


def test_times_are_local_to_the_second(monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        assert render.when("2021-06-28T16:52:29.123456789Z") == "2021-06-28T12:52:29-04:00"
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize("text", ["", "0001-01-01T00:00:00Z"])
def test_the_zero_time_is_never(text: str) -> None:
    assert render.parse_time(text) is None
    assert render.since(text) == -1


@pytest.mark.parametrize(
    ("cluster", "answer"),
    [
        (None, False),
        ({"leader": "hub-server"}, False),
        ({"name": "leaf-server", "leader": "leaf-server"}, False),
        ({"name": "hub", "leader": "srv-1"}, True),
        ({"name": "hub", "leader": "hub", "replicas": [{"name": "b", "current": True}]}, True),
    ],
)
def test_a_server_that_is_alone_is_no_cluster(cluster: dict[str, object] | None, answer: bool) -> None:
    assert render.clustered(cluster) is answer


def test_replicas_are_named_with_their_leader_and_the_ones_that_are_unwell() -> None:
    cluster = {
        "leader": "srv-2",
        "replicas": [{"name": "srv-3", "current": True}, {"name": "srv-1", "current": False}],
    }
    assert render.cluster_servers(cluster) == "srv-1!, srv-2*, srv-3"


def test_json_does_not_command_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    document = {"name": "\x1b[31m \x7f \x85 \x9b31m ü"}
    render.show_json(document)
    shown = capsys.readouterr().out
    assert shown == '{\n  "name": "\\u001b[31m \\u007f \\u0085 \\u009b31m ü"\n}\n'
    assert json.loads(shown) == document
