"""The options of commands that list or show something, and what the user chose with them.

`listing` and `showing` add `-o/--output`, `--template` and `--json` to a command, and `--watch` to a report.
Promises: a spelling that the command uses itself stays its own: `stream report -o` sorts, as in `nats`, and
`stream add --output` names a file.
"""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from typing import Any

import click

from ..param import DURATION, Whole
from .choice import KEY, SECOND, OutputChoice, Shape, chosen
from .columns import Table

FORMATS = ("table", "wide", "json", "ndjson", "yaml", "csv", "md", "name")
HELP = "table, wide, json, ndjson, yaml, csv, md or name."
NAMELESS = "table, wide, json, ndjson, yaml, csv or md; name prints nothing, as there are no names."
_ATTRIBUTE = "__pyjs_output__"


def shape_of(command: click.Command) -> Shape | None:
    """Return what a command prints; None if it neither lists nor shows anything."""
    found = getattr(command.callback, _ATTRIBUTE, None)
    return found if isinstance(found, Shape) else None


def listing(
    *tables: Table, watch: bool = False, legacy: str = "", alternative: tuple[Table, ...] = ()
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator for a command that shows these tables with `output.show`.

    legacy: the shape of `--json` in words, where it is that of `nats` and not the one of `-o json`.
    alternative: the tables that it shows instead with another argument.
    """
    return _decorator(Shape(tables, alternative, legacy=legacy), watch=watch)


def showing(
    page: str, *, watch: bool = False, legacy: str = "", named: bool = True
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator for a command that shows one document with `output.show_page`.

    named: whether the document has a name. If not, `-o name` prints nothing, and the help says so.
    """
    return _decorator(Shape(page=page, legacy=legacy, named=named), watch=watch)


def _decorator(shape: Shape, *, watch: bool) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def decorate(callback: Callable[..., Any]) -> Callable[..., Any]:
        params = getattr(callback, "__click_params__", [])
        taken = {text for param in params for text in (*param.opts, *param.secondary_opts)}
        spellings = [] if "--output" in taken else _free(taken, "-o", "--output")
        wide = f"{spellings[0]} wide" if spellings else ""

        @functools.wraps(callback)
        def run(**given: Any) -> Any:
            choice = chosen()
            choice.shape, choice.wide = shape, wide
            return _watched(callback, choice, given) if choice.watch else callback(**given)

        setattr(run, _ATTRIBUTE, shape)
        for option in _options(taken, shape, watch=watch):
            run = option(run)
        return run

    return decorate


def _options(taken: set[str], shape: Shape, *, watch: bool) -> list[Callable[..., Any]]:
    """Return the options, the last one first, as they are added."""
    found = []
    if watch:
        found.append(
            _option(("--watch",), "watch", "Again and again, every 2s or INTERVAL.", type=_INTERVAL,
                    metavar="[INTERVAL]", is_flag=False, flag_value="2s")
        )  # fmt: skip
    if "--json" not in taken:
        found.append(_option(_free(taken, "-j", "--json"), "json", "Produce JSON output.", is_flag=True))
    if "--template" not in taken:
        found.append(
            _option(("--template",), "template", "A line for each, such as '{name} {bytes:size}'.",
                    metavar="TEXT")
        )  # fmt: skip
    if "--output" not in taken:
        text = HELP if shape.has_names else NAMELESS
        found.append(
            _option(_free(taken, "-o", "--output"), "format", text, type=click.Choice(FORMATS),
                    metavar="FORMAT")
        )  # fmt: skip
    return found


def json_before(callback: Callable[..., Any]) -> Callable[..., Any]:
    """Add `-j/--json` to a group: it may stand before its commands, as in `server account --json info`."""
    made: Callable[..., Any] = _option(("-j", "--json"), "json", "Produce JSON output.", is_flag=True)(
        callback
    )
    return made


def formats_before(callback: Callable[..., Any]) -> Callable[..., Any]:
    """Add `-o`, `--template` and `--json` to a group: they may stand before its commands, which have them."""
    for option in _options(set(), Shape(), watch=False):
        callback = option(callback)
    return callback


def _free(taken: set[str], *spellings: str) -> tuple[str, ...]:
    return tuple(each for each in spellings if each not in taken)


def _option(spellings: tuple[str, ...], name: str, text: str, **more: Any) -> Callable[..., Any]:
    def file(context: click.Context, _param: click.Parameter, value: Any) -> None:
        if value:
            setattr(context.meta.setdefault(KEY, OutputChoice()), name, value)

    attributes = {"expose_value": False, "callback": file, "help": text, **more}
    return click.option(*spellings, f"output_{name}", **attributes)


class _Interval(Whole):
    """Seconds, as `nats` takes them, or a duration; in ns, at least a tenth of a second."""

    name = "interval"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        text = f"{value}s" if str(value).isdecimal() else value
        interval = int(DURATION.convert(text, param, ctx))
        if interval < SECOND // 10:
            self.fail(f"{value} is not an interval of a tenth of a second or longer", param, ctx)
        return interval


_INTERVAL = _Interval()


async def _watched(
    callback: Callable[..., Awaitable[None]], choice: OutputChoice, given: dict[str, Any]
) -> None:
    from .watch import watched

    await watched(callback, choice, given)
