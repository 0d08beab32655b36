"""A hub and two leafs, each a JetStream domain, and their ports."""

from __future__ import annotations

from dataclasses import dataclass

from ..stage import port

LEAFS = ("north", "south")

ACCOUNTS = """\
accounts {
    SHOP: {
        users: [{user: shop, password: shop}]
        jetstream: enabled
    }
}
"""


@dataclass(frozen=True)
class Network:
    """The ports: the usual ones if they are free."""

    hub: int
    leafnodes: int
    north: int
    south: int

    @classmethod
    def choose(cls) -> Network:
        """Return 4222 and 7422 for the hub, 4111 and 4112 for the leafs, or free ports."""
        return cls(port(4222), port(7422), port(4111), port(4112))

    def address(self, name: str) -> str:
        """Return the address at which a server listens."""
        return f"nats://localhost:{getattr(self, name)}"

    def url(self, name: str) -> str:
        """Return the URL of a server, with user and password."""
        return f"nats://shop:shop@localhost:{getattr(self, name)}"


def hub(network: Network) -> str:
    """Return the hub's configuration, hub.conf."""
    return f"""\
listen: "127.0.0.1:{network.hub}"
server_name: hub
jetstream {{ store_dir: "./store_hub", domain: hub }}
leafnodes {{ listen: "127.0.0.1:{network.leafnodes}" }}
include ./accounts.conf
"""


def leaf(network: Network, name: str) -> str:
    """Return a leaf's configuration, north.conf or south.conf."""
    return f"""\
listen: "127.0.0.1:{getattr(network, name)}"
server_name: {name}
jetstream {{ store_dir: "./store_{name}", domain: {name} }}
leafnodes {{
    remotes = [{{
        urls: ["nats-leaf://shop:shop@127.0.0.1:{network.leafnodes}"]
        account: SHOP
        # Orders stay where they are taken. What leaves is what the hub's stream copies.
        deny_exports: "orders.>"
    }}]
}}
include ./accounts.conf
"""
