"""Which clients subscribe to the subject of a waypoint, by what servers tell of their connections (CONNZ)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from ...cli.words import listed
from ...protocol.subject import matches
from .leafs import AnsweringServer
from .waypoint import ENDS, REACHED, Waypoint

Info = Mapping[str, Any]
MOST = 20  # clients that a waypoint has a step for


def subscribers(waypoint: Waypoint, answers: Iterable[Info], cut: Collection[str]) -> None:
    """Add the clients that subscribe, those that the message comes to first.

    cut: the servers that it does not come to.
    """
    found = [
        (server in cut, server, client, mine)
        for server, client in _clients(answers)
        if (
            mine := [each for each in client.get("subscriptions_list_detail") or [] if _wants(each, waypoint)]
        )
    ]
    found.sort(key=lambda each: each[0])
    for missed, server, client, mine in found[:MOST]:
        name = str(client.get("name") or f"client {client.get('cid', '?')}")
        user = f" (user {client['authorized_user']})" if client.get("authorized_user") else ""
        subject = str(mine[0]["subject"])
        if missed:
            text = f"{name}{user} on {server} subscribes to {subject}; the message does not come there."
        else:
            groups = sorted({str(each["qgroup"]) for each in mine if each.get("qgroup")})
            group = f" One member of {listed(groups)} gets it." if groups else ""
            text = f"{name}{user} on {server} hears it: {subject}.{group}"
        waypoint.add("subscription", ENDS if missed else REACHED, text, name)
    rest = found[MOST:]
    if rest:
        reached = sum(not missed for missed, *_ in rest)
        text = f"{len(rest)} more clients subscribe; it comes to {reached} of them."
        waypoint.add("subscription", REACHED if reached else ENDS, text)
    if not found:
        waypoint.add("subscription", ENDS, "No client of the account subscribes to it.")


def _clients(answers: Iterable[Info]) -> Iterator[tuple[str, Info]]:
    """Yield the clients, each with its server. nats-server tells of leaf nodes and of itself, too."""
    for answer in answers:
        for each in (answer.get("data") or {}).get("connections") or []:
            if each.get("kind", "Client") == "Client":
                yield AnsweringServer.of(answer).name, each


def _wants(subscription: Info, waypoint: Waypoint) -> bool:
    return matches(str(subscription.get("subject", "")), waypoint.subject)
