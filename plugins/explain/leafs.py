"""Which leaf connections a message crosses, by what servers tell of them (LEAFZ).

Servers tell of every connection at both ends. A message begins at one server, and crosses a connection if the
other end has interest in it; from there it may go on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...protocol.subject import matches
from .waypoint import ENDS, REACHED, Waypoint

Info = Mapping[str, Any]


@dataclass(frozen=True)
class AnsweringServer:
    """A server that answered: its name, its cluster and its JetStream domain, each empty if it has none."""

    name: str
    cluster: str = ""
    domain: str = ""

    @classmethod
    def of(cls, document: Info) -> AnsweringServer:
        """Return the server that an answer of the system account is from."""
        reported = document.get("server") or {}
        return cls(*(str(reported.get(each) or "") for each in ("name", "cluster", "domain")))


@dataclass
class Reach:
    """How far a message gets.

    crossed: the servers at the other ends of the connections that it crosses.
    cut: those at the other ends of connections that it does not cross.
    """

    crossed: dict[str, AnsweringServer] = field(default_factory=dict)
    cut: set[str] = field(default_factory=set)


def follow(
    waypoint: Waypoint,
    start: str,
    servers: Mapping[str, AnsweringServer],
    answers: Iterable[Info],
    remotes: Mapping[str, Sequence[Info]],
) -> Reach:
    """Add to a waypoint what becomes of the message at each leaf connection, and return how far it gets.

    start: the server that it begins at.
    servers: those that answered, by name.
    answers: what they tell of their leaf connections.
    remotes: of the configuration of each server, as VARZ has them.
    """
    reported = {
        AnsweringServer.of(each).name: (each.get("data") or {}).get("leafs") or [] for each in answers
    }
    reach = Reach()
    here = _beside(start, servers)
    waiting = list(here)
    while waiting:
        name = waiting.pop(0)
        for leaf in reported.get(name, []):
            peer = str(leaf.get("name", ""))
            if leaf.get("account") != waypoint.account or peer in here:
                continue
            denied = _denied(waypoint, leaf, name, remotes)
            if _crosses(waypoint, leaf, servers.get(name, AnsweringServer(name)), servers.get(peer), denied):
                beyond = [each for each in _beside(peer, servers) if each not in here]
                reach.crossed |= {each: servers.get(each, AnsweringServer(each)) for each in beyond}
                here += beyond
                waiting += beyond
            else:
                reach.cut.add(peer)
    reach.cut -= reach.crossed.keys()
    return reach


def _beside(name: str, servers: Mapping[str, AnsweringServer]) -> list[str]:
    """Return a server and the others of its cluster."""
    cluster = servers[name].cluster if name in servers else ""
    return [
        name,
        *(each.name for each in servers.values() if cluster == each.cluster != "" and each.name != name),
    ]


def _denied(waypoint: Waypoint, leaf: Info, name: str, remotes: Mapping[str, Sequence[Info]]) -> str:
    """Return by what a remote's configuration keeps the message from crossing; empty if by nothing known.

    Which of several remotes for one account a connection is of, is not told: only what all deny is certain.
    """
    owner, side = (name, "exports") if leaf.get("is_spoke") else (str(leaf.get("name", "")), "imports")
    of_account = [each for each in remotes.get(owner, ()) if each.get("local_account") == waypoint.account]
    lists = [(each.get("deny") or {}).get(side) or [] for each in of_account]
    rules = [next((rule for rule in one if matches(rule, waypoint.subject)), "") for one in lists]
    return f"deny_{side} of {owner} has {rules[0]}" if rules and all(rules) else ""


def _crosses(
    waypoint: Waypoint, leaf: Info, server: AnsweringServer, peer: AnsweringServer | None, denied: str
) -> bool:
    """Add what becomes of the message at one connection; return whether it crosses that."""
    name = str(leaf.get("name", ""))
    where = f"{name} (domain {peer.domain})" if peer is not None and peer.domain else name
    subjects = [str(each).partition(" ")[0] for each in leaf.get("subscriptions_list") or []]
    wanted = [each for each in subjects if matches(each, waypoint.subject)]
    if wanted and not denied:
        text = f"It crosses from {server.name} to {where}: {wanted[0]} is wanted there."
        waypoint.add("leaf", REACHED, text, name)
        return True
    why = denied or "there is no interest, or it is denied"
    text = f"It does not cross from {server.name} to {where}: {why}."
    if waypoint.subject.startswith("$JS.API.") and peer is not None and peer.domain != server.domain:
        api = f"$JS.{peer.domain or 'its domain'}.API"
        text = f"It does not cross from {server.name} to {where}: that domain is reached as {api} only."
    waypoint.add("leaf", ENDS, text, name)
    return False
