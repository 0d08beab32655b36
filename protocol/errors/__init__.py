"""Two families of errors: the peer's on the wire (`PeerError`) and those of the JetStream API (`ApiError`).

API errors come from one table, ``js_errors.json``. A row has a constant, an HTTP-like code, an error number
and a description with ``{placeholder}``s. `api_error` makes an error from its constant. Nothing here decides
*when* an error applies.
"""

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

_PLACEHOLDER = re.compile(r"\{[a-z_]+\}")


class PeerError(Exception):
    """The peer broke the protocol.

    text: is sent to the peer as ``-ERR '<text>'``. If it is empty, nothing is sent.
    close: whether the connection ends with this error.
    reason: is for the log and the list of closed connections.
    """

    def __init__(self, text: str, close: bool = True, reason: str = "Protocol Violation") -> None:
        super().__init__(text or reason)
        self.text = text
        self.close = close
        self.reason = reason


class ApiError(Exception):
    """A JetStream API error: an HTTP-like `code`, a unique `err_code` and a `description`."""

    def __init__(self, code: int, err_code: int = 0, description: str = "") -> None:
        super().__init__(f"{description} ({err_code})")
        self.code = code
        self.err_code = err_code
        self.description = description

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ApiError):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[int, int, str]:
        return self.code, self.err_code, self.description

    def to_json(self) -> dict[str, Any]:
        """Return the ``error`` object of a response.

        Number and description are left out if they are unset.
        """
        out: dict[str, Any] = {"code": self.code}
        if self.err_code:
            out["err_code"] = self.err_code
        if self.description:
            out["description"] = self.description
        return out

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "ApiError":
        """Read the ``error`` object of a response."""
        return cls(
            int(value.get("code") or 0), int(value.get("err_code") or 0), str(value.get("description") or "")
        )


class ErrorRow(NamedTuple):
    """One row of the error table."""

    constant: str
    code: int
    err_code: int
    description: str

    @property
    def placeholders(self) -> list[str]:
        """The names of the placeholders in the description, in order."""
        return [name[1:-1] for name in _PLACEHOLDER.findall(self.description)]


@cache
def table() -> dict[str, ErrorRow]:
    """Return the whole table, by constant."""
    from importlib.resources import files

    rows = json.loads((files(__name__) / "js_errors.json").read_text("utf-8"))
    return {
        row["constant"]: ErrorRow(row["constant"], row["code"], row["err_code"], row["description_template"])
        for row in rows
    }


def entries() -> Iterator[ErrorRow]:
    """Iterate over the table in its own order."""
    yield from table().values()


def api_error(constant: str, **placeholders: object) -> ApiError:
    """Return the error named `constant`, with each ``{name}`` in its description filled in from a keyword.

    Raises KeyError for a constant that is not in the table, and for a placeholder that the caller did not
    give. Both are bugs of pyjs.
    """
    entry = table()[constant]
    description = entry.description
    for name in entry.placeholders:
        description = description.replace("{" + name + "}", str(placeholders[name]))
    return ApiError(entry.code, entry.err_code, description)
