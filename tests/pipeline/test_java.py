"""Which Java Spark gets, and the error when no Java fits."""

from __future__ import annotations

import platform
import re
from pathlib import Path

import pytest
from pyjs.pipeline import java

OLD = 'openjdk version "1.8.0_432"\nOpenJDK Runtime Environment (build 1.8.0_432-b06)\n'
ELEVEN = 'openjdk version "11.0.25" 2024-10-15\n'
SEVENTEEN = 'openjdk version "17.0.15" 2025-04-15\n'
EARLY = 'openjdk version "25-ea" 2025-09-16\n'
APPLE = "The operation couldn\u2019t be completed. Unable to locate a Java Runtime.\n"


def fake(folder: Path, says: str, code: int = 0) -> Path:
    """A `java` that prints this."""
    path = folder / "bin" / "java"
    path.parent.mkdir(parents=True)
    path.write_text(f"#!/bin/sh\n/bin/cat >&2 <<'END'\n{says}END\nexit {code}\n")
    path.chmod(0o755)
    return path


@pytest.fixture(autouse=True)
def nothing_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No JAVA_HOME, and nothing on PATH."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))


def test_no_java_is_said_with_the_command_that_installs_it() -> None:
    with pytest.raises(java.JavaError, match=r"needs Java 17 or newer, and there is none") as caught:
        java.find()
    assert java.command() in str(caught.value)


@pytest.mark.parametrize(("says", "version"), [(SEVENTEEN, 17), (EARLY, 25)])
def test_a_java_on_the_path_is_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, says: str, version: int
) -> None:
    path = fake(tmp_path, says)
    monkeypatch.setenv("PATH", str(path.parent))
    assert java.find() == java.Java(path, version)


@pytest.mark.parametrize(("says", "version"), [(OLD, 8), (ELEVEN, 11)])
def test_an_old_java_is_refused_by_path_and_version(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, says: str, version: int
) -> None:
    path = fake(tmp_path, says)
    monkeypatch.setenv("PATH", str(path.parent))
    expected = rf"{re.escape(str(path))} \(the first on PATH\) is Java {version}\. Install it: "
    with pytest.raises(java.JavaError, match=expected):
        java.find()


def test_java_home_goes_before_the_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(fake(tmp_path / "new", SEVENTEEN).parent))
    monkeypatch.setenv("JAVA_HOME", str(fake(tmp_path / "old", ELEVEN).parent.parent))
    with pytest.raises(java.JavaError, match=r"from JAVA_HOME\) is Java 11"):
        java.find()


def test_a_java_home_without_java_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(java.JavaError, match=rf"JAVA_HOME is {re.escape(str(tmp_path))}, but there is no"):
        java.find()


def test_a_java_that_does_not_work_is_quoted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(fake(tmp_path, APPLE, code=1).parent))
    with pytest.raises(java.JavaError, match=r"it says: The operation couldn.t be completed.+Install it"):
        java.find()


@pytest.mark.parametrize(
    ("system", "release", "command"),
    [
        ("Darwin", {}, "brew install openjdk@21"),
        ("Windows", {}, "winget install EclipseAdoptium.Temurin.21.JRE"),
        ("Linux", {"ID": "debian", "VERSION_ID": "12"}, "sudo apt-get install -y openjdk-17-jre-headless"),
        ("Linux", {"ID": "debian", "VERSION_ID": "13"}, "sudo apt-get install -y openjdk-21-jre-headless"),
        ("Linux", {"ID": "linuxmint", "ID_LIKE": "ubuntu debian"}, "sudo apt-get install -y openjdk-21-"),
        ("Linux", {"ID": "rocky", "ID_LIKE": "rhel centos fedora"}, "sudo dnf install -y java-21-openjdk-"),
        ("Linux", {"ID": "amzn", "ID_LIKE": "fedora"}, "sudo dnf install -y java-21-amazon-corretto-"),
        ("Linux", {"ID": "alpine"}, "sudo apk add openjdk21-jre-headless"),
        ("Linux", {"ID": "void"}, "https://adoptium.net"),
    ],
)
def test_the_command_is_that_of_the_system(
    monkeypatch: pytest.MonkeyPatch, system: str, release: dict[str, str], command: str
) -> None:
    monkeypatch.setattr(platform, "system", lambda: system)
    monkeypatch.setattr(platform, "freedesktop_os_release", lambda: release)
    assert command in java.command()
