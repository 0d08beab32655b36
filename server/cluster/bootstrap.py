"""Bootstrap: how a group begins and how servers join it, decided from announcements and time alone.

Rules:
1. Fresh servers bootstrap a group only when all expected servers are there, are fresh, and are each the only
   one of their name. The server with the smallest id names the founders, and the others follow it. If the
   founders were chosen (`BootstrapExpect.chosen`), they do not wait for the last ones for ever: when enough
   of them are there (`BootstrapExpect.suffice`), they bootstrap the group without the others.
2. A server that learns of a group that lists it among the founders begins with them. A server that learns of
   another group that has committed something begins with nothing, and that group's leader adds it.
3. A server that meets a group that has committed something leaves its own bootstrap if that cannot have
   committed anything: nothing of it is committed here, and too few of its founders for a majority may still
   belong to it. (An id belongs to one bootstrap for ever.)

So servers that lost their disks never create an empty group beside one that has data, as long as one of the
expected servers remembers it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field

from ...protocol.lazy_dataclass import dataclass
from ..clock import SECOND
from .announce import Announce, node_of

PRESENT = 3 * SECOND  # ns for which an announcement counts
LATE = 2 * SECOND  # ns to wait for the last ones of the chosen founders
_CONFLICT = 10 * SECOND


@dataclass(frozen=True, slots=True)
class BootstrapExpect:
    """Which servers must be there for a bootstrap, besides this one.

    nodes: servers by their nodes.
    servers: servers by their ids.
    unreached: addresses at which nobody has answered yet.
    witnesses: servers by their ids that must be there, too, as they may know of a group. They found none.
    alone: whether the configuration names this server and no other, so that it may bootstrap a group alone.
    chosen: whether `nodes` and this server are all that may ever bootstrap this group.

    If `nodes` and `servers` are empty and `alone` is False, this server does not bootstrap a group.
    """

    nodes: frozenset[str] = frozenset()
    servers: frozenset[str] = frozenset()
    unreached: tuple[str, ...] = ()
    witnesses: frozenset[str] = frozenset()
    alone: bool = False
    chosen: bool = False

    def suffice(self, present: int) -> bool:
        """Whether `present` of the chosen servers are enough to bootstrap the group.

        They are enough if a majority of them is more than half of all the chosen ones. So if the group is
        bootstrapped twice, by different servers, only one of the two can ever commit anything: their
        majorities would have to share a server. Of five chosen servers four suffice (3 of 4 are more than
        half of 5); three do not (2 of 3 are fewer). Of three, two suffice.
        """
        return self.chosen and 2 * (present // 2 + 1) > len(self.nodes)


@dataclass(frozen=True, slots=True)
class StartGroup:
    """The decision to start a group of these founders."""

    founders: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class JoinGroup:
    """The decision to join an existing group, as a founder if `founders` includes this server."""

    founders: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LeaveGroup:
    """The decision to begin another incarnation, because this bootstrap failed."""


@dataclass(slots=True)
class _Peer:
    """What is known of another node.

    announce: its latest announcement.
    last_seen: when that came, in ns.
    before: the ids of servers that had its name before.
    conflict: the time (ns) until which two servers of this name are taken to be there.
    """

    announce: Announce
    last_seen: int
    before: set[str] = field(default_factory=set)
    conflict: int = 0


class Bootstrap:
    """One server's view of which servers are there for one group.

    me: what this server announces. Its owner replaces it when that changes.
    namesake: the id of another server with this server's name; "" if there never was one.
    """

    def __init__(self, me: Announce) -> None:
        self.me = me
        self.namesake = ""
        self._namesake_until = 0
        self._enough_since = (
            -1
        )  # when those that are there began to `suffice`; -1 if they do not, or none is missing
        self._last_seen = -PRESENT  # when the last announcement came
        self._peers: dict[str, _Peer] = {}

    def receive(self, announce: Announce, now: int) -> bool:
        """Take an announcement and return whether to answer it. `now` is in ns."""
        if announce.server == self.me.server or announce.domain != self.me.domain:
            return False
        if announce.node == self.me.node:
            self.namesake, self._namesake_until = announce.server, now + _CONFLICT
            return announce.answer
        self._last_seen = now
        peer = self._peers.get(announce.node)
        if peer is None:
            self._peers[announce.node] = _Peer(announce, now)
        else:
            if announce.server != peer.announce.server:
                if announce.server in peer.before:
                    peer.conflict = now + _CONFLICT
                peer.before.add(peer.announce.server)
            peer.announce, peer.last_seen = announce, now
        return announce.answer

    def is_silent(self, now: int) -> bool:
        """Whether no announcement has come for so long that nobody is `present`."""
        return now - self._last_seen >= PRESENT

    def present(self, now: int) -> list[Announce]:
        """Return the recent announcements of servers that are the only ones of their name."""
        return [
            peer.announce
            for peer in self._peers.values()
            if now - peer.last_seen < PRESENT and not self.in_conflict(peer.announce.node, now)
        ]

    def node_of(self, server: str) -> str:
        """Return the node of a server that announced itself; "" for any other."""
        return next((node for node, peer in self._peers.items() if peer.announce.server == server), "")

    def in_conflict(self, node: str, now: int) -> bool:
        """Whether two servers have the name of this node."""
        if node == self.me.node:
            return self._namesake_until > now
        peer = self._peers.get(node)
        return peer is not None and peer.conflict > now

    def decide(self, expected: BootstrapExpect, now: int) -> StartGroup | JoinGroup | LeaveGroup | None:
        """Return what to do now; None means to wait. `now` is in ns."""
        me = self.me
        present = self.present(now)
        if not me.fresh:
            return LeaveGroup() if self._has_failed(present) else None
        if self.in_conflict(me.node, now):
            return None
        others = [announce for announce in present if not announce.fresh]
        for announce in others:
            if me.member in announce.founders:
                return JoinGroup(announce.founders)
        committed = [announce for announce in others if announce.commit > 0]
        if committed:
            return JoinGroup(max(committed, key=lambda announce: announce.commit).founders)
        if others:
            return None
        self._note_enough(expected, now)
        if not self._may_start(expected, now):
            return None
        founders = {me.member, *(announce.member for announce in present if _wanted(announce, expected))}
        return StartGroup(tuple(sorted(founders))) if me.member == min(founders) else None

    def _may_start(self, expected: BootstrapExpect, now: int) -> bool:
        """Whether this server may start a group: all expected servers are there, or enough for LATE."""
        if not (expected.nodes or expected.servers or expected.alone):
            return False
        return not self.missing(expected, now) or 0 <= self._enough_since <= now - LATE

    def _note_enough(self, expected: BootstrapExpect, now: int) -> None:
        """Note since when enough of the chosen servers, but not all, have been there, this one included."""
        there = {self.me.node, *(announce.node for announce in self.present(now))} & expected.nodes
        enough = self.me.node in there and expected.suffice(len(there))
        if not enough or not self.missing(expected, now):
            self._enough_since = -1
        elif self._enough_since < 0:
            self._enough_since = now

    def missing(self, expected: BootstrapExpect, now: int) -> list[str]:
        """Return which expected servers are missing, in words for the log."""
        present = self.present(now)
        nodes = {announce.node for announce in present}
        servers = {announce.server for announce in present}
        known = {node: peer.announce.name for node, peer in self._peers.items()}
        missing = [known.get(node, node) for node in expected.nodes - nodes - {self.me.node}]
        missing += sorted((expected.servers | expected.witnesses) - servers - {self.me.server})
        return sorted(missing) + list(expected.unreached)

    def second_group(self, now: int) -> Announce | None:
        """Return an announcement from another bootstrap of this group, if both have committed something."""
        mine = self.me.founders
        for announce in self.present(now):
            if (
                mine
                and self.me.commit
                and announce.commit
                and announce.founders
                and announce.founders != mine
            ):
                return announce
        return None

    def _has_failed(self, present: Iterable[Announce]) -> bool:
        """Whether this server's bootstrap can never commit anything, and another one has: rule 3."""
        me = self.me
        if me.commit > 0:
            return False
        elsewhere = [
            announce for announce in present if not announce.fresh and announce.founders != me.founders
        ]
        if not any(announce.commit > 0 for announce in elsewhere):
            return False
        if me.member not in me.founders:
            return True  # it began with nothing and got nothing since
        lost = {announce.member for announce in elsewhere} & set(me.founders)
        return len(set(me.founders) - lost) < len(me.founders) // 2 + 1


def _wanted(announce: Announce, expected: BootstrapExpect) -> bool:
    return announce.server in expected.servers or node_of(announce.member) in expected.nodes
