"""Which modules are imported when: a server without operator mode pays for nothing."""

from __future__ import annotations

import subprocess
import sys

import pytest


def _loaded(program: str) -> set[str]:
    text = f"import sys\n{program}\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    return {name.split(".")[0] for name in done.stdout.split()}


@pytest.mark.parametrize(
    "module", ["", ".keys", ".keys.chain", ".keys.nkey", ".keys.grants", ".keys.token", ".keys.decorated"]
)
def test_importing_brings_no_library_along(module: str) -> None:
    assert not _loaded(f"import pyjs{module}") & {"pydantic", "jwt", "nkeys", "nacl", "cryptography"}


def test_a_name_of_the_api_is_imported_when_it_is_used() -> None:
    assert "nkeys" not in _loaded("from pyjs.keys import KeyPair")
    assert "pydantic" in _loaded("from pyjs.keys import UserClaims")


def test_every_name_of_the_api_is_there() -> None:
    import pyjs.keys

    for name in dir(pyjs.keys):
        assert getattr(pyjs.keys, name) is not None
    imported: dict[str, object] = {}
    exec("from pyjs.keys import *", imported)
    assert imported.keys() - {"__builtins__"} == set(dir(pyjs.keys))
    with pytest.raises(AttributeError):
        _ = pyjs.keys.nothing
