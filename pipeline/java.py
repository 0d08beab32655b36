"""The Java that Spark needs: where it is, which version it has, and how to install it on this machine."""

from __future__ import annotations

import contextlib
import os
import platform
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

NEEDED = 17  # the oldest that Spark 4 runs on
SECONDS = 30.0  # for `java -version`: a second is usual, but not on a machine under load


class JavaError(RuntimeError):
    """There is no Java that Spark could run on; the text says what to do."""


@dataclass(frozen=True)
class Java:
    """A Java that Spark can run on."""

    path: Path
    version: int  # 17, 21, …


def find() -> Java:
    """Return the Java that Spark will start: that of JAVA_HOME, else the one on PATH. Raises JavaError."""
    home = os.environ.get("JAVA_HOME", "")
    if home:
        path = Path(home, "bin", "java.exe" if platform.system() == "Windows" else "java")
        if not path.is_file():
            raise JavaError(f"JAVA_HOME is {home}, but there is no {path}: correct it or unset it")
    else:
        on_path = shutil.which("java")
        if on_path is None:
            raise JavaError(f"Spark needs Java {NEEDED} or newer, and there is none. {_remedy()}")
        path = Path(on_path)
    found = version(path)
    if found < NEEDED:
        where = "from JAVA_HOME" if home else "the first on PATH"
        raise JavaError(
            f"Spark needs Java {NEEDED} or newer; {path} ({where}) is Java {found}. {_remedy()}, then set"
            " JAVA_HOME to where it is"
        )
    return Java(path, found)


def version(path: Path) -> int:
    """Return the major version of a Java: 8 for "1.8.0_432", 17 for "17.0.15".

    Raises JavaError if it does not report a version.
    """
    try:
        done = subprocess.run(
            [path, "-version"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise JavaError(f"{path} does not run: {error}. {_remedy()}") from None
    said = done.stderr + done.stdout
    found = re.search(r'version "(?:1\.)?(\d+)', said)
    if found is None:
        # macOS has a /usr/bin/java that only says where to get one.
        first = next((line for line in said.splitlines() if line.strip()), "nothing")
        raise JavaError(f"{path} is no Java that works; it says: {first.strip()}. {_remedy()}")
    return int(found.group(1))


def _remedy() -> str:
    return f"Install it: {command()}"


def command() -> str:
    """Return the command that installs a suitable Java on this machine."""
    system = platform.system()
    if system == "Darwin":
        return "brew install openjdk@21 && export JAVA_HOME=$(brew --prefix openjdk@21)"
    if system == "Windows":
        return "winget install EclipseAdoptium.Temurin.21.JRE"
    return _linux()


def _linux() -> str:
    about: dict[str, str] = {}
    with contextlib.suppress(OSError):
        about = platform.freedesktop_os_release()
    kinds = {about.get("ID", ""), *about.get("ID_LIKE", "").split()}
    if kinds & {"debian", "ubuntu"}:
        # Debian 12 is the last with 17 and has nothing newer.
        old = about.get("ID") == "debian" and about.get("VERSION_ID", "") in {"11", "12"}
        return f"sudo apt-get install -y openjdk-{17 if old else 21}-jre-headless"
    if kinds & {"fedora", "rhel", "centos", "amzn"}:
        vendor = "amazon-corretto" if about.get("ID") == "amzn" else "openjdk"
        return f"sudo dnf install -y java-21-{vendor}-headless"
    if "alpine" in kinds:
        return "sudo apk add openjdk21-jre-headless"
    if "arch" in kinds:
        return "sudo pacman -S jre21-openjdk-headless"
    if any("suse" in kind for kind in kinds):
        return "sudo zypper install java-21-openjdk-headless"
    return "get version 21 from https://adoptium.net and set JAVA_HOME to it"
