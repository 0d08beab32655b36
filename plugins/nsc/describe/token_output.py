"""The ways to show a token: as a page, as JSON, one field of it, or the token itself."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ....keys import WorkspaceError, decode, decorate_jwt
from ....keys.token import payload_of
from ....keys.workspace.display_names import friendly_names
from ....keys.workspace.workspace import Workspace
from ..command import run
from ..output import STDOUT, output_file, write
from ..pages.parts import Names
from .flags import options


@dataclass(frozen=True, slots=True)
class TokenOutput:
    """The values of the flags of `describe`.

    where: the output file.
    """

    where: str = STDOUT
    raw: bool = False
    long_ids: bool = False
    field: str = ""

    def show(self, token: str, page: Callable[[], str]) -> None:
        """Write a token; `page()` draws it. Raises WorkspaceError for a field that it does not have."""
        kind = decode(token, v1=True).KIND or "generic"
        if self.raw:
            text = token if self.where == STDOUT else decorate_jwt(token, kind)
            write(text, self.where, f"{kind} jwt")
        elif self.field:
            found = field(payload_of(token), self.field)
            text = json.dumps(found, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
            write(text, self.where, f"{kind} description", is_json=True)
        elif run().json:
            text = json.dumps(payload_of(token), indent=1, sort_keys=True, ensure_ascii=False)
            write(text, self.where, f"{kind} description", is_json=True)
        else:
            write(page(), self.where, f"{kind} description")

    def names(self, workspace: Workspace | None) -> Names:
        """Return how accounts are shown on pages: a function from a key to a name, or to the key itself."""
        if self.long_ids or workspace is None:
            return str
        known = friendly_names(workspace)
        return lambda key: known.get(key, key)


def shown(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the flags of `describe` to a command, which gets them together as its argument `how`."""

    @functools.wraps(function)
    def with_flags(*, where: str, raw: bool, long_ids: bool, field: str, as_json: bool, **more: Any) -> Any:
        if as_json:
            run().json = True
        return function(how=TokenOutput(where, raw, long_ids, field), **more)

    result: Callable[..., Any] = with_flags
    result.__click_params__ = [*reversed(options()), *getattr(function, "__click_params__", ())]  # type: ignore[attr-defined]
    final: Callable[..., Any] = output_file("-o", "--output-file")(result)
    return final


def field(document: Any, path: str) -> Any:
    """Return the value at a path such as `nats.exports[0].subject`.

    Raises WorkspaceError if there is none.
    """
    found = document
    for part in path.replace("]", "").replace("[", ".").split("."):
        try:
            found = found[int(part) if isinstance(found, list) else part]
        except (KeyError, IndexError, ValueError, TypeError):
            raise WorkspaceError(f"the token has no field {path!r}: there is no {part!r}") from None
    return found
