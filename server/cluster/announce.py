"""What servers say of themselves before, and beside, a group's Raft.

A member's id is one life of one server in one group: `<node>-<life>`. `node` is the hash of the server's
name that logs show; `life` is drawn when the group's folder on this server is new. So who lost what it had
promised comes back as somebody else and cannot vote twice.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any


class AnnounceError(ValueError):
    """These bytes are no hello."""


def node_of(member: str) -> str:
    """The node of a member's id."""
    return member.partition("-")[0]


def founding(founders: Iterable[str]) -> str:
    """A short name of a set of founders; groups of one name that were founded twice are told apart by it."""
    return hashlib.sha256(" ".join(sorted(founders)).encode()).hexdigest()[:8]


@dataclass(frozen=True, slots=True)
class Announce:
    """One server about itself in one group.

    group: its name. name: of the server. server: its id, another one each time it starts. domain: "" for
    none. member: its id in the group. founders: of the group it belongs to, () while it is fresh. members:
    ids of the newest configuration it knows, and commit, how far it knows the log to be committed. answer:
    whether the hearers should say hello, too.
    """

    group: str
    name: str
    server: str
    domain: str
    member: str
    founders: tuple[str, ...] = ()
    members: tuple[str, ...] = ()
    commit: int = 0
    answer: bool = False

    @property
    def node(self) -> str:
        """The server's node."""
        return node_of(self.member)

    @property
    def fresh(self) -> bool:
        """Whether it belongs to no group yet."""
        return not self.founders

    def encode(self) -> bytes:
        """As bytes."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def decode(cls, data: bytes) -> Announce:
        """Read what `encode` gave. Raises AnnounceError."""
        try:
            fields: dict[str, Any] = json.loads(data)
            for name in ("founders", "members"):
                fields[name] = tuple(map(str, fields[name]))
            hello = cls(**fields)
        except (ValueError, TypeError, KeyError) as fault:
            raise AnnounceError(f"not an announcement: {fault}") from fault
        texts = (hello.group, hello.name, hello.server, hello.domain, hello.member)
        if not all(isinstance(text, str) for text in texts) or not isinstance(hello.commit, int):
            raise AnnounceError("not an announcement: a field has the wrong type")
        return hello
