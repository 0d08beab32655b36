"""Dataclasses whose methods are made late are those of `dataclasses`, whatever is asked of them."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from dataclasses import field
from typing import Any

import pytest
from pyjs.protocol import lazy_dataclass
from pyjs.protocol.lazy_dataclass import dataclass


@dataclass(slots=True)
class Point:
    x: int
    y: int = 2
    seen: list[str] = field(default_factory=list, compare=False, repr=False)
    sum: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self.sum = self.x + self.y


@dataclass(slots=True)
class Named(Point):
    name: str = field(default="", kw_only=True)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Named) and other.name == self.name

    __hash__ = Point.__hash__


@dataclass(frozen=True, slots=True)
class Key:
    part: str
    number: int = 0


@dataclass(frozen=True)
class Open:
    part: str


@dataclass(eq=False, repr=False, kw_only=True)
class Identity:
    part: str = "p"


def copy_of_another_class() -> Any:
    return Key("1", 2)


def test_objects_are_made_compared_and_shown_as_usual() -> None:
    one, same, other = Point(1), Point(1, 2, ["seen"]), Point(1, y=3)
    assert (one.x, one.y, one.seen, one.sum) == (1, 2, [], 3)
    assert one == same
    assert one != other
    assert one != copy_of_another_class()
    assert repr(one) == "Point(x=1, y=2, sum=3)"
    assert Point(1).seen is not Point(1).seen
    with pytest.raises(AttributeError):
        one.z = 1  # type: ignore[attr-defined]
    with pytest.raises(TypeError, match="unhashable"):
        hash(one)


def test_a_subclass_has_methods_of_its_own() -> None:
    named = Named(4, name="n")
    assert (named.x, named.sum, named.name) == (4, 6, "n")
    assert repr(named) == "Named(x=4, y=2, sum=6, name='n')"
    assert named == Named(9, name="n")
    assert Point(4) == Point(4)
    assert repr(Point(4)) == "Point(x=4, y=2, sum=6)"


def test_a_frozen_object_stays_as_it_is() -> None:
    key = Key("a", 1)
    assert {key: 1}[Key("a", 1)] == 1
    assert hash(key) == hash(Key("a", 1)) != hash(Key("a", 2))
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'part'"):
        key.part = "b"  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'part'"):
        del key.part
    assert dataclasses.replace(key, number=2) == Key("a", 2)


@pytest.mark.parametrize("value", [Point(1), Key("a", 1), Open("o")], ids=lambda one: type(one).__name__)
def test_objects_survive_copies_and_pickles(value: Any) -> None:
    assert pickle.loads(pickle.dumps(value)) == value
    assert copy.deepcopy(value) == value
    assert dataclasses.asdict(copy.copy(value)) == dataclasses.asdict(value)


def test_what_is_switched_off_is_not_made() -> None:
    assert Identity() != Identity()
    assert "Identity object at" in repr(Identity())
    assert len({Identity(), Identity()}) == 2
    with pytest.raises(TypeError, match=r"Identity.__init__\(\) takes 1 positional argument"):
        Identity("q")  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [((), "missing 1 required positional argument: 'part'"), (("a", 1, 2), "takes from 2 to 3 positional")],
)
def test_wrong_arguments_are_told_with_the_classs_name(arguments: tuple[Any, ...], words: str) -> None:
    with pytest.raises(TypeError, match=rf"Key.__init__\(\) {words}"):
        Key(*arguments)


def test_a_method_is_made_once_and_only_when_called(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    make = lazy_dataclass._made

    def counted(cls: type[Any], name: str, **more: Any) -> Any:
        made.append(name)
        return make(cls, name, **more)

    monkeypatch.setattr(lazy_dataclass, "_made", counted)

    @dataclass(slots=True)
    class Late:
        a: int = 0

    assert made == []
    assert Late(1) is not None
    assert made == [], "the fields of the first object are set one by one"
    assert [Late().a, Late(1).a] == [0, 1]
    assert made == ["__init__"]


@pytest.mark.parametrize(
    ("args", "values"),
    [((1, 2), {}), ((), {"b": 1}), ((1,), {"a": 1}), ((), {"tally": [1]}), ((1, 2, 3), {}), ((), {})],
)
def test_wrong_arguments_of_the_first_object_are_told_too(
    args: tuple[int, ...], values: dict[str, int]
) -> None:
    @dataclass(slots=True)
    class First:
        a: int
        tally: list[int] = field(default_factory=list, init=False)

    with pytest.raises(TypeError, match="__init__"):
        First(*args, **values)
    assert First(3).tally == []


def test_the_first_object_is_like_any_other() -> None:
    def made() -> type[Any]:
        @dataclass(slots=True, kw_only=True)
        class Part:
            a: int
            b: list[int] = field(default_factory=list)
            c: str = "c"
            d: int = field(default=4, init=False)
            e: int = 0

            def __post_init__(self) -> None:
                self.e += self.a

        return Part

    part = made()
    first, second = part(a=1, c="x"), part(a=1, c="x")
    assert first == second
    assert dataclasses.asdict(first) == {"a": 1, "b": [], "c": "x", "d": 4, "e": 1}
    assert first.b is not second.b
