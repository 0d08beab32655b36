"""Python functions that documents name: `FILE.py:function` beside the document, or `module:function`.

`read_parameters` checks one without running any code, and `load` imports it. What the functions of a file
hand to Spark (UDFs) is sent to executors with its code; a module has to be installed there.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from ...cli.errors import close_matches
from .document import FUNCTION


class FunctionError(ValueError):
    """The function does not exist, or cannot be imported."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


@dataclass(frozen=True)
class FunctionParameters:
    """The parameters without a default, as the source text shows them.

    parameters: their names; None if only running the code would tell
    """

    parameters: tuple[str, ...] | None


def read_parameters(named: str, folder: Path) -> FunctionParameters:
    """Check a function by its source. Raises FunctionError."""
    where, name = _split(named)
    file = _file(where, folder)
    if file is None or file.suffix != ".py":
        return FunctionParameters(None)
    try:
        module = ast.parse(file.read_text(encoding="utf-8"), str(file))
    except OSError as error:
        raise FunctionError(f"cannot read {where}: {error.strerror}", f"looked in {folder}") from None
    except (SyntaxError, ValueError) as error:
        raise FunctionError(f"{where} is not Python: {error}") from None
    functions = {node.name: node for node in module.body if isinstance(node, ast.FunctionDef)}
    if name in functions and not functions[name].decorator_list:
        return FunctionParameters(_needed(functions[name].args))
    if name not in _bound(module) and not _bound_by_star(module):
        raise FunctionError(f"{where} has no function {name}", close_matches(name, functions))
    return FunctionParameters(None)


def load(named: str, folder: Path) -> Callable[..., Any]:
    """Import a function. Raises FunctionError whose text has the error of the import."""
    where, name = _split(named)
    try:
        module = _run_file(folder / where) if where.endswith(".py") else _import(where, folder)
    except Exception as error:
        raise FunctionError(f"{where} cannot be imported: {type(error).__name__}: {error}") from error
    function = getattr(module, name, None)
    if not callable(function):
        raise FunctionError(f"{where} has no function {name}", close_matches(name, vars(module)))
    return function  # type: ignore[no-any-return]


def parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of the parameters that need a value."""
    found = inspect.signature(function).parameters.values()
    by_position = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return tuple(each.name for each in found if each.kind in by_position and each.default is each.empty)


def _split(named: str) -> tuple[str, str]:
    found = FUNCTION.match(named)
    if found is None:
        raise FunctionError("is module:function or FILE.py:function")
    return found.group("file"), found.group("name")


def _file(where: str, folder: Path) -> Path | None:
    """Return the source file, None if there is none."""
    if where.endswith(".py"):
        return folder / where
    _reach(folder)
    try:
        spec = importlib.util.find_spec(where)
    except Exception as error:
        raise FunctionError(f"module {where} cannot be found: {error}") from None
    if spec is None:
        raise FunctionError(f"there is no module {where}", f"looked in {folder} and where Python looks")
    return Path(spec.origin) if spec.has_location and spec.origin else None


def _needed(arguments: ast.arguments) -> tuple[str, ...]:
    names = [each.arg for each in (*arguments.posonlyargs, *arguments.args)]
    return tuple(names[: len(names) - len(arguments.defaults)])


def _bound(module: ast.Module) -> set[str]:
    """Return the names that the module's top level assigns."""
    names: set[str] = set()
    for node in ast.walk(module):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names.update((alias.asname or alias.name).split(".")[0] for alias in node.names)
    return names


def _bound_by_star(module: ast.Module) -> bool:
    return any(isinstance(node, ast.ImportFrom) and node.names[0].name == "*" for node in module.body)


def _reach(folder: Path) -> None:
    """Make modules beside the document importable."""
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def _import(where: str, folder: Path) -> ModuleType:
    _reach(folder)
    return importlib.import_module(where)


def _run_file(file: Path) -> ModuleType:
    from pyspark import cloudpickle

    _reach(file.parent)
    name = f"pyjs_pipeline_{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} is no module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and pickle look there
    spec.loader.exec_module(module)
    cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]
    return module
