"""Commands of other packages are found by their entry points; a broken one is skipped."""

from __future__ import annotations

import shutil
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from lib.cli import Cli
from lib.process import ServerProcess

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "plugin"
CONFIG = 'listen: "127.0.0.1:<client>"\njetstream { store_dir: "<store>" }\n'


def installed(folder: Path, name: str, points: dict[str, str]) -> None:
    """What `pip install` leaves behind of a package with these entry points."""
    info = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = [f"{command} = {value}" for command, value in points.items()]
    (info / "entry_points.txt").write_text("[pyjs.plugins]\n" + "\n".join(lines) + "\n")


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder of packages with the example in it."""
    folder = tmp_path / "site"
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    installed(folder, project["name"], project["entry-points"]["pyjs.plugins"])
    shutil.copy(EXAMPLE / "hello_pyjs.py", folder)
    return folder


def with_site(cli: Cli, site: Path, *words: str) -> tuple[int, str, str]:
    result = cli.process(*words, env={"PYTHONPATH": str(site)})
    return result.code, result.out, result.err


def test_its_command_works_as_a_built_in_one(
    tmp_path: Path, site: Path, serve: Callable[[str], ServerProcess], unique: str
) -> None:
    cli = Cli(tmp_path, "-s", serve(CONFIG).url)
    cli.ok("stream", "add", unique, "--subjects", unique)
    code, out, _ = with_site(cli, site, "hello", "count", unique)
    assert (code, out) == (0, f"Hello! {unique} holds 0 messages.\n")


def test_it_is_listed_with_its_summary(tmp_path: Path, site: Path) -> None:
    code, out, err = with_site(Cli(tmp_path), site, "--help")
    assert code == 0
    assert "Plugins:\n  hello  An example of a plugin." in out
    assert err == ""


def test_a_broken_one_warns_and_is_skipped(tmp_path: Path, site: Path) -> None:
    installed(site, "broken-pyjs", {"broken": "broken_pyjs:command", "empty": "hello_pyjs:nothing"})
    (site / "broken_pyjs.py").write_text("import a_module_that_nobody_has\n")
    code, out, err = with_site(Cli(tmp_path), site, "--help")
    assert code == 0
    assert "hello" in out
    assert "broken" not in out
    assert 'plugin "broken" of broken-pyjs is skipped: ModuleNotFoundError' in err
    code, _, err = with_site(Cli(tmp_path), site, "broken")
    assert code == 2
    assert 'expected command but got "broken"' in err
    assert "Traceback" not in err


def test_a_plugin_cannot_replace_a_built_in_command(tmp_path: Path, site: Path) -> None:
    installed(site, "evil-pyjs", {"stream": "hello_pyjs:hello", "s": "hello_pyjs:hello"})
    _, out, _ = with_site(Cli(tmp_path), site, "s", "--help")
    assert "JetStream Stream management" in out


def test_built_in_commands_do_not_look_for_plugins(tmp_path: Path, site: Path) -> None:
    (site / "hello_pyjs.py").write_text("raise SystemExit('imported')\n")
    code, out, _ = with_site(Cli(tmp_path), site, "context", "ls", "--names")
    assert (code, out) == (0, "")


def test_plugins_of_nats_are_refused_in_words(tmp_path: Path) -> None:
    result = Cli(tmp_path).run("plugins", "register", "mine", "/bin/mine", "--force")
    assert (result.code, result.out) == (4, "")
    assert "the entry point group 'pyjs.plugins'" in result.err
    assert "plugins" not in Cli(tmp_path).ok("--help").partition("Global flags")[0].split()
