"""What a reader of options needs: where problems go, and the option that it fills."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from typing import Any

from ....protocol.lazy_dataclass import dataclass
from ..options.field import OptionSpec
from ..tree import ConfigError, ConfigNode, ConfigProblem, SourcePosition


@dataclass(slots=True)
class ReadContext:
    """Collects everything found while one configuration is read.

    environment: for variables in paths.
    readers: how each kind of option is read (`kinds.READERS`).
    problems: what keeps the server from starting.
    warnings: what does not, but makes `-t` fail.
    positions: where each option was set, by dotted path ("jetstream.domain", "leafnodes.remotes.0.url").
    """

    environment: Mapping[str, str]
    readers: Mapping[str, Reader]
    problems: list[ConfigProblem] = field(default_factory=list)
    warnings: list[ConfigProblem] = field(default_factory=list)
    positions: dict[str, SourcePosition] = field(default_factory=dict)

    def error(self, position: SourcePosition | None, message: str, hint: str = "") -> None:
        """Record an error, without raising it."""
        self.problems.append(ConfigProblem(position, message, hint))

    def warn(self, position: SourcePosition | None, message: str, hint: str = "") -> None:
        """Record a problem that does not keep the server from starting, but makes `-t` fail."""
        self.warnings.append(ConfigProblem(position, message, hint))

    def unknown(self, key: str, node: ConfigNode, known: Iterable[str]) -> None:
        """Record an unknown key as an error, unless it was used as a variable."""
        if not node.used:
            self.error(node.position, f'unknown field "{key}"', suggestion(key, known))


@dataclass(slots=True)
class OptionSlot:
    """One option that is being read.

    target, name: the object and the attribute that its value goes to.
    key: as written in the configuration.
    path: its dotted path.
    """

    target: Any
    name: str
    key: str
    spec: OptionSpec
    path: str


Reader = Callable[[ReadContext, OptionSlot, ConfigNode], Any]


def suggestion(word: str, known: Iterable[str]) -> str:
    """Return a hint with a close match, or ""."""
    from difflib import get_close_matches

    names = {name.lower(): name for name in known}
    close = get_close_matches(word.lower(), names, n=1, cutoff=0.6)
    return f'did you mean "{names[close[0]]}"?' if close else ""


def wrong(node: ConfigNode, what: str, hint: str = "") -> ConfigError:
    """Return the error for a value of the wrong type."""
    return ConfigError.at(node.position, f"{what}, got {node.kind}", hint)
