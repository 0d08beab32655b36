"""LeafPeer is one leaf connection as its parts see it, LeafContext what all leaf connections share.

Neither knows the parts, the remotes or the listener: `LeafConnection` makes the parts, and `Leafs` the
connections.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Protocol

from ...protocol.identifier import new_id
from ...protocol.quoting import quoted
from ...protocol.wire.leaf import LeafParser
from ..accounts.mapping import Mapping as SubjectMapping
from ..accounts.subscription import ConnectionKind
from ..config.options import CompressionOptions
from ..connection import ConnectionContext
from ..connection.compression import OFF
from ..connection.server_connection import ServerConnection
from ..jetstream.domain import api_mappings
from ..slices import TurnScheduler
from .authentication import LeafAuthenticator
from .domains import DomainView, denials
from .info import LeafDocuments
from .permissions import LeafPermissions

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..accounts import Account
    from ..accounts.auth import Authentication
    from ..accounts.space import SubjectSpace
    from ..connection import ConnectionTransport
    from .remote import LeafRemote

_LOOP_ID = 22  # characters
DUPLICATE = "Duplicate Remote LeafNode Connection"


class LeafEvents(Protocol):
    """Is called when leafs come and go; the system services implement it."""

    def leaf_connected(self, connection: LeafPeer) -> None:
        """A leaf has joined an account."""

    def leaf_disconnected(self, connection: LeafPeer, reason: str) -> None:
        """A leaf that had joined an account was closed."""

    def client_refused(self, connection: LeafPeer, reason: str, account: Account | None = None) -> None:
        """The callout service of `account` did not let a leaf in."""


class SystemLinks(Protocol):
    """Is called when leaf connections of the system account come and go."""

    def joined(self) -> None:
        """There is one more, and the peer's interest is known."""

    def left(self, server_id: str, hub_cluster: str) -> None:
        """There is no leaf connection to that server any more.

        hub_cluster: its cluster if it is a hub, else "".
        """


class LeafContext(ConnectionContext):
    """What leaf connections share: besides what any connections do, who may join and who has joined.

    connections: those that have joined, by id.
    documents: INFO and CONNECT of this server.
    authenticator: decides who may join.
    remote_accounts: names of accounts here -> the hub's names of them, where they differ.
    spans: whether the JetStream here is made up of several servers.
    slow_consumers: how often leafs did not read in time.
    stale_connections: how many leafs were closed because they did not answer pings.
    turns: the turns of the loop in which interest is advertised.
    events: is called when leafs come and go, if set.
    system_links: is called when links of the system account come and go, if set.
    """

    connections: Mapping[int, LeafPeer]

    def __init__(self, clients: ConnectionContext, authenticator: Authentication) -> None:
        """`clients` is what the clients of this server share; `authenticator` decides about them."""
        super().__init__(clients.options, clients.registry, clients.services)
        self.documents = LeafDocuments(self.options, self.identity)
        self.authenticator = LeafAuthenticator(self.options, self.registry, authenticator)
        self.remote_accounts: dict[str, str] = {}
        self.spans = False
        self.slow_consumers = self.stale_connections = 0
        self.events: LeafEvents | None = None
        self.system_links: SystemLinks | None = None
        self.turns = TurnScheduler(self.clock.soon)
        self._loop_subjects: dict[str, str] = {}
        self._change = asyncio.Event()

    @property
    def maps_certificates(self) -> bool:
        """Whether the certificate of a leaf says which user it is."""
        tls = self.options.leafnodes.tls
        return tls is not None and tls.verify_and_map

    @property
    def auth_timeout(self) -> int:
        """How long a leaf may take to send CONNECT, in ns."""
        authorization = self.options.leafnodes.authorization
        given = authorization.timeout if authorization is not None else None
        return given if given is not None else self.options.auth_timeout

    async def wait(self, count: int) -> None:
        """Return when at least `count` connections have joined and know the interest of their peers."""
        while sum(c.interest_known for c in self.connections.values()) < count:
            self._change.clear()
            await self._change.wait()

    def interest_known(self, connection: LeafPeer) -> None:
        """Take note that a connection's peer has sent its interest."""
        connection.interest_known = True
        self._change.set()
        if self.system_links is not None and connection.account is self.registry.system:
            self.system_links.joined()

    def replace_duplicate(self, connection: LeafPeer, account: Account) -> None:
        """Close what is left of a leaf's former connection, because the same leaf has come again."""
        if not connection.name or not connection.remote_account:
            return
        for old in list(self.connections.values()):
            if (
                old.remote is None
                and old.account is account
                and old.name == connection.name
                and old.remote_cluster == connection.remote_cluster
                and old.remote_account == connection.remote_account
            ):
                old.fail(DUPLICATE, DUPLICATE)
                self.log.warning(f"{connection} - Replacing connection from same server")

    def has_leaf_cluster(self, account: Account, cluster: str) -> bool:
        """Return whether a leaf of this cluster has joined the account here."""
        return bool(cluster) and any(
            c.remote is None and not c.is_spoke and c.account is account and c.remote_cluster == cluster
            for c in self.connections.values()
        )

    def know_account(self, name: str, remote_name: str) -> None:
        """Take note of the hub's name for the account that is called `name` here."""
        before = dict(self.remote_accounts)
        if name == remote_name:
            self.remote_accounts.pop(name, None)
        else:
            self.remote_accounts[name] = remote_name
        if bool(before) != bool(self.remote_accounts):
            for connection in self.connections.values():
                connection.refresh()

    def deny_jetstream(self, connection: LeafPeer) -> None:
        """Keep each domain's JetStream API on its own side of the connection."""
        account = connection.account
        assert account is not None
        system = self.registry.system
        side = DomainView(
            domain=self.documents.domain,
            jetstream=self.documents.jetstream,
            account=account.name,
            system_account=system.name if system is not None else "",
            default_domains=self.options.default_js_domain,
            extension_hint=self.options.jetstream.extension_hint,
            spans=self.spans,
        )
        peer = "/".join(part for part in (connection.name, connection.remote_cluster) if part)
        there = connection.remote_jetstream
        found = denials(side, connection.remote_domain, peer, peer_jetstream=there)
        connection.leaf_permissions.deny(send=(*found.both, *found.send), subscribe=found.both)
        self.map_local_domain(account)
        connection.refresh()
        if found.note:
            self.log.info(f"{connection} - {found.note}")

    def map_local_domain(self, account: Account) -> None:
        """Let the other side reach this server's domain through `account`.

        The account may have no JetStream itself.
        """
        documents = self.documents
        if documents.domain and documents.jetstream and account is not self.registry.system:
            add_mappings(account, api_mappings(documents.domain))

    def loop_subject(self, account: SubjectSpace) -> str:
        """Return the subject that detects loops: there is one if our own interest in it comes back."""
        subject = self._loop_subjects.get(account.name)
        if subject is None:
            subject = f"$LDS.{new_id(self.random_bytes, _LOOP_ID)}"
            self._loop_subjects[account.name] = subject
        return subject


