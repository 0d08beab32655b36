"""The classes that every command of pyjs is made of.

`Command` accepts the global flags anywhere on its line, and its callback may be an `async def`.
`CommandGroup` does the same, and its sub commands are the rows of a table (`CommandRow`). A sub command is
imported when it is called, not before. It is found by name or alias; for a wrong name the nearest ones are
shown.

Promises: no family is imported until it is needed. `pyjs --help` reads only the table.
"""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from . import errors, flags

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

NO_DESCRIPTIONS = "_PYJS_COMPLETE_NO_DESCRIPTIONS"  # set by the script of a shell that wants none
# Of every command that cannot be undone.
FORCE = click.option("-f", "--force", is_flag=True, help="Act without asking.")


class CommandRow(NamedTuple):
    """A sub command as data.

    target: `module:attribute` of a click command.
    """

    name: str
    target: str
    summary: str = ""
    aliases: tuple[str, ...] = ()
    hidden: bool = False
    origin: str = ""  # the package it comes from, if that is not pyjs
    section: str = ""  # its section in the help of the group


def _with_globals(params: list[click.Parameter]) -> list[click.Parameter]:
    """Return `params` and the global flags that they leave free."""
    taken = {text for param in params for text in (*param.opts, *param.secondary_opts)}
    return [*params, *flags.options(taken)]


def _complete_globals(incomplete: str) -> list[CompletionItem]:
    """Return the global flags that start with the flag typed so far."""
    from click.shell_completion import CompletionItem

    if not incomplete.startswith("-"):
        return []
    spelled = ((f"--{flag.name}", flag) for flag in flags.FLAGS if not flag.hidden)
    return [CompletionItem(text, help=flag.help) for text, flag in spelled if text.startswith(incomplete)]


def _described(items: list[CompletionItem]) -> list[CompletionItem]:
    """Return what is offered, without the lines of help if the shell's script wants none."""
    if os.environ.get(NO_DESCRIPTIONS):
        for item in items:
            item.help = None
    return items


def show_paged(text: str) -> None:
    """Write a text to stdout, on a terminal through a pager if it is longer than the screen."""
    if not sys.stdout.isatty():
        click.echo(text)
        return
    from .output import terminal

    terminal.write(text)


