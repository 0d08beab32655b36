"""ImportResolver: the imports of accounts made from tokens, kept correct while those accounts change.

Promises that an import is served exactly as long as its exporter is here, exports it to the importer, and the
import closes no cycle. Of imports that would form a cycle together, those served first stay. The others wait
until something changes, as do those whose exporter is missing or does not allow them.
All work is done in steps. The caller must finish the steps of one change before those of the next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from ...keys import Refusal, validate_import
from ...keys.grants import Offer, activation_deadline
from ..accounts.account_spec import (
    SERVICE,
    STREAM,
    AccountsError,
    AnyExport,
    ImportSpec,
    ImportSpecs,
    comes_round,
    make_import,
)
from ..accounts.imports import ServiceImport
from ..accounts.space import StreamImport
from ..slices import Steps, map_in_steps
from . import translate

if TYPE_CHECKING:
    from ...keys import AccountClaims, Import
    from ..accounts import Account
    from ..clock import Clock, Timer
    from ..logging import Logger

MISSING = "its account is not known here"
CYCLE = "it forms a cycle"
_NONE = ImportSpecs()


class ImportResolver:
    """The imports of all accounts that are here, by public key."""

    def __init__(self, clock: Clock, log: Logger, apply: Callable[[Steps[None]], None]) -> None:
        """Create a resolver without accounts. apply: does steps after those of earlier changes."""
        self._clock = clock
        self._apply = apply
        self._log = log
        self._accounts: dict[str, Account] = {}
        self._specs: dict[str, ImportSpecs] = {}  # imports served, by importer
        self._importers: dict[str, set[str]] = {}  # accounts whose claims import from it, by exporter
        self._exporters: dict[str, set[str]] = {}
        self._offers: dict[str, _Exporter] = {}  # what the rights of importers depend on, by exporter
        self._waiting: set[str] = set()  # importers with an import that would form a cycle
        self._timers: dict[str, Timer] = {}  # fires when an activation ends, by importer

    def changed(self, account: Account) -> Steps[None]:
        """Check an account that is new, was changed or has expired: its imports, and those from it."""
        key = account.name
        self._accounts[key] = account
        self._index(account)
        touched = {key}
        offer = yield from _offering(account)
        same = yield from _equal(self._offers.get(key), offer)
        self._offers[key] = offer
        yield from self._wire(key)
        if not same:
            touched |= self._importers.get(key, set())
        for importer in sorted(touched - {key}):
            yield from self._wire(importer)
        for importer in sorted(self._waiting - touched):
            yield from self._wire(importer)

    def awaited(self, key: str) -> bool:
        """Whether any account here imports from `key`."""
        return bool(self._importers.get(key))

    def missing(self, keys: Iterable[str]) -> set[str]:
        """Return the exporters of these accounts that are not here."""
        return {e for key in keys for e in self._exporters.get(key, ()) if e not in self._accounts}

    def stop(self) -> None:
        """Stop all timers."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def _index(self, account: Account) -> None:
        claims, key = _claims(account), account.name
        before = self._exporters.get(key, set())
        after = {item.account for item in claims.nats.imports} if claims is not None else set()
        for exporter in before - after:
            self._importers[exporter].discard(key)
        for exporter in after - before:
            self._importers.setdefault(exporter, set()).add(key)
        self._exporters[key] = after

    def _wire(self, key: str) -> Steps[None]:
        account = self._accounts.get(key)
        claims = _claims(account) if account is not None else None
        if account is None or account.account_token is None:
            return
        now = self._clock.now()  # read once: an import found to be valid must get a timer that ends it
        served = self._specs[key] = ImportSpecs()
        same: set[tuple[str, str, str]] = set()
        made: list[StreamImport | ServiceImport] = []
        errors: dict[str, str] = {}
        for item in claims.nats.imports if claims is not None else ():
            import_spec = translate.import_spec(item)
            exporter = self._offers.get(item.account, _NOBODY)
            found = self._make(account, exporter, item, import_spec, now, twice=_same(import_spec) in same)
            if isinstance(found, str):
                errors[f"{import_spec.kind} import {import_spec.subject!r} from {import_spec.account}"] = (
                    found
                )
            else:
                same.add(_same(import_spec))
                served.add(import_spec)
                made.append(found)
            yield
        yield from account.replacing_imports(
            [each for each in made if isinstance(each, StreamImport)],
            [each for each in made if isinstance(each, ServiceImport)],
        )
        before, account.account_token.imports = account.account_token.imports, errors
        for what, why in errors.items():
            if why not in (MISSING, before.get(what)):
                self._log.error(f"Account {account.label}: {what} is not served: {why}")
            yield
        if CYCLE in errors.values():
            self._waiting.add(key)
        else:
            self._waiting.discard(key)
        yield from self._set_timer(key, claims, now)

    def _make(
        self,
        account: Account,
        exporter: _Exporter,
        item: Import,
        import_spec: ImportSpec,
        now: int,
        *,
        twice: bool,
    ) -> StreamImport | ServiceImport | str:
        """Return the import, or why it cannot be served."""
        importer = _claims(account)
        assert importer is not None
        if exporter.account is None or exporter.offer is None:
            return MISSING
        refused = validate_import(item, importer, exporter.offer, now)
        if isinstance(refused, Refusal):
            return refused.detail
        export = exporter.export(item)
        if export is None:
            return MISSING
        if twice:
            return "it is there twice"
        if comes_round(account.name, import_spec, lambda name: self._specs.get(name, _NONE)):
            return CYCLE
        try:
            return make_import(import_spec, account, exporter.account, export)
        except AccountsError as error:
            return str(error)

    def _set_timer(self, key: str, claims: AccountClaims | None, now: int) -> Steps[None]:
        ends = yield from map_in_steps(claims.nats.imports if claims is not None else (), activation_deadline)
        timer = self._timers.pop(key, None)
        if timer is not None:
            timer.cancel()
        ends = [end for end in ends if end > now]
        if ends:
            self._timers[key] = self._clock.call_later(min(ends) - now, lambda: self._ended(key))

    def _ended(self, key: str) -> None:
        del self._timers[key]
        self._apply(self._wire(key))


