"""The base class of all documents in a token: strict types, the field order of Go, and its `omitempty` rules.

Fields have their JSON names. Promises:

- Reading is strict: a wrong type is an error. `null` counts as absent. Unknown fields are kept and written
  back.
- Names are read in any case, as Go reads them, so that what `PUB` denies is denied. A field that is there
  twice is an error.
- A field that a program names must be known: a misspelt one (`pub.alow`) would leave open what it should
  close.
- Values that are assigned are checked when a token is made.
- `repr` shows no seed.
- Writing omits empty values (false, 0, "", no entries), except nested documents and the fields named in
  `ALWAYS`. Maps are written with sorted keys.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from ..nkey import holds_secret

Int64 = Annotated[int, Field(ge=-(2**63), le=2**63 - 1)]
Count = Annotated[int, Field(ge=0, le=2**63 - 1)]
UNLIMITED = -1
_HIDDEN = "(hidden: it holds a seed or private key)"
VERSION = 2


class ClaimsDocument(BaseModel):
    """A JSON object with known fields."""

    model_config = ConfigDict(strict=True, extra="allow", hide_input_in_errors=True, defer_build=True)
    ALWAYS: ClassVar[frozenset[str]] = frozenset()
    LAST: ClassVar[tuple[str, ...]] = ()

    def __new__(cls, *_: Any, **fields: Any) -> Self:
        """Raise AttributeError for a name that is not a field. Documents read from JSON do not pass here."""
        for name in fields:
            cls._must_know(name)
        return super().__new__(cls)

    def __setattr__(self, name: str, value: Any) -> None:
        """Set a field, or an unknown one that was read. Raises AttributeError for any other name."""
        if not name.startswith("_") and name not in (self.model_extra or ()):
            self._must_know(name)
        super().__setattr__(name, value)

    @classmethod
    def _must_know(cls, name: str) -> None:
        if name in cls.model_fields:
            return
        near = difflib.get_close_matches(name, cls.model_fields, 1)
        hint = f": did you mean {near[0]!r}?" if near else ""
        raise AttributeError(f"{cls.__name__} has no field {name!r}{hint}", name=name, obj=cls)

    @model_validator(mode="before")
    @classmethod
    def _by_name(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        there = {name: value for name, value in data.items() if value is not None}
        if there.keys() <= cls.model_fields.keys():
            return there
        result: dict[str, Any] = {}
        for name, value in there.items():
            folded = name.casefold()
            field = folded if folded in cls.model_fields else name
            if field in result:
                raise ValueError(f"the field {field!r} is there twice")
            result[field] = value
        return result

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        """Yield what `repr` shows: everything but values that hold a seed or private key."""
        for name, value in super().__repr_args__():
            yield name, _HIDDEN if holds_secret(repr(value)) else value

    def document(self) -> dict[str, Any]:
        """Return the JSON object as it is written into a token."""
        fields = [name for name in type(self).model_fields if name not in self.LAST]
        result: dict[str, Any] = {}
        for name in (*fields, *(self.model_extra or {}), *self.LAST):
            value = self._written(name, getattr(self, name))
            if value is None or (not value and name not in self.ALWAYS and not isinstance(value, _Nested)):
                continue
            result[name] = value
        return result

    def _written(self, name: str, value: Any) -> Any:
        """Return a field's value as it is written; subclasses override this for exceptions."""
        return written(value)


class _Nested(dict[str, Any]):
    """A nested document, which is written even if it is empty."""


def written(value: Any) -> Any:
    """Convert a field's value into JSON values: documents become dicts, maps get sorted keys."""
    if isinstance(value, ClaimsDocument):
        return _Nested(value.document())
    if isinstance(value, list):
        return [written(item) for item in value]
    if isinstance(value, dict):
        return {key: written(value[key]) for key in sorted(value)}
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
        return int(value)
    return value


class Body(ClaimsDocument):
    """The document under `nats`: its last fields are tags, type and version."""

    LAST: ClassVar[tuple[str, ...]] = ("tags", "type", "version")

    tags: list[str] = Field(default_factory=list)
    type: str = ""
    version: Int64 = 0


def add_tags(tags: list[str], *more: str) -> list[str]:
    """Return tags with `more` added: in lower case, stripped, without repeats and empty ones."""
    result = list(tags)
    for tag in (t.strip().lower() for t in more):
        if tag and tag not in result:
            result.append(tag)
    return result
