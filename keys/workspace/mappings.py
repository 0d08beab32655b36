"""Mappings of an account: messages published on one subject go to other subjects, by weight."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...protocol.lazy_dataclass import dataclass
from ...protocol.transform import SubjectTransform, TransformError
from ..claims import AccountClaims, Issues, WeightedMapping
from ..claims.issues import quote
from ..errors import WorkspaceError
from .account_update import AccountUpdate, editing
from .report import Grade, OperationReport
from .workspace import Workspace


@dataclass(frozen=True, slots=True)
class MappingResult:
    """The result of a change.

    targets: the targets of the subject after it.
    """

    report: OperationReport
    account: str
    claims: AccountClaims
    targets: list[WeightedMapping]


def add_mapping(
    workspace: Workspace, source: str, target: WeightedMapping, *, account: str = ""
) -> MappingResult:
    """Add a target to a subject; a target with the same subject and cluster is replaced.

    Raises WorkspaceError for invalid subjects or transforms, or for weights that are or add up to more than
    100.
    """
    if not source:
        raise WorkspaceError("from subject is required")
    if not target.subject:
        raise WorkspaceError("to subject is required")
    with editing(workspace, account) as update:
        targets = update.claims.nats.mappings.setdefault(source, [])
        same = [at for at, entry in enumerate(targets) if _place(entry) == _place(target)]
        if same:
            targets[same[0]] = target
        else:
            targets.append(target)
        _check(update, source, target)
        report = update.store()
        report.ok(f"added mapping {source} -> {target.subject}, weight {target.share}%")
        return MappingResult(report, update.name, update.claims, targets)


def set_mappings(
    workspace: Workspace, mappings: Mapping[str, Sequence[WeightedMapping]], *, account: str = ""
) -> MappingResult:
    """Replace all targets of the given subjects, for all of them or for none; other subjects keep theirs.

    Raises WorkspaceError as `add_mapping` does, and for a subject without targets.
    """
    if not mappings:
        raise WorkspaceError("there are no mappings to set")
    with editing(workspace, account) as update:
        for source, targets in mappings.items():
            if not source or not targets:
                raise WorkspaceError(f"the subject {quote(source)} needs at least one target")
            update.claims.nats.mappings[source] = [*targets]
            for target in targets:
                if not target.subject:
                    raise WorkspaceError(f"a target of {quote(source)} has no subject")
                _check(update, source, target)
        report = update.store()
        for source, targets in mappings.items():
            for target in targets:
                report.ok(f"set mapping {source} -> {target.subject}, weight {target.share}%")
        every = [target for targets in mappings.values() for target in targets]
        return MappingResult(report, update.name, update.claims, every)


def delete_mapping(
    workspace: Workspace, source: str, *, target: str = "", cluster: str = "", account: str = ""
) -> MappingResult:
    """Delete one target of a subject, or all of them; with `cluster` only those of that cluster.

    Raises WorkspaceError if there is no such mapping.
    """
    if not source:
        raise WorkspaceError("from subject is required")
    with editing(workspace, account) as update:
        targets = update.claims.nats.mappings.get(source, [])
        gone = [entry for entry in targets if _meant(entry, target, cluster)]
        if not gone:
            raise WorkspaceError(f"account {quote(update.name)} has no {_words(source, target, cluster)}")
        left = [entry for entry in targets if entry not in gone]
        if left:
            update.claims.nats.mappings[source] = left
        else:
            del update.claims.nats.mappings[source]
        report = update.store()
        words = _words(source, target, cluster)
        report.summary = True
        report.children.insert(0, OperationReport(f"deleted {'' if target else 'all '}{words}", Grade.OK))
        return MappingResult(report, update.name, update.claims, left)


def _place(mapping: WeightedMapping) -> tuple[str, str]:
    return mapping.subject, mapping.cluster


def _meant(entry: WeightedMapping, target: str, cluster: str) -> bool:
    """Return whether an entry is selected.

    With a target, the cluster must be the same, and "" is a cluster; without one, "" means every cluster.
    """
    if target:
        return _place(entry) == (target, cluster)
    return cluster in ("", entry.cluster)


def _words(source: str, target: str, cluster: str) -> str:
    if not target:
        return f"mapping in cluster {cluster} for {source}" if cluster else f"mapping for {source}"
    return f"mapping {source} -> {target}" + (f" in cluster {cluster}" if cluster else "")


def _check(update: AccountUpdate, source: str, target: WeightedMapping) -> None:
    """Raise WorkspaceError for what the claims' rules, or a server's rules for transforms, do not allow."""
    issues = Issues()
    update.claims.nats.check_mappings(issues)
    new = [issue.text for issue in issues if issue.text not in update.errors]
    if new:
        raise WorkspaceError(f"mapping validation failed: {', '.join(new)}")
    try:
        SubjectTransform(source, target.subject)
    except TransformError as error:
        raise WorkspaceError(
            f"mapping validation failed: {quote(source)} cannot be mapped to {quote(target.subject)}: {error}"
        ) from None
