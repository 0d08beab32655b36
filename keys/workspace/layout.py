"""Moving a keystore of the older layout to the present one; the old folder is kept beside it.

In the older layout seeds may be anywhere, and credentials are
`<operator>/accounts/<account>/users/<user>.creds`. Everything is copied into a new folder first; only then
are the two renamed.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from ...protocol.lazy_dataclass import dataclass
from .. import files
from ..errors import DamagedError, FolderError, ForeignError, IdentityError, WorkspaceError
from ..folders.keystore import CREDENTIALS, SUFFIX, Keystore
from .import_entities import read_seed_file
from .report import OperationReport, place
from .workspace import Workspace


@dataclass(frozen=True, slots=True)
class KeystoreMigration:
    """The result of a migration.

    old: where the former folder is now, None if there was nothing to do.
    """

    report: OperationReport
    old: Path | None = None
    keys: int = 0
    credentials: int = 0


def migrate_keystore(workspace: Workspace) -> KeystoreMigration:
    """Move the keystore to the present layout.

    Raises FolderError, DamagedError for a file without a seed, or WorkspaceError if the folder is also that
    of the stores or settings. Nothing is changed then.
    """
    keystore = workspace.keystore
    root = keystore.root
    report = OperationReport()
    try:
        keystore.check_layout()
    except ForeignError:
        pass
    else:
        report.ok(f"keystore {place(root)} does not need migration")
        return KeystoreMigration(report)
    if root in {workspace.stores.root, workspace.context.directories.config}:
        raise WorkspaceError(
            f"{place(root)} holds stores or settings too and cannot be moved: take the keys in with "
            "`nsc import keys --recurse --dir <dir>` into a keystore of its own (--keystore-dir)"
        )
    mark = f"{os.getpid()}{workspace.now()}"
    fresh, old = root.with_name(f".{root.name}_{mark}"), root.with_name(f"{root.name}_{mark}")
    try:
        counts = _copied(root, Keystore(fresh))
        root.rename(old)
        fresh.rename(root)
    except OSError as error:
        raise FolderError(f"cannot move {root}: {error.strerror}") from None
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    report.ok(
        f"keystore {place(root)} was migrated - old store was renamed to {place(old)} - "
        "remove at your convenience"
    )
    return KeystoreMigration(report, old, *counts)


def _copied(root: Path, fresh: Keystore) -> tuple[int, int]:
    """Copy seeds and credentials to a new keystore; return how many of each."""
    files.make_folder(fresh.root / "keys")
    files.make_folder(fresh.root / "creds")
    files.write(
        fresh.root / ".gitignore", "# ignore all nk files\n**/*.nk\n\n# ignore all creds files\n**/*.creds\n"
    )
    keys = credentials = 0
    for path in sorted(p for p in root.rglob("*") if p.is_file() and not p.is_relative_to(fresh.root)):
        relative = path.relative_to(root)
        if path.suffix == SUFFIX:
            try:
                fresh.add(read_seed_file(path))
            except IdentityError as error:
                raise DamagedError(f"{path} holds no seed: {error}") from None
            keys += 1
        elif path.suffix == CREDENTIALS:
            files.write(fresh.root / "creds" / _place(relative), files.read(path))
            credentials += 1
    return keys, credentials


def _place(relative: Path) -> Path:
    """Return the new path of credentials: `<operator>/<account>/<user>.creds`."""
    parts = relative.parts
    if parts[0] == "creds":
        return Path(*parts[1:])
    if len(parts) == 5 and parts[1] == "accounts" and parts[3] == "users":
        return Path(parts[0], parts[2], parts[4])
    return relative
