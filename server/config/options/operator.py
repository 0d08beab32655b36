"""Options of operator mode: where account JWTs come from."""

from __future__ import annotations

from ....protocol.lazy_dataclass import dataclass
from .field import MINUTE, option


@dataclass(slots=True)
class ResolverOptions:
    """The `resolver` key: `MEMORY`, `URL("https://…/")`, or a map of `type` full or cache and these keys."""

    kind: str = ""
    url: str = ""
    dir: str = option("", "dir", "path", "Directory of the JWTs; created if missing.")
    allow_delete: bool = option(False, "allow_delete", "bool", "Accounts may be deleted (full only).")
    hard_delete: bool = option(False, "hard_delete", "bool", "Do not keep deleted files (full only).")
    limit: int | None = option(None, "limit", "int", "Number of JWTs that are kept.", minimum=0)
    ttl: int = option(0, "ttl", "strict_duration", "Lifetime of an entry (cache only).")
    interval: int = option(
        MINUTE, "interval", "strict_duration", "Time between syncs with other servers (full only)."
    )
    timeout: int = option(1_900_000_000, "timeout", "strict_duration", "Longest time for a lookup.")

    def __str__(self) -> str:
        """Return a text for messages, without the address, as that may contain a password."""
        usual = ResolverOptions()
        more = ("allow_delete", "hard_delete", "limit", "ttl", "interval", "timeout")
        changed = [
            f"{name}={getattr(self, name)}" for name in more if getattr(self, name) != getattr(usual, name)
        ]
        return " ".join(word for word in (self.kind, self.dir, *changed) if word)
