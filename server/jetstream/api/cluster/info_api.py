"""What is known of all servers together: names, lists, infos with their cluster, an account's numbers.

Promises: one answer, from what was decided and from the leaders that answered in time; what did not come is
named.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from .....protocol.api.account import AccountLimits, ApiStats
from .....protocol.api.consumer import ConsumerConfig
from .....protocol.api.messages import PageRequest, response
from .....protocol.errors import api_error
from .....protocol.limits import API_LEVEL
from ....slices import Steps
from ...account.account import shown_limits
from ...consumers.info import shown
from ...meta.assignment import ConsumerAssignment, StreamAssignment
from ...meta.info_gather import (
    LIST_LIMIT,
    NAMES_LIMIT,
    TIMEOUT,
    InfoGather,
    Page,
    consumers_page,
    streams_page,
)
from ...meta.usage import account_info
from .. import stream as stream_api
from ..request import LATER, Request, Response
from .consumer_api import ConsumerApi
from .propose import ASK_AGAIN, guarded
from .stream_api import StreamApi

if TYPE_CHECKING:
    from ...cluster.cluster import JetStreamCluster
    from ...cluster.local_stream import LocalStream
    from ...streams.core import Stream

Json = dict[str, Any]


class InfoApi:
    """The handlers."""

    def __init__(self, cluster: JetStreamCluster) -> None:
        self._cluster = cluster

    # --- the account

    def account(self, request: Request) -> Response:
        """Answer INFO."""
        account, cluster = request.account, self._cluster
        limits: dict[str, AccountLimits] = {
            tier: shown_limits(grant) for tier, grant in sorted(account.grants.items())
        }
        info = account_info(
            cluster.state, account.name, limits, cluster.usage(account.name), account.host.domain
        )
        total, errors = cluster.node_tracker.node_statuses.api(account.name, cluster.me)
        info.api = ApiStats(
            level=API_LEVEL, total=total + account.api_total, errors=errors + account.api_errors
        )
        return response(request.kind, info)

    # --- streams

    def stream_names(self, request: Request) -> Response:
        """Answer STREAM.NAMES."""
        asked = request.read_optional(PageRequest)
        page = streams_page(
            self._cluster.state, request.account.name, asked.offset, NAMES_LIMIT, asked.subject
        )
        return response(request.kind, **page.numbers(), streams=page.names or None)

    def streams(self, request: Request) -> Response:
        """Answer STREAM.LIST."""
        asked = request.read_optional(PageRequest)
        account, cluster = request.account, self._cluster
        page = streams_page(cluster.state, account.name, asked.offset, LIST_LIMIT, asked.subject)
        planner, known = cluster.planner(), StreamApi(cluster).known
        away = {one.name: known(account, one).to_json() for one in page.items if planner.offline(one)}
        return self._gather(request, "SI", "", page, away)

    def stream(self, request: Request) -> Response:
        """Answer STREAM.INFO.<stream>: as its leader, or as a member while nobody leads."""
        account, name, cluster = request.account, request.tokens[2], self._cluster
        local = cluster.local_streams.get((account.name, name))
        if local is None or local.stream is None:
            raise api_error("JSClusterNotAvailErr")
        return request.work(self._describing(request, local, local.stream))

    def _describing(self, request: Request, local: LocalStream, stream: Stream) -> Steps[Response]:
        account, name = request.account, request.tokens[2]
        answer = yield from stream_api.describing(request, stream)
        answer["cluster"] = local.info().to_json()["cluster"]
        alternates = self._alternates(account.name, name, account.host.domain)
        if alternates:
            answer["alternates"] = alternates
        return answer

    def _alternates(self, account: str, name: str, domain: str) -> list[Json]:
        """The stream and its mirrors, if it has any; they are all in reach, so none is nearer."""
        found = [
            {"name": one.name, **({"domain": domain} if domain else {}), "cluster": one.cluster}
            for one in self._cluster.state.of_account(account)
            if one.name == name or (one.config.get("mirror") or {}).get("name") == name
        ]
        return found if len(found) > 1 else []

    # --- consumers

    def _consumers_page(self, request: Request, limit: int) -> Page[ConsumerAssignment]:
        asked = request.read_optional(PageRequest)
        return consumers_page(
            self._cluster.state, request.account.name, request.tokens[2], asked.offset, limit
        )

    def consumer_names(self, request: Request) -> Response:
        """Answer CONSUMER.NAMES.<stream>."""
        if self._cluster.state.stream(request.account.name, request.tokens[2]) is None:
            raise api_error("JSStreamNotFoundErr")
        page = self._consumers_page(request, NAMES_LIMIT)
        return response(request.kind, **page.numbers(), consumers=page.names)

    def consumers(self, request: Request) -> Response:
        """Answer CONSUMER.LIST.<stream>; a stream that is not there has none, as the reference has it."""
        page = self._consumers_page(request, LIST_LIMIT)
        account, cluster, name = request.account, self._cluster, request.tokens[2]
        stream, known = cluster.state.stream(account.name, name), ConsumerApi(cluster).known
        away: dict[str, Json] = {}
        if stream is not None and cluster.planner().offline(stream):
            away = {one.name: known(account, one).to_json() for one in page.items}
        return self._gather(request, "CI", name, page, away)

    def consumer(self, request: Request) -> Response:
        """Answer CONSUMER.INFO.<stream>.<consumer>: as the leader, or who is to lead."""
        request.must_be_empty()
        account, (stream, name) = request.account, request.tokens[2:4]
        local = self._cluster.local_streams.get((account.name, stream))
        if local is None:
            raise api_error("JSClusterNotAvailErr")
        info = local.consumer_info(name)
        info.config = shown(info.config or ConsumerConfig())
        return response(request.kind, info)

    # --- many

    def _gather(
        self,
        request: Request,
        kind: Literal["SI", "CI"],
        stream: str,
        page: Page[StreamAssignment] | Page[ConsumerAssignment],
        away: dict[str, Json],
    ) -> Response:
        """Answer with the infos of a page when all are there, or when patience is at its end."""
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
        clock, guarded_take = request.account.host.clock, guarded(request, take)

        def ask() -> None:
            """Ask those who have not answered; a stream may be between two leaders."""
            if not ended:
                over.append(clock.call_later(ASK_AGAIN, ask).cancel)
                names = gather.waiting
                over.append(
                    self._cluster.ask_all(kind, request.account.name, stream, "", guarded_take, names)
                )

        over.append(clock.call_later(TIMEOUT, guarded(request, answer)).cancel)
        ask()
        return LATER
