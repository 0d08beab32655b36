"""ValidationContext: everything besides a configuration itself that its validation depends on.

Promises: it has only plain values and one lookup. The rules read it and change nothing.
"""

from __future__ import annotations

from collections.abc import Callable

from .....protocol.api.stream import StreamConfig
from .....protocol.errors import ApiError, api_error
from .....protocol.lazy_dataclass import dataclass
from .....protocol.subject_tree import SubjectTree


def nowhere(_name: str) -> StreamConfig | None:
    """Return None: the lookup of an account without streams."""
    return None


@dataclass(frozen=True, slots=True)
class SubjectCheck:
    """The result of checking the subjects of a configuration by themselves.

    subjects: the list that was checked.
    tree: the same subjects as a tree, each with its indexes in the list.
    error: why they are not accepted; None if they are.
    """

    subjects: list[str]
    tree: SubjectTree[list[int]]
    error: ApiError | None = None


@dataclass(frozen=True, slots=True)
class ValidationContext:
    """The context of one configuration check.

    lookup: returns the configuration of the account's stream with the given name, or None.
    duplicates_limit: the longest duplicate window that the server allows, ns; 0 for any.
    max_bytes_required: whether the account's streams must limit their bytes.
    memory_max_stream_bytes: the account's limit for one stream in memory, bytes; -1 or 0 for none.
    storage_max_stream_bytes: the same for one stream in files.
    pedantic: whether values that the server would otherwise adjust are refused.
    clustered: whether there are other servers for replicas.
    subject_check: the result of `checking_subjects`, if it was called before; None if not.
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
    """Return ApiError 10052 with this text, the error of most rules."""
    return api_error("JSStreamInvalidConfigF", err=text)


def pedantic(text: str) -> ApiError:
    """Return ApiError 10157 with this text, for a value that would be adjusted despite a pedantic request."""
    return api_error("JSPedanticErrF", err=text)
