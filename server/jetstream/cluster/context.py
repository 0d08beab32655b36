"""ClusterContext: what the API's handlers get of the cluster that this server is in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....protocol.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from random import Random

    from ...clock import Clock
    from ...cluster.ticker import Ticker
    from ...task_executor import TaskExecutor
    from .leader_queries import LeaderQueries
    from .proposer import Proposer
    from .reply_router import ReplyRouter
    from .served_requests import ServedRequests
    from .view import ClusterView


@dataclass(frozen=True, slots=True)
class ClusterContext:
    """The parts of the cluster that API handlers use; a server has one.

    view: what this server knows.
    proposer: has the meta group decide.
    queries: asks the leaders of streams.
    replies: sends a reply through another server.
    served: tells the next leader what was served.
    clock: the server's.
    executor: calls back in the next turn of the loop.
    ticker: counts the ticks by which Raft groups measure their leaders' silence.
    random: for choices among equals.
    """

    view: ClusterView
    proposer: Proposer
    queries: LeaderQueries
    replies: ReplyRouter
    served: ServedRequests
    clock: Clock
    executor: TaskExecutor
    ticker: Ticker
    random: Random
