"""Which modules import each other, directly or through others: `graph`, `circles`.

    PYTHONPATH=tests python -m lib.import_graph [FOLDER]      the circles of modules, or those of a folder
    PYTHONPATH=tests python -m lib.import_graph --edge A B    the statements by which A imports B

A module's name is its path without `.py`; a package counts as the module `__init__`. Imports are read in
three ways, each of which contains the one before: RUN, those that happen when the module is imported; LATE,
also those inside functions; TYPES, also those for the type checker alone. What a package re-exports counts as
an import of the package and of the module that defines it.
"""

from __future__ import annotations

import argparse
import functools
import sys
from collections.abc import Iterator
from os.path import commonpath

from .source_facts import LATE, RUN, TYPES, Import, all_facts

KINDS = (RUN, LATE, TYPES)
Graph = dict[str, set[str]]


def module_of(path: str) -> str:
    """Return the name of the module at a path."""
    return path.removesuffix("/__init__.py").removesuffix(".py")


@functools.cache
def modules() -> dict[str, str]:
    """Return the path of each module."""
    return {module_of(path): path for path in all_facts()}


def target(path: str, statement: Import) -> str:
    """Return what the file at `path` imports by this statement, as a path without `.py`; "" for other code.

    The last part may be a name that a module or package defines: see `resolved`.
    """
    tail = statement.module.split(".") if statement.module else []
    if statement.level:
        here = path.split("/")[:-1]
        base = here[: len(here) - statement.level + 1] + tail
    elif tail[0] == "pyjs":
        base = tail[1:]
    else:
        return ""
    return "/".join([*base, statement.name] if statement.name else base)


def resolved(imported: str) -> str:
    """Return the module that `target` means: itself, or the one that defines its last part; "" for none."""
    if imported in modules():
        return imported
    parent = imported.rpartition("/")[0]
    return parent if parent in modules() else ""


def _definition(module: str, name: str, depth: int = 0) -> str:
    """Return the module that defines what a package re-exports."""
    path = modules()[module]
    for statement in all_facts()[path].imports if depth < 5 else ():
        if statement.bound == name and statement.kind == RUN:
            imported = target(path, statement)
            found = resolved(imported)
            if found and found != module:
                return found if imported == found else _definition(found, statement.name, depth + 1)
    return module


def edges() -> Iterator[tuple[str, str, Import]]:
    """Yield (importing module, imported module, statement) of every import inside the package."""
    for module, path in modules().items():
        for statement in all_facts()[path].imports:
            imported = target(path, statement)
            found = resolved(imported) if imported else ""
            if not found or found == module:
                continue
            yield module, found, statement
            if modules()[found].endswith("__init__.py") and found != imported:
                definition = _definition(found, statement.name)
                if definition not in {found, module}:
                    yield module, definition, statement


@functools.cache
def graph(kind: str) -> Graph:
    """Return what each module imports, in this reading."""
    found: Graph = {module: set() for module in modules()}
    for module, imported, statement in edges():
        if KINDS.index(statement.kind) <= KINDS.index(kind):
            found[module].add(imported)
    return found


def circles(imported: Graph) -> list[list[str]]:
    """Return the sets of two or more modules that all reach each other, the largest first (Tarjan)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    open_: list[str] = []
    found: list[list[str]] = []
    for start in imported:
        if start in index:
            continue
        path: list[tuple[str, Iterator[str]]] = []
        _enter(start, path, index, low, open_, imported)
        while path:
            module, rest = path[-1]
            following = next(rest, None)
            if following is None:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[module])
                if low[module] == index[module]:
                    at = open_.index(module)
                    found.append(sorted(open_[at:]))
                    del open_[at:]
            elif following not in index:
                _enter(following, path, index, low, open_, imported)
            elif following in open_:
                low[module] = min(low[module], index[following])
    return sorted((c for c in found if len(c) > 1), key=lambda c: (-len(c), c))


def _enter(
    module: str,
    path: list[tuple[str, Iterator[str]]],
    index: dict[str, int],
    low: dict[str, int],
    open_: list[str],
    imported: Graph,
) -> None:
    index[module] = low[module] = len(index)
    open_.append(module)
    path.append((module, iter(sorted(imported[module]))))


def folder(circle: list[str]) -> str:
    """Return the deepest folder that contains all modules of a circle."""
    return commonpath(modules()[module].rpartition("/")[0] for module in circle)


def main() -> None:
    """Print what the arguments ask for."""
    parser = argparse.ArgumentParser(description="Circles of modules")
    parser.add_argument("folder", nargs="?", default="")
    parser.add_argument("--edge", nargs=2, metavar=("A", "B"))
    asked = parser.parse_args()
    if asked.edge:
        for module, imported, statement in edges():
            if [module, imported] == asked.edge:
                _show(f"{modules()[module]}:{statement.line} {statement.bound} ({statement.kind})")
        return
    for kind in KINDS:
        found = [c for c in circles(graph(kind)) if folder(c).startswith(asked.folder)]
        _show(f"{kind}: {len(found)} circles, {sum(map(len, found))} modules")
        for circle in found:
            _show(f"  {len(circle)} in {folder(circle)}: {' '.join(circle)}")


def _show(line: str) -> None:
    sys.stdout.write(line + "\n")


if __name__ == "__main__":
    main()
