"""INFO of an account, a stream or a consumer, with what all servers know of it together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .....protocol.api.account import AccountLimits, ApiStats
from .....protocol.api.consumer import ConsumerConfig
from .....protocol.api.messages import response
from .....protocol.errors import api_error
from .....protocol.limits import API_LEVEL
from ....slices import Steps
from ...account.account import shown_limits
from ...consumers.info import shown
from ...meta.usage import account_info
from .. import stream as stream_api
from ..request import Request, Response
from .propose import requester

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...cluster.local_stream import LocalStream
    from ...cluster.view import ClusterView
    from ...consumers.core import Consumer
    from ...streams.core import Stream

Json = dict[str, Any]


class InfoApi:
    """The handlers of the INFO requests."""

    def __init__(self, view: ClusterView) -> None:
        self._view = view

    # --- the account

    def account(self, request: Request) -> Response:
        """Answer INFO."""
        account = request.account
        limits: dict[str, AccountLimits] = {
            tier: shown_limits(grant) for tier, grant in sorted(account.limits.by_tier.items())
        }
        info = account_info(
            self._view.state, account.name, limits, self._view.usage(account.name), account.host.domain
        )
        total, errors = self._view.api_elsewhere(account.name)
        info.api = ApiStats(
            level=API_LEVEL, total=total + account.api_total, errors=errors + account.api_errors
        )
        return response(request.kind, info)

    # --- streams

    def stream(self, request: Request) -> Response:
        """Answer STREAM.INFO.<stream>, as its leader, or as a member while there is no leader."""
        local = self._view.local_streams.get((request.account.name, request.tokens[2]))
        if local is None or local.stream is None:
            raise api_error("JSClusterNotAvailErr")
        return request.work(self._describing(request, local, local.stream))

    def _describing(self, request: Request, local: LocalStream, stream: Stream[Consumer]) -> Steps[Response]:
        account, name = request.account, request.tokens[2]
        answer = yield from stream_api.describing(request, stream)
        answer["cluster"] = local.info().to_json()["cluster"]
        clusters = requester(self._view, request).clusters
        alternates = self._alternates(account.name, name, account.host.domain, clusters)
        if alternates:
            answer["alternates"] = alternates
        return answer

    def _alternates(self, account: str, name: str, domain: str, clusters: Sequence[str]) -> list[Json]:
        """Return the stream and its mirrors, if it has any: those in the first of `clusters` first."""
        found = [
            one
            for one in self._view.state.of_account(account)
            if one.name == name or (one.config.get("mirror") or {}).get("name") == name
        ]
        if len(found) == 1:
            return []
        ranks = {cluster: rank for rank, cluster in enumerate(clusters)}
        found.sort(key=lambda one: ranks.get(one.cluster, len(ranks)))
        return [
            {"name": one.name, **({"domain": domain} if domain else {}), "cluster": one.cluster}
            for one in found
        ]

    # --- consumers

    def consumer(self, request: Request) -> Response:
        """Answer CONSUMER.INFO.<stream>.<consumer>, as the leader, or as the member that should lead."""
        request.must_be_empty()
        account, (stream, name) = request.account, request.tokens[2:4]
        local = self._view.local_streams.get((account.name, stream))
        if local is None:
            raise api_error("JSClusterNotAvailErr")
        info = local.consumer_info(name)
        info.config = shown(info.config or ConsumerConfig())
        return response(request.kind, info)
