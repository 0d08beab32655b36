"""The configuration language: what a text means, and the line of an error."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyjs.server.config.parser import MAX_DEPTH, parse_file, parse_text
from pyjs.server.config.tree import ConfigError, ConfigNode


def plain(value: Any) -> Any:
    if isinstance(value, ConfigNode):
        return plain(value.value)
    if isinstance(value, dict):
        return {key: plain(node) for key, node in value.items()}
    if isinstance(value, list):
        return [plain(node) for node in value]
    return value


def parsed(text: str, **environment: str) -> Any:
    return plain(parse_text(text, environment))


def failure(text: str, **environment: str) -> str:
    with pytest.raises(ConfigError) as caught:
        parse_text(text, environment)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("-1", -1),
        ("1k", 1000),
        ("1K", 1000),
        ("1kb", 1024),
        ("1Ki", 1024),
        ("1kib", 1024),
        ("2m", 2_000_000),
        ("2MB", 2 * 1024**2),
        ("1g", 10**9),
        ("1GiB", 1024**3),
        ("1t", 10**12),
        ("1e", 10**18),
        ("-5k", -5000),
        ("1.5", 1.5),
        ("-1.5", -1.5),
        ("9223372036854775807", 2**63 - 1),
        ("true", True),
        ("YES", True),
        ("On", True),
        ("false", False),
        ("no", False),
        ("off", False),
        ("'true'", "true"),
        ('"1m"', "1m"),
        ("1m30s", "1m30s"),
        ("60s", "60s"),
        ("1foo", "1foo"),
        ("127.0.0.1:4222", "127.0.0.1:4222"),
        ("0.0.0.0:-1", "0.0.0.0:-1"),
        ("localhost:4222", "localhost:4222"),
        ("nats://a:b@host:4222", "nats://a:b@host:4222"),
        ("a#b", "a#b"),
        ("a\\x41\\tb", "aA\tb"),
        (r'"\"\\\n\r\t\x41"', '"\\\n\r\tA'),
        (r"'a\n'", r"a\n"),
        ("2016-05-04T18:53:41Z", datetime(2016, 5, 4, 18, 53, 41, tzinfo=UTC)),
        ("(\na\n b\n)", "\na\n b\n"),
        ("(a (b)\n c)\n)\n", "a (b)\n c)\n"),
        ("$2a$11$abc", "$2a$11$abc"),
        ("[]", []),
        ("[a, b]", ["a", "b"]),
        ("[1, 'x', [true], {a: 1}]", [1, "x", [True], {"a": 1}]),
        ("[\n a\n b # c\n // d\n\n]", ["a", "b"]),
        ("{}", {}),
        ("{a: 1, b: 2; c: 3\n d: 4}", {"a": 1, "b": 2, "c": 3, "d": 4}),
        ("{a: {b: {c: d}}}", {"a": {"b": {"c": "d"}}}),
        ("héllo", "héllo"),
    ],
)
def test_a_value_means(text: str, value: Any) -> None:
    assert parsed(f"key: {text}") == {"key": value}
    assert type(parsed(f"key = {text}")["key"]) is type(value)


def test_a_key_given_twice_keeps_the_last_value() -> None:
    assert parsed("a: 1\na: 2") == {"a": 2}


def test_quoted_keys_hold_blanks_and_separators() -> None:
    assert parsed("'a b': 1\n\"c:d=\": 2") == {"a b": 1, "c:d=": 2}


def test_a_variable_is_looked_for_from_the_inside_out() -> None:
    assert parsed("X: 1\nm { X: 2, n { a: $X } }\nb: $X") == {"X": 1, "m": {"X": 2, "n": {"a": 2}}, "b": 1}


def test_a_variable_from_the_environment_is_a_value_of_its_own() -> None:
    assert parsed("a: $A\nb: $B\nc: $C", A="5k", B='"text with blanks"', C="$A") == {
        "a": 5000,
        "b": "text with blanks",
        "c": 5000,
    }


def test_the_file_wins_over_the_environment() -> None:
    assert parsed("A: 1\nb: $A", A="2") == {"A": 1, "b": 1}


@pytest.mark.parametrize(
    ("text", "where", "what"),
    [
        ("a: 1\nb: $NONE", "2:4", "'NONE' can not be found"),
        ("a: $CYCLE", "1:4", "cycle for 'CYCLE'"),
        ("a: $BROKEN", "1:4", "'BROKEN' could not be parsed"),
        ("a { b: 1 c: 2 }", "1:10", "map value to end"),
        ("a: 1 b: 2", "1:6", "top-level value to end"),
        ("a {\n b: 1\n", "1:3", "not closed"),
        ("a: [1, 2 ", "1:10", "not closed"),
        ("a: [b c]", "1:7", "expected , or ]"),
        ("a: [1,2]", "1:8", "directly before ]"),
        ('a: "b', "1:4", "not closed"),
        ("a: 'b", "1:4", "not closed"),
        ("a: (b\n", "1:4", "not closed"),
        ('a: "\\q"', "1:5", "invalid escape character 'q'"),
        ('a: "\\x4g"', "1:6", "two hexadecimal digits"),
        ("a: -b", "1:4", "digit after '-'"),
        ("a: 1-b", "1:5", "only legal in a date"),
        ("a: 2020-13-01T00:00:00Z", "1:4", "expected a date"),
        ("a: .5", "1:4", "start with a digit"),
        ("a: 1.b", "1:6", "after the decimal point"),
        ("a: 92233720368547758070", "1:4", "out of the range"),
        ("a: " + "9" * 5000, "1:4", "out of the range"),
        ("a: 9223372036854775807k", "1:4", "out of the range"),
        ("a: 1kbb", "1:4", "unknown suffix"),
        ("a", "1:1", "has no value"),
        ("m { a: }", "1:5", "has no value"),
        ("a:\nb: 1", "1:3", "the line ends"),
        ("= 1", "1:1", "key must come first"),
        ("/ a", "1:1", "unexpected '/'"),
        ("a: 1\n}\nb: 2", "2:1", "no map is open"),
        ("{ a: 1", "1:1", "not closed"),
        ("include 5.conf", "1:9", "path of a file"),
        ("cluster{\n name: a\n}", "1:1", "put a blank before it"),
        ("a: " + "[" * (MAX_DEPTH + 1), f"1:{MAX_DEPTH + 4}", "nested deeper"),
    ],
)
def test_a_slip_is_named_with_its_place(text: str, where: str, what: str) -> None:
    message = failure(text, CYCLE="$CYCLE", BROKEN="a b")
    assert message.startswith(where + ":"), message
    assert what in message


@given(st.text(alphabet="ab:={}[]()\"'#/$,;\\\n\t -.019kmx", max_size=60))
def test_any_text_is_parsed_or_refused(text: str) -> None:
    try:
        parse_text(text, {})
    except ConfigError as error:
        assert error.problems


@given(st.text(max_size=40))
def test_any_text_in_quotes_reads_back(text: str) -> None:
    text = text.replace("\r", "")
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    assert parsed(f'a: "{escaped}"') == {"a": text}


def write(directory: Path, **files: str) -> str:
    for name, text in files.items():
        (directory / f"{name}.conf").write_text(text)
    return str(directory / "main.conf")


def test_an_include_merges_where_it_stands(tmp_path: Path) -> None:
    main = write(
        tmp_path,
        main="a: 1\ninclude ./other.conf\nm { include 'other.conf', c: $b }\nd: $b",
        other="b: 2\n",
    )
    assert plain(parse_file(main, {})) == {"a": 1, "b": 2, "m": {"b": 2, "c": 2}, "d": 2}


def test_an_include_is_relative_to_the_file_that_includes(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "one.conf").write_text("include two.conf")
    (tmp_path / "sub" / "two.conf").write_text("x: 1")
    assert plain(parse_file(write(tmp_path, main="include sub/one.conf"), {})) == {"x": 1}


def test_an_included_file_does_not_see_its_parents_variables(tmp_path: Path) -> None:
    main = write(tmp_path, main="A: 1\ninclude other.conf", other="\nb: $A")
    with pytest.raises(ConfigError, match=r"other\.conf:2:4: variable reference for 'A'"):
        parse_file(main, {})


def test_a_missing_include_is_named_with_the_line_that_wants_it(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match=r"main\.conf:2:1: cannot open included file .*none\.conf: No such file"
    ):
        parse_file(write(tmp_path, main="a: 1\ninclude none.conf"), {})


def test_an_include_cycle_is_refused(tmp_path: Path) -> None:
    main = write(tmp_path, main="include a.conf", a="include b.conf", b="\ninclude a.conf")
    with pytest.raises(ConfigError, match=r"b\.conf:2:1: include cycle: a\.conf -> b\.conf -> a\.conf"):
        parse_file(main, {})


def test_the_same_file_may_be_included_twice(tmp_path: Path) -> None:
    main = write(tmp_path, main="m { include a.conf }\nn { include a.conf }", a="x: 1")
    assert plain(parse_file(main, {})) == {"m": {"x": 1}, "n": {"x": 1}}


def test_a_missing_configuration_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot open configuration file .*x\.conf: No such file"):
        parse_file(str(tmp_path / "x.conf"), {})


def test_bytes_that_are_no_utf8_are_kept_out_of_the_way(tmp_path: Path) -> None:
    path = tmp_path / "main.conf"
    path.write_bytes(b"a: \xff\xfe\n# \xff\nb: 1")
    assert plain(parse_file(str(path), {}))["b"] == 1
