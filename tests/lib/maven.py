"""Jars from Maven, by the client `mvn`, for tests of what Spark does with them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

SECONDS = 120.0


def jar(coordinates: str) -> Path | None:
    """Return the jar of GROUP:NAME:VERSION, without what it needs; None if it is not to be had here."""
    group, name, version = coordinates.split(":")
    repository = Path("~/.m2/repository").expanduser()
    found = repository / group.replace(".", "/") / name / version / f"{name}-{version}.jar"
    client = shutil.which("mvn")
    if not found.exists() and client is not None:
        command = [client, "-q", "-B", "dependency:get", f"-Dartifact={coordinates}", "-Dtransitive=false"]
        try:
            subprocess.run(command, capture_output=True, timeout=SECONDS, check=False)
        except subprocess.TimeoutExpired:
            return None
    return found if found.exists() else None