def _claims(account: Account) -> AccountClaims | None:
    """Return the claims in force, None after they have expired."""
    account_token = account.account_token
    return None if account_token is None or account_token.expired else account_token.claims


class _Exporter:
    """What an account exports: nothing if it has expired or is not here."""

    def __init__(self, account: Account | None = None, claims: AccountClaims | None = None) -> None:
        self.account = account
        self.claims = claims
        self.offer = Offer(claims) if claims is not None else None
        self.served: dict[tuple[str, str], AnyExport] = {}

    def export(self, item: Import) -> AnyExport | None:
        """Return the export that was found to cover the import."""
        used = self.offer.find(item) if self.offer is not None else None
        return None if used is None else self.served.get((item.type, used.subject))


_NOBODY = _Exporter()


def _offering(account: Account) -> Steps[_Exporter]:
    made = _Exporter(account, _claims(account))
    # Of two exports with one subject the first counts.
    for stream in account.exports_streams:
        made.served.setdefault((STREAM, stream.subject), stream)
        yield
    for service in account.exports_services:
        made.served.setdefault((SERVICE, service.subject), service)
        yield
    if made.offer is not None:
        yield from made.offer.preparing()
    return made


def _equal(before: _Exporter | None, after: _Exporter) -> Steps[bool]:
    """Whether every import from the account remains as valid or invalid as before."""
    if before is None or before.claims is None or after.claims is None:
        return before is not None and before.claims is after.claims
    old, new = before.claims.nats, after.claims.nats
    if old.signing_keys.keys() != new.signing_keys.keys() or len(old.exports) != len(new.exports):
        return False
    for one, other in zip(old.exports, new.exports, strict=True):
        if one != other:
            return False
        yield
    return True


def _same(import_spec: ImportSpec) -> tuple[str, str, str]:
    """Return a key that is equal for duplicates: streams by imported subject, services by local subject."""
    return (
        import_spec.kind,
        import_spec.account,
        import_spec.subject if import_spec.kind == STREAM else import_spec.local_pattern,
    )
