"""`nsc.json`: the stores root, the current operator and the current account.

The file holds one compact object with all keys.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from ...protocol import gojson
from .. import files
from ..errors import DamagedError, NotFoundError


class NscSettings(BaseModel):
    """What is saved between commands. Unknown keys are kept.

    last_update: seconds since the epoch.
    """

    model_config = ConfigDict(strict=True, extra="allow")

    store_root: str = ""
    operator: str = ""
    account: str = ""
    github_updates: str = "nats-io/nsc"
    last_update: int = 0

    @model_validator(mode="before")
    @classmethod
    def _null_is_absent(cls, data: Any) -> Any:
        return {k: v for k, v in data.items() if v is not None} if isinstance(data, dict) else data

    @classmethod
    def load(cls, path: Path) -> NscSettings | None:
        """Read the settings; return None if there are none yet. Raises DamagedError, FolderError."""
        try:
            text = files.read(path)
        except NotFoundError:
            return None
        try:
            return cls.model_validate(gojson.decode(text.encode()))
        except (gojson.JsonError, ValidationError):
            raise DamagedError(f"{path} is not the settings of nsc: it is damaged, or another file") from None

    def save(self, path: Path) -> None:
        """Write the settings in one step. Raises FolderError."""
        files.write(path, gojson.encode(self.model_dump()).decode())
