"""Which form of the inner loops runs: the compiled one, or the plain one and why."""

from __future__ import annotations

import importlib
import sys
import types

import pytest
from pyjs import native


@pytest.fixture
def older(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    """The package `native`, beside a compiled part from sources that had none of today's functions."""
    monkeypatch.delenv("PYJS_PURE", raising=False)
    monkeypatch.setitem(sys.modules, "pyjs.native._native", types.ModuleType("pyjs.native._native"))
    monkeypatch.delitem(sys.modules, "pyjs.native")
    monkeypatch.setattr("pyjs.native", native)  # which the import replaces
    with pytest.warns(RuntimeWarning, match="install pyjs again"):
        return importlib.import_module("pyjs.native")


def test_a_compiled_part_of_older_sources_is_not_used_and_told(older: types.ModuleType) -> None:
    assert older is not native
    assert (older.COMPILED, older.FORM) == (False, "pure")