def _help(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        show_paged(ctx.get_help())
        ctx.exit()


def _paged(option: click.Option | None) -> click.Option | None:
    """Return the flag of help of a command, whose page goes through a pager if it is long."""
    if option is not None:
        option.callback = _help
    return option


def _form_instead(params: Sequence[click.Parameter], error: click.UsageError) -> str:
    """Return what to write for a form, where `-o json` is an error of a command that has another spelling."""
    from .output.options import FORMATS

    taken = {text for param in params for text in param.opts}
    if isinstance(error, click.NoSuchOption):
        return "--json prints JSON here" if error.option_name == "-o" and "--json" in taken else ""
    form = next((each for each in FORMATS if error.message.endswith(f"({each})")), "")
    other = any("-o" in param.opts and "--output" not in param.opts for param in params)
    return f"write --output {form}: -o is something else here" if form and other else ""


class Command(click.Command):
    """A command whose callback may be `async def`; it accepts the global flags anywhere on its line."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the command's own parameters and the global flags."""
        return _with_globals(super().get_params(ctx))

    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        """Return the flag of help."""
        return _paged(super().get_help_option(ctx))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse as click does; where `-o` is not what it is elsewhere, the error says what is."""
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            hint = _form_instead(self.get_params(ctx), error)
            if not hint:
                raise
            raise click.UsageError(f"{error.message.removesuffix('.')}; {hint}", ctx) from None

    def invoke(self, ctx: click.Context) -> Any:
        """Run the callback; a coroutine is run to its end on a new event loop."""
        result = super().invoke(ctx)
        if inspect.iscoroutine(result):
            import asyncio

            return asyncio.run(result)
        return result

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the command's own flags and arguments, and the global flags."""
        return _described(super().shell_complete(ctx, incomplete) + _complete_globals(incomplete))

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the epilog, and where the global flags are described."""
        super().format_epilog(ctx, formatter)
        formatter.write_paragraph()
        formatter.write_text(f"Global flags are shown by '{errors.PROGRAM} --help' and may stand anywhere.")


class RequestCommand(Command):
    """A command that only sends requests: it runs without an event loop where that is possible.

    needs_loop: whether it needs one, given the values of its parameters.
    """

    def __init__(
        self, *args: Any, needs_loop: Callable[[dict[str, Any]], bool] | None = None, **attributes: Any
    ) -> None:
        super().__init__(*args, **attributes)
        self._needs_loop = needs_loop

    def invoke(self, ctx: click.Context) -> Any:
        """Run the callback without an event loop; if it turns out to need one, again from the start."""
        from .loop import LoopNeeded

        if (self._needs_loop is None or not self._needs_loop(ctx.params)) and self.connects_blocking():
            running = click.Command.invoke(self, ctx)
            if not inspect.iscoroutine(running):
                return running
            try:
                running.send(None)
            except StopIteration as end:
                return end.value
            except LoopNeeded:
                pass
            else:
                running.close()
                raise RuntimeError(f"'{ctx.command_path}' waits for an event loop, and has none")
        return super().invoke(ctx)

    def connects_blocking(self) -> bool:
        """Return whether a blocking connection does for the settings of this run."""
        from .blocking import suits
        from .profile import resolve

        return suits(resolve(flags.session()))


class LocalCommand(RequestCommand):
    """A command that works on files and connects to nothing: it needs an event loop for questions only."""

    def connects_blocking(self) -> bool:
        """Return True, whatever the settings for connections are, since none is made."""
        return True


class CommandGroup(click.Group):
    """A group whose sub commands are rows of a table, and which accepts global flags."""

    command_class = Command

    def __init__(self, *args: Any, rows: Iterable[CommandRow] = (), **attributes: Any) -> None:
        attributes.setdefault("no_args_is_help", False)
        super().__init__(*args, **attributes)
        self.rows: dict[str, CommandRow] = {row.name: row for row in rows}
        self.aliases = {alias: row.name for row in self.rows.values() for alias in row.aliases}

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the group's own parameters and the global flags."""
        return _with_globals(super().get_params(ctx))

    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        """Return the flag of help."""
        return _paged(super().get_help_option(ctx))

    def add_alias(self, name: str, *aliases: str) -> None:
        """Give a sub command that was added with the decorator further names."""
        self.aliases.update(dict.fromkeys(aliases, name))

    def row(self, name: str) -> CommandRow | None:
        """Return the row with this name or alias; None if no row of the table has it."""
        return self.rows.get(self.aliases.get(name, name))

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names, without aliases and hidden rows."""
        hidden = {name for name, row in self.rows.items() if row.hidden}
        return sorted((self.rows.keys() | set(super().list_commands(ctx))) - hidden)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command with this name or alias. Its module is imported once."""
        name = self.aliases.get(cmd_name, cmd_name)
        found = super().get_command(ctx, name)
        if found is None and name in self.rows:
            found = load(self.rows[name])
            if found is not None:
                self.commands[name] = found
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolve as click does, but return the canonical name and suggest names for a wrong one."""
        name = args[0]
        command = self.get_command(ctx, name)
        if command is None:
            known = self.list_commands(ctx)
            near = errors.close_matches(name, known)
            ctx.fail(f'expected command but got "{name}"' + (f"; {near}" if near else ""))
        return self.aliases.get(name, name), command, args[1:]

    def invoke(self, ctx: click.Context) -> Any:
        """Run the sub command; without one, show which there are."""
        if not ctx.args and not ctx._protected_args and not self.invoke_without_command:
            click.echo(ctx.get_help(), err=True)
            raise errors.UsageError("a sub command from the list above is required")
        return super().invoke(ctx)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the names of sub commands that start so, from the table alone, and the group's flags."""
        from click.shell_completion import CompletionItem

        names = [name for name in self.list_commands(ctx) if name.startswith(incomplete)]
        items = [CompletionItem(name, help=self.summary(name)) for name in names]
        items += click.Command.shell_complete(self, ctx, incomplete)
        return _described(items + _complete_globals(incomplete))

    def summary(self, name: str) -> str:
        """Return a line about a sub command, without importing anything."""
        row = self.rows.get(name)
        return row.summary if row is not None else self.commands[name].get_short_help_str(limit=80)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the sub commands by section, without importing anything."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for name in self.list_commands(ctx):
            row = self.rows.get(name)
            if row is None and self.commands[name].hidden:
                continue
            section = (row.section if row is not None else "") or "Commands"
            aliases = sorted(alias for alias, target in self.aliases.items() if target == name)
            label = f"{name} ({', '.join(aliases)})" if aliases else name
            sections.setdefault(section, []).append((label, self.summary(name)))
        for section, lines in sections.items():
            with formatter.section(section):
                formatter.write_dl(lines, col_max=34)


def load(row: CommandRow) -> click.Command | None:
    """Import the command of a row.

    A built-in command that cannot be imported is a bug, and raises. A third party's is skipped with a
    warning.
    """
    module, _, attribute = row.target.partition(":")
    try:
        found = getattr(importlib.import_module(module), attribute)
        if not isinstance(found, click.Command):
            raise TypeError(f"{row.target} is not a click command")
    except Exception as error:
        if not row.origin:
            raise
        errors.warn(f'plugin "{row.name}" of {row.origin} is skipped: {type(error).__name__}: {error}')
        return None
    return found


def table_rows(package: str, rows: Sequence[tuple[str, str, str, tuple[str, ...]]]) -> list[CommandRow]:
    """Return rows for a family whose commands are in modules of `package`.

    rows: (name, module:attribute, summary, aliases).
    """
    return [
        CommandRow(name, f"{package}.{target}", summary, aliases) for name, target, summary, aliases in rows
    ]
