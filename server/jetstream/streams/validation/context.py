"""ValidationContext: what a configuration is validated against, besides itself.

Promises: plain values and one lookup; the rules read it and change nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .....protocol.api.stream import StreamConfig
from .....protocol.errors import ApiError, api_error
from .....protocol.subject_tree import SubjectTree


def nowhere(_name: str) -> StreamConfig | None:
    """Stand in for an account without streams."""
    return None


@dataclass(frozen=True, slots=True)
class SubjectCheck:
    """The result of checking the subjects of a configuration by themselves.

    subjects: those that were checked.
    tree: the same as a tree, with their places in the list.
    error: why they are not accepted.
    """

    subjects: list[str]
    tree: SubjectTree[list[int]]
    error: ApiError | None = None


@dataclass(frozen=True, slots=True)
class ValidationContext:
    """The context of one configuration check.

    lookup: gives the configuration of another stream of the account, or None.
    duplicates_limit: the longest duplicate window that the server allows, ns; 0: any.
    max_bytes_required: whether the account's streams must limit their bytes.
    memory_max_stream_bytes, storage_max_stream_bytes: the account's limits for one stream; -1 or 0: none.
    pedantic: whether what the server would otherwise adjust is refused.
    clustered: whether there are other servers for replicas.
    subject_check: what is known already of the subjects.
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
