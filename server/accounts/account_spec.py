"""Drafts: what an account is going to be, whatever says so (the configuration, or a token).

Promises that an import which cannot be is an AccountsError that says why: who makes the accounts decides
whether to refuse the lot or to go without the one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from ...protocol.subject_tree import SubjectTree
from ...protocol.transform import without_placeholders
from ..slices import Steps, at_once, each
from .exports import ServiceExport, StreamExport
from .imports import ServiceImport, StreamImport
from .mapping import Mappings

if TYPE_CHECKING:
    from ..config.options import AccountJetStream
    from .account import Account, ConnectionLimits

STREAM, SERVICE = "stream", "service"
AnyExport = StreamExport | ServiceExport
AnyImport = StreamImport | ServiceImport
E = TypeVar("E", StreamExport, ServiceExport)


class AccountsError(ValueError):
    """Accounts that cannot be: an import not exported, not allowed or in a cycle, an impossible mapping."""


class ImportSpec(NamedTuple):
    """An import asked for: `subject` of `account` (its name), here as `local`. kind: "stream", "service"."""

    kind: str
    account: str
    subject: str
    local: str
    share: bool = False

    @property
    def heard(self) -> str:
        """The local subject as a pattern, placeholders as wildcards."""
        return without_placeholders(self.local)


class ImportSpecs:
    """The imports of one account, found by what is heard of them."""

    def __init__(self, links: Iterable[ImportSpec] = ()) -> None:
        self._all: list[ImportSpec] = []
        self._heard: dict[str, SubjectTree[list[ImportSpec]]] = {}  # by kind
        for link in links:
            self.add(link)

    def __iter__(self) -> Iterator[ImportSpec]:
        return iter(self._all)

    def add(self, link: ImportSpec) -> None:
        """Have one more."""
        self._all.append(link)
        self._heard.setdefault(link.kind, SubjectTree()).setdefault(link.heard, []).append(link)

    def colliding(self, kind: str, subject: str) -> Iterator[ImportSpec]:
        """Those of a kind by which something of `subject` is heard."""
        tree = self._heard.get(kind)
        if tree is not None:
            for links in tree.colliding(subject):
                yield from links


@dataclass(slots=True)
class AccountSpec:
    """What an account is going to be, its imports apart: those need the exporters' drafts.

    jetstream: limits by tier, "" for those of the account as a whole; None: no JetStream.
    """

    limits: ConnectionLimits
    streams: list[StreamExport] = field(default_factory=list)
    services: list[ServiceExport] = field(default_factory=list)
    mappings: Mappings = field(default_factory=Mappings)
    jetstream: dict[str, AccountJetStream] | None = None

    def settle(self, account: Account) -> None:
        """Let the exports that stay the same be the objects that `account` has: imports hold those."""
        at_once(self.settling(account))

    def settling(self, account: Account) -> Steps[None]:
        """The same in steps."""
        self.streams = yield from _kept(account.exports_streams, self.streams)
        self.services = yield from _kept(account.exports_services, self.services)

    def apply(self, account: Account) -> None:
        """Make `account` so; call `settle` before, and `set_imports` after."""
        account.exports_streams = self.streams
        account.exports_services = self.services
        account.mappings = self.mappings
        account.limits = self.limits
        account.grants = self.jetstream
        account.forget_plans()


def _kept(old: Iterable[E], new: Iterable[E]) -> Steps[list[E]]:
    held: dict[tuple[object, ...], E] = {}
    for export in old:
        held[export.key] = export
        yield
    return (yield from each(new, lambda export: held.get(export.key, export)))


def make_import(link: ImportSpec, importer: Account, exporter: Account, export: AnyExport) -> AnyImport:
    """The import that `link` asks for. Raises AccountsError for a renaming that cannot be."""
    try:
        if isinstance(export, StreamExport):
            return StreamImport(exporter, export, link.subject, link.local)
        return ServiceImport(importer, exporter, export, link.subject, link.local, link.share)
    except ValueError as error:
        raise AccountsError(
            f"account {importer.name!r}, {link.kind} import {link.subject!r}: {error}"
        ) from error


def comes_round(start: str, link: ImportSpec, links_of: Callable[[str], ImportSpecs]) -> bool:
    """Whether what `link` brings to the account `start` was brought there from `start` itself.

    Follows the imports (`links_of` an account's name) that feed what is imported. An account may import from
    itself: what is imported is not imported again.
    """
    if link.account == start:
        return False
    seen = {start}
    todo = [(link.account, link.subject)]
    while todo:
        name, subject = todo.pop()
        if name == start:
            return True
        if name in seen:
            continue
        seen.add(name)
        todo.extend(
            (further.account, further.subject) for further in links_of(name).colliding(link.kind, subject)
        )
    return False
