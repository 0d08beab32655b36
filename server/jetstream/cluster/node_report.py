"""NodeReport: what a server announces of itself to all others, at a change and every few seconds.

It goes over the system account, beside Raft: nothing is promised of its delivery, and it only informs whoever
places, lists and monitors.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..meta.node_info import NodeInfo
from ..meta.usage import TierUsage

PREFIX = "$JSC.STATE."


class NodeReportError(ValueError):
    """These bytes are no report."""


@dataclass(frozen=True, slots=True)
class NodeReport:
    """process: the server's id, another one each time it starts. used: bytes by account and tier.

    lags: of the groups that it leads, by (account, stream) and member. term, index: of the meta group, if it
    leads it and knows all that was decided before; then whoever has applied `index` is as current as it was.
    ask: whether those who receive it should publish theirs.
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
        """As bytes."""
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
        """Read what `encode` gave. Raises NodeReportError."""
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
