"""The current stores root, operator and account, chosen by flags, working directory or settings.

The working directory takes precedence over the settings if it is an operator's store, has one as a direct
child, or lies in one. A choice that does not exist is dropped; if there is only one candidate, it is taken.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ...protocol.lazy_dataclass import dataclass
from ..errors import FolderError, NotFoundError
from .keystore import Keystore
from .locations import NscDirectories
from .settings import NscSettings
from .store import OperatorStore, Stores, is_store


@dataclass(frozen=True, slots=True)
class NscContext:
    """Where a command works.

    operator, account: the current ones, "" if none is chosen.
    from_cwd: whether the working directory decided.
    first_run: whether there were no settings yet.
    """

    directories: NscDirectories
    stores: Stores
    operator: str
    account: str
    from_cwd: bool
    first_run: bool
    settings: NscSettings

    @classmethod
    def load(cls, directories: NscDirectories) -> NscContext:
        """Find out what is current, without writing anything. Raises FolderError."""
        settings = None if directories.cwd_only else NscSettings.load(directories.settings_file)
        first_run = settings is None and not directories.cwd_only
        chosen = settings or NscSettings(store_root=str(directories.default_stores))
        root = directories.stores or Path(chosen.store_root or directories.default_stores)
        operator, account, from_cwd = chosen.operator, chosen.account, False
        around = None if first_run else _around(directories.cwd)
        if around is not None and (directories.stores is None or directories.cwd_only):
            root, named, inside = around
            operator, account, from_cwd = named or operator, inside or account, True
        context = cls(directories, Stores(root), operator, account, from_cwd, first_run, chosen)
        return context._defaulted()

    @property
    def keystore(self) -> Keystore:
        """The folder of secrets."""
        return Keystore(self.directories.keys, git_ignore=self.directories.git_ignore)

    def store(self) -> OperatorStore:
        """Open the store of the current operator. Raises NotFoundError if none is chosen."""
        if not self.operator:
            raise NotFoundError(f"no operator is current: the stores are in {self.stores.root}")
        return self.stores.open(self.operator)

    def with_root(self, root: Path) -> NscContext:
        """Return a context in another stores root, in which operator and account are chosen again."""
        return replace(self, stores=Stores(root.absolute()))._defaulted()

    def with_operator(self, name: str) -> NscContext:
        """Return a context with another operator. Raises NotFoundError."""
        if name not in self.stores.names():
            raise NotFoundError(f'operator "{name}" is not in {self.stores.root}')
        return replace(
            self, operator=name, account=self.account if name == self.operator else ""
        )._defaulted()

    def with_account(self, name_or_key: str) -> NscContext:
        """Return a context with another account, by its name or public key. Raises NotFoundError."""
        return replace(self, account=self.store().account_named(name_or_key))

    def save(self) -> NscContext:
        """Save root, operator and account in the settings. Raises FolderError under NSC_CWD_ONLY."""
        if self.directories.cwd_only:
            raise FolderError("the working directory alone decides (NSC_CWD_ONLY): nothing can be remembered")
        settings = self.settings.model_copy(
            update={
                "store_root": str(self.stores.root),
                "operator": self.operator,
                "account": self.account,
            }
        )
        settings.save(self.directories.settings_file)
        return replace(self, settings=settings, first_run=False)

    def _defaulted(self) -> NscContext:
        operator = _default(self.stores.names(), self.operator)
        accounts = self.stores.open(operator).accounts() if operator else []
        return replace(self, operator=operator, account=_default(accounts, self.account))


def _default(choices: list[str], current: str) -> str:
    """Return the current choice: the only one, or `current` if it is among several, else ""."""
    if len(choices) == 1:
        return choices[0]
    return current if current in choices else ""


def _around(cwd: Path) -> tuple[Path, str, str] | None:
    """Return (root, operator or "", account or "") for the working directory; None if it decides nothing."""
    if is_store(cwd):
        return cwd.parent, cwd.name, ""
    if Stores(cwd).names():
        return cwd, "", ""
    for folder in cwd.parents:
        if is_store(folder):
            inside = cwd.relative_to(folder).parts
            account = inside[1] if len(inside) > 1 and inside[0] == "accounts" else ""
            return folder.parent, folder.name, account
    return None
