"""JetStream: the engine of one server: accounts, their limits, the API and the threads that sync.

Promises:
- `start` returns soon, and `recovered` when every account has its streams back; they are opened while others
  are served.
- `stop` leaves everything on disk.
- An account that loses JetStream (by a reload, or a token) stops its streams and keeps its files; it gets the
  streams back with JetStream.
- What only streams and consumers need is imported with the first one: a start does not wait for it.
- With routes the server is one of several (`cluster`): its streams are those that are assigned to it, and
  come back when it knows which these are.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from ...protocol.errors import api_error
from ...store.configs import Storage
from ...store.fs import Disk
from ...store.lock import DirectoryLock
from ..clock import SECOND
from ..config.options import AccountJetStream
from ..config.options.jetstream import DEFAULT_MAX_CONSUMERS
from ..logging import Logger, NullLogger
from ..task_executor import JobWaits, LoopTaskExecutor, TaskExecutor, WorkerThreads
from . import clustering
from .account.account import JetStreamAccount
from .account.recovery import Recovery
from .account.stream_closer import StreamCloser
from .api import system as system_api
from .api.disabled import Refusals
from .api.table import TABLE, AccountApi
from .directory import make_store_directory
from .domain import map_domain, unmap_domain
from .encryption import Encrypting, refuse_encrypted, unlocked
from .host import BatchCapacity, JetStreamHost
from .lazydisk import LazyDisk, PeriodicSync
from .overload import RequestQueues, StreamQueue
from .quota import Quota, disk_share, memory_share

if TYPE_CHECKING:
    from ...store.fs import FileSystem
    from ..accounts.account import Account
    from ..accounts.registry import AccountRegistry
    from ..clock import Clock
    from ..config.options import Options
    from .api.cluster.router import ClusterApiRouter
    from .api.request import ApiEndpoint
    from .api.system import SystemApi
    from .cluster.cluster import JetStreamCluster
    from .consumers.core import Consumer
    from .legacy.service import LegacyService
    from .streams.core import Stream

WORKERS = 4  # that write, and as many that read what was stored
ASYNC_SYNC_INTERVAL = 120 * SECOND  # of streams with `persist_mode: async`
_FAULT = "JetStream"


class JetStream:
    """The JetStream of one server.

    options: the present options.
    registry: all accounts of the server.
    accounts: those that have JetStream, by name.
    memory, files: the server's quotas.
    running: whether accounts are served.
    host: what JetStream needs of the server; None before the start.
    cluster: this server's part in a cluster; None for a single server.
    """

    def __init__(
        self,
        options: Options,
        registry: AccountRegistry,
        clock: Clock,
        logger: Logger | None = None,
        *,
        server_name: str = "pyjs",
        server_id: str = "",
        find: Callable[[str], Awaitable[object]] | None = None,
    ) -> None:
        """find: looks up an account that has files here, and has `follow` called if the account is found."""
        self.options = options
        self.registry = registry
        self.accounts: dict[str, JetStreamAccount] = {}
        self.memory = Quota()
        self.files = Quota()
        self._lock: DirectoryLock | None = None
        self.running = False
        self.host: JetStreamHost | None = None
        self.cluster: JetStreamCluster | None = None
        self._router: ClusterApiRouter | None = None
        self._clock = clock
        self._log: Logger = logger or NullLogger()
        self._server_name = server_name
        self._server_id = server_id
        self._find = find
        self._apis: dict[str, AccountApi] = {}
        self._legacy: dict[str, LegacyService] = {}
        self._refusals = Refusals(registry, self.accounts, self._answers)
        self._system_api: SystemApi | None = None
        self._executor: WorkerThreads | None = None
        self._read_threads: WorkerThreads | None = None
        self._recovery: Recovery | None = None
        self._finding: asyncio.Task[None] | None = None
        self._closing = 0  # accounts
        self._closed = asyncio.Event()
        self._storage: Storage | None = None
        self._sync: PeriodicSync | None = None

    @property
    def domain(self) -> str:
        """The configured domain, or ""."""
        return self.options.jetstream.domain

    async def start(self) -> None:
        """Begin to serve, and to open the streams.

        Raises OSError, ValueError if there is no usable store directory, if another server uses it, or if the
        options do not suffice for a cluster.
        """
        options = self.options.jetstream
        if not options.store_dir:
            raise ValueError("Can't start JetStream: it needs a store directory")
        clustered = clustering.is_clustered(self.options, self.registry.system, self._server_name)
        make_store_directory(options.store_dir)
        self._lock = DirectoryLock(options.store_dir)
        self.memory.limit = options.max_memory if options.max_memory is not None else memory_share()
        self.files.limit = options.max_file if options.max_file is not None else disk_share(options.store_dir)
        loop = asyncio.get_running_loop()
        workers = min(WORKERS, options.max_concurrent_io // 2)
        self._executor = WorkerThreads(workers, "jetstream")
        self._read_threads = WorkerThreads(workers, "recovery")
        self._recovery = Recovery(LoopTaskExecutor(loop, self._read_threads))
        syncing_later, interval = LazyDisk(), options.sync_interval or ASYNC_SYNC_INTERVAL
        self._sync = PeriodicSync(syncing_later, interval, self._clock, self._executor, self._log)
        above = await self._unlocked()
        lazy = above(syncing_later)
        disk = lazy if options.sync_interval else above(Disk())
        self._storage = Storage(options.store_dir, fs=disk, lazy=lazy)
        self.host = self._make_host(LoopTaskExecutor(loop, self._executor), disk)
        self.running = True
        if clustered:
            from .cluster.cluster import JetStreamCluster

            assert self.registry.system is not None
            self.cluster = JetStreamCluster(
                self.host,
                self.registry.system,
                self.accounts,
                options=lambda: self.options,
                quotas=(self.memory, self.files),
                read_executor=self.read_executor,
                leave=self.leave,
            )
            self._router = clustering.serve_api(self.cluster, self.host, self.accounts)
        for account, grants in self._entitled():
            self._entitle(account, grants)
        self._name_domain()
        self._refusals.update()
        if self.cluster is None and self.registry.system is not None:
            self._system_api = system_api.alone(self.registry.system, self.host, self._purge)
            self._system_api.start()
        self._finding = loop.create_task(self._find_owners())

    async def _unlocked(self) -> Encrypting:
        """Return what makes the disks of the store, which encrypt if there is a key."""
        options = self.options.jetstream
        if not options.key:
            refuse_encrypted(options.store_dir, Disk())
            return lambda below: below
        return await asyncio.to_thread(unlocked, options, self._log)

    def _make_host(self, executor: TaskExecutor, disk: FileSystem) -> JetStreamHost:
        options = self.options.jetstream
        limits = options.limits
        return JetStreamHost(
            clock=self._clock,
            executor=executor,
            server_name=self._server_name,
            server_id=self._server_id,
            cluster_name=clustering.cluster_name(self.options, self._server_name),
            domain=options.domain,
            strict=options.strict,
            duplicates_limit=limits.duplicate_window,
            default_max_consumers=limits.default_max_consumers or DEFAULT_MAX_CONSUMERS,
            max_ack_pending=limits.max_ack_pending,
            max_request_batch=limits.max_request_batch,
            max_pending=self.options.max_pending,
            log=self._log,
            disk=disk,
            batches=BatchCapacity.of(limits.batch),
            system=self.registry.system,
            features=frozenset(flag for flag, on in self.options.feature_flags.items() if on),
            legacy_api=options.legacy_api,
            queues=RequestQueues(options.request_queue_limit, options.info_queue_limit or 0),
            stream_queue=StreamQueue.of(options.max_buffered_size, options.max_buffered_msgs),
            max_outstanding_catchup=options.max_outstanding_catchup,
        )

    async def recovered(self) -> None:
        """Return when all streams are open, also of the accounts that had to be looked up."""
        assert self._recovery is not None
        if self._finding is not None:
            await asyncio.wait([self._finding])
        self._recovery.when_done((done := asyncio.Event()).set)
        await done.wait()

    @property
    def read_executor(self) -> TaskExecutor:
        """The threads that read what is stored."""
        assert self._recovery is not None
        return self._recovery.executor

    @property
    def disk_waits(self) -> JobWaits:
        """How long disk work waited for a thread."""
        found = JobWaits()
        for threads in (self._executor, self._read_threads):
            if threads is not None:
                found = found.plus(threads.waits)
        return found

    def recovering(self) -> str:
        """Return how far the recovery is, "" when it is done; in a cluster each stream reports its own."""
        return "" if self._recovery is None else self._recovery.progress()

    def _purge(self, name: str) -> None:
        """Remove everything that an account has stored here, whether it is served or not. Raises ApiError."""
        assert self._storage is not None
        found = self.accounts.get(name)
        self._log.info(f"Purge request for account {name} (streams: {len(found.streams) if found else 0})")
        if found is not None:
            found.purge()
        try:
            self._storage.remove_account(name)
        except OSError as error:
            raise api_error("JSStreamGeneralErrorF", err=str(error)) from error

    async def _find_owners(self) -> None:
        """Look up the accounts that have files here and are not known yet."""
        assert self._storage is not None
        try:
            owners = [name for name in self._storage.accounts() if name not in self.registry.accounts]
        except OSError as error:
            self._log.error(f"JetStream cannot list its accounts: {error}")
            return
        if self._find is None or not owners:
            return
        await asyncio.gather(*(self._find(name) for name in owners))
        for name in [name for name in owners if name not in self.registry.accounts]:
            self._log.warning(f"JetStream has streams of account {name}, which cannot be found")

    @property
    def extends(self) -> bool:
        """Whether this server joins a hub's system account as a leaf node; see `clustering.extends`."""
        return clustering.extends(self.options, self.registry.system)

    def _answers(self) -> bool:
        """Return whether this server, of several, refuses the requests that none of them serves."""
        return self.cluster is None or self.cluster.view.is_leader

    async def stop(self) -> None:
        """Stop all accounts; everything stored is on disk afterwards."""
        try:
            if self._finding is not None:
                self._finding.cancel()
                await asyncio.wait([self._finding])
            self.leave()
            if self._closing:
                await self._closed.wait()
            if self._read_threads is not None:  # its reads have to end before the files are closed
                await asyncio.get_running_loop().run_in_executor(None, self._read_threads.shutdown)
            self._stop()
        finally:
            if self._lock is not None:
                self._lock.release()

    def dismiss(self) -> None:
        """Tell clients that wait for messages that the server shuts down, while they are still connected."""
        for account in self.accounts.values():
            for stream in account.streams.values():
                for consumer in stream.consumers.values():
                    consumer.dismiss()

    def leave(self) -> None:
        """Stop serving all accounts. Returns before their streams are written out; see `stop`."""
        self.running = False
        for name in list(self.accounts):
            self._stop_account(name)
        self._refusals.stop()
        if self.registry.system is not None:
            unmap_domain(self.registry.system, self.domain)
        if self._system_api is not None:
            self._system_api.stop()

    def _stop(self) -> None:
        if self._sync is not None:
            self._sync.stop()
        if self._storage is not None:
            self._storage.close()
        if self._executor is not None:
            self._executor.shutdown(wait=True)

    def reload(self, options: Options) -> None:
        """Give, change and take away the JetStream of accounts, after the registry was reloaded."""
        self.options = options
        if not self.running:
            return
        for quota, limit in (
            (self.memory, options.jetstream.max_memory),
            (self.files, options.jetstream.max_file),
        ):
            quota.limit = quota.limit if limit is None else limit
        if self.cluster is not None:
            self.cluster.follow_options()
        entitled = {account.name: (account, grants) for account, grants in self._entitled()}
        for name in list(self.accounts):
            if name not in entitled:
                self._stop_account(name)
        for account, grants in entitled.values():
            self._entitle(account, grants)
        self._name_domain()
        self._refusals.update()

    def _name_domain(self) -> None:
        """Let the system accounts of other domains reach this one by its name, over leaf connections."""
        if self.registry.system is not None:
            map_domain(self.registry.system, self.domain)

    def _entitle(self, account: Account, grants: dict[str, AccountJetStream]) -> None:
        existing = self.accounts.get(account.name)
        if account.account_token is not None:
            self.follow(account)
        elif existing is None:
            self.enable(account, grants)
        else:
            existing.limits.change(grants)
            map_domain(account, self.domain)

    def follow(self, account: Account) -> None:
        """Give, change or take away the JetStream of one account that was created or changed."""
        if not self.running:
            return
        grants = None if account is self.registry.system else account.grants
        existing = self.accounts.get(account.name)
        lacking = "" if grants is None else self._lacking(grants, existing)
        if account.account_token is not None:
            account.account_token.errors.pop(_FAULT, None)
            if lacking:
                account.account_token.errors[_FAULT] = lacking
        if lacking:
            self._log.error(f"Error configuring jetstream for account [{account.label}]: {lacking}")
        if account is self.registry.system:
            self._name_domain()
        if grants is None:
            self.disable(account.name)
        elif existing is not None:
            if not lacking:
                existing.limits.change(grants)
            map_domain(account, self.domain)
        elif not lacking:
            self.enable(account, grants)
        self._refusals.follow(account)

    def _lacking(self, grants: dict[str, AccountJetStream], existing: JetStreamAccount | None) -> str:
        """Return why the server cannot grant so much besides what it grants others, "" if it can."""
        others = [account.limits.by_tier for account in self.accounts.values() if account is not existing]
        before: dict[str, AccountJetStream] = {} if existing is None else existing.limits.by_tier
        for quota, name, error in (
            (self.memory, "max_memory", "JSMemoryResourcesExceededErr"),
            (self.files, "max_store", "JSStorageResourcesExceededErr"),
        ):
            total = _granted(grants, name)
            more = total - _granted(before, name)
            promised = sum(_granted(each, name) for each in others)
            if quota.limit >= 0 and (promised + total > quota.limit or quota.reserved + more > quota.limit):
                return str(api_error(error))
        return ""

    def enable(self, account: Account, limits: dict[str, AccountJetStream]) -> JetStreamAccount:
        """Give an account JetStream, with limits by tier, and open its streams."""
        assert self.host is not None and self._storage is not None and self._recovery is not None
        directory = self._storage.account(account.name)
        assigned = None if self.cluster is None else self.cluster.view.subjects_of
        jetstream = JetStreamAccount(account, self.host, directory, limits, self.memory, self.files, assigned)
        self.accounts[account.name], account.serves_jetstream = jetstream, True
        map_domain(account, self.domain)
        endpoints = TABLE | self._serve_legacy(jetstream) if self.host.legacy_api else TABLE
        if self.cluster is None:
            self._recovery.add(jetstream)
        else:
            directory.unstage()
        self._apis[account.name] = api = AccountApi(jetstream, self._router, endpoints)
        api.start()
        if self.cluster is not None:
            self.cluster.account_added(jetstream)
        return jetstream

    def _serve_legacy(self, account: JetStreamAccount) -> dict[str, ApiEndpoint]:
        """Serve what JetStream had in 2020, and return the requests that it adds to the API."""
        from .legacy.service import LegacyService

        assert self._storage is not None
        directory = self._storage.templates(account.name) if self.cluster is None else None
        self._legacy[account.name] = service = LegacyService(account, directory)
        service.start()
        return service.endpoints

    def disable(self, name: str) -> None:
        """Take JetStream from an account; its files stay."""
        if name in self.accounts:
            self._stop_account(name)

    def _close(self, name: str, streams: list[Stream[Consumer]]) -> None:
        """Write out the streams of an account, which is not opened again before that is done."""
        assert self.host is not None and self._recovery is not None
        recovery = self._recovery
        recovery.hold(name)
        self._closing += 1
        self._closed.clear()

        def closed() -> None:
            recovery.release(name)
            self._closing -= 1
            if not self._closing:
                self._closed.set()

        StreamCloser(self.host.executor, streams, closed)

    def _stop_account(self, name: str) -> None:
        account = self.accounts.pop(name)
        self._apis.pop(name).stop()
        if name in self._legacy:
            self._legacy.pop(name).stop()
        assert self._recovery is not None
        self._recovery.remove(name)
        if self.cluster is None:
            self._close(name, account.leave())
        else:
            self.cluster.account_removed(name, account.stop)
        account.account.serves_jetstream = False
        unmap_domain(account.account, self.domain)

    def _entitled(self) -> list[tuple[Account, dict[str, AccountJetStream]]]:
        """Return the accounts that have JetStream: those it is granted to, or `$G` if it is the only one."""
        system, everyone = self.registry.system, self.registry.global_account
        granted = [
            (account, account.grants)
            for account in self.registry.accounts.values()
            if account is not system and account.grants is not None
        ]
        others = [a for a in self.registry.accounts.values() if a not in (system, everyone)]
        by_tokens = bool(self.options.operator or self.options.trusted_keys)
        if not granted and not others and not by_tokens:
            return [(everyone, {"": AccountJetStream()})]
        return granted


def _granted(grants: dict[str, AccountJetStream], name: str) -> int:
    return sum(max(0, getattr(grant, name)) for grant in grants.values())
