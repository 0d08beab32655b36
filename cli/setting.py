"""Settings: flags that describe a configuration, as a table, and how those given change one.

Only flags that were given change anything: `put` never invents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import click

Given = dict[str, Any]


class Setting(NamedTuple):
    """A flag: its click spelling, its type, the configuration field it sets as it is ("": none)."""

    spelling: str
    kind: Any = None
    field: str = ""
    help: str = ""
    multiple: bool = False
    hidden: bool = False
    only: str = ""  # a command it exists for, when not for all

    @property
    def name(self) -> str:
        """The keyword argument its value arrives in."""
        return self.spelling.partition("/")[0].removeprefix("--").replace("-", "_")


def flags(settings: Sequence[Setting], command: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator adding the flags of `add`, `copy` or `edit`; `copy` has those of `add`.

    The values arrive in the keyword argument of each flag's name; what was not given is None or ().
    """
    command = "add" if command == "copy" else command

    def decorate(callback: Callable[..., Any]) -> Callable[..., Any]:
        for setting in reversed(settings):
            if setting.only not in ("", command):
                continue
            shared: dict[str, Any] = {"help": setting.help, "hidden": setting.hidden}
            if setting.kind is bool:
                shared |= {"is_flag": True, "default": None}
            elif setting.multiple:
                shared |= {"type": setting.kind, "multiple": True}
            else:
                shared |= {"type": setting.kind, "default": None}
            callback = click.option(setting.spelling, **shared)(callback)
        return callback

    return decorate


def put(config: object, settings: Iterable[Setting], given: Given) -> None:
    """Set the fields whose flags were given."""
    for setting in settings:
        value = given.get(setting.name)
        if setting.field and value is not None:
            setattr(config, setting.field, value)
