"""The locations of the folders: flags, environment variables and defaults, in the precedence of `nsc`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ...protocol.lazy_dataclass import dataclass
from ..errors import FolderError

CONFIG_VARIABLE = "NSC_HOME"
KEYS_VARIABLE = "NKEYS_PATH"
CWD_ONLY = "NSC_CWD_ONLY"
NO_GIT_IGNORE = "NSC_NO_GIT_IGNORE"
SETTINGS_FILE = "nsc.json"


@dataclass(frozen=True, slots=True)
class NscDirectories:
    """The three folders as absolute paths, and where to look for a store around the working directory.

    stores: the root that a flag names, else None; then the settings decide, and at first `default_stores`.
    cwd_only: whether settings are neither read nor written.
    git_ignore: whether new keystores get a .gitignore.
    """

    config: Path
    keys: Path
    default_stores: Path
    cwd: Path
    stores: Path | None = None
    cwd_only: bool = False
    git_ignore: bool = True

    @classmethod
    def locate(
        cls,
        environment: Mapping[str, str],
        cwd: Path,
        *,
        config_dir: str = "",
        data_dir: str = "",
        keystore_dir: str = "",
        all_dirs: str = "",
    ) -> NscDirectories:
        """Find the folders; `all_dirs` stands for all three flags.

        Raises FolderError without a home directory.
        """
        user = _Places(environment, cwd)
        config = config_dir or all_dirs or environment.get(CONFIG_VARIABLE, "")
        keys = keystore_dir or all_dirs or environment.get(KEYS_VARIABLE, "")
        stores = data_dir or all_dirs
        return cls(
            config=user.expand(config) if config else user.config(),
            keys=user.expand(keys) if keys else user.keys(),
            default_stores=user.stores() if not stores else user.expand(stores),
            cwd=cwd.absolute(),
            stores=user.expand(stores) if stores else None,
            cwd_only=CWD_ONLY in environment,
            git_ignore=NO_GIT_IGNORE not in environment,
        )

    @property
    def settings_file(self) -> Path:
        """The settings file."""
        return self.config / SETTINGS_FILE


class _Places:
    """The default folders: the XDG directories, or the older ones if only those exist."""

    def __init__(self, environment: Mapping[str, str], cwd: Path) -> None:
        self._environment = environment
        self._cwd = cwd

    @property
    def _home(self) -> Path:
        home = self._environment.get("HOME", "")
        if not home:
            raise FolderError("no home directory: set HOME, or name the directories")
        return Path(home)

    def expand(self, text: str) -> Path:
        """Return an absolute path, with `~` as the home directory."""
        if text == "~" or text.startswith("~/"):
            return self._home / text[2:]
        return (self._cwd / text).absolute()

    def config(self) -> Path:
        """The folder `~/.config/nats/nsc`, or `~/.nsc` if only that one has settings."""
        new, old = self._xdg("XDG_CONFIG_HOME", ".config") / "nats" / "nsc", self._home / ".nsc"
        only_old = not (new / SETTINGS_FILE).exists() and (old / SETTINGS_FILE).exists()
        return old if only_old else new

    def stores(self) -> Path:
        """The folder `~/.local/share/nats/nsc/stores`, or `~/.nsc/nats` if only that one exists."""
        return self._newer("stores", self._home / ".nsc" / "nats")

    def keys(self) -> Path:
        """The folder `~/.local/share/nats/nsc/keys`, or `~/.nkeys` if only that one exists."""
        return self._newer("keys", self._home / ".nkeys")

    def _newer(self, name: str, old: Path) -> Path:
        new = self._xdg("XDG_DATA_HOME", ".local/share") / "nats" / "nsc" / name
        return old if old.exists() and not new.exists() else new

    def _xdg(self, variable: str, default: str) -> Path:
        value = self._environment.get(variable, "")
        return Path(value) if value else self._home / default
