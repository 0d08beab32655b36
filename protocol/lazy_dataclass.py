"""Dataclasses of which nothing is made before it is asked for, neither methods nor fields.

`dataclasses.dataclass` looks at each field and compiles three to six methods for each class, which took a
third of a server's start. Most of these classes have no object by then, and few are ever compared or printed.
`dataclass` here makes the same classes from the same arguments, but sets only slots and defaults. When
`__repr__`, `__eq__` or `__hash__` is first called, or the fields are first asked for, `dataclasses` makes it
for a twin: a class with the same fields and nothing else. What it made then takes its place in the class, so
later calls cost nothing more. `__init__` is made for the second object: the fields of the first are set one
by one, as many classes, such as those of options, never have another.

Promises: fields, slots, defaults, `__post_init__`, pickling, and the errors of wrong arguments and of writing
to a frozen object are those of `dataclasses`; so are `fields`, `replace` and `asdict`. A class may inherit
from dataclasses of this module only. There is no `order`, no `InitVar`, no `KW_ONLY`, and no signature to
inspect. What is wrong with the fields themselves is an error at the first use.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import MISSING, Field
from typing import Any, NoReturn, TypeVar, cast, dataclass_transform

T = TypeVar("T")

# Of each field its annotation, and its default, `field(...)` or MISSING.
_Declared = dict[str, tuple[Any, Any]]
_DECLARED = "__declared_fields__"  # the name under which a class keeps those of its own


@dataclass_transform(field_specifiers=(dataclasses.field,))
def dataclass(
    *,
    repr: bool = True,  # noqa: A002 - the arguments are those of dataclasses.dataclass
    eq: bool = True,
    frozen: bool = False,
    kw_only: bool = False,
    slots: bool = False,
) -> Callable[[type[T]], type[T]]:
    """Return a decorator; the arguments mean what they mean in `dataclasses.dataclass`."""

    def decorate(cls: type[T]) -> type[T]:
        own = vars(cls)
        declared = _declared(cls, kw_only=kw_only)
        made = _with_slots(cls, declared) if slots else _with_defaults(cls, declared)
        setattr(made, _DECLARED, declared)
        for name, value in _VALUES.items():
            setattr(made, name, value)
        if "__init__" not in own:
            _make_at_second_object(made, frozen=frozen, slots=slots)
        for name, wanted in (("__repr__", repr), ("__eq__", eq)):
            if wanted and name not in own:
                _make_at_first_call(made, name, frozen=frozen, slots=slots)
        if frozen:
            _freeze(made, slots=slots)
        if eq and own.get("__hash__") is None:  # None is what Python sets beside a class's own __eq__
            if frozen:
                _make_at_first_call(made, "__hash__", frozen=frozen, slots=slots)
            else:
                made.__hash__ = None  # type: ignore[assignment]
        return made

    return decorate


def declared(cls: type[Any]) -> dict[str, Any]:
    """Return what each field of a class was declared with: its default, `field(...)`, or MISSING.

    Unlike `dataclasses.fields` this makes nothing.
    """
    found: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        found |= {name: value for name, (_, value) in vars(base).get(_DECLARED, {}).items()}
    return found


def _declared(cls: type[Any], *, kw_only: bool) -> _Declared:
    own = vars(cls)
    declared = {
        name: (annotation, own.get(name, MISSING))
        for name, annotation in cls.__annotations__.items()
        if not str(annotation).startswith(("ClassVar", "typing.ClassVar"))
    }
    if not kw_only:
        return declared
    return {name: (annotation, _by_keyword(value)) for name, (annotation, value) in declared.items()}


def _by_keyword(value: Any) -> Any:
    if not isinstance(value, Field):
        return dataclasses.field(default=value, kw_only=True)
    value.kw_only = True
    return value


def _with_slots(cls: type[T], declared: _Declared) -> type[T]:
    """Return the class again, with slots in place of these attributes: a class gets slots when it is made."""
    inherited = {slot for base in cls.__mro__[1:] for slot in vars(base).get("__slots__", ())}
    left_out = {*declared, "__dict__", "__weakref__"}
    body = {name: value for name, value in vars(cls).items() if name not in left_out}
    body["__slots__"] = tuple(name for name in declared if name not in inherited)
    made: Any = type(cls)(cls.__name__, cls.__bases__, body)  # type: ignore[misc]
    made.__qualname__ = cls.__qualname__
    return cast("type[T]", made)


def _with_defaults(cls: type[T], declared: _Declared) -> type[T]:
    """Return the class, with the defaults as attributes where it has `field(...)`."""
    own = vars(cls)
    for name, (_, value) in declared.items():
        if isinstance(value, Field):
            if value.default is not MISSING:
                setattr(cls, name, value.default)
            elif name in own:
                delattr(cls, name)
    return cls


class _ValueOfTwin:
    """What `dataclasses` keeps in each class, such as the fields. It is made when it is first read."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, _: object, owner: type[Any]) -> Any:
        """Return the value of the dataclass that `owner` is or inherits from."""
        cls = next(base for base in owner.__mro__ if _DECLARED in vars(base))
        _twin(cls, init=False, repr=False, eq=False)
        return vars(cls)[self._name]


