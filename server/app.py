"""Server: the composition root. It knows every part, assembles them, and starts and stops them in order.

Promises:
- `start` either returns a server that accepts connections, however much is stored, or raises and leaves
  nothing running.
- `ready` returns when the streams are open; the log says so, too.
- `stop` leaves no task, timer, socket or thread behind.
- A part that the options do not ask for is never imported.
"""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from . import banner
from .accounts import AccountRegistry
from .client import ClientListener, Clients, make_services
from .clock import SECOND, LoopClock
from .config.options import Options
from .config.single import with_single
from .connection.addresses import dialable
from .identity import ServerIdentity
from .logging import Logger, NullLogger
from .renewal import Contexts, read_contexts, use_contexts
from .slices import Steps, at_once
from .worker import Worker

if TYPE_CHECKING:
    from .cluster.bootstrap import BootstrapExpect
    from .gateway import Gateways
    from .jetstream.engine import JetStream
    from .leaf import Leafs
    from .monitor.http import Monitor
    from .mqtt.listener import MQTTListener
    from .operator import OperatorMode
    from .route import Routes
    from .system import System
    from .websocket.listener import WebSocketListener

SHUTDOWN = "Server Shutdown"
# Seconds that clients wait for streams that open quickly, so that they hardly ever find one that is not open.
_READY_SECONDS = 0.1
_LOOPBACK = "127.0.0.1"


class ServerPart(Protocol):
    """A part that runs beside the clients: leaf nodes, monitoring, system services."""

    async def start(self) -> None:
        """Start the part. If this raises, nothing is left running."""

    async def stop(self) -> None:
        """Stop the part and leave nothing running."""


