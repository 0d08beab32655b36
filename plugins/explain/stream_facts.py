"""What was asked about a stream. What a server did not tell is empty."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...cli.proposal import command
from ...protocol.buckets.key_value import STREAM_PREFIX as KEY_VALUE
from ...protocol.buckets.object_store import STREAM_PREFIX as OBJECTS
from .account_origin import UNTOLD, AccountOrigin
from .origin_findings import OriginFacts

Info = Mapping[str, Any]
NEAR = 90  # percent of a limit


@dataclass(frozen=True)
class StreamFacts:
    """What was asked about a stream.

    info: the answer of STREAM.INFO.
    account: the answer of INFO; empty if it may not be asked.
    consumers: the answers of CONSUMER.INFO, where the retention depends on them.
    subjects: how many messages each subject has, where that is a limit.
    origins: what it mirrors, or takes from.
    origin: where the account is made; asked for where that is told.
    """

    info: Info
    account: Info = field(default_factory=dict)
    consumers: tuple[Info, ...] = ()
    subjects: Mapping[str, int] = field(default_factory=dict)
    origins: tuple[OriginFacts, ...] = ()
    origin: AccountOrigin = UNTOLD

    @property
    def name(self) -> str:
        """The stream's name."""
        return str(self.config.get("name", ""))

    @property
    def config(self) -> Info:
        """Its configuration."""
        found: Info = self.info["config"]
        return found

    @property
    def state(self) -> Info:
        """Its state."""
        found: Info = self.info["state"]
        return found

    def edit(self, *flags: object) -> str:
        """Return the command that changes its configuration."""
        return command("stream", "edit", self.name, *flags)

    @property
    def bucket(self) -> tuple[str, str] | None:
        """Its kind, `kv` or `object`, and its name, if it is a bucket; else None."""
        for kind, prefix in (("kv", KEY_VALUE), ("object", OBJECTS)):
            if self.name.startswith(prefix):
                return kind, self.name.removeprefix(prefix)
        return None


def filters_of(config: Info) -> list[str]:
    """Return what a consumer filters; `>` if it takes everything."""
    single = config.get("filter_subject")
    return [single] if single else list(config.get("filter_subjects") or [">"])


@dataclass(frozen=True)
class AccountUse:
    """How much of `memory` or `storage` (the kind) an account uses, of at most `limit`; -1 for no limit.

    next_one: bytes of a usual message.
    tier: the replicas of the tier that the limit is of; 0 for the whole account.
    """

    kind: str
    limit: int
    used: int
    next_one: int
    tier: int = 0

    @property
    def full(self) -> bool:
        """Whether a usual message has no room: where they are large, that may be long before the limit."""
        return 0 < self.limit < self.used + self.next_one

    @property
    def near(self) -> bool:
        """Whether the limit is nearly reached, or reached."""
        return self.full or 0 < self.limit * NEAR <= self.used * 100


def account_use(facts: StreamFacts) -> AccountUse:
    """Return how much the account uses where a stream is stored, or its tier for as many replicas."""
    tiers = facts.account.get("tiers") or {}
    replicas = facts.config.get("num_replicas", 1)
    tier = tiers.get(f"R{replicas}")
    use = tier or facts.account
    kind = "memory" if facts.config.get("storage") == "memory" else "storage"
    limit = (use.get("limits") or {}).get(f"max_{kind}", -1)
    messages = facts.state.get("messages", 0)
    next_one = max(1, facts.state.get("bytes", 0) // messages if messages else 1)
    used = use.get(kind, 0)
    if tier:
        used //= max(1, replicas)  # the limit of a tier is one for each replica, its usage that of all
    return AccountUse(kind, limit, used, next_one, replicas if tier else 0)
