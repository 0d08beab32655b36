"""Two families of errors: the peer's on the wire (`PeerError`) and JetStream API errors (`ApiError`).

API errors come from one table, ``js_errors.json`` (constant, HTTP-like code, error number, description with
``{placeholder}``). `api_error` makes one by its constant. Nothing here decides *when* an error
applies.
"""

import json
import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

_PLACEHOLDER = re.compile(r"\{[a-z_]+\}")


class PeerError(Exception):
    """The peer broke the protocol.

    `text` goes to the peer as ``-ERR '<text>'`` (nothing is sent if empty), `close` says whether the
    connection ends with it, `reason` is for the log and the list of closed connections.
    """

    def __init__(self, text: str, close: bool = True, reason: str = "Protocol Violation") -> None:
        super().__init__(text or reason)
        self.text = text
        self.close = close
        self.reason = reason


class ApiError(Exception):
    """A JetStream API error: HTTP-like `code`, unique `err_code`, `description`."""

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
        """Give the ``error`` object of a response; number and description are left out when unset."""
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
        """Names of the placeholders in the description, in order."""
        return [name[1:-1] for name in _PLACEHOLDER.findall(self.description)]


@cache
def table() -> dict[str, ErrorRow]:
    """Give the whole table by constant."""
    rows = json.loads((files(__name__) / "js_errors.json").read_text("utf-8"))
    return {
        row["constant"]: ErrorRow(row["constant"], row["code"], row["err_code"], row["description_template"])
        for row in rows
    }


def entries() -> Iterator[ErrorRow]:
    """Walk the table in its own order."""
    yield from table().values()


def api_error(constant: str, **placeholders: object) -> ApiError:
    """Make the error named `constant`, filling ``{name}`` in its description from keywords.

    Raises KeyError for a constant that is not in the table, or a placeholder that the description needs and
    the caller did not give: both are our bugs.
    """
    entry = table()[constant]
    description = entry.description
    for name in entry.placeholders:
        description = description.replace("{" + name + "}", str(placeholders[name]))
    return ApiError(entry.code, entry.err_code, description)
