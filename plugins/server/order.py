"""The order of rows in reports: the options `--sort` and `--reverse`, which all reports have."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

T = TypeVar("T")


def _of_group_too(context: click.Context, _param: click.Parameter, value: bool) -> bool:
    """Return whether `--reverse` was given; it may come after `report` as well."""
    return value or bool(context.parent and context.parent.params.get("backwards"))


REVERSE = click.option(
    "-R", "--reverse", "backwards", is_flag=True, callback=_of_group_too, help="Sort in reverse order."
)


def sorting(
    keys: Mapping[str, Callable[[Any], Any]], default: str
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return the option `--sort` with the names of `keys`."""
    return click.option(
        "--sort",
        "by",
        type=click.Choice(tuple(keys)),
        default=default,
        show_default=True,
        help="Sort by this.",
    )


def ordered(rows: list[T], keys: Mapping[str, Callable[[T], Any]], by: str, backwards: bool) -> list[T]:
    """Return rows with the largest first or, in reverse, the smallest; equal ones keep their order."""
    return sorted(rows, key=keys[by], reverse=not backwards)
