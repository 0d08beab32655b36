"""All leaf connections of a server: what they share, the listener, the remotes, what a reload does to them.

Promises that `stop` leaves no socket, task or timer, and that of two connections of the same leaf to the same
account the later one stays.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from ...protocol.identifier import new_id
from ..accounts.mapping import Mapping
from ..connection import ConnectionHost, Listener
from ..connection.addresses import EVERYWHERE, reachable
from ..slices import Shared
from .authentication import LeafAuthenticator
from .domains import Side, default_mappings, denials, local_mappings
from .info import LeafDocuments
from .remote import LeafRemote
from .socket_protocol import LeafProtocol

if TYPE_CHECKING:
    from ..accounts import Account
    from ..accounts.auth import Authentication
    from ..accounts.space import SubjectSpace
    from ..config.options import Options
    from .connection import LeafConnection

_LOOP_ID = 22
DUPLICATE = "Duplicate Remote LeafNode Connection"
SHUTDOWN = "Server Shutdown"


class LeafHost(ConnectionHost, Protocol):
    """A server's clients: their users may join as leafs, too."""

    authenticator: Authentication


FindAccount = Callable[[str], Awaitable["Account | None"]]


class LeafEvents(Protocol):
    """Who is told of leafs coming and going (the system services)."""

    def leaf_connected(self, connection: LeafConnection) -> None:
        """It has joined an account."""

    def leaf_disconnected(self, connection: LeafConnection, reason: str) -> None:
        """It was closed; only for those that had joined."""


