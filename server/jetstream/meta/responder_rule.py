"""ResponderRule: which of several servers responds to an API request.

A server without a cluster has the same table of requests, with these rules in it, and never applies them.
"""

from __future__ import annotations

import enum


class ResponderRule(enum.Enum):
    """Which server a request is for. Each request's rule is in the tables of the API, see `api.table`."""

    META = enum.auto()  # the meta leader
    STREAM = enum.auto()  # the stream's leader
    STREAM_INFO = enum.auto()  # as STREAM, but members of a leaderless group answer with what they know
    CONSUMER = enum.auto()  # the leader of the consumer's stream
    CONSUMER_INFO = enum.auto()  # as CONSUMER, but a member that should lead answers with what it knows
    SYSTEM = enum.auto()  # the meta leader, and only in the system account
    EVERYBODY = enum.auto()  # all servers, and only in the system account
