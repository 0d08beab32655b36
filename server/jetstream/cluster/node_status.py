"""NodeStatuses: what this server sees of the others, from what they say and from routes that end."""

from __future__ import annotations

from dataclasses import dataclass

from ...clock import SECOND
from ..meta.node_info import NodeInfo, NodeStatus, node_of
from ..meta.usage import Reports, TierUsage, total
from .node_report import NodeReport

EVERY = 5 * SECOND
SILENCE = 3 * EVERY + SECOND  # three reports that did not come


@dataclass(slots=True)
class _Seen:
    report: NodeReport
    heard: int
    away: bool = False


class NodeStatuses:
    """The newest report of each member, by its id. This server's own is put in as it is said."""

    def __init__(self) -> None:
        self._seen: dict[str, _Seen] = {}

    def hear(self, report: NodeReport, now: int) -> bool:
        """Take a report; whether it is of a member that was not there a moment ago. `now` in ns."""
        member = report.server.id
        seen = self._seen.get(member)
        new = seen is None or not _is_online(seen, now) or seen.report.process != report.process
        for other in [m for m, one in self._seen.items() if one.report.process == report.process]:
            if other != member:
                del self._seen[other]  # another life of the same process
        self._seen[member] = _Seen(report, now)
        return new

    def lost(self, process: str) -> None:
        """The server of that id cannot be reached any more."""
        for seen in self._seen.values():
            if seen.report.process == process:
                seen.away = True

    def view(self, now: int) -> dict[str, NodeStatus]:
        """What is seen at `now`, by member."""
        found = {}
        for member, seen in self._seen.items():
            used = total(seen.report.used.values())
            found[member] = NodeStatus(_is_online(seen, now), True, used.memory, used.store)
        return found

    def reports(self, now: int) -> list[NodeReport]:
        """Those of the members that are there."""
        return [seen.report for seen in self._seen.values() if _is_online(seen, now)]

    def server(self, member: str) -> NodeInfo | None:
        """What a member's server says it is; None if it never said."""
        seen = self._seen.get(member)
        return None if seen is None else seen.report.server

    def names(self) -> dict[str, str]:
        """What the members call their servers."""
        return {member: seen.report.server.name for member, seen in self._seen.items()}

    def process(self, member: str) -> str:
        """The id of the server that a member was heard from last; "" if it was not."""
        seen = self._seen.get(member)
        return "" if seen is None else seen.report.process

    def usage(self, account: str) -> Reports:
        """What the members use of an account, by tier."""
        found: dict[str, dict[str, TierUsage]] = {}
        for member, seen in self._seen.items():
            used = seen.report.used.get(account)
            if used:
                found[member] = dict(used)
        return found

    def api(self, account: str, but: str) -> tuple[int, int]:
        """Requests of an account that the members but one have answered and refused."""
        told = [seen.report.api.get(account, (0, 0)) for member, seen in self._seen.items() if member != but]
        return sum(total for total, _ in told), sum(errors for _, errors in told)

    def lags(self, account: str, stream: str) -> tuple[str, dict[str, int]]:
        """(leader, lags by member) of a stream's group as its leader said last; ("", {}) of none."""
        for member, seen in self._seen.items():
            lags = seen.report.lags.get((account, stream))
            if lags is not None and not seen.away:
                return member, dict(lags)
        return "", {}

    def member(self, node: str) -> str:
        """The member that was heard last of a node; "" for none."""
        found = [(seen.heard, member) for member, seen in self._seen.items() if node_of(member) == node]
        return max(found)[1] if found else ""


def _is_online(seen: _Seen, now: int) -> bool:
    return not seen.away and now - seen.heard < SILENCE
