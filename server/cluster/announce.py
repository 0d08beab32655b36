"""Announce: what servers announce about themselves before, and beside, a group's Raft.

A member's id is one incarnation of one server in one group: `<node>-<incarnation>`. `node` is the hash of the
server's name that logs show; the second part is drawn when the group's folder on this server is new. So a
server that lost what it had promised comes back as another member and cannot vote twice.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any


class AnnounceError(ValueError):
    """These bytes are no announcement."""


def node_of(member: str) -> str:
    """The node of a member's id."""
    return member.partition("-")[0]


def founders_hash(founders: Iterable[str]) -> str:
    """A short name of a set of founders; it tells apart groups of one name that were bootstrapped twice."""
    return hashlib.sha256(" ".join(sorted(founders)).encode()).hexdigest()[:8]


@dataclass(frozen=True, slots=True)
class Announce:
    """One server about itself in one group.

    group: its name. name: of the server. server: its id, another one each time it starts. domain: "" for
    none. member: its id in the group. founders: of the group it belongs to, () while it is fresh. members:
    ids of the newest configuration it knows, and commit, how far it knows the log to be committed. answer:
    whether those who receive it should announce themselves, too.
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
            announce = cls(**fields)
        except (ValueError, TypeError, KeyError) as error:
            raise AnnounceError(f"not an announcement: {error}") from error
        texts = (announce.group, announce.name, announce.server, announce.domain, announce.member)
        if not all(isinstance(text, str) for text in texts) or not isinstance(announce.commit, int):
            raise AnnounceError("not an announcement: a field has the wrong type")
        return announce
