"""Settings: the flags that describe a configuration, as a table, and how they change one.

Promises: only flags that were given change anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import click

Given = dict[str, Any]


class Setting(NamedTuple):
    """A flag for a configuration.

    It has a click spelling, a type, and the configuration field that it sets directly ("" for none).
    """

    spelling: str
    kind: Any = None
    field: str = ""
    help: str = ""
    multiple: bool = False
    only: str = ""  # the only command it exists for, if not all

    @property
    def name(self) -> str:
        """The name of the keyword argument for its value."""
        return self.spelling.partition("/")[0].removeprefix("--").replace("-", "_")


def flags(settings: Sequence[Setting], command: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that adds the flags of `add`, `copy` or `edit`; `copy` has those of `add`.

    The values arrive in the keyword argument with each flag's name; for flags that were not given it is None
    or ().
    """
    command = "add" if command == "copy" else command

    def decorate(callback: Callable[..., Any]) -> Callable[..., Any]:
        for setting in reversed(settings):
            if setting.only not in ("", command):
                continue
            shared: dict[str, Any] = {"help": setting.help}
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
    """Set the fields of the flags that were given."""
    for setting in settings:
        value = given.get(setting.name)
        if setting.field and value is not None:
            setattr(config, setting.field, value)
