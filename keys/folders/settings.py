"""`nsc.json`: the stores root, the current operator and the current account.

The file holds one compact object with all keys.
"""

from __future__ import annotations

from pathlib import Path

from ...protocol import gojson
from .. import files
from ..document import Document, FieldError
from ..errors import DamagedError, NotFoundError


class NscSettings(Document):
    """What is saved between commands. Unknown keys are kept.

    last_update: seconds since the epoch.
    """

    store_root: str = ""
    operator: str = ""
    account: str = ""
    github_updates: str = "nats-io/nsc"
    last_update: int = 0

    @classmethod
    def load(cls, path: Path) -> NscSettings | None:
        """Read the settings; return None if there are none yet. Raises DamagedError, FolderError."""
        try:
            text = files.read(path)
        except NotFoundError:
            return None
        try:
            return cls.read(gojson.decode(text.encode()))
        except (gojson.JsonError, FieldError):
            raise DamagedError(f"{path} is not the settings of nsc: it is damaged, or another file") from None

    def save(self, path: Path) -> None:
        """Write the settings in one step. Raises FolderError."""
        files.write(path, gojson.encode(self.values()).decode())
