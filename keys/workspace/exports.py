"""Exports of an account: adding, editing and deleting them, and finding one by its subject."""

from __future__ import annotations

from collections.abc import Sequence

from ...protocol.lazy_dataclass import dataclass
from ..claims import AccountClaims, Export, Issues, ServiceLatency, subjects
from ..claims.export import HEADERS, Kind
from ..claims.issues import quote
from ..claims.subjects import contained
from ..errors import WorkspaceError
from .account_update import AccountUpdate, editing
from .report import Grade, OperationReport
from .workspace import Workspace

SINGLETON = "Singleton"
RESPONSE_TYPES = (SINGLETON, "Stream", "Chunked")


@dataclass(frozen=True, slots=True)
class ExportResult:
    """The result of a change.

    claims: the account as it was stored.
    export: the export that was changed.
    """

    report: OperationReport
    account: str
    claims: AccountClaims
    export: Export


@dataclass(frozen=True, slots=True)
class ExportChanges:
    """The changes of `edit_export`; None changes nothing.

    sampling: percent, 0 for "by the request's headers".
    response_threshold: ns.
    untrack: whether to end the latency tracking.
    """

    name: str | None = None
    subject: str | None = None
    kind: Kind | None = None
    private: bool | None = None
    latency: str | None = None
    sampling: int | None = None
    untrack: bool = False
    response_type: str | None = None
    response_threshold: int | None = None
    account_token_position: int | None = None
    advertise: bool | None = None
    allow_trace: bool | None = None
    description: str | None = None
    info_url: str | None = None

    @property
    def empty(self) -> bool:
        """Whether there is nothing to change."""
        return self == ExportChanges()


def read_sampling(text: str) -> int:
    """Parse a sampling rate: `header`, or a percentage from 1 to 100. Raises WorkspaceError."""
    if text.strip().lower() in {"header", "headers"}:
        return HEADERS
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= 100):
        raise WorkspaceError(f'sampling must be "header", or between 1 and 100 inclusive, not {quote(text)}')
    return int(text)


def add_export(workspace: Workspace, export: Export, *, account: str = "") -> ExportResult:
    """Add an export; without a name it is named after its subject.

    Raises WorkspaceError for an invalid export, or one that contains another one or is contained in it.
    """
    return add_exports(workspace, [export], account=account)[0]


def add_exports(workspace: Workspace, exports: Sequence[Export], *, account: str = "") -> list[ExportResult]:
    """Add several exports, all or none; otherwise as `add_export`."""
    exports = [_completed(export) for export in exports]
    with editing(workspace, account) as update:
        for export in exports:
            _apart(export, update.claims.nats.exports)
            update.claims.nats.exports.append(export)
        report = update.store()
        for export in exports:
            report.ok(f"added {visibility(export)} {export.type} export {quote(export.name)}")
        return [ExportResult(report, update.name, update.claims, export) for export in exports]


def _completed(export: Export) -> Export:
    """Return a copy of an export with everything that a token needs."""
    export = export.model_copy(deep=True)
    if not export.subject:
        raise WorkspaceError("a subject is required")
    found = Issues()
    subjects.check(export.subject, found)
    for issue in found:
        raise WorkspaceError(issue.text)
    export.name = export.name or export.subject
    export.type = export.type or "stream"
    if export.type == "service":
        export.response_type = export.response_type or SINGLETON
        _known_response(export.response_type)
    _public_position(export)
    return export


def edit_export(
    workspace: Workspace, changes: ExportChanges, *, subject: str = "", kind: Kind = "", account: str = ""
) -> ExportResult:
    """Change an export, chosen by its subject; with only one export no subject is needed.

    What `changes` does not name stays as it is. If a stream and a service have the same subject, `kind`
    chooses between them. Raises WorkspaceError.
    """
    if changes.empty:
        raise WorkspaceError("please specify some options")
    with editing(workspace, account) as update:
        index = find(update, subject, kind or _meant(update, subject, changes))
        old = update.claims.nats.exports[index]
        new = old.model_copy(deep=True)
        lines = OperationReport()
        _rename(new, old, changes, lines)
        if new.type == "service":
            _service(new, old, changes, lines)
        else:
            _stream(new, changes, lines)
        _inform(new, old, changes, lines)
        _public_position(new)
        others = [stored_export for stored_export in update.claims.nats.exports if stored_export is not old]
        if (new.subject, new.type) != (old.subject, old.type):
            _apart(new, others)
        update.claims.nats.exports[index] = new
        report = update.store()
        report.children[:0] = lines.children
        report.ok(f"edited {new.type} export {quote(new.name)}")
        return ExportResult(report, update.name, update.claims, new)


def delete_export(
    workspace: Workspace, *, subject: str = "", kind: Kind = "", account: str = ""
) -> ExportResult:
    """Delete an export, chosen by its subject; with only one no subject is needed. Raises WorkspaceError."""
    with editing(workspace, account) as update:
        gone = update.claims.nats.exports.pop(
            find(update, subject, kind, missing="no export matching {} found")
        )
        report = update.store()
        report.summary = True
        report.children.insert(
            0, OperationReport(f"deleted {gone.type} export {quote(gone.subject)}", Grade.OK)
        )
        return ExportResult(report, update.name, update.claims, gone)


