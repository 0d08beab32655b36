"""Leafs: all leaf connections of a server, with the listener, the remotes, and their reload.

Promises that `stop` leaves no socket, task or timer, and that if the same leaf connects twice to the same
account, the later connection remains.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from ..accounts.users import EXPIRED
from ..connection import ConnectionContext, Listener, SocketProtocol
from ..connection.addresses import dialable, reachable
from ..connection.socket_protocol import TLS_FAILED
from .authentication import LeafAuthenticator
from .connection import LeafConnection
from .domains import default_mappings
from .peer import LeafContext, add_mappings
from .remote import LeafRemote
from .socket_protocol import LeafProtocol

if TYPE_CHECKING:
    from ..accounts import Account
    from ..accounts.auth import Authentication
    from ..config.options import Options, RemoteOptions
    from ..connection import ConnectionTransport
    from .remote import FindAccount

SHUTDOWN = "Server Shutdown"


class Leafs(LeafContext):
    """The part of a server that joins it to others.

    connections: those that have joined, by id.
    remotes: the hubs that this server joins.
    listener: all sockets of leafs, accepted or dialled.
    """

    def __init__(
        self,
        clients: ConnectionContext,
        authenticator: Authentication,
        *,
        jetstream: bool = False,
        find: FindAccount | None = None,
    ) -> None:
        """`clients` is what the clients of this server share.

        authenticator: decides about clients, and about leafs unless the options name users for them.
        find: finds an account that nobody has asked for yet.
        """
        super().__init__(clients, authenticator)
        self._find = find
        self.connections: dict[int, LeafConnection] = {}
        self.remotes: list[LeafRemote] = []
        self.documents.jetstream = jetstream
        self.listener = Listener(self.log)

    def remote(self, options: RemoteOptions) -> LeafRemote:
        """Return a remote for a hub to join."""
        return LeafRemote(self, options, self.find_account, self._protocol)

    def connection(
        self, wire: ConnectionTransport, peer: tuple[str, int], remote: LeafRemote | None = None
    ) -> LeafConnection:
        """Return a connection for a socket that was accepted from `peer` or dialled by `remote`.

        peer: (host, port).
        """
        return LeafConnection(self, self, wire, peer, remote)

    def _protocol(self, remote: LeafRemote | None = None) -> SocketProtocol:
        if remote is not None and remote.target is not None and remote.target.websocket:
            from .over_websocket import solicited

            return solicited(self, self.listener, self.connection, remote)
        return LeafProtocol(self, self.listener, self.connection, remote)

    # --- start and end

    async def start(self) -> None:
        """Listen if there is a port, and join the remotes.

        Raises OSError if the address is in use, and TLSConfigError if certificates cannot be used.
        """
        self._map_default_domains()
        leafnodes = self.options.leafnodes
        if leafnodes.port is not None:
            if leafnodes.tls is not None:
                self.listener.tls_context(leafnodes.tls)
            await self.listener.listen(self._protocol, leafnodes.host, leafnodes.port)
            self.documents.port = self.listener.port
            self.documents.urls = self.own_urls()
            self.log.info(f"Listening for leafnode connections on {leafnodes.host}:{self.port}")
        for options in leafnodes.remotes:
            self._solicit(options)

    def _solicit(self, options: RemoteOptions) -> None:
        if not options.disabled:
            remote = self.remote(options)
            self.remotes.append(remote)
            remote.start()

    async def stop(self) -> None:
        """Close every connection and the listener."""
        await self.stop_accepting()
        tasks = [task for remote in self.remotes if (task := remote.close(SHUTDOWN)) is not None]
        for connection in list(self.connections.values()):
            connection.close(SHUTDOWN)  # those too whose sockets are WebSockets
        self.listener.close_all(SHUTDOWN)
        await asyncio.gather(*tasks, return_exceptions=True)
        await self.listener.closed()

    async def stop_accepting(self) -> None:
        """Close the listening socket; connections stay open."""
        await self.listener.stop_accepting()

    def reload(self, options: Options, authenticator: Authentication) -> None:
        """Apply new options, and the `authenticator` of clients. The registry must have been reloaded before.

        New remotes are joined, and removed ones are left. Connections are closed if their account is gone or
        their user may no longer join. All others are told what has changed.
        """
        compression = self.options.leafnodes.compression
        self.options = self.documents.options = options
        self.authenticator = LeafAuthenticator(options, self.registry, authenticator)
        self._map_default_domains()
        wanted = list(options.leafnodes.remotes)
        recompressed: list[LeafRemote | None] = [] if compression == options.leafnodes.compression else [None]
        for remote in list(self.remotes):
            if remote.options in wanted and not remote.options.disabled:
                wanted.remove(remote.options)
            elif (other := self._differs_in_compression(remote, wanted)) is not None:
                wanted.remove(other)
                remote.options = other
                recompressed.append(remote)
            else:
                remote.close("Client Closed")
                self.remotes.remove(remote)
        for added in wanted:
            self._solicit(added)
        for connection in list(self.connections.values()):
            account = connection.account
            if account is None or self.registry.get(account.name) is not account:
                connection.close("Missing Account")
            elif connection.remote is None and not connection.is_pinned(options.leafnodes.tls):
                connection.close(TLS_FAILED)
            elif not connection.handshake.still_welcome():
                connection.fail("Authorization Violation", EXPIRED)
            elif connection.remote in recompressed and not connection.follow_compression():
                connection.close("Client Closed")
            else:
                self.map_local_domain(account)
                connection.advertiser.sync()
        self.flusher.flush()

    def migrates(self, account: str) -> bool:
        """Return whether this server should lead no streams of the account; see `LeafRemote.migrates`."""
        return any(remote.migrates(account) for remote in self.remotes)

    @staticmethod
    def _differs_in_compression(remote: LeafRemote, wanted: list[RemoteOptions]) -> RemoteOptions | None:
        """Return the new options of a remote, if only its compression has changed."""
        present = remote.options
        for each in wanted:
            if not each.disabled and replace(each, compression=present.compression) == present:
                return each
        return None

    def hub_domains(self) -> set[str]:
        """Return the domains of the hubs whose system account is joined now."""
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
        return f"nats-leaf://{dialable(host)}:{self.port}"

    def set_jetstream(self, *, jetstream: bool) -> None:
        """Take note that JetStream was switched on or off here.

        Leafs are closed and join again, because what may pass depends on it.
        """
        if self.documents.jetstream == jetstream:
            return
        self.documents.jetstream = jetstream
        self._map_default_domains()
        for connection in list(self.connections.values()):
            connection.close("Server Reloaded")

    def set_other_urls(self, urls: list[str], websocket_urls: list[str]) -> None:
        """Set where other servers of the cluster accept leafs, and tell the leafs if that has changed."""
        known = list(dict.fromkeys([*self.own_urls(), *urls]))
        documents = self.documents
        if (known, websocket_urls) != (documents.urls, documents.websocket_urls):
            documents.urls, documents.websocket_urls = known, websocket_urls
            for connection in self.connections.values():
                if connection.remote is None:
                    connection.send_line(self.documents.info({}))
            self.flusher.flush()

    def own_urls(self) -> list[str]:
        """Return the address that leafs are told to come back to, [] if none is advertised."""
        leafnodes = self.options.leafnodes
        if leafnodes.no_advertise:
            return []
        if leafnodes.advertise:
            host, colon, port = leafnodes.advertise.rpartition(":")
            return [f"{host}:{port}" if colon and port.isdigit() else f"{leafnodes.advertise}:{self.port}"]
        return [f"{host}:{self.port}" for host in reachable(leafnodes.host)[:1]] if self.port else []

    async def find_account(self, name: str) -> Account | None:
        """Return the account that a remote is bound to, None if it does not exist yet."""
        return self.registry.get(name) if self._find is None else await self._find(name)

    def follow(self, account: Account) -> None:
        """Map the domains in an account that was made or changed."""
        documents = self.documents
        domain = self.options.default_js_domain.get(account.name)
        if domain and not account.serves_jetstream:
            add_mappings(account, default_mappings(domain))
        if account.leafs and documents.domain and documents.jetstream:
            self.map_local_domain(account)
        account.forget_plans()

    # --- connections

    def joined(self, connection: LeafConnection) -> None:
        """Add a connection that is bound to its account."""
        self.connections[connection.id] = connection

    def announced(self, connection: LeafConnection) -> None:
        """Report a connection that serves from now on."""
        if self.events is not None:
            self.events.leaf_connected(connection)

    def closed(self, connection: LeafConnection, reason: str) -> None:
        """Remove a connection that is closed, and report it if it had joined."""
        if self.connections.pop(connection.id, None) is None:
            return
        if self.events is not None:
            self.events.leaf_disconnected(connection, reason)
        if self.system_links is not None and connection.account is self.registry.system:
            server_id, cluster = connection.remote_id, connection.remote_cluster
            others = [c for c in self.connections.values() if c.account is connection.account]
            if reason != SHUTDOWN and server_id not in [other.remote_id for other in others]:
                self.system_links.left(server_id, cluster if connection.is_spoke else "")

    def _map_default_domains(self) -> None:
        """Map the plain API of accounts without JetStream here to the domain that it is meant for."""
        for name, domain in self.options.default_js_domain.items():
            account = self.registry.get(name)
            if account is not None and domain and not account.serves_jetstream:
                add_mappings(account, default_mappings(domain))
                account.forget_plans()
