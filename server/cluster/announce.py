"""Announce: what a server says about itself in a group, before and beside the group's Raft.

A member's id stands for one incarnation of one server in one group: `<node>-<incarnation>`. `node` is the
hash of the server's name that logs show. The second part is drawn when the group's folder on this server is
new. So a server that lost what it had promised comes back as another member and cannot vote twice.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from ...protocol.lazy_dataclass import dataclass


class AnnounceError(ValueError):
    """Raised for bytes that are not an announcement."""


def node_of(member: str) -> str:
    """Return the node of a member's id."""
    return member.partition("-")[0]


def founders_hash(founders: Iterable[str]) -> str:
    """Return a short hash of a set of founders, which tells groups apart that were bootstrapped twice."""
    return hashlib.sha256(" ".join(sorted(founders)).encode()).hexdigest()[:8]


@dataclass(frozen=True, slots=True)
class Announce:
    """What one server says about itself in one group.

    group: the name of the group.
    name: the name of the server.
    server: the id of the server, which is another one each time it starts.
    domain: the JetStream domain, "" for none.
    member: the server's id in the group.
    founders: those of the group it belongs to, () while it belongs to none.
    members: the ids of the newest configuration that it knows.
    commit: the index up to which it knows the log to be committed.
    answer: whether those who receive the announcement should announce themselves, too.
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
        """The node of the server."""
        return node_of(self.member)

    @property
    def fresh(self) -> bool:
        """Whether the server belongs to no group yet."""
        return not self.founders

    def encode(self) -> bytes:
        """Return the announcement as bytes."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def decode(cls, data: bytes) -> Announce:
        """Return the announcement that `encode` made bytes of. Raises AnnounceError for anything else."""
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
