"""What a picture of servers shows: the servers, the links between them, the streams and their copies."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Info = dict[str, Any]


@dataclass
class TopologyServer:
    """A server: its cluster and its JetStream domain, empty if it has none."""

    name: str
    cluster: str = ""
    domain: str = ""
    jetstream: bool = False


@dataclass
class StreamAsset:
    """A stream of a domain: who has it, who leads it, and what it copies."""

    domain: str
    account: str
    name: str
    messages: int = 0
    leader: str = ""
    servers: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class CopyLink:
    """A mirror or a source: from a stream, in a domain or behind an API prefix, into another one."""

    kind: str
    account: str
    origin_domain: str
    origin: str
    domain: str
    target: str
    prefix: str = ""  # of an origin whose domain the prefix does not tell


@dataclass
class Topology:
    """All that the answers tell."""

    servers: list[TopologyServer] = field(default_factory=list)
    leafs: dict[tuple[str, str], set[str]] = field(default_factory=dict)  # (spoke, hub): accounts
    gateways: set[tuple[str, str]] = field(default_factory=set)  # clusters, in the order of their names
    by_name: dict[tuple[str, str, str], StreamAsset] = field(default_factory=dict)  # domain, account, name
    copies: list[CopyLink] = field(default_factory=list)

    @property
    def streams(self) -> list[StreamAsset]:
        """The streams, in the order of their domains, accounts and names."""
        return [self.by_name[key] for key in sorted(self.by_name)]

    def document(self) -> Info:
        """Return the same as a JSON object."""
        return {
            "servers": [vars(each) for each in self.servers],
            "leafs": [
                {"spoke": spoke, "hub": hub, "accounts": sorted(accounts)}
                for (spoke, hub), accounts in sorted(self.leafs.items())
            ],
            "gateways": [list(each) for each in sorted(self.gateways)],
            "streams": [vars(each) for each in self.streams],
            "copies": [vars(each) for each in self.copies],
        }
