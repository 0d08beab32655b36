"""NodeReport and NodeStatuses: what each server reports of itself, and what is known of all from that.

A server publishes its report to all others at a change and every few seconds, in the system account and apart
from Raft. Delivery is not guaranteed; reports only inform placement, lists and monitoring. The status of each
node comes from the reports, and from routes that end.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from ....protocol.lazy_dataclass import dataclass
from ...clock import SECOND
from ..meta.node_info import NodeInfo, NodeStatus, node_of
from ..meta.usage import Reports, TierUsage, total

PREFIX = "$JSC.STATE."
EVERY = 5 * SECOND
SILENCE = 3 * EVERY + SECOND  # ns; three reports did not come


class NodeReportError(ValueError):
    """These bytes are not a report."""


@dataclass(frozen=True, slots=True)
class NodeReport:
    """What a server reports of itself.

    server: its description for the meta group.
    process: the server's id, which is another one each time it starts.
    used: account -> tier -> bytes used.
    lags: (account, stream) -> member -> operations behind, for the groups that it leads.
    term: of the meta group, if it leads it and knows all that was decided before, otherwise 0.
    index: the index of the meta group that it has applied. A server that has applied the index of a leader is
        as current as the leader was.
    ask: whether those who receive it should publish theirs.
    api: account -> (API requests answered, those with an error).
    """

    server: NodeInfo
    process: str
    used: Mapping[str, Mapping[str, TierUsage]] = field(default_factory=dict)
    lags: Mapping[tuple[str, str], Mapping[str, int]] = field(default_factory=dict)
    term: int = 0
    index: int = 0
    ask: bool = False
    api: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    def encode(self) -> bytes:
        """Return the report as bytes."""
        value = {
            "server": self.server.to_json(),
            "process": self.process,
            "used": self.used,
            "lags": [[*key, lags] for key, lags in self.lags.items()],
            "term": self.term,
            "index": self.index,
            "ask": self.ask,
            "api": self.api,
        }
        return json.dumps(value, separators=(",", ":")).encode()

    @classmethod
    def decode(cls, data: bytes) -> NodeReport:
        """Return the report that `encode` made these bytes of. Raises NodeReportError."""
        try:
            value: dict[str, Any] = json.loads(data)
            return cls(
                NodeInfo.from_json(value["server"]),
                str(value["process"]),
                {
                    account: {
                        tier: TierUsage(int(memory), int(store)) for tier, (memory, store) in tiers.items()
                    }
                    for account, tiers in value["used"].items()
                },
                {
                    (str(account), str(stream)): {str(member): int(lag) for member, lag in lags.items()}
                    for account, stream, lags in value["lags"]
                },
                int(value["term"]),
                int(value["index"]),
                bool(value["ask"]),
                {account: (int(total), int(errors)) for account, (total, errors) in value["api"].items()},
            )
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise NodeReportError(f"not a report: {type(error).__name__}: {error}") from error


@dataclass(slots=True)
class _Seen:
    node_report: NodeReport
    received: int
    away: bool = False


class NodeStatuses:
    """The newest report of each member, by its id. This server's own is added when it is published."""

    def __init__(self) -> None:
        self._seen: dict[str, _Seen] = {}

    def update(self, node_report: NodeReport, now: int) -> bool:
        """Note a report at `now` (ns). Return whether its member was unknown, offline or restarted before."""
        member = node_report.server.id
        seen = self._seen.get(member)
        new = seen is None or not _is_online(seen, now) or seen.node_report.process != node_report.process
        for other in [m for m, one in self._seen.items() if one.node_report.process == node_report.process]:
            if other != member:
                del self._seen[other]  # an earlier incarnation of the same process
        self._seen[member] = _Seen(node_report, now)
        return new

    def lost(self, process: str) -> None:
        """Note that the server of that id cannot be reached any more."""
        for seen in self._seen.values():
            if seen.node_report.process == process:
                seen.away = True

    def knows(self, process: str) -> bool:
        """Return whether the server of that id has reported."""
        return any(seen.node_report.process == process for seen in self._seen.values())

    def processes(self, cluster: str) -> list[str]:
        """Return the ids of the servers of a cluster that have reported."""
        reports = [seen.node_report for seen in self._seen.values()]
        return [report.process for report in reports if report.server.cluster == cluster]

    def view(self, now: int) -> dict[str, NodeStatus]:
        """Return the status of each member at `now` (ns)."""
        found = {}
        for member, seen in self._seen.items():
            used = total(seen.node_report.used.values())
            found[member] = NodeStatus(_is_online(seen, now), True, used.memory, used.store)
        return found

    def reports(self, now: int) -> list[NodeReport]:
        """Return the newest reports of the members that are online at `now` (ns)."""
        return [seen.node_report for seen in self._seen.values() if _is_online(seen, now)]

    def server(self, member: str) -> NodeInfo | None:
        """Return what a member reported of its server, None if it never did."""
        seen = self._seen.get(member)
        return None if seen is None else seen.node_report.server

    def names(self) -> dict[str, str]:
        """Return the names of the servers, by member."""
        return {member: seen.node_report.server.name for member, seen in self._seen.items()}

    def process(self, member: str) -> str:
        """Return the id of the server from which a member last reported; "" if it never did."""
        seen = self._seen.get(member)
        return "" if seen is None else seen.node_report.process

    def usage(self, account: str) -> Reports:
        """Return what the members use of an account: member -> tier -> bytes."""
        found: dict[str, dict[str, TierUsage]] = {}
        for member, seen in self._seen.items():
            used = seen.node_report.used.get(account)
            if used:
                found[member] = dict(used)
        return found

    def api(self, account: str, but: str) -> tuple[int, int]:
        """Return how many requests of an account all members but `but` have answered, and with an error."""
        counts = [
            seen.node_report.api.get(account, (0, 0)) for member, seen in self._seen.items() if member != but
        ]
        return sum(total for total, _ in counts), sum(errors for _, errors in counts)

    def lags(self, account: str, stream: str) -> tuple[str, dict[str, int]]:
        """Return (leader, member -> lag) of a stream's group as its leader last reported, or ("", {})."""
        for member, seen in self._seen.items():
            lags = seen.node_report.lags.get((account, stream))
            if lags is not None and not seen.away:
                return member, dict(lags)
        return "", {}

    def member(self, node: str) -> str:
        """Return the member of a node that reported last; "" for none."""
        found = [(seen.received, member) for member, seen in self._seen.items() if node_of(member) == node]
        return max(found)[1] if found else ""


def _is_online(seen: _Seen, now: int) -> bool:
    return not seen.away and now - seen.received < SILENCE