_VALUES = {
    name: _ValueOfTwin(name) for name in ("__dataclass_fields__", "__dataclass_params__", "__match_args__")
}


def _make_at_second_object(cls: type[Any], *, frozen: bool, slots: bool) -> None:
    met = False

    def method(self: Any, *args: Any, **values: Any) -> None:
        nonlocal met
        if not met:
            met = True
            if _filled(self, cls, args, values):
                return
        made = _made(cls, "__init__", frozen=frozen, slots=slots)
        cls.__init__ = made
        made(self, *args, **values)

    method.__name__, method.__qualname__ = "__init__", f"{cls.__qualname__}.__init__"
    cls.__init__ = method


def _filled(target: Any, cls: type[Any], args: tuple[Any, ...], values: dict[str, Any]) -> bool:
    """Set the fields as `__init__` does. If arguments or defaults are wrong, set none and return False."""
    found: dict[str, Any] = {}
    by_place, by_name = list(reversed(args)), dict(values)
    for name, value in declared(cls).items():
        given = value if isinstance(value, Field) else dataclasses.field(default=value)
        if by_place and given.init and given.kw_only is not True:
            found[name] = by_place.pop()
        elif name in by_name and given.init:
            found[name] = by_name.pop(name)
        elif given.default_factory is not MISSING:
            found[name] = given.default_factory()
        elif given.default is not MISSING and given.default.__class__.__hash__ is not None:
            found[name] = given.default
        else:
            return False
    if by_place or by_name:
        return False
    for name, value in found.items():
        object.__setattr__(target, name, value)
    if hasattr(cls, "__post_init__"):
        target.__post_init__()
    return True


def _make_at_first_call(cls: type[Any], name: str, *, frozen: bool, slots: bool) -> None:
    def method(*args: Any, **values: Any) -> Any:
        made = _made(cls, name, frozen=frozen, slots=slots)
        setattr(cls, name, made)
        return made(*args, **values)

    method.__name__, method.__qualname__ = name, f"{cls.__qualname__}.{name}"
    setattr(cls, name, method)


def _made(cls: type[Any], name: str, *, frozen: bool, slots: bool) -> Callable[..., Any]:
    """Return one method as `dataclasses` makes it."""
    twin = _twin(
        cls,
        init=name == "__init__",
        repr=name == "__repr__",
        eq=name in {"__eq__", "__hash__"},
        frozen=frozen,
        slots=slots,
    )
    made: Callable[..., Any] = vars(twin)[name]
    return made


def _twin(cls: type[Any], **wanted: bool) -> type[Any]:
    """Return a class that has the fields of `cls`, inherited ones too, and nothing else but what is wanted.

    Also let `cls` have the values that `dataclasses` keeps in the twin.
    """
    declared: _Declared = {}
    for base in reversed(cls.__mro__):
        declared |= vars(base).get(_DECLARED, {})
    body = {name: value for name, (_, value) in declared.items() if value is not MISSING}
    body["__annotations__"] = {name: annotation for name, (annotation, _) in declared.items()}
    body["__module__"], body["__qualname__"] = cls.__module__, cls.__qualname__
    body["__doc__"] = cls.__doc__ or "-"  # `dataclasses` would make one, from a signature
    if hasattr(cls, "__post_init__"):
        body["__post_init__"] = cls.__post_init__
    twin: type[Any] = dataclasses.dataclass(**wanted)(type(cls.__name__, (), body))
    for name in _VALUES:
        setattr(cls, name, getattr(twin, name))
    return twin


def _freeze(cls: type[Any], *, slots: bool) -> None:
    own = vars(cls)
    methods: dict[str, Callable[..., Any]] = {"__setattr__": _refuse_to_set, "__delattr__": _refuse_to_delete}
    if slots:  # they would be restored by setting attributes
        methods |= {"__getstate__": _state, "__setstate__": _restore}
    for name, method in methods.items():
        if name not in own:
            setattr(cls, name, method)


def _refuse_to_set(_self: Any, name: str, _value: object) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(_self: Any, name: str) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _restore(self: Any, state: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)
