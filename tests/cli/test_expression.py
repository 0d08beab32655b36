"""Expressions over records: what holds, what is a mistake, and that they reach nothing but the record."""

from __future__ import annotations

import pytest
from pyjs.cli.errors import UsageError
from pyjs.cli.expression import compiled

RECORD = {
    "config": {
        "name": "ORDERS",
        "subjects": ["js.in.orders_1", "orders.>"],
        "max_age": 3_600_000_000_000,
        "placement": None,
    },
    "state": {"messages": 12, "bytes": 1.5, "first_ts": "2026-11-01T00:00:00Z"},
    "info": {"cluster": {"name": "lon", "replicas": [{"name": "a", "lag": 0}, {"name": "b", "lag": 7}]}},
}


def holds(text: str) -> bool:
    return compiled(text, RECORD)(RECORD)


@pytest.mark.parametrize(
    "text",
    [
        "state.messages > 10",
        "state.messages >= 12 && state.messages <= 12",
        '"js.in.orders_1" in config.subjects',
        "'x' not in config.subjects",
        'info.cluster.name in ["lon", "sfo"]',
        "info['cluster'].name == `lon`",
        "not (state.messages == 0) or false",
        "!false and not false",
        "2 + 3 * 4 == 14 and (2 + 3) * 4 == 20",
        "7 % 4 == 3 && 2 ** 3 ** 2 == 512 and -2 + 3 == 1 && 10 / 4 == 2.5",
        "0x10 == 16 and 1_000 == 1000 and 1.5e1 == 15",
        "config.name matches '^ORD' and config.name startsWith 'OR' && config.name endsWith 'S'",
        "config.name not matches 'x' and config.name contains 'DER'",
        "any(info.cluster.replicas, {#.lag > 5}) and not all(info.cluster.replicas, .lag > 5)",
        "info.cluster.replicas | filter(.lag == 0) | len() == 1",
        "count(config.subjects, # contains 'orders') == 2 and none([], true) and one([1, 2], # > 1)",
        "map(info.cluster.replicas, .name) == ['a', 'b']",
        "config.subjects[0] == 'js.in.orders_1' and config.subjects[-1] == 'orders.>'",
        "config.subjects[1:] == ['orders.>'] and config.name[:3] == 'ORD'",
        "config.max_age == duration('1h') and date(state.first_ts) < now()",
        "config.placement == nil and config.placement.cluster == nil and config.none?.x == nil",
        "(config.nosuch ?? 'default') == 'default'",
        "(state.messages > 10 ? 'many' : 'few') == 'many'",
        "3 in 1..3 and len(config.subjects) == 2 and lower(config.name) == 'orders'",
        "max([1, 5]) == 5 and sum([1, 2]) == 3 and join(split('a,b', ','), '-') == 'a-b'",
        r"'it\'s' == \"it's\" and 'a\nb' contains '\n'".replace('\\"', '"'),
    ],
)
def test_what_holds(text: str) -> None:
    assert holds(text)
    assert not holds(f"not ({text})")


@pytest.mark.parametrize("text", ["config.nosuch > 1", "config.nosuch < 1", "config.nosuch contains 'a'"])
def test_what_is_not_there_is_neither_smaller_nor_larger(text: str) -> None:
    assert not holds(text)


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("", "it ends too early", "^"),
        ("state.messages >", "it ends too early", "                ^"),
        ("stat.messages > 1", "unknown name stat", "did you mean state?"),
        ("Info.State.Msgs > 1", "unknown name Info", "did you mean info?"),
        ("leng(config.subjects) > 1", "unknown function leng", "did you mean len?"),
        ("state.messages > 1)", "unexpected ')'", "                  ^"),
        ("(state.messages > 1", "expected ')', the end came", "                   ^"),
        ("state.messages @ 1", "unexpected '@'", "               ^"),
        ("state. > 1", "expected a name", "       ^"),
        ("1 not 2", "expected 'in' after 'not'", "      ^"),
        ("(" * 5000, "nested too deeply", ""),
    ],
)
def test_a_mistake_is_shown_where_it_is(text: str, message: str, hint: str) -> None:
    with pytest.raises(UsageError) as raised:
        compiled(text, RECORD)
    assert message in raised.value.message
    assert not hint or hint in raised.value.hints


@pytest.mark.parametrize(
    "text",
    [
        "state.messages",
        "config.name + 1 == 2",
        "state.messages < 'a'",
        "1 / 0 == 1",
        "10 ** 1000 == 1",
        "config.name matches '('",
        "0..9999999 == []",
        "config.name.__class__ == 1",
        "len(3) == 1",
        "duration('x') == 1",
        "int('9' + 'x') == 1",
    ],
)
def test_what_does_not_fit_the_record_is_an_error(text: str) -> None:
    with pytest.raises(UsageError):
        holds(text)


def test_a_record_is_all_that_is_reached() -> None:
    for text in ("__import__('os')", "open('/etc/passwd')", "config.__class__ != nil", "state.keys != nil"):
        try:
            assert not holds(text)
        except UsageError:
            continue
