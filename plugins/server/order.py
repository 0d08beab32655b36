"""The order of reports' rows: the options `--sort` and `--reverse`, alike for all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

T = TypeVar("T")


def _of_group_too(context: click.Context, _param: click.Parameter, value: bool) -> bool:
    """`--reverse` may stand after `report` as well."""
    return value or bool(context.parent and context.parent.params.get("backwards"))


REVERSE = click.option(
    "-R", "--reverse", "backwards", is_flag=True, callback=_of_group_too, help="Sort in reverse order."
)


def sorting(
    keys: Mapping[str, Callable[[Any], Any]], default: str
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The option `--sort` with the names of `keys`."""
    return click.option(
        "--sort",
        "by",
        type=click.Choice(tuple(keys)),
        default=default,
        show_default=True,
        help="Sort by this.",
    )


def ordered(rows: list[T], keys: Mapping[str, Callable[[T], Any]], by: str, backwards: bool) -> list[T]:
    """Rows with the largest first, or, backwards, the smallest; equals in the order they came."""
    return sorted(rows, key=keys[by], reverse=not backwards)
