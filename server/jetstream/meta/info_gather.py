"""InfoGather: pages of names, and of infos for which many leaders have to be asked.

The meta leader answers NAMES of what was decided; for LIST it asks each leader for its info, and answers when
all are there, or when TIMEOUT is over, with those that are: once for all servers. Source: JetStream API,
LIST: what did not come is named in `missing`, what cannot be served here with its reason in `offline`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Generic, TypeVar

from .assignment import ConsumerAssignment, StreamAssignment
from .state import MetaState

TIMEOUT = 4_000_000_000  # ns
NAMES_LIMIT = 1024
LIST_LIMIT = 256
Json = dict[str, Any]
A = TypeVar("A", StreamAssignment, ConsumerAssignment)


class Page(Generic[A]):
    """One page of streams or consumers, sorted by name."""

    def __init__(self, found: Sequence[A], offset: int, limit: int) -> None:
        self.total = len(found)
        self.offset = min(max(offset, 0), self.total)
        self.limit = limit
        self.items: list[A] = list(found[self.offset : self.offset + limit])

    @property
    def names(self) -> list[str]:
        """The names on this page."""
        return [item.name for item in self.items]

    def numbers(self) -> Json:
        """Total, offset and limit, as answers have them."""
        return {"total": self.total, "offset": self.offset, "limit": self.limit}


def streams_page(
    state: MetaState, account: str, offset: int = 0, limit: int = NAMES_LIMIT, subject: str = ""
) -> Page[StreamAssignment]:
    """The account's streams, with a `subject` those whose subjects collide with it."""
    found = state.capturing(account, subject) if subject else state.of_account(account)
    return Page(found, offset, limit)


def consumers_page(
    state: MetaState, account: str, stream: str, offset: int = 0, limit: int = NAMES_LIMIT
) -> Page[ConsumerAssignment]:
    """A stream's consumers."""
    return Page(state.consumers_of(account, stream), offset, limit)


class InfoGather(Generic[A]):
    """The infos of one page. Asks nobody itself: `waiting` names whose info is still to come."""

    def __init__(self, page: Page[A], unreachable: Mapping[str, Json] | None = None) -> None:
        """unreachable: what is known of those all of whose servers are away, by name."""
        self.page: Page[A] = page
        self._names = set(page.names)
        self._found: dict[str, Json] = dict(unreachable or {})
        self._missing = set(self._found)
        self._offline: dict[str, str] = {}

    @property
    def waiting(self) -> set[str]:
        """The names whose leaders have not answered."""
        return self._names - self._found.keys() - self._offline.keys()

    def take(self, name: str, info: Json) -> bool:
        """An info came; whether it was waited for. The first of two counts."""
        if name not in self.waiting:
            return False
        self._found[name] = info
        return True

    def take_offline(self, name: str, reason: str) -> bool:
        """A member reports why it cannot serve it; whether that was waited for."""
        if name not in self.waiting:
            return False
        self._offline[name] = reason
        return True

    def answer(self, field: str) -> Json:
        """The answer's fields with what is there now; `field` is "streams" or "consumers"."""
        missing = sorted(self.waiting | self._missing | self._offline.keys())
        answer: Json = self.page.numbers()
        answer[field] = [self._found[name] for name in sorted(self._found)]
        if missing:
            answer["missing"] = missing
        if self._offline:
            answer["offline"] = dict(sorted(self._offline.items()))
        return answer
