"""Subject transforms: examples of the reference's documentation, refusals, and properties."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyjs.protocol.subject import is_literal, is_valid
from pyjs.protocol.transform import (
    SubjectTransform,
    TransformError,
    fnv1a_32,
    with_placeholders,
    without_placeholders,
)

words = st.text(alphabet="abc-123", min_size=1, max_size=9)


@pytest.mark.parametrize(
    ("source", "destination", "subject", "result"),
    [
        ("foo", "bar", "foo", "bar"),
        ("foo", "bar", "fox", None),
        ("foo.*.*", "bar.$2.$1", "foo.A.B", "bar.B.A"),
        ("foo.*.*", "bar.{{wildcard(2)}}.{{ Wildcard( 1 ) }}", "foo.A.B", "bar.B.A"),
        ("foo.>", "bar.>", "foo.a.b.c", "bar.a.b.c"),
        ("foo.*.>", "$1.bar.>", "foo.a.b.c", "a.bar.b.c"),
        ("foo.>", "bar.>", "foo", None),
        ("", "x.>", "a.b", "x.a.b"),
        (">", ">", "a.b", "a.b"),
        ("*", "{{split(1,-)}}", "a-b--c-", "a.b.c"),
        ("*", "{{split(1,-)}}", "-a-b", "a.b"),
        ("*", "x.{{Split(1,_)}}", "abc", "x.abc"),
        ("*", "{{splitFromLeft(1,3)}}", "12345", "123.45"),
        ("*", "{{SplitFromRight(1,3)}}", "12345", "12.345"),
        ("*", "{{splitfromleft(1,9)}}", "12345", "12345"),
        ("*", "{{sliceFromLeft(1,3)}}", "1234567890", "123.456.789.0"),
        ("*", "{{sliceFromRight(1,3)}}", "1234567890", "1.234.567.890"),
        ("*", "{{sliceFromLeft(1,2)}}", "1234", "12.34"),
        ("*", "{{left(1,3)}}", "12345", "123"),
        ("*", "{{right(1,3)}}", "12345", "345"),
        ("*", "{{right(1,0)}}", "12345", "12345"),
        ("*", "a.{{partition(0,1)}}", "x", "a.0"),
        ("$SYS.*", "x.$SYS.$1", "$SYS.a", "x.$SYS.a"),
    ],
)
def test_apply(source: str, destination: str, subject: str, result: str | None) -> None:
    assert SubjectTransform(source, destination).apply(subject) == result


@pytest.mark.parametrize(
    ("source", "destination", "text"),
    [
        ("foo.*", "bar.*", "invalid subject"),
        ("foo.*", "bar.>", "invalid subject"),
        ("foo.>", "bar", "invalid subject"),
        ("foo..a", "bar", "invalid subject"),
        ("foo", "", "invalid subject"),
        ("foo", "bar.$1", "invalid mapping destination: wildcard index out of range in $1"),
        ("foo.*", "bar.$2", "invalid mapping destination: wildcard index out of range in $2: [2]"),
        ("foo.*", "{{foo(1)}}", "invalid mapping destination: unknown function in {{foo(1)}}"),
        (
            "*",
            "{{split(1)}}",
            "invalid mapping destination: not enough arguments passed to the function in {{split(1)}}",
        ),
        (
            "*",
            "{{wildcard(1,2)}}",
            "invalid mapping destination: too many arguments passed to the function in {{wildcard(1,2)}}",
        ),
        (
            "*",
            "{{left(1,x)}}",
            "invalid mapping destination: function argument is invalid or in the wrong format"
            " in {{left(1,x)}}",
        ),
    ],
)
def test_refusals_have_the_reference_texts(source: str, destination: str, text: str) -> None:
    with pytest.raises(TransformError) as caught:
        SubjectTransform(source, destination)
    assert str(caught.value) == text


def test_strict_takes_only_wildcards_and_all_of_them() -> None:
    with pytest.raises(TransformError, match="only mapping function allowed for import"):
        SubjectTransform("a.*", "b.{{left(1,2)}}", strict=True)
    with pytest.raises(TransformError, match="not using all of the token wildcard"):
        SubjectTransform("a.*.*", "b.$1", strict=True)


def test_partition_is_fnv1a_of_the_chosen_tokens() -> None:
    assert fnv1a_32(b"") == 0x811C9DC5
    assert fnv1a_32(b"foobar") == 0xBF9CF968
    transform = SubjectTransform("*.*", "{{partition(7,2,1)}}.$1")
    assert transform.apply("foo.bar") == f"{fnv1a_32(b'barfoo') % 7}.foo"
    assert SubjectTransform("a.b", "p.{{partition(7)}}").apply("a.b") == f"p.{fnv1a_32(b'a.b') % 7}"


def test_random_comes_from_the_caller() -> None:
    asked: list[int] = []

    def below(n: int) -> int:
        asked.append(n)
        return n - 1

    assert SubjectTransform("a", "b.{{random(10)}}", random_below=below).apply("a") == "b.9"
    assert asked == [10]


@given(st.permutations([1, 2, 3]), words, words, words)
def test_reverse_undoes_any_permutation(order: list[int], a: str, b: str, c: str) -> None:
    transform = SubjectTransform("x.*.*.*", "y." + ".".join(f"${i}" for i in order), strict=True)
    subject = f"x.{a}.{b}.{c}"
    there = transform.apply(subject)
    assert there is not None
    assert transform.reverse().apply(there) == subject


@given(words, st.integers(-2, 12), st.sampled_from(["splitFromLeft", "splitFromRight", "sliceFromLeft"]))
def test_cuts_keep_every_letter_and_make_no_empty_token(word: str, at: int, name: str) -> None:
    result = SubjectTransform("*", f"{{{{{name}(1,{at})}}}}").apply(word)
    assert result is not None
    assert result.replace(".", "") == word
    assert is_literal(result)


@given(st.text(max_size=12), st.text(alphabet="ab.*>$123{}(),split ", max_size=24))
def test_junk_is_refused_or_works_but_never_breaks(source: str, destination: str) -> None:
    try:
        transform = SubjectTransform(source, destination, random_below=lambda n: 0)
    except TransformError:
        return
    transform.apply("a.b.c")


def test_placeholders_there_and_back() -> None:
    assert with_placeholders("a.*.b.*") == "a.$1.b.$2"
    assert without_placeholders("a.$2.b.{{wildcard(1)}}") == "a.*.b.*"
    assert is_valid(without_placeholders(with_placeholders("x.*.>")))
