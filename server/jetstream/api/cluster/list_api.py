"""NAMES and LIST: pages of the streams of an account, and of the consumers of a stream.

The meta leader answers NAMES from what was decided. For LIST it asks the leaders of the streams for their
infos. It answers when all have come, or after TIMEOUT with those that have. Promises: a request is answered
once, for all servers. Streams whose info did not come are named in `missing`.

Source: nats-server's server/jetstream_cluster.go: jsClusteredStreamListRequest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from .....protocol.api.messages import PageRequest, response
from .....protocol.errors import api_error
from ...cluster.leader_queries import TIMEOUT, LeaderQueries
from ...meta.assignment import ConsumerAssignment, StreamAssignment
from ..page import LIST_LIMIT, NAMES_LIMIT, Page
from ..request import LATER, Request, Response
from .consumer_api import known_consumer
from .propose import ASK_AGAIN, guarded
from .stream_api import known_stream

if TYPE_CHECKING:
    from ...cluster.proposer import Proposer
    from ...cluster.view import ClusterView
    from ...meta.state import MetaState

Json = dict[str, Any]
A = TypeVar("A", StreamAssignment, ConsumerAssignment)


def streams_page(
    state: MetaState, account: str, offset: int = 0, limit: int = NAMES_LIMIT, subject: str = ""
) -> Page[StreamAssignment]:
    """Return a page of the account's streams; with a `subject`, of those whose subjects collide with it."""
    found = state.capturing(account, subject) if subject else state.of_account(account)
    return Page(found, offset, limit)


def consumers_page(
    state: MetaState, account: str, stream: str, offset: int = 0, limit: int = NAMES_LIMIT
) -> Page[ConsumerAssignment]:
    """Return a page of a stream's consumers."""
    return Page(state.consumers_of(account, stream), offset, limit)


class InfoGather(Generic[A]):
    """Collects the infos of one page. It asks nobody itself: `waiting` has the names still missing."""

    def __init__(self, page: Page[A], unreachable: Mapping[str, Json] | None = None) -> None:
        """unreachable: what is known of those whose servers are all offline, by name."""
        self.page: Page[A] = page
        self._names = {item.name for item in page.items}
        self._found: dict[str, Json] = dict(unreachable or {})
        self._missing = set(self._found)

    @property
    def waiting(self) -> set[str]:
        """The names whose leaders have not answered."""
        return self._names - self._found.keys()

    def take(self, name: str, info: Json) -> bool:
        """Note an info. Return whether it was waited for; the first of two for a name counts."""
        if name not in self.waiting:
            return False
        self._found[name] = info
        return True

    def answer(self, field: str) -> Json:
        """Return the fields of the answer with the infos so far; `field` is "streams" or "consumers"."""
        missing = sorted(self.waiting | self._missing)
        answer: Json = self.page.numbers()
        answer[field] = [self._found[name] for name in sorted(self._found)]
        if missing:
            answer["missing"] = missing
        return answer


class ListApi:
    """The handlers of NAMES and LIST."""

    def __init__(self, view: ClusterView, proposer: Proposer, queries: LeaderQueries) -> None:
        self._view = view
        self._proposer = proposer
        self._queries = queries

    def stream_names(self, request: Request) -> Response:
        """Answer STREAM.NAMES."""
        asked = request.read_optional(PageRequest)
        page = streams_page(self._view.state, request.account.name, asked.offset, NAMES_LIMIT, asked.subject)
        return response(
            request.kind, **page.numbers(), streams=[stream.name for stream in page.items] or None
        )

    def streams(self, request: Request) -> Response:
        """Answer STREAM.LIST."""
        asked = request.read_optional(PageRequest)
        account, view, planner = request.account, self._view, self._proposer.planner()
        page = streams_page(view.state, account.name, asked.offset, LIST_LIMIT, asked.subject)
        offline = [stream for stream in page.items if planner.offline(stream)]
        away = {one.name: known_stream(view, account.host, one).to_json() for one in offline}
        return self._gather(request, "SI", "", page, away)

    def _consumers_page(self, request: Request, limit: int) -> Page[ConsumerAssignment]:
        asked = request.read_optional(PageRequest)
        return consumers_page(self._view.state, request.account.name, request.tokens[2], asked.offset, limit)

    def consumer_names(self, request: Request) -> Response:
        """Answer CONSUMER.NAMES.<stream>."""
        if self._view.state.stream(request.account.name, request.tokens[2]) is None:
            raise api_error("JSStreamNotFoundErr")
        page = self._consumers_page(request, NAMES_LIMIT)
        return response(request.kind, **page.numbers(), consumers=[consumer.name for consumer in page.items])

    def consumers(self, request: Request) -> Response:
        """Answer CONSUMER.LIST.<stream>; an unknown stream has no consumers, as on the reference."""
        page = self._consumers_page(request, LIST_LIMIT)
        name, now = request.tokens[2], request.context.clock.now()
        stream = self._view.state.stream(request.account.name, name)
        away: dict[str, Json] = {}
        if stream is not None and self._proposer.planner().offline(stream):
            away = {one.name: known_consumer(self._view, now, one).to_json() for one in page.items}
        return self._gather(request, "CI", name, page, away)

    def _gather(
        self,
        request: Request,
        kind: Literal["SI", "CI"],
        stream: str,
        page: Page[StreamAssignment] | Page[ConsumerAssignment],
        away: dict[str, Json],
    ) -> Response:
        """Answer with the infos of a page when all have come, or after TIMEOUT."""
        field = "streams" if kind == "SI" else "consumers"
        gather: InfoGather[Any] = InfoGather(page, away)

        over: list[Callable[[], None]] = []
        ended = False

        def answer() -> None:
            nonlocal ended
            ended = True
            for end in over:
                end()
            request.respond(response(request.kind, **gather.answer(field)))

        def take(name: str, info: Json) -> None:
            if gather.take(name, info) and not gather.waiting:
                answer()

        if not gather.waiting:
            return response(request.kind, **gather.answer(field))
        clock, guarded_take = request.context.clock, guarded(request, take)

        def ask() -> None:
            """Ask those who have not answered again, as a stream may be between two leaders."""
            if not ended:
                over.append(clock.call_later(ASK_AGAIN, ask).cancel)
                names = gather.waiting
                over.append(self._queries.ask(kind, request.account.name, stream, "", guarded_take, names))

        over.append(clock.call_later(TIMEOUT, guarded(request, answer)).cancel)
        ask()
        return LATER
