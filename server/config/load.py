"""Loads a configuration file, or a text, into checked options."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from .check import check
from .digest import digest
from .files import Files
from .options import Options
from .parser import parse_file, parse_text
from .read.context import ReadContext
from .read.kinds import READERS
from .read.section import read_into
from .tree import ConfigError, ConfigNode, ConfigProblem

Override = Callable[[Options], None]


def load(
    path: str, environment: Mapping[str, str] | None = None, *, override: Override | None = None
) -> Options:
    """Return the options of a configuration file, with defaults filled in, after all checks.

    environment: for variables; by default that of the process.
    override: changes the options before they are checked (the command line).

    Raises ConfigError with everything that is wrong. Warnings are in `warnings` of the result.
    """
    names = os.environ if environment is None else environment
    read: Files = {}
    options = _options(parse_file(path, names, read), path, names, override)
    options.config_files = read
    return options


def load_text(text: str, environment: Mapping[str, str] | None = None) -> Options:
    """Do as `load`, for a text that is in no file. Its includes are relative to the working directory."""
    names = os.environ if environment is None else environment
    return _options(parse_text(text, names), "", names, None)


def finish(
    options: Options, environment: Mapping[str, str] | None = None, *, override: Override | None = None
) -> Options:
    """Check options made by code or flags, and set those that follow from others. Return the same object.

    Raises ConfigError with everything that is wrong.
    """
    names = os.environ if environment is None else environment
    context = ReadContext(names, READERS, positions=options.positions)
    _finish(options, context, override)
    return options


def _options(
    entries: dict[str, ConfigNode], path: str, names: Mapping[str, str], override: Override | None
) -> Options:
    options = Options()
    context = ReadContext(names, READERS)
    if not entries:
        context.warnings.append(ConfigProblem(None, f"{path}: config has no values or is empty"))
    read_into(context, options, entries)
    options.config_file = path
    options.config_digest = digest(entries)
    options.positions = context.positions
    _finish(options, context, override)
    return options


def _finish(options: Options, context: ReadContext, override: Override | None) -> None:
    options.notices.clear()
    options.warnings = context.warnings
    if not context.problems:
        if override is not None:
            override(options)
        check(options, context)
    if context.problems:
        raise ConfigError(context.problems)
