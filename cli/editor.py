"""Editing a text in the user's editor: `$VISUAL`, `$EDITOR` or vi.

Promises: only the user can read the draft, and it is removed afterwards, whatever happened.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .errors import CliError


@contextmanager
def drafted(text: str, prefix: str) -> Iterator[str]:
    """Yield the path of a file with `text` after the editor has changed it.

    Raises CliError if the editor fails.
    """
    command = shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi")
    handle, draft = tempfile.mkstemp(suffix=".json", prefix=prefix)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text + "\n")
        try:
            subprocess.run([*command, draft], check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise CliError(f"the editor {command[0]} failed: {error}", "set EDITOR to your editor") from None
        yield draft
    finally:
        Path(draft).unlink(missing_ok=True)