class Server:
    """A server in this process, on the running loop.

    Pass either `options`, or single options by keyword, which are set on top of the defaults of an embedded
    server: 127.0.0.1 and any free port. `jetstream=True` or `store_dir=...` enables JetStream. An embedded
    server without a `store_dir` uses a temporary directory and removes it when it stops.
    `async with Server(...) as server:` starts the server, waits until it is ready, and stops it.
    """

    def __init__(self, options: Options | None = None, *, log: Logger | None = None, **single: Any) -> None:
        embedded = options is None
        if options is None:
            options = Options(host=_LOOPBACK, port=0)
        self.options = with_single(options, single)
        self.log: Logger = log or NullLogger()
        self.random_bytes: Callable[[int], bytes] = os.urandom
        self.jetstream: JetStream | None = None
        self.leafs: Leafs | None = None
        self.operator: OperatorMode | None = None
        self.routes: Routes | None = None
        self.gateways: Gateways | None = None
        self.monitor: Monitor | None = None
        self.system: System | None = None
        self.websocket: WebSocketListener | None = None
        self.mqtt: MQTTListener | None = None
        self.lame_duck = False
        self._switch: asyncio.Task[None] | None = None
        self._temporary_store = embedded and not self.options.jetstream.store_dir
        self._parts: list[ServerPart] = []
        self._stopped = asyncio.Event()
        self._ready: asyncio.Task[None] | None = None
        self._running = False

    async def __aenter__(self) -> Server:
        await self.start()
        await self.ready()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def start(self) -> None:
        """Start every part and return when clients can connect.

        Streams that are not open by then are opened in the background; see `ready`.

        Raises OSError if an address is in use or the store directory cannot be used, and AccountsError if the
        accounts contradict each other.
        """
        loop = asyncio.get_running_loop()
        options = self.options
        self.clock = LoopClock(loop)
        signs = bool(options.operator or options.trusted_keys or options.authorization.auth_callout)
        self.identity = ServerIdentity.new(
            options.server_name, self.clock.now(), self.random_bytes, signs=signs
        )
        banner.starting(self.log, self.identity, options)
        self.worker = Worker(loop, self.log.error)
        self._make_registry(options)
        self.clients = Clients(
            options,
            self.registry,
            make_services(options, self.identity, self.clock, self.worker, self.log),
            self.operator.authenticator if self.operator is not None else None,
        )
        if self.operator is not None:
            from .callout.callouts import Callouts

            services = (options, self.identity, self.clock, self.log, self.random_bytes)
            self.operator.authenticator.callouts = Callouts(*services)
        self.listener = ClientListener(self.clients)
        self._running = True
        try:
            await self._start_parts()
            self._ready = loop.create_task(self.ready())
            await asyncio.wait([self._ready], timeout=_READY_SECONDS)
            await self.listener.start(options.host, options.port)
        except BaseException:
            await self.stop()
            raise
        self.log.info(f"Listening for client connections on {options.host}:{self.port}")
        if options.proxy_protocol:
            self.log.info("PROXY protocol enabled for client connections")
        self._ready.add_done_callback(self._log_ready)

    def _log_ready(self, ready: asyncio.Task[None]) -> None:
        if not ready.cancelled():
            self.log.info("Server is ready")

    async def ready(self) -> None:
        """Return when all streams are open, also those of accounts that a reload added, or at a stop."""
        if self.jetstream is not None:
            await self.jetstream.recovered()

    def _make_registry(self, options: Options) -> None:
        """Create the account registry and, in operator mode, the part that makes accounts from tokens."""
        if not options.operator and not options.trusted_keys:
            self.registry = AccountRegistry(options, self.clock)
            return
        from .operator import OperatorMode, Trusted

        trusted = Trusted.of(options)
        self.registry = AccountRegistry(options, self.clock)
        self.operator = OperatorMode(
            trusted, options, self.registry, self.clock, self.log, self.random_bytes, self.worker
        )

    async def _start_parts(self) -> None:
        if self.operator is not None:
            self._parts.append(self.operator)
            await self.operator.start()
        if self.options.jetstream.enabled:
            await self._start_jetstream()
        leafnodes = self.options.leafnodes
        if leafnodes.port is not None or leafnodes.remotes:
            from .leaf import Leafs

            operator = self.operator
            self.leafs = Leafs(
                self.clients,
                self.clients.authenticator,
                jetstream=self.jetstream is not None,
                find=operator.find_account if operator is not None else None,
            )
            self.leafs.spans = self.jetstream is not None and self.jetstream.cluster is not None
            self._parts.append(self.leafs)
            if operator is not None:
                operator.accounts.observers.append(self.leafs.follow)
            await self.leafs.start()
        await self._start_mqtt(self.options)
        await self._start_websocket(self.options)
        await self._start_gateways()
        await self._start_cluster()
        await self._start_monitor()
        from .system import System

        self.system = System(self, self.log, self.random_bytes)
        self._parts.append(self.system)
        await self.system.start()
        if self.operator is not None:
            self.operator.accounts.observers.append(self.system.account_changed)

    async def _start_jetstream(self) -> None:
        from .jetstream.engine import JetStream

        if self._temporary_store:
            import tempfile

            self.options.jetstream.store_dir = tempfile.mkdtemp(prefix="pyjs-")
        self.jetstream = JetStream(
            self.options,
            self.registry,
            self.clock,
            self.log,
            server_name=self.identity.name,
            server_id=self.identity.id,
            find=self.operator.accounts.fetch if self.operator is not None else None,
        )
        self.clients.info.jetstream = True
        if self.operator is not None:
            self.operator.accounts.observers.append(self.jetstream.follow)
        await self.jetstream.start()
        banner.jetstream_started(self.log, self.jetstream)

    async def _stop_jetstream(self) -> None:
        """Stop serving JetStream, because a reload disabled it or because it could not be started."""
        engine, self.jetstream = self.jetstream, None
        self.clients.info.jetstream = False
        if engine is not None:
            if self.operator is not None:
                self.operator.accounts.observers.remove(engine.follow)
            engine.dismiss()
            await engine.stop()

    async def _switch_jetstream(self, before: asyncio.Task[None] | None) -> None:
        """Start or stop JetStream as the options now say, after the switch that is already under way."""
        if before is not None:
            await asyncio.wait([before])
        wanted = self.options.jetstream.enabled
        if wanted == (self.jetstream is not None):
            return
        problem = ""
        try:
            await (self._start_jetstream() if wanted else self._stop_jetstream())
        except (OSError, ValueError) as error:
            problem = str(error)
        if problem:
            self.log.error(f"JetStream could not be {'started' if wanted else 'stopped'}: {problem}")
            await self._stop_jetstream()
        if self.leafs is not None:
            self.leafs.set_jetstream(jetstream=self.jetstream is not None)

    async def _start_gateways(self) -> None:
        if self.options.gateway is None:
            return
        from .gateway import Gateways

        gateways = self.gateways = Gateways(self.clients)
        self._parts.append(gateways)
        if self.operator is not None:
            self.operator.accounts.observers.append(gateways.account_made)
        await gateways.start()

    async def _start_cluster(self) -> None:
        """Start the routes to other servers and, with JetStream, this server's part of the cluster."""
        options = self.options.cluster
        if options is not None and (options.port is not None or options.routes):
            from .route import Routes

            self.routes = Routes(self.clients)
            self._parts.append(self.routes)
            if self.gateways is not None:
                self.gateways.join(self.routes)
            if self.leafs is not None:
                self.routes.documents.leaf_urls = self.leafs.own_urls()
                self.routes.set_leaf_urls = self.leafs.set_other_urls
            if self.operator is not None:
                self.operator.accounts.observers.append(self.routes.pools.account_made)
            await self.routes.start()
        cluster = self.jetstream.cluster if self.jetstream is not None else None
        if cluster is None:
            return
        if self.routes is not None:
            self.routes.observers.append(cluster)
        if self.gateways is not None:
            self.gateways.observers.append(cluster.route_joined)
            cluster.join_clusters(self.gateways.nearest)
        self._parts.append(cluster)
        cluster.expected = self._expected
        if self.leafs is not None:
            cluster.migrates = self.leafs.migrates
            self.leafs.system_links = cluster.leaf_links
            if self.jetstream is not None and self.jetstream.extends:
                cluster.extend(self.leafs.hub_domains)
        await cluster.start()
        if self.operator is not None:
            self.operator.hold_all()
            if self.routes is not None:
                self.routes.wanted = self.operator.need

    def _expected(self) -> BootstrapExpect:
        """Return the servers that must be there to bootstrap a meta group: those that the routes name."""
        from .cluster.bootstrap_peers import expected

        remotes = self.routes.remotes if self.routes is not None else ()
        own = expected(remotes, configured=self.routes is not None and bool(self.routes.cluster.routes))
        return own if self.gateways is None else self.gateways.bootstrap_with(own)

    async def _start_mqtt(self, options: Options) -> None:
        if options.mqtt is None or options.mqtt.port is None:
            return
        from .mqtt.listener import MQTTListener

        self.mqtt = MQTTListener(self.clients)
        await self.mqtt.start()

    async def _start_websocket(self, options: Options) -> None:
        if options.websocket is None or options.websocket.port is None:
            return
        from .websocket.listener import WebSocketListener

        leafs = self.leafs if options.leafnodes.port is not None else None
        accept = leafs.connection if leafs is not None else None
        mqtt = self.mqtt.accept if self.mqtt is not None else None
        self.websocket = WebSocketListener(self.clients, self.clients.accept, accept, mqtt)
        await self.websocket.start()
        self.clients.info.websocket_port = self.websocket.port
        self.clients.info.own_websocket_urls = self.websocket.urls()

    async def _start_monitor(self) -> None:
        options = self.options
        if options.http_port is None and options.https_port is None:
            return
        from .monitor.http import Monitor

        host = options.http_host or options.host
        if options.https_port is not None:
            from .monitor.secure import MonitorTLS, monitor_context

            assert options.tls is not None
            tls = MonitorTLS(monitor_context(options.tls))
            self.monitor = Monitor(self, host, options.https_port, self.log, tls)
        else:
            self.monitor = Monitor(self, host, options.http_port or 0, self.log)
        await self.monitor.start()
        self._parts.append(self.monitor)

    async def stop(self) -> None:
        """Close every connection and stop every part. Calling it twice is harmless."""
        if not self._running:
            return
        self._running = False
        if self._ready is not None:
            self._ready.cancel()
        await self._stop_accepting()
        if self._switch is not None:
            await asyncio.wait([self._switch])
        if self.jetstream is not None:
            self.jetstream.dismiss()
        for part in reversed(self._parts):
            await part.stop()
        self.clients.close_all(SHUTDOWN)
        if self.mqtt is not None:
            self.mqtt.stop_asking()
        if self.jetstream is not None:
            await self.jetstream.stop()
            if self._temporary_store:
                import shutil

                shutil.rmtree(self.options.jetstream.store_dir, ignore_errors=True)
        self.registry.stop()
        self.worker.stop()
        await self.clients.services.peer_checks.stop()
        await self.listener.closed()
        if self.websocket is not None:
            self.websocket.close_all(SHUTDOWN)
            await self.websocket.closed()
        if self.mqtt is not None:
            self.mqtt.close_all(SHUTDOWN)
            await self.mqtt.closed()
        self._stopped.set()

    async def _stop_accepting(self) -> None:
        """Accept no more clients."""
        await self.listener.stop_accepting()
        if self.websocket is not None:
            await self.websocket.stop_accepting()
        if self.mqtt is not None:
            await self.mqtt.stop_accepting()

    async def wait(self) -> None:
        """Return when the server has stopped."""
        await self._stopped.wait()

    @property
    def port(self) -> int:
        """The port for clients."""
        return self.listener.port

    @property
    def accepting(self) -> bool:
        """Whether clients can connect now."""
        return self.listener.accepting

    @property
    def url(self) -> str:
        """The URL for clients, `nats://host:port`."""
        host = self.options.host
        return f"nats://{dialable(host)}:{self.port}"

    @property
    def leaf_url(self) -> str:
        """The URL for leaf nodes, `nats-leaf://host:port`; "" if there is no listener for them."""
        return self.leafs.url if self.leafs is not None else ""

    def urls(self) -> dict[str, list[str]]:
        """Return the URLs of every listener by its kind, as the ports file lists them."""
        urls = {"nats": [self.url]}
        if self.leaf_url:
            urls["leafnodes"] = [self.leaf_url.replace("nats-leaf://", "nats://")]
        if self.monitor is not None:
            urls["monitoring"] = [self.monitor.url]
        if self.websocket is not None:
            urls["websocket"] = [self.websocket.url]
        if self.mqtt is not None:
            urls["mqtt"] = [self.mqtt.url]
        return urls

    def reload(self, options: Options) -> None:
        """Apply new options in one go; see `reloading`. Raises TLSConfigError, too."""
        at_once(self.reloading(options, read_contexts(options)))

    def reloading(self, options: Options, contexts: Contexts) -> Steps[None]:
        """Apply, in steps, what can change while the server runs: `config.reload` has refused anything else.

        contexts: new TLS contexts of the listeners.

        Raises AccountsError, and changes nothing, if the accounts contradict each other.
        """
        if self.operator is not None:
            yield from self.operator.reloading(options)
        gone = yield from self.registry.reloading(options)
        self.options = options
        self._use_certificates(contexts)
        yield from self.clients.reloading(options)
        if options.jetstream.enabled != (self.jetstream is not None):
            switch = self._switch_jetstream(self._switch)
            self._switch = asyncio.get_running_loop().create_task(switch)
        elif self.jetstream is not None:
            self.jetstream.reload(options)
        if self.leafs is not None:
            self.leafs.reload(options, self.clients.authenticator)
        if self.routes is not None:
            yield from self.routes.reloading(options)
        if self.gateways is not None:
            yield from self.gateways.reloading(options)
        if self.system is not None:
            self.system.accounts_changed()
        for account in gone:
            if self.mqtt is not None:
                self.mqtt.forget(account)
            account.stop()

    def _use_certificates(self, contexts: Contexts) -> None:
        parts = (("", self), ("leafnodes", self.leafs), ("cluster", self.routes), ("gateway", self.gateways))
        listeners = {name: part.listener for name, part in parts if part is not None}
        use_contexts(self.options, {**listeners, "websocket": self.websocket, "mqtt": self.mqtt}, contexts)
        if self.monitor is not None and "https" in contexts:
            self.monitor.use_tls(contexts["https"])

    async def drain(self) -> None:
        """Stop in lame duck mode: accept nobody, warn the clients, disconnect them one by one, then stop."""
        if self.lame_duck:
            return
        self.lame_duck = True
        options = self.options
        self.log.info("Entering lame duck mode, stop accepting new clients")
        await self._stop_accepting()
        if self.leafs is not None:
            await self.leafs.stop_accepting()
        if self.system is not None:
            self.system.lame_duck()
        self.clients.lame_duck(self.routes.other_urls() if self.routes is not None else [])
        if self.routes is not None:
            self.routes.lame_duck()
        if self.jetstream is not None and self.jetstream.cluster is not None:
            self.jetstream.cluster.hand_over()
        if not self.clients.connections:
            await self.stop()
            return
        await asyncio.sleep(options.lame_duck_grace_period / SECOND)
        remaining = list(self.clients.connections.values())
        random.shuffle(remaining)
        span = max(0, options.lame_duck_duration - options.lame_duck_grace_period) / SECOND
        pause = span / len(remaining) if remaining else 0
        for connection in remaining:
            connection.close(SHUTDOWN)
            await asyncio.sleep(min(pause, 1.0))
        await self.stop()
