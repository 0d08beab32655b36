"""The pages of the API, from the docstrings: `make docs`, or `python docs/api.py FOLDER`."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pdoc

# What other people's programs import.
MODULES = (
    "pyjs.keys",
    "pyjs.provision",
    "pyjs.server.app",
    "pyjs.server.embed.threaded",
    "pyjs.server.embed.pytest_plugin",
)


def load() -> None:
    """Import the modules, and what they import only when it is used: pdoc does not know that way."""
    for name in MODULES:
        module = importlib.import_module(name)
        for member in getattr(module, "__all__", ()):
            vars(module)[member] = getattr(module, member)


if __name__ == "__main__":
    load()
    pdoc.pdoc(*MODULES, output_directory=Path(sys.argv[1]))
    sys.stdout.write(f"the pages are in {sys.argv[1]}/index.html\n")
