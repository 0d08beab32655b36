"""Account specs: what an account will be, according to the configuration or a token.

Promises that an impossible import raises an AccountsError that says why. The caller then refuses all
accounts, or leaves this import out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import field
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from ...protocol.lazy_dataclass import dataclass
from ...protocol.subject_tree import SubjectTree
from ...protocol.tracing import ANY, MARK
from ...protocol.transform import without_placeholders
from ..slices import Steps, map_in_steps
from .exports import ServiceExport, StreamExport
from .imports import ServiceImport
from .mapping import Mappings
from .space import StreamImport

if TYPE_CHECKING:
    from ..config.options import AccountJetStream
    from .account import Account, ConnectionLimits
    from .server_trace import TraceTarget

STREAM, SERVICE = "stream", "service"
AnyExport = StreamExport | ServiceExport
AnyImport = StreamImport | ServiceImport
E = TypeVar("E", StreamExport, ServiceExport)


class AccountsError(ValueError):
    """Impossible accounts: an import that is not exported, not allowed or in a cycle, or a bad mapping."""


class ImportSpec(NamedTuple):
    """A request to import `subject` of the account named `account` under the local subject `local`.

    kind: "stream" or "service".
    share: whether the exporter of a service learns who sends a request.
    allow_trace: whether traces may show where the messages of a stream go in the importer's account.
    """

    kind: str
    account: str
    subject: str
    local: str
    share: bool = False
    allow_trace: bool = False

    @property
    def local_pattern(self) -> str:
        """The local subject as a pattern, with wildcards for placeholders."""
        return without_placeholders(self.local)


class ImportSpecs:
    """The imports of one account, found by their local subjects."""

    def __init__(self, import_specs: Iterable[ImportSpec] = ()) -> None:
        self._all: list[ImportSpec] = []
        self._by_pattern: dict[str, SubjectTree[list[ImportSpec]]] = {}  # by kind
        for import_spec in import_specs:
            self.add(import_spec)

    def __iter__(self) -> Iterator[ImportSpec]:
        return iter(self._all)

    def add(self, import_spec: ImportSpec) -> None:
        """Add one import."""
        self._all.append(import_spec)
        self._by_pattern.setdefault(import_spec.kind, SubjectTree()).setdefault(
            import_spec.local_pattern, []
        ).append(import_spec)

    def colliding(self, kind: str, subject: str) -> Iterator[ImportSpec]:
        """Yield the imports of this kind whose local subjects overlap with `subject`."""
        tree = self._by_pattern.get(kind)
        if tree is not None:
            for import_specs in tree.colliding(subject):
                yield from import_specs


@dataclass(slots=True)
class AccountSpec:
    """What an account will be, except for its imports, which need the exporters' specs.

    jetstream: limits by tier, "" for those of the account as a whole; None means no JetStream.
    trace_target: see `Account`.
    """

    limits: ConnectionLimits
    streams: list[StreamExport] = field(default_factory=list)
    services: list[ServiceExport] = field(default_factory=list)
    mappings: Mappings = field(default_factory=Mappings)
    jetstream: dict[str, AccountJetStream] | None = None
    trace_target: TraceTarget | None = None

    def keeping_exports(self, account: Account) -> Steps[None]:
        """Keep the export objects of `account` where an export stays the same, in steps.

        Imports refer to these objects.
        """
        self.streams = yield from _kept(account.exports_streams, self.streams)
        self.services = yield from _kept(account.exports_services, self.services)

    def apply(self, account: Account) -> None:
        """Give `account` these properties, between `keeping_exports` and `replacing_imports`."""
        account.exports_streams = self.streams
        account.exports_services = self.services
        account.mappings = self.mappings
        account.limits = self.limits
        account.grants = self.jetstream
        account.trace_target = self.trace_target
        account.trace_mark = MARK if self.trace_target is None else ANY
        account.forget_plans()


def _kept(old: Iterable[E], new: Iterable[E]) -> Steps[list[E]]:
    old_by_key: dict[tuple[object, ...], E] = {}
    for export in old:
        old_by_key[export.key] = export
        yield
    return (yield from map_in_steps(new, lambda export: old_by_key.get(export.key, export)))


def make_import(
    import_spec: ImportSpec, importer: Account, exporter: Account, export: AnyExport
) -> AnyImport:
    """Return the import that `import_spec` asks for. Raises AccountsError if the renaming is impossible."""
    try:
        if isinstance(export, StreamExport):
            return StreamImport(
                exporter,
                export,
                import_spec.subject,
                import_spec.local,
                allow_trace=import_spec.allow_trace,
            )
        return ServiceImport(
            importer.responses,
            exporter.responses,
            export,
            import_spec.subject,
            import_spec.local,
            import_spec.share,
        )
    except ValueError as error:
        raise AccountsError(
            f"account {importer.name!r}, {import_spec.kind} import {import_spec.subject!r}: {error}"
        ) from error


def comes_round(start: str, import_spec: ImportSpec, specs_of: Callable[[str], ImportSpecs]) -> bool:
    """Return whether what `import_spec` brings to the account `start` originally came from `start`.

    Follows the imports (`specs_of` an account's name) that feed what is imported. An account may import from
    itself, since an import is not imported again.
    """
    if import_spec.account == start:
        return False
    seen = {start}
    todo = [(import_spec.account, import_spec.subject)]
    while todo:
        name, subject = todo.pop()
        if name == start:
            return True
        if name in seen:
            continue
        seen.add(name)
        todo.extend(
            (further.account, further.subject)
            for further in specs_of(name).colliding(import_spec.kind, subject)
        )
    return False
