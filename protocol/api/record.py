"""Record: a dataclass that knows its JSON.

Each field is declared once, by a function of `fields`. The declaration states its kind of JSON value, its
default, and whether it is written when empty. `from_json` and `to_json` follow from that: an attribute's name
is the JSON name, and the order in the class is the order in the JSON. Fields that a record does not know are
kept in `extra` and written back.

Reading follows the reference's decoder: ``null`` leaves the default, names match in any case, and a value of
a wrong type is an error. Errors are `ApiError` 10025 with the reference's text.
"""

import dataclasses
from collections.abc import Generator, Mapping
from typing import Any, ClassVar, Protocol, Self

from .. import gojson
from ..errors import ApiError, api_error
from ..lazy_dataclass import dataclass

Schema = dict[str, Any]
LONG = 64  # records in a list from which on it is read in steps
# Range of each number type of the reference, by its name there.
NUMBERS = {
    "int": (-(1 << 63), (1 << 63) - 1),
    "int64": (-(1 << 63), (1 << 63) - 1),
    "int32": (-(1 << 31), (1 << 31) - 1),
    "uint32": (0, (1 << 32) - 1),
    "uint64": (0, (1 << 64) - 1),
    "time.Duration": (-(1 << 63), (1 << 63) - 1),
}


class JsonKind(Protocol):
    """How one kind of JSON value is read and written.

    nested: whether the value consists of records.
    nullable: whether null counts as absent. If not, `read` gets it.
    """

    nested: bool
    nullable: bool

    def read(self, value: Any, where: str, strict: bool) -> Any:
        """Return the attribute's value for a JSON value; `where` is its path ``Type.field.0.field``."""

    def reading(self, value: Any, where: str, strict: bool) -> Generator[None, None, Any]:
        """Like `read`, in steps."""

    def write(self, value: Any) -> Any:
        """Return the JSON value for the attribute's value."""

    def writing(self, value: Any) -> Generator[None, None, Any]:
        """Like `write`, in steps."""

    def is_empty(self, value: Any) -> bool:
        """Return whether `value` is left out where empty values are left out."""

    def schema(self, *, answered: bool) -> Schema:
        """Return the JSON Schema of the value; see `Record.schema`."""


def invalid_json(reason: str) -> ApiError:
    """Return error 10025 with the text ``invalid JSON: <reason>``."""
    return api_error("JSInvalidJSONErr", err=reason)


def wrong_type(value: Any, where: str, go_type: str) -> ApiError:
    """Return error 10025 for a JSON value at path `where` that is not of `go_type`."""
    what = _json_type(value)
    if what == "number" and go_type in NUMBERS:
        what = f"number {value}"
    if "." not in where:
        target = "Go value"
    elif where.rpartition(".")[2].isdigit():
        target = where
    else:
        target = f"Go struct field {where}"
    return invalid_json(f"json: cannot unmarshal {what} into {target} of type {go_type}")


def _json_type(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str):
        return "string"
    return "object" if isinstance(value, Mapping) else "array"


@dataclass(slots=True)
class Record:
    """The base of all API types. `extra` has the fields that the type does not know."""

    go_name: ClassVar[str] = ""

    extra: dict[str, Any] = dataclasses.field(default_factory=dict, kw_only=True, repr=False)

    @classmethod
    def parse(cls, data: bytes, *, strict: bool = False) -> Self:
        """Read JSON text. Empty text and ``null`` make an empty record. Raises ApiError 10025."""
        value = None
        if data.strip():
            try:
                value = gojson.decode(data)
            except gojson.JsonError as error:
                raise invalid_json(str(error)) from None
        return cls() if value is None else cls.from_json(value, strict=strict)

    @classmethod
    def from_json(cls, value: Any, *, strict: bool = False, where: str = "") -> Self:
        """Read a decoded JSON object.

        Raises ApiError 10025 if it is no object, if a value has a wrong type, or, with `strict`, if a field
        is unknown. `where` is the path to the object for error texts.
        """
        where = where or type_name(cls)
        if not isinstance(value, Mapping):
            raise wrong_type(value, where, f"server.{type_name(cls)}")
        known = _kinds(cls)
        made = cls()
        for name, item in value.items():
            key = name if name in known else str(name).lower()
            kind = known.get(key)
            if kind is None:
                if strict:
                    raise invalid_json(f'json: unknown field "{name}"')
                made.extra[name] = item
            elif item is not None or not kind[0].nullable:
                setattr(made, key, kind[0].read(item, f"{where}.{key}", strict))
        return made

    @classmethod
    def reading(cls, value: Any, *, strict: bool = False, where: str = "") -> Generator[None, None, Self]:
        """Like `from_json`, in steps: one for each record in a long list of them."""
        where, known = where or type_name(cls), _kinds(cls)
        whole = dict(value) if isinstance(value, Mapping) else value
        long = {
            name: whole.pop(name)
            for name, item in (value.items() if isinstance(value, Mapping) else ())
            if isinstance(item, list) and len(item) > LONG and name in known and known[name][0].nested
        }
        made = cls.from_json(whole, strict=strict, where=where)
        for name, item in long.items():
            setattr(made, name, (yield from known[name][0].reading(item, f"{where}.{name}", strict)))
        return made

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object: the fields in order, then `extra`.

        Empty fields are left out, as nats-server does with those that are `omitempty`.
        """
        out: dict[str, Any] = {}
        for name, (kind, keep) in _kinds(type(self)).items():
            value = getattr(self, name)
            if keep or not kind.is_empty(value):
                out[name] = kind.write(value)
        out.update(self.extra)
        return out

    def writing(self) -> Generator[None, None, dict[str, Any]]:
        """Like `to_json`, in steps: one for each record in a list of them."""
        out: dict[str, Any] = {}
        for name, (kind, keep) in _kinds(type(self)).items():
            value = getattr(self, name)
            if keep or not kind.is_empty(value):
                out[name] = (yield from kind.writing(value)) if kind.nested else kind.write(value)
        out.update(self.extra)
        return out

    @classmethod
    def schema(cls, *, answered: bool) -> Schema:
        """Return the JSON Schema of the object.

        answered: whether servers write it. Then all fields that are written when empty are required.
        """
        kinds = _kinds(cls)
        made: Schema = {
            "type": "object",
            "properties": {name: kind.schema(answered=answered) for name, (kind, _) in kinds.items()},
        }
        required = [name for name, (_, keep) in kinds.items() if keep] if answered else []
        return {**made, "required": required} if required else made

    def replace(self, **changes: Any) -> Self:
        """Return a deep copy with some fields changed."""
        return dataclasses.replace(type(self).from_json(self.to_json()), **changes)


def type_name(cls: type[Record]) -> str:
    """Return the name of the type in error texts."""
    return cls.go_name or cls.__name__


_known: dict[type[Record], dict[str, tuple[JsonKind, bool]]] = {}


def _kinds(cls: type[Record]) -> dict[str, tuple[JsonKind, bool]]:
    """Return the kind and `keep` of each field of a class. They are collected once per class."""
    kinds = _known.get(cls)
    if kinds is None:
        kinds = _known[cls] = {
            f.name: (f.metadata["kind"], f.metadata["keep"])
            for f in dataclasses.fields(cls)
            if "kind" in f.metadata
        }
    return kinds
