"""Exporting seeds to a folder, one file each, named by the public key, and on request the tokens too.

All files are examined before the first is written. If one exists, this is an error and nothing is written.
"""

from __future__ import annotations

from dataclasses import field
from pathlib import Path

from ...protocol.lazy_dataclass import dataclass
from .. import files
from ..errors import IdentityError, WorkspaceError
from .keyring import KeyFilter, StoredKey, collect, seed
from .report import OperationReport, place, quote
from .workspace import Workspace


@dataclass(frozen=True, slots=True)
class ExportedKeys:
    """The files that were written; some contain secrets."""

    report: OperationReport
    paths: list[Path] = field(default_factory=list)


def export_keys(
    workspace: Workspace,
    wanted: KeyFilter,
    folder: Path,
    *,
    force: bool = False,
    remove: bool = False,
    tokens: bool = False,
) -> ExportedKeys:
    """Write seeds as `<public key>.nk`, mode 0600, and return what was written.

    force: whether to replace existing files.
    remove: whether the keystore removes the exported seeds.
    tokens: whether to write `<public key>.jwt` too.

    Raises WorkspaceError if there is nothing to export, FolderError.
    """
    folder = folder.expanduser()
    keys = collect(workspace, wanted)
    if not keys:
        raise WorkspaceError("no keys found to export")
    report = OperationReport(summary=True)
    ready: list[tuple[StoredKey, Path, str, str]] = []
    for key in keys:
        if key.path is None:
            continue
        try:
            ready.append((key, folder / f"{key.public_key}.nk", seed(workspace, key), key.public_key))
        except IdentityError:
            report.error(f"error reading seed for {key.public_key}")
    for key in keys if tokens else ():
        if key.token:
            name = f"{key.public_key}.jwt"
            ready.append((key, folder / name, key.token, f"{name} ({key.name})"))
    for _, path, _, _ in ready:
        if path.exists() and not force:
            report.error(f"{place(path)} already exists - specify --force to overwrite")
    if report.failed:
        return ExportedKeys(report)
    for key, path, text, called in ready:
        files.write(path, text)
        moved = remove and path.suffix == ".nk"
        if moved:
            workspace.keystore.remove(key.public_key)
        report.ok(f"{'moved' if moved else 'exported'} {quote(called)}")
    for key in keys:
        if key.path is None:
            report.warn(f"skipped {quote(key.public_key)} - no seed available")
    return ExportedKeys(report, [path for _, path, _, _ in ready])