class Leafs:
    """The part of a server that joins it to others.

    connections: those that have joined, by id. remote_accounts: names of accounts here -> what the hub calls
    them, where that differs. listener: its sockets, those of remotes as well. spans: whether JetStream here
    is one of several servers'.
    """

    def __init__(self, host: LeafHost, *, jetstream: bool = False, find: FindAccount | None = None) -> None:
        """`find` finds accounts that nobody has asked for yet, by name."""
        self._host = host
        self._find = find
        self.options: Options = host.options
        self.registry = host.registry
        self.identity = host.identity
        self.clock = host.clock
        self.flusher = host.flusher
        self.buffer_budget = host.buffer_budget
        self.passwords = host.passwords
        self.log = host.log
        self.random_bytes = host.random_bytes
        self.next_id = host.next_id
        self.turns = Shared(partial(host.clock.call_later, 0))
        self.events: LeafEvents | None = None
        self.spans = False
        self.connections: dict[int, LeafConnection] = {}
        self.remotes: list[LeafRemote] = []
        self.remote_accounts: dict[str, str] = {}
        self.documents = LeafDocuments(self.options, self.identity)
        self.documents.jetstream = jetstream
        self.authenticator = LeafAuthenticator(self.options, self.registry, host.authenticator)
        self.listener = Listener(self.log)
        self._loop_subjects: dict[str, str] = {}
        self._change = asyncio.Event()

    # --- start and end

    async def start(self) -> None:
        """Listen if there is a port, and join the remotes.

        Raises OSError when the address is taken, TLSConfigError for certificates that cannot be used.
        """
        self._map_default_domains()
        leafnodes = self.options.leafnodes
        if leafnodes.port is not None:
            if leafnodes.tls is not None:
                self.listener.tls_context(leafnodes.tls)
            await self.listener.listen(lambda: LeafProtocol(self), leafnodes.host, leafnodes.port)
            self.documents.port = self.listener.port
            self.documents.urls = self.own_urls()
            self.log.info(f"Listening for leafnode connections on {leafnodes.host}:{self.port}")
        for options in leafnodes.remotes:
            self._solicit(options)

    def _solicit(self, options: Any) -> None:
        if not options.disabled:
            remote = LeafRemote(self, options)
            self.remotes.append(remote)
            remote.start()

    async def stop(self) -> None:
        """Close every connection and the listener."""
        await self.stop_accepting()
        tasks = [task for remote in self.remotes if (task := remote.stop(SHUTDOWN)) is not None]
        self.listener.close_all(SHUTDOWN)
        await asyncio.gather(*tasks, return_exceptions=True)
        await self.listener.closed()

    async def stop_accepting(self) -> None:
        """Close the listening socket; connections stay."""
        await self.listener.stop_accepting()

    def reload(self, options: Options) -> None:
        """Apply new options. The registry and the clients have been reloaded before.

        Remotes that are new are joined, those that are gone are left; connections whose account is gone, or
        whose user may no longer join, are closed; all others are told what changed.
        """
        self.options = self.documents.options = options
        self.authenticator = LeafAuthenticator(options, self.registry, self._host.authenticator)
        self._map_default_domains()
        wanted = list(options.leafnodes.remotes)
        for remote in list(self.remotes):
            if remote.options in wanted and not remote.options.disabled:
                wanted.remove(remote.options)
            else:
                remote.stop("Client Closed")
                self.remotes.remove(remote)
        for added in wanted:
            self._solicit(added)
        for connection in list(self.connections.values()):
            account = connection.account
            if account is None or self.registry.get(account.name) is not account:
                connection.close("Missing Account")
            elif not connection.handshake.still_welcome():
                connection.fail("Authorization Violation", "Authentication Expired")
            else:
                self._map_local_domain(account)
                connection.advertiser.sync()
        self.flusher.flush()

    def hub_domains(self) -> set[str]:
        """The domains of the hubs whose system account is joined now."""
        return {
            connection.remote_domain
            for connection in self.connections.values()
            if connection.is_spoke and connection.account is self.registry.system
        }

    @property
    def port(self) -> int:
        """The listener's port; 0 without a listener."""
        return self.documents.port

    @property
    def url(self) -> str:
        """Where leafs connect to, `nats-leaf://host:port`; "" without a listener."""
        if not self.port:
            return ""
        host = self.options.leafnodes.host
        return f"nats-leaf://{'127.0.0.1' if host in EVERYWHERE else host}:{self.port}"

    @property
    def auth_timeout(self) -> int:
        """ns that a leaf has to send CONNECT."""
        authorization = self.options.leafnodes.authorization
        given = authorization.timeout if authorization is not None else None
        return given if given is not None else self.options.auth_timeout

    def set_jetstream(self, *, jetstream: bool) -> None:
        """JetStream was switched on or off here: what may pass depends on it, so leafs join anew."""
        if self.documents.jetstream == jetstream:
            return
        self.documents.jetstream = jetstream
        self._map_default_domains()
        for connection in list(self.connections.values()):
            connection.close("Server Reloaded")

    def set_other_urls(self, urls: list[str]) -> None:
        """Where other servers of the cluster take leafs; tells the leafs when it changed."""
        known = list(dict.fromkeys([*self.own_urls(), *urls]))
        if known != self.documents.urls:
            self.documents.urls = known
            for connection in self.connections.values():
                if connection.remote is None:
                    connection.send_line(self.documents.info({}))
            self.flusher.flush()

    def own_urls(self) -> list[str]:
        """What leafs are told to come back to: one address."""
        leafnodes = self.options.leafnodes
        if leafnodes.no_advertise:
            return []
        if leafnodes.advertise:
            host, colon, port = leafnodes.advertise.rpartition(":")
            return [f"{host}:{port}" if colon and port.isdigit() else f"{leafnodes.advertise}:{self.port}"]
        return [f"{host}:{self.port}" for host in reachable(leafnodes.host)[:1]] if self.port else []

    async def find_account(self, name: str) -> Account | None:
        """The account that a remote is bound to; None: there is none such, as yet."""
        return self.registry.get(name) if self._find is None else await self._find(name)

    def follow(self, account: Account) -> None:
        """An account was made or changed: domains are reached through its mappings as before."""
        documents = self.documents
        domain = self.options.default_js_domain.get(account.name)
        if domain and not account.serves_jetstream:
            self._map(account, default_mappings(domain))
        if account.leafs and documents.domain and documents.jetstream:
            self._map_local_domain(account)
        account.forget_plans()

    # --- connections

    def opened(self, connection: LeafConnection) -> None:
        """A connection begins."""
        self.log.info(f"{connection} - Leafnode connection created{self._for_account(connection)}")

    def joined(self, connection: LeafConnection) -> None:
        """A connection is bound to its account."""
        self.connections[connection.id] = connection

    def announce(self, connection: LeafConnection) -> None:
        """A connection serves from now on."""
        if self.events is not None:
            self.events.leaf_connected(connection)

    async def wait(self, count: int) -> None:
        """Return when at least so many connections have joined and know the interest of their peers."""
        while sum(c.interest_known for c in self.connections.values()) < count:
            self._change.clear()
            await self._change.wait()

    def interest_known(self, connection: LeafConnection) -> None:
        """A connection's peer has sent its interest."""
        connection.interest_known = True
        self._change.set()

    def closed(self, connection: LeafConnection, reason: str) -> None:
        """A connection is closed."""
        if self.connections.pop(connection.id, None) is not None and self.events is not None:
            self.events.leaf_disconnected(connection, reason)

    def server_fields(self) -> dict[str, Any]:
        """See Host."""
        fields: dict[str, Any] = {"server": self.identity.name}
        if self.documents.cluster:
            fields["cluster"] = self.documents.cluster
        return fields

    def _for_account(self, connection: LeafConnection) -> str:
        remote = connection.remote
        if remote is None:
            return ""
        account = self.registry.get(remote.options.account)
        return f" for account: {account.label if account is not None else remote.options.account}"

    def suffix(self, connection: LeafConnection) -> str:
        """What the log says of a closed connection besides."""
        if connection.account is None:
            return ""
        remote = f" - Remote: {connection.name}" if connection.name else ""
        return f" - Account: {connection.account.label}{remote}"

    def replace_duplicate(self, connection: LeafConnection, account: Account) -> None:
        """The same leaf came again: what is left of its former connection goes."""
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
        """Whether a leaf of the cluster so called has joined the account here."""
        return bool(cluster) and any(
            c.remote is None and not c.is_spoke and c.account is account and c.remote_cluster == cluster
            for c in self.connections.values()
        )

    def know_account(self, name: str, remote_name: str) -> None:
        """The hub's account to which ours called `name` is bound."""
        before = dict(self.remote_accounts)
        if name == remote_name:
            self.remote_accounts.pop(name, None)
        else:
            self.remote_accounts[name] = remote_name
        if bool(before) != bool(self.remote_accounts):
            for connection in self.connections.values():
                connection.refresh()

    def deny_jetstream(self, connection: LeafConnection) -> None:
        """Keep each domain's JetStream API on its own side of the connection."""
        account = connection.account
        assert account is not None
        system = self.registry.system
        side = Side(
            domain=self.documents.domain,
            jetstream=self.documents.jetstream,
            account=account.name,
            system_account=system.name if system is not None else "",
            default_domains=self.options.default_js_domain,
            extension_hint=self.options.jetstream.extension_hint,
            spans=self.spans,
        )
        peer = "/".join(part for part in (connection.name, connection.remote_cluster) if part)
        found = denials(side, connection.remote_domain, peer)
        connection.leaf_permissions.deny(send=(*found.both, *found.send), ask=found.both)
        self._map_local_domain(account)
        connection.refresh()
        if found.note:
            self.log.info(f"{connection} - {found.note}")

    def _map_default_domains(self) -> None:
        """Send the plain API requests of accounts without JetStream here to the domain they are meant for."""
        for name, domain in self.options.default_js_domain.items():
            account = self.registry.get(name)
            if account is not None and domain and not account.serves_jetstream:
                self._map(account, default_mappings(domain))
                account.forget_plans()

    def _map_local_domain(self, account: Account) -> None:
        """Let the other side reach this server's domain in an account that may have no JetStream itself."""
        documents = self.documents
        if documents.domain and documents.jetstream and account is not self.registry.system:
            self._map(account, local_mappings(documents.domain))

    def _map(self, account: Account, mappings: list[tuple[str, str]]) -> None:
        known = {mapping.source for mapping in account.mappings}
        for source, destination in mappings:
            if source not in known:
                account.mappings.add(Mapping(source, [(destination, 100)]))

    def loop_subject(self, account: SubjectSpace) -> str:
        """The subject that finds loops: if our own interest in it comes back, there is one."""
        subject = self._loop_subjects.get(account.name)
        if subject is None:
            subject = f"$LDS.{new_id(self.random_bytes, _LOOP_ID)}"
            self._loop_subjects[account.name] = subject
        return subject
