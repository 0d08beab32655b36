"""All accounts of a server: made from options, wired to each other, and re-made in place by a reload.

Promises that an account keeps its identity (and with it its subscriptions and streams) through reloads.
Refuses imports that are not exported, not allowed, or that form a cycle, before anything is changed.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TypeVar

from ...protocol.subject import collide, is_valid
from ...protocol.transform import without_placeholders
from ..config.options import AccountOptions, ExportOptions, ImportOptions, MappingOptions, Options
from .account import Account, AccountLimits
from .exports import ResponseType, ServiceExport, StreamExport
from .flusher import Flusher
from .imports import ServiceImport, StreamImport
from .mapping import Mapping, MappingError, Mappings

if TYPE_CHECKING:
    from ..clock import Clock

E = TypeVar("E", StreamExport, ServiceExport)

GLOBAL = "$G"
SYSTEM = "$SYS"


class AccountsError(ValueError):
    """Accounts that cannot be: an import not exported, not allowed or in a cycle, an impossible mapping."""


class Registry:
    """Accounts by name. `global_account` is `$G`; `system` the system account, or None when switched off."""

    def __init__(
        self, options: Options, clock: Clock, *, random_bytes: Callable[[int], bytes] = random.randbytes
    ) -> None:
        self.clock = clock
        self.flusher = Flusher(clock)
        self.accounts: dict[str, Account] = {}
        self._random = random_bytes
        self.global_account = self._ensure(GLOBAL)
        self.system: Account | None = None
        self.reload(options)

    def get(self, name: str) -> Account | None:
        """The account called `name`."""
        return self.accounts.get(name)

    def reload(self, options: Options) -> list[Account]:
        """Make the accounts those of `options`; gives the ones that are no more.

        Raises AccountsError, and then has changed nothing but empty new accounts.
        """
        system = "" if options.no_system_account else options.system_account or SYSTEM
        names = {GLOBAL, *options.accounts, *([system] if system else [])}
        for name in sorted(names - self.accounts.keys()):
            self._ensure(name)
        prepared = {
            name: _Prepared(self, self.accounts[name], options.accounts.get(name), options)
            for name in sorted(names)
        }
        for plan in prepared.values():
            plan.resolve(prepared)
        for plan in prepared.values():
            _refuse_cycles(plan, prepared)
        gone = [account for name, account in self.accounts.items() if name not in names]
        for account in gone:
            account.set_imports((), ())
            del self.accounts[account.name]
        for plan in prepared.values():
            plan.apply()
        self.system = self.accounts[system] if system else None
        return gone

    def stop(self) -> None:
        """Leave no timer behind."""
        for account in self.accounts.values():
            account.stop()

    def _ensure(self, name: str) -> Account:
        account = self.accounts[name] = Account(name, self.flusher, random_bytes=self._random)
        return account


class _Prepared:
    """What one account is going to be."""

    def __init__(
        self, registry: Registry, account: Account, given: AccountOptions | None, options: Options
    ) -> None:
        self.registry = registry
        self.account = account
        self.options = given or AccountOptions(name=account.name)
        self.streams = [_stream_export(e) for e in self.options.exports if e.kind == "stream"]
        self.services = [_service_export(e) for e in self.options.exports if e.kind == "service"]
        mappings = self.options.mappings
        if account.name == GLOBAL:
            mappings = [*mappings, *options.mappings]
        self.mappings = _mappings(mappings)
        self.stream_imports: list[StreamImport] = []
        self.service_imports: list[ServiceImport] = []

    def resolve(self, prepared: dict[str, _Prepared]) -> None:
        for entry in self.options.imports:
            exporter = prepared.get(entry.account)
            if exporter is None:
                raise AccountsError(
                    f"account {self.account.name!r} imports from unknown account {entry.account!r}"
                )
            if entry.kind == "stream":
                self._resolve_stream(entry, exporter)
            else:
                self._resolve_service(entry, exporter)

    def _resolve_stream(self, entry: ImportOptions, exporter: _Prepared) -> None:
        export = _allowing(exporter.streams, self.account.name, entry.subject)
        if export is None:
            raise AccountsError(self._refusal("stream", entry))
        try:
            made = StreamImport(exporter.account, export, entry.subject, _local(entry))
        except ValueError as error:
            raise AccountsError(
                f"account {self.account.name!r}, stream import {entry.subject!r}: {error}"
            ) from error
        self.stream_imports.append(made)

    def _resolve_service(self, entry: ImportOptions, exporter: _Prepared) -> None:
        export = _allowing(exporter.services, self.account.name, entry.subject)
        if export is None:
            raise AccountsError(self._refusal("service", entry))
        try:
            made = ServiceImport(
                self.account, exporter.account, export, entry.subject, _local(entry), entry.share
            )
        except ValueError as error:
            raise AccountsError(
                f"account {self.account.name!r}, service import {entry.subject!r}: {error}"
            ) from error
        self.service_imports.append(made)

    def _refusal(self, kind: str, entry: ImportOptions) -> str:
        return (
            f"account {self.account.name!r} may not import {kind} {entry.subject!r} "
            f"from account {entry.account!r}: it is not exported to it"
        )

    def apply(self) -> None:
        account = self.account
        account.options = self.options
        account.nkey = self.options.nkey
        account.exports_streams = self.streams
        account.exports_services = self.services
        account.mappings = self.mappings
        account.limits = AccountLimits(self.options.limits)
        account.set_imports(self.stream_imports, self.service_imports)
        account.forget_plans()


def _local(entry: ImportOptions) -> str:
    """What the import is called in the importing account."""
    if entry.prefix and not entry.to:
        return f"{entry.prefix.removesuffix('.')}.{entry.subject}"
    return entry.to or entry.subject


def _allowing(exports: Iterable[E], importer: str, subject: str) -> E | None:
    return next((export for export in exports if export.allows(importer, subject)), None)


def _stream_export(entry: ExportOptions) -> StreamExport:
    _check_subject(entry.subject)
    return StreamExport(entry.subject, _names(entry), entry.account_token_position)


def _service_export(entry: ExportOptions) -> ServiceExport:
    _check_subject(entry.subject)
    return ServiceExport(
        entry.subject,
        _names(entry),
        entry.account_token_position,
        ResponseType(entry.response_type),
        entry.response_threshold,
    )


def _check_subject(subject: str) -> None:
    if not is_valid(subject):
        raise AccountsError(f"invalid export subject {subject!r}")


def _names(entry: ExportOptions) -> frozenset[str] | None:
    return None if entry.accounts is None else frozenset(entry.accounts)


def _mappings(entries: Iterable[MappingOptions]) -> Mappings:
    try:
        return Mappings(
            Mapping(entry.source, [(d.subject, d.weight) for d in entry.destinations if not d.cluster])
            for entry in entries
        )
    except MappingError as error:
        raise AccountsError(str(error)) from error


def _refuse_cycles(start: _Prepared, prepared: dict[str, _Prepared]) -> None:
    """Follow each import of `start` through imports that feed it; coming back to `start` is a cycle."""
    for kind in ("service", "stream"):
        for entry in (e for e in start.options.imports if e.kind == kind):
            seen = {start.account.name}
            todo = [(entry.account, entry.subject)]
            while todo:
                name, subject = todo.pop()
                if name == start.account.name:
                    raise AccountsError(
                        f"{kind} import {entry.subject!r} of account {start.account.name!r} forms a cycle"
                    )
                if name in seen:
                    continue
                seen.add(name)
                todo.extend(
                    (further.account, further.subject)
                    for further in prepared[name].options.imports
                    if further.kind == kind and collide(without_placeholders(_local(further)), subject)
                )
