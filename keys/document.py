"""Documents with typed fields: the base class of what tokens and settings hold.

A subclass declares its fields as annotated attributes. `field(default_factory=...)` makes a default for each
object; a field without a default must be given. The types are str, bool, int, `Any`, `Literal`, other
documents, `T | None`, `list[T]`, `dict[str, T]`, and int with `Bounds`.

Promises:

- Reading is strict: a wrong type is an error that names the field, and shows no value. `null` counts as
  absent. Unknown fields are kept.
- A field that a program names must be known: a misspelt one (`pub.alow`) would leave open what it should
  close.
- Values that are assigned are not checked.

Types are looked at when a document of their class is first made.
"""

from __future__ import annotations

import copy
import difflib
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, Field, field
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Literal,
    NamedTuple,
    Self,
    Union,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)

_UNKNOWN = "_unknown"
_Reader = Callable[[Any], Any]


class Bounds(NamedTuple):
    """The least and the greatest value of an integer."""

    least: int
    most: int


class FieldError(ValueError):
    """A document has a wrong value.

    problem: what is wrong with it.
    where: the names and positions that lead to it.
    """

    def __init__(self, problem: str, where: tuple[str, ...] = ()) -> None:
        self.problem = problem
        self.where = where
        super().__init__(f"{'.'.join(where)}: {problem}" if where else problem)

    def below(self, name: str) -> FieldError:
        """Return the error as it is seen from the document or list that has the value."""
        return FieldError(self.problem, (name, *self.where))


@dataclass_transform(kw_only_default=True, field_specifiers=(field,))
class Document:
    """A JSON object with known fields.

    FIELDS: their names, those of base classes first.
    """

    FIELDS: ClassVar[tuple[str, ...]] = ()
    _defaults: ClassVar[dict[str, Any]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls._defaults = {
            name: vars(base).get(name, MISSING)
            for base in reversed(cls.__mro__)
            for name, annotation in getattr(base, "__annotations__", {}).items()
            if not str(annotation).startswith("ClassVar")
        }
        cls.FIELDS = tuple(cls._defaults)

    def __init__(self, **values: Any) -> None:
        """Make a document.

        Raises AttributeError for a name that is not a field, FieldError for a value of a wrong type.
        """
        for name in values:
            self._must_know(name)
        self._fill(values)

    @classmethod
    def read(cls, data: Any) -> Self:
        """Return the document that a JSON object holds, or a document as it is. Raises FieldError."""
        if isinstance(data, cls):
            return data
        if not isinstance(data, dict):
            raise FieldError(f"Input should be a valid dictionary or instance of {cls.__name__}")
        made = cls.__new__(cls)
        made._fill(data)
        return made

    @classmethod
    def by_name(cls, data: dict[str, Any]) -> dict[str, Any]:
        """Return what was read under the names of fields; subclasses that know other names override this."""
        return data

    @classmethod
    def before(cls, name: str, value: Any) -> Any:
        """Return a field's value in the form of its type; subclasses that read other forms override this."""
        return value

    def copied(self, **changes: Any) -> Self:
        """Return a deep copy, with some fields changed."""
        result = copy.deepcopy(self)
        for name, value in changes.items():
            setattr(result, name, value)
        return result

    def values(self) -> dict[str, Any]:
        """Return all fields, the unknown ones last."""
        return {**{name: getattr(self, name) for name in self.FIELDS}, **self.unknown}

    @property
    def unknown(self) -> dict[str, Any]:
        """The fields that were read and are not known."""
        found: dict[str, Any] = vars(self)[_UNKNOWN]
        return found

    def _fill(self, given: Mapping[str, Any]) -> None:
        values = self.by_name({name: value for name, value in given.items() if value is not None})
        readers = _readers_of(type(self))
        found = vars(self)
        for name, default in self._defaults.items():
            if name in values:
                try:
                    found[name] = readers[name](self.before(name, values[name]))
                except FieldError as error:
                    raise error.below(name) from None
            elif isinstance(default, Field):
                found[name] = (
                    default.default if default.default_factory is MISSING else default.default_factory()
                )
            elif default is MISSING:
                raise FieldError("Field required", (name,))
            else:
                found[name] = default
        found[_UNKNOWN] = {name: value for name, value in values.items() if name not in self._defaults}

    @classmethod
    def _must_know(cls, name: str) -> None:
        if name in cls._defaults:
            return
        near = difflib.get_close_matches(name, cls.FIELDS, 1)
        hint = f": did you mean {near[0]!r}?" if near else ""
        raise AttributeError(f"{cls.__name__} has no field {name!r}{hint}", name=name, obj=cls)

    def __setattr__(self, name: str, value: Any) -> None:
        """Set a field, or an unknown one that was read. Raises AttributeError for any other name."""
        if name in self.unknown:
            self.unknown[name] = value
            return
        self._must_know(name)
        super().__setattr__(name, value)

    if not TYPE_CHECKING:  # checkers would take any name for a field

        def __getattr__(self, name: str) -> Any:
            """Return an unknown field that was read."""
            unknown = vars(self).get(_UNKNOWN, {})
            if name not in unknown:
                raise AttributeError(f"{type(self).__name__!r} has no field {name!r}", name=name, obj=self)
            return unknown[name]

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment] # it can be changed

    def __repr__(self) -> str:
        shown = (f"{name}={text}" for name, text in self.shown())
        return f"{type(self).__name__}({', '.join(shown)})"

    def shown(self) -> Iterable[tuple[str, str]]:
        """Yield the fields and their values as `repr` shows them."""
        for name, value in self.values().items():
            yield name, repr(value)


