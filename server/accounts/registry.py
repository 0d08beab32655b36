"""AccountRegistry: all accounts of a server, made from its options and linked by their imports.

Promises that an account keeps its identity (and with it its subscriptions and streams) through reloads.
Refuses imports that are not exported, not allowed or in a cycle before it changes anything. Accounts made
from tokens are kept here too, but `operator` makes and links them, and a reload does not touch them.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ...protocol.subject import is_valid
from ...protocol.subject_tree import SubjectTree, index_tree
from ..config.options import (
    AccountLimitOptions,
    AccountOptions,
    ExportOptions,
    ImportOptions,
    MappingOptions,
    Options,
)
from ..slices import Steps, at_once
from .account import Account, ConnectionLimits
from .account_spec import (
    STREAM,
    AccountsError,
    AccountSpec,
    AnyExport,
    ImportSpec,
    ImportSpecs,
    comes_round,
    make_import,
)
from .exports import LatencyTarget, ResponseType, ServiceExport, StreamExport
from .flusher import Flusher
from .imports import ServiceImport
from .mapping import Mapping, MappingError
from .server_trace import TraceTarget
from .space import StreamImport

if TYPE_CHECKING:
    from ..clock import Clock

GLOBAL = "$G"
SYSTEM = "$SYS"


class AccountRegistry:
    """Accounts by name.

    global_account: the account `$G`.
    system: the system account; None when it is switched off.
    """

    def __init__(
        self, options: Options, clock: Clock, *, random_bytes: Callable[[int], bytes] = random.randbytes
    ) -> None:
        self.clock = clock
        self.flusher = Flusher(clock)
        self.accounts: dict[str, Account] = {}
        self._random = random_bytes
        self._appointed: Account | None = None
        self.global_account = self.make(GLOBAL)
        self.system: Account | None = None
        self.reload(options)

    def get(self, name: str) -> Account | None:
        """Return the account called `name`, None if there is none."""
        return self.accounts.get(name)

    def reload(self, options: Options) -> list[Account]:
        """Do the same as `reloading`, at once."""
        return at_once(self.reloading(options))

    def reloading(self, options: Options) -> Steps[list[Account]]:
        """Make the accounts those of `options`, in steps. Return the accounts that no longer exist.

        Raises AccountsError, in which case nothing has changed except that there are new, empty accounts.
        """
        system = self._system_name(options)
        names = {GLOBAL, *options.accounts, *([system] if system else [])}
        for name in sorted(names - self.accounts.keys()):
            self.make(name)
            yield
        prepared: dict[str, _Prepared] = {}
        for name in sorted(names):
            plan = prepared[name] = _Prepared(self, self.accounts[name], options.accounts.get(name), options)
            yield from plan.preparing()
            yield
        for plan in prepared.values():
            yield from plan.resolve(prepared)
            yield
        for plan in prepared.values():
            yield from plan.refuse_cycles(prepared)
            yield
        gone = [
            account
            for name, account in self.accounts.items()
            if name not in names and account.account_token is None and account is not self._appointed
        ]
        for account in gone:
            yield from account.replacing_imports((), ())
            del self.accounts[account.name]
            yield
        for plan in prepared.values():
            yield from plan.apply()
            yield
        self.system = self._appointed or (self.accounts[system] if system else None)
        return gone

    def appoint(self, account: Account) -> None:
        """Make `account`, which no configuration names, the system account. It remains so through reloads."""
        self._appointed = self.system = account

    def _system_name(self, options: Options) -> str:
        """Return the name of the system account according to the options; "" means none.

        With operators' tokens the system account comes later, unless the options name none.
        """
        if options.no_system_account or self._appointed is not None:
            return ""
        by_tokens = bool(options.operator or options.trusted_keys)
        return "" if by_tokens and options.system_account else options.system_account or SYSTEM

    def stop(self) -> None:
        """Cancel all timers."""
        for account in self.accounts.values():
            account.stop()

    def make(self, name: str) -> Account:
        """Make and return a new account, which has no users, exports or imports yet."""
        account = self.accounts[name] = Account(name, self.flusher, random_bytes=self._random)
        return account


class _Prepared:
    """What one account will be according to the options."""

    def __init__(
        self, registry: AccountRegistry, account: Account, given: AccountOptions | None, options: Options
    ) -> None:
        self.registry = registry
        self.account = account
        self.options = given or AccountOptions(name=account.name)
        self._mappings = self.options.mappings
        if account.name == GLOBAL:
            self._mappings = [*self._mappings, *options.mappings]
        share, trace = self.options.jetstream, self.options.msg_trace
        self.spec = AccountSpec(
            _limits(self.options.limits),
            jetstream=None if share is None else {"": share},
            trace_target=None if trace is None else TraceTarget(trace.dest, trace.sampling),
        )
        self.specs = ImportSpecs()
        self._offers: dict[str, SubjectTree[list[int]]] = {}  # indexes of exports, by kind
        self.stream_imports: list[StreamImport] = []
        self.service_imports: list[ServiceImport] = []

    def preparing(self) -> Steps[None]:
        spec = self.spec
        for export in self.options.exports:
            if export.kind == "stream":
                spec.streams.append(_stream_export(export))
            else:
                spec.services.append(_service_export(export))
            yield
        for mapping in self._mappings:
            spec.mappings.add(_mapping(mapping))
            yield
        yield from spec.keeping_exports(self.account)
        for entry in self.options.imports:
            self.specs.add(_link(entry))
            yield

    def resolve(self, prepared: dict[str, _Prepared]) -> Steps[None]:
        for import_spec in self.specs:
            exporter = prepared.get(import_spec.account)
            if exporter is None:
                raise AccountsError(
                    f"account {self.account.name!r} imports from unknown account {import_spec.account!r}"
                )
            self._resolve(import_spec, exporter)
            yield

    def _resolve(self, import_spec: ImportSpec, exporter: _Prepared) -> None:
        export = exporter.offered(import_spec.kind, import_spec.subject, self.account.name)
        if export is None:
            raise AccountsError(
                f"account {self.account.name!r} may not import {import_spec.kind} {import_spec.subject!r} "
                f"from account {import_spec.account!r}: it is not exported to it"
            )
        made = make_import(import_spec, self.account, exporter.account, export)
        if isinstance(made, StreamImport):
            self.stream_imports.append(made)
        else:
            self.service_imports.append(made)

    def offered(self, kind: str, subject: str, importer: str) -> AnyExport | None:
        """Return the first export by which `importer` may import `subject`, None if there is none."""
        exports: Sequence[AnyExport] = self.spec.streams if kind == STREAM else self.spec.services
        tree = self._offers.get(kind)
        if tree is None:
            tree = self._offers[kind] = index_tree(export.subject for export in exports)
        found = sorted(index for each in tree.covering(subject) for index in each)
        return next((exports[index] for index in found if exports[index].allows(importer, subject)), None)

    def refuse_cycles(self, prepared: dict[str, _Prepared]) -> Steps[None]:
        for import_spec in self.specs:
            yield
            if comes_round(self.account.name, import_spec, lambda name: prepared[name].specs):
                raise AccountsError(
                    f"{import_spec.kind} import {import_spec.subject!r} of account {self.account.name!r} "
                    "forms a cycle"
                )

    def apply(self) -> Steps[None]:
        account = self.account
        account.options = self.options
        account.nkey = self.options.nkey
        self.spec.apply(account)
        yield from account.replacing_imports(self.stream_imports, self.service_imports)
        yield


def _limits(entry: AccountLimitOptions) -> ConnectionLimits:
    return ConnectionLimits(
        entry.max_connections, entry.max_subscriptions, entry.max_payload, entry.max_leafnodes
    )


def _link(entry: ImportOptions) -> ImportSpec:
    if entry.prefix and not entry.to:
        local = f"{entry.prefix.removesuffix('.')}.{entry.subject}"
    else:
        local = entry.to or entry.subject
    return ImportSpec(entry.kind, entry.account, entry.subject, local, entry.share, entry.allow_trace)


def _stream_export(entry: ExportOptions) -> StreamExport:
    _check_subject(entry.subject)
    return StreamExport(entry.subject, _names(entry), entry.account_token_position)


def _service_export(entry: ExportOptions) -> ServiceExport:
    _check_subject(entry.subject)
    made = ServiceExport(
        entry.subject,
        _names(entry),
        entry.account_token_position,
        ResponseType(entry.response_type),
        entry.response_threshold,
        latency=None
        if entry.latency is None
        else LatencyTarget(entry.latency.subject, entry.latency.sampling),
    )
    made.allow_trace = entry.allow_trace
    return made


def _check_subject(subject: str) -> None:
    if not is_valid(subject):
        raise AccountsError(f"invalid export subject {subject!r}")


def _names(entry: ExportOptions) -> frozenset[str] | None:
    return None if entry.accounts is None else frozenset(entry.accounts)


def _mapping(entry: MappingOptions) -> Mapping:
    try:
        return Mapping(entry.source, [(d.subject, d.weight) for d in entry.destinations if not d.cluster])
    except MappingError as error:
        raise AccountsError(str(error)) from error
