"""How a group begins, and how servers find into it: decided from hellos and time alone.

Rules.
1. Fresh servers found a group only when all that are expected are there, fresh, and each the only one of its
   name; the one with the smallest id says who the founders are, the others take its word. Of founders that
   were chosen (`BootstrapExpect.chosen`) some may lack after a while, but so few that of two such foundings
   only onecan commit anything: any majority of the one has a member in common with any of the other.
2. Who hears of a group that lists it among the founders begins with them; who hears of another group that
   has committed something begins with nothing, and is added by its leader.
3. A founding that cannot have come to anything is left: nothing of it is committed here, and of its founders
   fewer than a majority are not known to belong elsewhere (an id belongs to one founding for ever).
So servers that lost their disks never make an empty group beside one that has something, as long as one of
those expected remembers it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ..clock import SECOND
from .announce import Announce, node_of

PRESENT = 3 * SECOND  # how long a hello counts
LATE = 2 * SECOND  # how long one waits for the last ones of those chosen
_CONFLICT = 10 * SECOND


@dataclass(frozen=True, slots=True)
class BootstrapExpect:
    """Who must be there for a founding, besides this server: nodes, servers by their ids, and addresses at
    which nobody has answered yet. None of them at all: this server does not found a group.

    alone: the configuration names this server, so that, with nobody else, it may found one by itself. chosen:
    `nodes` and this server are all that may ever found this group.
    """

    nodes: frozenset[str] = frozenset()
    servers: frozenset[str] = frozenset()
    unreached: tuple[str, ...] = ()
    alone: bool = False
    chosen: bool = False

    def suffice(self, present: int) -> bool:
        """Whether so many of the chosen may found the group."""
        return self.chosen and 2 * (present // 2 + 1) > len(self.nodes)


@dataclass(frozen=True, slots=True)
class FoundGroup:
    """Begin a group of these founders."""

    founders: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class JoinGroup:
    """Begin as a member of a group that is there; as one of its founders if they include it."""

    founders: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LeaveGroup:
    """Begin another life: this founding came to nothing."""


@dataclass(slots=True)
class _Peer:
    """The latest hello of a node, when, and the ids of servers that have had its name before."""

    hello: Announce
    heard: int
    before: set[str] = field(default_factory=set)
    conflict: int = 0  # until then two servers of this name are taken to be there


class Bootstrap:
    """One server's view of who is there for one group.

    me: what this server says of itself; replaced by its owner when that changes. bare: it has begun and has
    heard nothing of the log yet.
    """

    def __init__(self, me: Announce) -> None:
        self.me = me
        self.bare = False
        self.twin = ""  # the id of another server of this one's name
        self._twin_until = 0
        self._short_since = 0  # since when only those lack that can be done without
        self._heard = -PRESENT  # when somebody was heard last
        self._peers: dict[str, _Peer] = {}

    def hear(self, hello: Announce, now: int) -> bool:
        """Take a hello; gives whether to answer it. `now` in ns."""
        if hello.server == self.me.server or hello.domain != self.me.domain:
            return False
        if hello.node == self.me.node:
            self.twin, self._twin_until = hello.server, now + _CONFLICT
            return hello.answer
        self._heard = now
        peer = self._peers.get(hello.node)
        if peer is None:
            self._peers[hello.node] = _Peer(hello, now)
        else:
            if hello.server != peer.hello.server:
                if hello.server in peer.before:
                    peer.conflict = now + _CONFLICT
                peer.before.add(peer.hello.server)
            peer.hello, peer.heard = hello, now
        return hello.answer

    def is_silent(self, now: int) -> bool:
        """Whether nobody was heard for so long that nobody is `present`."""
        return now - self._heard >= PRESENT

    def present(self, now: int) -> list[Announce]:
        """Who was heard a short while ago and is the only one of its name."""
        return [
            peer.hello
            for peer in self._peers.values()
            if now - peer.heard < PRESENT and not self.in_conflict(peer.hello.node, now)
        ]

    def node_of(self, server: str) -> str:
        """The node of a server that said hello; "" for who did not."""
        return next((node for node, peer in self._peers.items() if peer.hello.server == server), "")

    def in_conflict(self, node: str, now: int) -> bool:
        """Whether two servers have the same name."""
        if node == self.me.node:
            return self._twin_until > now
        peer = self._peers.get(node)
        return peer is not None and peer.conflict > now

    def decide(self, expected: BootstrapExpect, now: int) -> FoundGroup | JoinGroup | LeaveGroup | None:
        """What to do now; None: wait."""
        me = self.me
        present = self.present(now)
        if not me.fresh:
            return LeaveGroup() if self._stillborn(present) else None
        if self.in_conflict(me.node, now):
            return None
        others = [hello for hello in present if not hello.fresh]
        for hello in others:
            if me.member in hello.founders:
                return JoinGroup(hello.founders)
        living = [hello for hello in others if hello.commit > 0]
        if living:
            return JoinGroup(max(living, key=lambda hello: hello.commit).founders)
        if others or not self._may_begin(expected, present, now):
            return None
        if not (expected.nodes or expected.servers or expected.alone):
            return None
        founders = {me.member, *(hello.member for hello in present if _wanted(hello, expected))}
        return FoundGroup(tuple(sorted(founders))) if me.member == min(founders) else None

    def _may_begin(self, expected: BootstrapExpect, present: list[Announce], now: int) -> bool:
        if not self.missing(expected, now):
            self._short_since = 0
            return True
        there = {self.me.node, *(hello.node for hello in present)} & expected.nodes
        if self.me.node not in there or not expected.suffice(len(there)):
            self._short_since = 0
            return False
        self._short_since = self._short_since or now
        return now - self._short_since >= LATE

    def missing(self, expected: BootstrapExpect, now: int) -> list[str]:
        """Who is waited for, in words for the log."""
        present = self.present(now)
        nodes, servers = {h.node for h in present}, {h.server for h in present}
        known = {node: peer.hello.name for node, peer in self._peers.items()}
        missing = [known.get(node, node) for node in expected.nodes - nodes - {self.me.node}]
        missing += sorted(expected.servers - servers - {self.me.server})
        return sorted(missing) + list(expected.unreached)

    def rival(self, now: int) -> Announce | None:
        """A member of another founding of the same group that has committed something, as this one has."""
        mine = self.me.founders
        for hello in self.present(now):
            if mine and self.me.commit and hello.commit and hello.founders and hello.founders != mine:
                return hello
        return None

    def _stillborn(self, present: Iterable[Announce]) -> bool:
        me = self.me
        if me.commit > 0:
            return False
        strangers = [hello for hello in present if not hello.fresh and hello.founders != me.founders]
        if not any(hello.commit > 0 for hello in strangers):
            return False
        if me.member not in me.founders:
            return True  # it began with nothing, and was given nothing
        lost = {hello.member for hello in strangers} & set(me.founders)
        return len(set(me.founders) - lost) < len(me.founders) // 2 + 1


def _wanted(hello: Announce, expected: BootstrapExpect) -> bool:
    return hello.server in expected.servers or node_of(hello.member) in expected.nodes