_readers: dict[type[Document], dict[str, _Reader]] = {}


def _readers_of(cls: type[Document]) -> dict[str, _Reader]:
    found = _readers.get(cls)
    if found is None:
        hints = get_type_hints(cls, include_extras=True)
        found = _readers[cls] = {name: _reader(hints[name]) for name in cls.FIELDS}
    return found


def _reader(kind: Any) -> _Reader:
    """Return what checks a value of a type, and returns it with documents in place of their JSON objects."""
    origin, arguments = get_origin(kind), get_args(kind)
    if kind is Any:
        return lambda value: value
    if kind in _PLAIN:
        return _plain(kind, _PLAIN[kind])
    if origin is Annotated:
        return _bounded(_reader(arguments[0]), arguments[1])
    if origin is Literal:
        return _one_of(arguments)
    if origin in {Union, types.UnionType}:
        (other,) = (each for each in arguments if each is not type(None))
        inner = _reader(other)
        return lambda value: None if value is None else inner(value)
    if origin is list:
        return _list_of(_reader(arguments[0]))
    if origin is dict:
        return _map_of(_reader(arguments[1]))
    read: _Reader = kind.read
    return read


_PLAIN: dict[Any, str] = {str: "string", bool: "boolean", int: "integer"}


def _plain(kind: type[Any], name: str) -> _Reader:
    def read(value: Any) -> Any:
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise FieldError(f"Input should be a valid {name}")
        return value

    return read


def _bounded(inner: _Reader, bounds: Bounds) -> _Reader:
    def read(value: Any) -> Any:
        number = inner(value)
        if number < bounds.least:
            raise FieldError(f"Input should be greater than or equal to {bounds.least}")
        if number > bounds.most:
            raise FieldError(f"Input should be less than or equal to {bounds.most}")
        return number

    return read


def _one_of(allowed: tuple[Any, ...]) -> _Reader:
    *most, last = map(repr, allowed)
    text = f"{', '.join(most)} or {last}" if most else last

    def read(value: Any) -> Any:
        if not isinstance(value, str) or value not in allowed:
            raise FieldError(f"Input should be {text}")
        return value

    return read


def _list_of(inner: _Reader) -> _Reader:
    def read(value: Any) -> Any:
        if not isinstance(value, list):
            raise FieldError("Input should be a valid list")
        return [_item(inner, str(place), item) for place, item in enumerate(value)]

    return read


def _map_of(inner: _Reader) -> _Reader:
    def read(value: Any) -> Any:
        if not isinstance(value, dict):
            raise FieldError("Input should be a valid dictionary")
        for name in value:
            if not isinstance(name, str):
                raise FieldError("Input should be a valid string")
        return {name: _item(inner, name, item) for name, item in value.items()}

    return read


def _item(inner: _Reader, place: str, value: Any) -> Any:
    try:
        return inner(value)
    except FieldError as error:
        raise error.below(place) from None
