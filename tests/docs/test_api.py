"""The pages of the API, made from docstrings: `make docs`."""

from __future__ import annotations

import importlib
import runpy
from pathlib import Path
from typing import Any

import pdoc.doc
import pytest

MEMBERS = {
    "pyjs.keys": "Workspace",
    "pyjs.provision": "declare",
    "pyjs.server.app": "Server",
    "pyjs.server.embed.threaded": "serve",
    "pyjs.server.embed.pytest_plugin": "jetstream_server",
}


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    """What docs/api.py defines, after it has loaded its modules."""
    made = runpy.run_path(str(Path(__file__).resolve().parents[2] / "docs" / "api.py"))
    made["load"]()
    return made


def test_every_module_is_tested_here(script: dict[str, Any]) -> None:
    assert tuple(MEMBERS) == script["MODULES"]


@pytest.mark.parametrize("module", MEMBERS)
@pytest.mark.usefixtures("script")
def test_what_programs_import_is_explained(module: str) -> None:
    page = pdoc.doc.Module(importlib.import_module(module))
    assert MEMBERS[module] in {member.name for member in page.own_members}
    for member in page.own_members:
        if isinstance(member, pdoc.doc.Class | pdoc.doc.Function):
            assert member.docstring, member.fullname
