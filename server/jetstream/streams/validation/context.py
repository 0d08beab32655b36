"""ValidationContext: what a configuration is validated against, besides itself.

Promises: plain values and one lookup; the rules read it and change nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .....protocol.api.stream import StreamConfig
from .....protocol.errors import ApiError, api_error

if TYPE_CHECKING:
    from .subjects import SubjectCheck


def nowhere(_name: str) -> StreamConfig | None:
    """Stand in for an account without streams."""
    return None


@dataclass(frozen=True, slots=True)
class ValidationContext:
    """The context of one configuration check.

    `lookup` gives the configuration of another stream of the account, or None. `duplicates_limit` is the
    server's longest duplicate window (ns, 0 = none). `max_bytes_required` and the two `max_stream_bytes`
    limits are the account's (-1 or 0 = none). `pedantic`: what the server would otherwise adjust is refused.
    `clustered`: there are other servers for replicas. `subject_check`: what is known already of the subjects.
    """

    lookup: Callable[[str], StreamConfig | None] = nowhere
    duplicates_limit: int = 0
    max_bytes_required: bool = False
    memory_max_stream_bytes: int = -1
    storage_max_stream_bytes: int = -1
    pedantic: bool = False
    clustered: bool = False
    subject_check: SubjectCheck | None = None


def invalid(text: str) -> ApiError:
    """Make the error 10052 that most rules answer with."""
    return api_error("JSStreamInvalidConfigF", err=text)


def pedantic(text: str) -> ApiError:
    """Make the error 10157: the value would be adjusted, and the request asked that nothing be."""
    return api_error("JSPedanticErrF", err=text)