def find(
    update: AccountUpdate, subject: str, kind: Kind = "", missing: str = "no export with subject {} found"
) -> int:
    """Return the index of the export with exactly this subject; without one, that of the only export.

    Raises WorkspaceError.
    """
    exports = update.claims.nats.exports
    if not exports:
        raise WorkspaceError(f"account {quote(update.name)} doesn't have exports")
    if not subject and len(exports) > 1:
        raise WorkspaceError(f"a subject is required: one of {', '.join(e.subject for e in exports)}")
    found = [
        place
        for place, export in enumerate(exports)
        if subject in ("", export.subject) and kind in ("", export.type)
    ]
    if not found:
        raise WorkspaceError(missing.format(quote(subject)))
    if len(found) > 1:
        raise WorkspaceError(f"{quote(subject)} is exported as stream and as service: say which one is meant")
    return found[0]


def visibility(export: Export) -> str:
    """Return the word for who may import: `private` exports need an activation."""
    return "private" if export.token_req else "public"


def _meant(update: AccountUpdate, subject: str, changes: ExportChanges) -> Kind:
    """Return the kind that chooses between a stream and a service with one subject; then it is no change."""
    kinds = {export.type for export in update.claims.nats.exports if export.subject == subject}
    return changes.kind if changes.kind and len(kinds) > 1 else ""


def _known_response(name: str) -> None:
    if name not in RESPONSE_TYPES:
        raise WorkspaceError(f"unknown response type {quote(name)}: it is one of {', '.join(RESPONSE_TYPES)}")


def _apart(export: Export, others: list[Export]) -> None:
    """Raise WorkspaceError if an export contains another one of its kind, or is contained in it.

    The validation of the claims reports only one clash for each subject, so that an old clash would hide a
    new one.
    """
    for other in others:
        for outer, inner in ((other, export), (export, other)):
            if other.type == export.type and contained(inner.subject, outer.subject):
                text = f"{quote(outer.subject)} already exports {quote(inner.subject)}"
                raise WorkspaceError(f"{export.type} export subject {text}")


def _public_position(export: Export) -> None:
    if export.token_req and export.account_token_position:
        raise WorkspaceError("account token position is only valid for public exports")


def _rename(new: Export, old: Export, changes: ExportChanges, lines: OperationReport) -> None:
    """Change name, visibility, subject and kind; all but the name break importers."""
    if changes.name is not None and changes.name != old.name:
        new.name = changes.name
        lines.ok(f"changed export name to {new.name}")
    if changes.private is not None and changes.private != old.token_req:
        new.token_req = changes.private
        if new.token_req:
            lines.warn("changed export to be private - this will break importers")
        else:
            lines.ok("changed export to be public")
    if changes.subject is not None and changes.subject != old.subject:
        new.subject = changes.subject
        lines.warn(f"changed subject to {quote(new.subject)} - this will break importers")
    if changes.kind and changes.kind != old.type:
        new.type = changes.kind
        lines.warn(f"changed export type to {quote(new.type)} - this will break importers")
    if changes.account_token_position is not None:
        new.account_token_position = changes.account_token_position
    if changes.advertise is not None:
        new.advertise = changes.advertise


def _service(new: Export, old: Export, changes: ExportChanges, lines: OperationReport) -> None:
    """Change what only services have: latency tracking, response type and threshold."""
    if changes.untrack:
        new.service_latency = None
        words = (
            "removed latency tracking"
            if old.service_latency
            else "no need to remove latency tracking as it was not set"
        )
        lines.ok(words)
    elif changes.latency is not None or changes.sampling is not None:
        _track(new, old.service_latency, changes, lines)
    if changes.response_threshold is not None:
        new.response_threshold = changes.response_threshold
    before = old.response_type or SINGLETON
    if changes.response_type is not None:
        _known_response(changes.response_type)
        new.response_type = changes.response_type
        if new.response_type != before:
            lines.ok(f"changed response type to {new.response_type}")
    elif old.type != "service":
        new.response_type = SINGLETON
        lines.ok(f"changed response type to {SINGLETON}")


def _track(new: Export, old: ServiceLatency | None, changes: ExportChanges, lines: OperationReport) -> None:
    results = changes.latency if changes.latency is not None else old.results if old else ""
    if not results:
        raise WorkspaceError("latency sampling needs a subject for the metrics (latency)")
    rate = changes.sampling if changes.sampling is not None else old.sampling if old else HEADERS
    new.service_latency = ServiceLatency(sampling=rate, results=results)
    if old is None or old.sampling != rate:
        lines.ok(f"changed service latency to {rate}%" if rate else "changed service latency to header")
    if old is not None and old.results != results:
        lines.ok(f"changed service latency subject to {results}")
        lines.warn("changed latency subject will break consumers of the report")


def _stream(new: Export, changes: ExportChanges, lines: OperationReport) -> None:
    """Reject what only services have. If a service becomes a stream, it is dropped."""
    if changes.response_threshold:
        raise WorkspaceError("response threshold is only applicable to services")
    if changes.allow_trace:
        raise WorkspaceError("allow trace is only applicable to services")
    if changes.latency or changes.sampling is not None:
        raise WorkspaceError("latency tracking is only applicable to services")
    if new.service_latency is not None:
        new.service_latency = None
        lines.ok("removed latency tracking")
    new.response_type, new.response_threshold, new.allow_trace = "", 0, False


def _inform(new: Export, old: Export, changes: ExportChanges, lines: OperationReport) -> None:
    """Change description, link, and whether requests may be traced."""
    if changes.description is not None and changes.description != old.description:
        new.description = changes.description
        lines.ok(f"changed description to {quote(new.description)}")
    if changes.info_url is not None and changes.info_url != old.info_url:
        new.info_url = changes.info_url
        lines.ok(f"changed info url to {quote(new.info_url)}")
    if changes.allow_trace is not None and changes.allow_trace != old.allow_trace:
        new.allow_trace = changes.allow_trace
        lines.ok(f"changed allowed trace to {str(new.allow_trace).lower()}")
