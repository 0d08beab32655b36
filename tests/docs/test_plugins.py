"""docs/plugins.md: its command runs as printed there, and the names that it mentions exist."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest
from lib import pyjs_server
from lib.cli import Cli

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "plugins.md").read_text("utf-8")
CONFIG = 'listen: 127.0.0.1:<client>\njetstream { store_dir: "<store>" }\n'


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder of packages with the page's command, as a plugin."""
    (program,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    info = tmp_path / "site" / "page-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: page\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[pyjs.plugins]\nmessages = page:messages\nsizes = page:sizes\n")
    (info.parent / "page.py").write_text(program.replace("from ..cli", "from pyjs.cli"))
    return info.parent


def test_the_command_of_the_page_runs(tmp_path: Path, site: Path) -> None:
    server = pyjs_server.start(CONFIG)
    try:
        cli = Cli(tmp_path, f"--server={server.url}")
        cli.ok("stream", "add", "ORDERS", "--subjects=o", "--defaults")
        shown = cli.process("messages", "ORDERS", env={"PYTHONPATH": str(site)})
        assert (shown.out, shown.code) == ("0\n", 0), shown.err
        listed = cli.process("sizes", "-o", "csv", env={"PYTHONPATH": str(site)})
        assert (listed.out, listed.code) == ("name,messages,bytes\nORDERS,0,0\n", 0), listed.err
    finally:
        server.stop()


@pytest.mark.parametrize("module", ["connection", "output", "prompt", "render", "param", "errors", "profile"])
def test_what_the_page_says_to_call_exists(module: str) -> None:
    (row,) = re.findall(rf"(?m)^\|[^|]*`{module}`[^|]*\|(.*)\|$", PAGE)
    defined = vars(importlib.import_module(f"pyjs.cli.{module}"))
    named = set(re.findall(r"`(?:async with |profile\.)?(\w+)[`(]", row))
    # Fields of the connection, parameters, and a class of another row.
    named -= {"nc", "js", "timeout", "profile", "url", "flag", "explain", "RequestCommand"}
    assert named
    assert sorted(named - defined.keys()) == []
