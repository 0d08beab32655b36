"""Templates: every function, and texts that are no function."""

from __future__ import annotations

import random
import re
from datetime import UTC, datetime

import pytest
from pyjs.cli.errors import CliError
from pyjs.plugins.messaging.template import Filler

NOON = datetime(2026, 1, 2, 12, 4, 5, 678000, UTC)


@pytest.fixture
def filler() -> Filler:
    """A filler whose clock stands still and whose randomness is known."""
    return Filler(lambda: NOON, random.Random(1))


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("plain", "plain"),
        ("{{Count}}-{{ Cnt }}-{{.Count}}", "7-7-7"),
        ("{{Unix}}", "1767355445"),
        ("{{UnixNano}}", "1767355445678000000"),
        ("{{Request}}", "asked"),
        ("a {{ }} {b}", "a {{ }} {b}"),
    ],
)
def test_functions(filler: Filler, text: str, filled: str) -> None:
    assert filler.fill(text, 7, "asked") == filled


def test_times_are_readable(filler: Filler) -> None:
    stamp = filler.fill("{{TimeStamp}}", 1)
    assert datetime.fromisoformat(stamp) == NOON.replace(microsecond=0)
    assert re.fullmatch(r"\d{1,2}:04[AP]M", filler.fill("{{Time}}", 1))


def test_ids_and_random_texts_differ_and_have_the_length_asked_for(filler: Filler) -> None:
    first, second = filler.fill("{{ID}} {{ID}}", 1).split()
    assert first != second
    assert len(first) == len(second) == 22
    assert all(3 <= len(filler.fill("{{Random 3 9}}", 1)) <= 9 for _ in range(50))


@pytest.mark.parametrize("text", ["{{Nope}}", "{{Count 3}}", "{{Random}}", "{{Random 1}}", "{{Random a b}}"])
def test_what_is_no_function_is_an_error(filler: Filler, text: str) -> None:
    with pytest.raises(CliError):
        filler.fill(text, 1)


def test_a_wrong_name_is_answered_with_the_nearest(filler: Filler) -> None:
    with pytest.raises(CliError) as caught:
        filler.fill("{{Cuont}}", 1)
    assert "did you mean Count" in caught.value.hints[0]