class LeafPeer(ServerConnection):
    """What is known of the server at the other end, and how to answer it.

    remote: the remote that solicited the connection; None if it was accepted.
    remote_id, name, remote_cluster, remote_domain, remote_jetstream, remote_account: what the peer sent about
        itself.
    is_spoke: whether this server is the spoke, and the peer its hub.
    isolated: whether the peer gets no interest that other leafs announce.
    peer_headers: whether the peer accepts headers.
    peer_protocol: the number of the protocol that the peer speaks.
    joined: whether the connection is bound to an account.
    interest_known: whether the peer has sent its own interest.
    leaf_permissions: what may pass over the connection.
    """

    kind = ConnectionKind.LEAF
    number = kind.value
    tag = "lid"
    description: ClassVar = {"kind": "Leafnode"}
    context: LeafContext
    parser: LeafParser

    def __init__(
        self,
        context: LeafContext,
        wire: ConnectionTransport,
        peer: tuple[str, int],
        remote: LeafRemote | None,
    ) -> None:
        options = context.options
        super().__init__(context, wire, peer, options.leafnodes.write_deadline or options.write_deadline)
        self.retries = options.leafnodes.write_timeout != "close"
        self.outbound = self
        self.remote = remote
        self.remote_id = self.name = ""
        self.remote_cluster = ""
        self.remote_domain = ""
        self.remote_jetstream = False
        self.remote_account = ""
        self.is_spoke = remote is not None and not remote.options.hub
        self.isolated = options.leafnodes.isolate or (remote is not None and remote.options.isolate)
        self.peer_headers = False
        self.peer_protocol = 0
        self.joined = False
        self.interest_known = False
        self.leaf_permissions = LeafPermissions()
        self.parser = LeafParser(options.max_control_line, options.max_payload)

    def count_slow(self) -> None:
        """See `Outbound`."""
        self.context.slow_consumers += 1

    def stale(self) -> None:
        """Close a peer that does not answer pings."""
        self.context.stale_connections += 1
        super().stale()

    @property
    def compression_options(self) -> CompressionOptions:
        """See `ServerConnection`. Over WebSocket only frames are compressed (`ws_compression`)."""
        if self.upgrade is not None:
            return CompressionOptions(OFF)
        leafnodes = self.context.options.leafnodes if self.remote is None else self.remote.options
        return leafnodes.compression

    def join(self, account: Account) -> None:
        """Publish and receive in `account` from now on: the handshake is done."""
        raise NotImplementedError

    def announce(self) -> None:
        """Report that the connection serves from now on."""
        raise NotImplementedError

    def refresh(self) -> None:
        """Decide whether each message needs a check, because the leaf permissions have changed."""
        # If accounts have other names there, a header that names the asker of a service must be changed.
        self.headers = self.peer_headers and not self.context.remote_accounts
        self.fast = self.leaf_permissions.replies.limits is None and not self.context.options.trace
        if self.account is not None:
            self.account.forget_plans()

    def fail(self, text: str, reason: str) -> None:
        """Tell the peer and the log why, then close."""
        if not self.closed_reason:
            self.context.log.error(f"{self} - Leafnode Error '{text}'")
        super().fail(text, reason)

    def violation(self, action: str, subject: str) -> None:
        """React to something that the peer may not do. A hub closes; a spoke only ignores it."""
        if self.is_spoke:
            return
        if self.remote is not None:
            self.remote.pause("Permissions Violation")
        self.context.log.error(f"{self} - {action} Violation on {subject!r} - Check other side configuration")
        self.fail(f"Permissions Violation for {action} to {quoted(subject)}", "Protocol Violation")

    def loop_found(self) -> None:
        """Close, because our own interest came back over this connection."""
        account = self.account.name if self.account is not None else ""
        if self.remote is not None:
            self.remote.pause("Loop detected")
        text = f'Loop detected for leafnode account="{account}". Delaying attempt to reconnect for 30s'
        self.fail(text, "Protocol Violation")


def add_mappings(account: Account, mappings: Iterable[tuple[str, str]]) -> None:
    """Add those (source, destination) whose source is not mapped yet."""
    known = {mapping.source for mapping in account.mappings}
    for source, destination in mappings:
        if source not in known:
            account.mappings.add(SubjectMapping(source, [(destination, 100)]))
