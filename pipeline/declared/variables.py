"""Variables of a document: `${NAME}` and `${NAME:-default}` in its texts, and their values.

A value is that of `--set NAME=VALUE`, else that of the environment, else the default. Variables are replaced
in values only, after the YAML was read: a value can change neither keys nor the structure. `$${` is a `${`
that stays. A default ends at the first `}`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...cli.errors import close_matches
from ...documents.located_yaml import LocatedYaml, Path
from ...documents.problem import DocumentProblem

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_USE = re.compile(
    r"(?P<plain>\$\$\{)|\$\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>[^}]*))?\}|(?P<odd>\$\{)"
)

Found = list[tuple[Path, DocumentProblem]]


@dataclass(frozen=True)
class Variables:
    """The values of variables from outside of the document.

    given: those of the command line; each must be used
    implied: those of a command, such as FROM and TO of a backfill; they go before the environment
    """

    given: Mapping[str, str] = field(default_factory=dict, repr=False)
    implied: Mapping[str, str] = field(default_factory=dict)

    def value(self, name: str, default: str | None) -> str | None:
        """Return the value of a variable, None if it has none."""
        for values in (self.given, self.implied, os.environ):
            if name in values:
                return values[name]
        return default


NONE = Variables()


Uses = Mapping[Path, frozenset[str]]


def filled(written: LocatedYaml, variables: Variables) -> tuple[LocatedYaml, Uses, Found]:
    """Return the document with its variables replaced, which are where, and what is wrong with them.

    A text whose variable has no value stays as it is written.
    """
    problems: Found = []
    uses: dict[Path, frozenset[str]] = {}

    def replaced(value: Any, path: Path) -> Any:
        if isinstance(value, dict):
            return {key: replaced(item, (*path, key)) for key, item in value.items()}
        if isinstance(value, list):
            return [replaced(item, (*path, index)) for index, item in enumerate(value)]
        if not isinstance(value, str) or "${" not in value:
            return value
        text, wrong = _replaced(value, variables)
        uses[path] = frozenset(use.group("name") for use in _USE.finditer(value) if use.group("name"))
        problems.extend((path, problem) for problem in wrong)
        return value if wrong else text

    value = replaced(written.value, ())
    problems += _unused(variables, frozenset().union(*uses.values()))
    return LocatedYaml(value, written.places), uses, problems


def _replaced(text: str, variables: Variables) -> tuple[str, list[DocumentProblem]]:
    wrong = []

    def one(use: re.Match[str]) -> str:
        if use.group("plain"):
            return "${"
        if use.group("odd"):
            wrong.append(
                DocumentProblem(
                    "", "${ begins no variable", hint="${NAME} or ${NAME:-default}; $${ is a plain ${"
                )
            )
            return ""
        name = use.group("name")
        value = variables.value(name, use.group("default"))
        if value is None:
            wrong.append(
                DocumentProblem(
                    "",
                    f"the variable {name} has no value",
                    hint=f"--set {name}=VALUE, the environment, or a default: ${{{name}:-VALUE}}",
                )
            )
        return value or ""

    return _USE.sub(one, text), wrong


def _unused(variables: Variables, used: frozenset[str]) -> Iterator[tuple[Path, DocumentProblem]]:
    for name in variables.given:
        if name not in used:
            hint = close_matches(name, used) or "${" + name + "} uses it"
            yield (f"--set {name}",), DocumentProblem("", "the document has no such variable", hint=hint)
