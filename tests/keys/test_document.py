"""Documents with typed fields: they take and refuse what pydantic's strict models take and refuse."""

from __future__ import annotations

import copy
import pickle
from dataclasses import field
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pyjs.keys.document import Bounds, Document, FieldError


class Part(Document):
    word: str = ""
    least: Annotated[int, Bounds(0, 9)] = 0


class Whole(Part):
    flag: bool = False
    kind: Literal["", "a", "b"] = ""
    part: Part = field(default_factory=Part)
    other: Part | None = None
    words: list[list[str]] = field(default_factory=list)
    parts: dict[str, list[Part]] = field(default_factory=dict)
    anything: Any = None


class Needed(Document):
    name: str


class PartModel(BaseModel):
    model_config = ConfigDict(strict=True, extra="allow")
    word: str = ""
    least: Annotated[int, Field(ge=0, le=9)] = 0


class WholeModel(PartModel):
    flag: bool = False
    kind: Literal["", "a", "b"] = ""
    part: PartModel = Field(default_factory=PartModel)
    other: PartModel | None = None
    words: list[list[str]] = Field(default_factory=list)
    parts: dict[str, list[PartModel]] = Field(default_factory=dict)
    anything: Any = None


scalars = st.none() | st.booleans() | st.integers(-2, 11) | st.floats(allow_nan=False) | st.text(max_size=2)
names = st.sampled_from([*WholeModel.model_fields, "later"])
values = st.recursive(
    scalars | st.sampled_from(["a", "b"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(names, inner, max_size=3),
    max_leaves=12,
)


@given(st.dictionaries(names, values, max_size=6))
def test_it_judges_as_pydantic_does(data: dict[str, Any]) -> None:
    given = {name: value for name, value in data.items() if value is not None}
    try:
        expected: Any = WholeModel.model_validate(given).model_dump()
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        with pytest.raises(FieldError) as caught:
            Whole.read(data)
        assert caught.value.where == tuple(map(str, first["loc"]))
        mine, theirs = caught.value.problem, first["msg"]
        assert mine == theirs.replace("PartModel", "Part").replace(
            "valid integer, got a number", "valid integer"
        )
    else:
        assert _plain(Whole.read(data)) == expected


def _plain(value: Any) -> Any:
    if isinstance(value, Document):
        return {name: _plain(item) for name, item in value.values().items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    return value


def test_an_error_names_the_place_and_shows_no_value() -> None:
    with pytest.raises(FieldError, match=r"^parts\.a\.1\.least: Input should be less than or equal to 9$"):
        Whole.read({"parts": {"a": [{}, {"least": 777}]}})
    with pytest.raises(FieldError, match=r"^name: Field required$"):
        Needed.read({})


def test_documents_are_values() -> None:
    one = Whole(word="x", part=Part(least=3), words=[["a"]])
    assert one == Whole.read({"word": "x", "part": {"least": 3}, "words": [["a"]]})
    assert one != Part(word="x")
    assert pickle.loads(pickle.dumps(one)) == copy.deepcopy(one) == one
    changed = one.copied(word="y")
    changed.part.least = 4
    changed.words[0].append("b")
    assert (one.word, one.part.least, one.words) == ("x", 3, [["a"]])
    assert repr(Part(word="x")) == "Part(word='x', least=0)"
    assert Whole().words is not Whole().words


def test_an_unknown_field_that_was_read_may_be_named_like_a_method() -> None:
    read = Part.read({"values": 1, "copied": {"a": 2}, "_unknown": 3})
    assert read.unknown == {"values": 1, "copied": {"a": 2}, "_unknown": 3}
    assert read.values() == {"word": "", "least": 0, "values": 1, "copied": {"a": 2}, "_unknown": 3}
    assert copy.deepcopy(read) == read


def test_other_names_are_mistakes() -> None:
    for act in (
        lambda: Part(wrod="x"),  # type: ignore[call-arg]
        lambda: setattr(Part(), "wrod", "x"),
        lambda: Part().copied(wrod="x"),
    ):
        with pytest.raises(AttributeError, match="Part has no field 'wrod': did you mean 'word'"):
            act()
    with pytest.raises(AttributeError, match="'Part' has no field 'wrod'"):
        _ = Part().wrod  # type: ignore[attr-defined]
