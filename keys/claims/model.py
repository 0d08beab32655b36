"""The base class of all documents in a token: strict types, the field order of Go, and its `omitempty` rules.

Fields have their JSON names. Promises, besides those of `Document`:

- Unknown fields are written back.
- Names are read in any case, as Go reads them, so that what `PUB` denies is denied. A field that is there
  twice is an error.
- Values that are assigned are checked when a token is made.
- `repr` shows no seed.
- Writing omits empty values (false, 0, "", no entries), except nested documents and the fields named in
  `ALWAYS`. Maps are written with sorted keys.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import Annotated, Any, ClassVar

from ..document import Bounds, Document, FieldError
from ..nkey import holds_secret

Int64 = Annotated[int, Bounds(-(2**63), 2**63 - 1)]
Count = Annotated[int, Bounds(0, 2**63 - 1)]
UNLIMITED = -1
_HIDDEN = "(hidden: it holds a seed or private key)"
VERSION = 2


class ClaimsDocument(Document):
    """A JSON object with known fields.

    ALWAYS: fields that are written even if they are empty.
    LAST: fields that are written after the others, and after unknown ones.
    """

    ALWAYS: ClassVar[frozenset[str]] = frozenset()
    LAST: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def by_name(cls, data: dict[str, Any]) -> dict[str, Any]:
        """Return what was read, with names in any case as those of their fields. Raises FieldError."""
        if data.keys() <= cls._defaults.keys():
            return data
        result: dict[str, Any] = {}
        for name, value in data.items():
            folded = name.casefold()
            known = folded if folded in cls._defaults else name
            if known in result:
                raise FieldError(f"the field {known!r} is there twice")
            result[known] = value
        return result

    def shown(self) -> Iterator[tuple[str, str]]:
        """Yield what `repr` shows: everything but values that hold a seed or private key."""
        for name, text in super().shown():
            yield name, repr(_HIDDEN) if holds_secret(text) else text

    def document(self) -> dict[str, Any]:
        """Return the JSON object as it is written into a token."""
        fields = [name for name in self.FIELDS if name not in self.LAST]
        values, result = self.values(), dict[str, Any]()
        for name in (*fields, *self.unknown, *self.LAST):
            value = self._written(name, values[name])
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

    tags: list[str] = field(default_factory=list)
    type: str = ""
    version: Int64 = 0


def add_tags(tags: list[str], *more: str) -> list[str]:
    """Return tags with `more` added: in lower case, stripped, without repeats and empty ones."""
    result = list(tags)
    for tag in (t.strip().lower() for t in more):
        if tag and tag not in result:
            result.append(tag)
    return result
