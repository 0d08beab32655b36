"""The command classes of `pyjs nsc`: nsc's global flags, and its way of reading flags and of ending.

`run()` returns what the flags say, `open_workspace()` opens the folders they name, and `finish(result)`
reports what was done. Flags are read as nsc's library reads them: `--bearer=false`, lists with commas, counts
that may be left out.
"""

from __future__ import annotations

import csv
import json
import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import click
from click.core import ParameterSource

from ...cli.command import Command, CommandGroup, LocalCommand
from ...cli.errors import CliError, ExitCode, tell
from ...cli.flags import session
from ...keys.errors import IdentityError, WorkspaceError

if TYPE_CHECKING:  # claims import pydantic, which a page of help does not need
    from ...keys import OperationReport, Workspace
    from ...keys.folders.locations import NscDirectories

_KEY = "pyjs.nsc"
_DIRS = {
    "config-dir": "nsc config directory",
    "data-dir": "nsc data store directory",
    "keystore-dir": "nsc keystore directory",
}


@dataclass(slots=True)
class NscRun:
    """The values of the global flags of one run."""

    private_key: str = ""
    interactive: bool = False
    json: bool = False
    config_dir: str = ""
    data_dir: str = ""
    keystore_dir: str = ""
    all_dirs: str = ""


class OperationResult(Protocol):
    """The result of an operation: a dataclass with a report, and facts as its other fields.

    Fields that its repr leaves out are not reported.
    """

    @property
    def report(self) -> OperationReport:
        """The report about what was done."""


def run() -> NscRun:
    """Return the global flags of the command that is running."""
    return run_of(click.get_current_context())


def run_of(context: click.Context) -> NscRun:
    """Return the global flags of a line, as far as it has been read."""
    found = context.meta.setdefault(_KEY, NscRun())
    assert isinstance(found, NscRun)
    return found


def directories() -> NscDirectories:
    """Return the folders that flags, environment and defaults name. Raises FolderError."""
    return directories_of(run())


def directories_of(flags: NscRun) -> NscDirectories:
    """Return the folders that these flags, environment and defaults name. Raises FolderError."""
    from ...keys.folders.locations import NscDirectories

    return NscDirectories.locate(
        os.environ,
        Path.cwd(),
        config_dir=flags.config_dir,
        data_dir=flags.data_dir,
        keystore_dir=flags.keystore_dir,
        all_dirs=flags.all_dirs,
    )


def open_workspace(*, layout: bool = True) -> Workspace:
    """Open the workspace of this run. Raises FolderError."""
    from ...keys import Workspace

    return Workspace.open(directories(), now=time.time_ns, private_key=run().private_key, layout=layout)


def finish(result: OperationResult) -> None:
    """Report what an operation did: its report, or with `--json` one object that has the facts too.

    It goes to stdout; if something failed it goes to stderr, and the run ends with exit code 1.
    """
    report = result.report
    last = report.summed_up()
    if run().json:
        click.echo(json.dumps(_document(result), indent=2, ensure_ascii=False))
    elif report.children:
        (tell if report.failed else click.echo)(report.render())
        if last and not report.failed:
            click.echo(last)
    if report.failed:
        raise _ended(last)


def _document(result: OperationResult) -> dict[str, Any]:
    shown = (field.name for field in fields(result) if field.repr and field.name != "report")  # type: ignore[arg-type]
    return {
        **{name: _plain(getattr(result, name)) for name in shown},
        "report": result.report.document(),
    }


def _plain(value: Any) -> Any:
    if hasattr(value, "document"):
        return value.document()
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item) for item in value]
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def _ended(text: str, code: ExitCode = ExitCode.FAILED) -> click.exceptions.Exit:
    tell(f"Error: {text}")
    return click.exceptions.Exit(code)


def _failed(error: IdentityError | CliError) -> click.exceptions.Exit:
    """Report an error as nsc does, with what was found out before it; return the exit."""
    found = error.report if isinstance(error, WorkspaceError) else None
    if run().json:
        document: dict[str, Any] = {"error": str(error)}
        if found is not None:
            document["report"] = found.document()
        click.echo(json.dumps(document, indent=2, ensure_ascii=False))
    elif found is not None and found.children:
        tell(found.render())
    end = _ended(str(error), error.exit_code if isinstance(error, CliError) else ExitCode.FAILED)
    for hint in error.hints if isinstance(error, CliError) else ():
        tell(f"hint: {hint}")
    return end


class BareOption(click.Option):
    """An option whose value may be left out, as in `--bearer`, `--bearer=false` and `--count=3`.

    A value must be attached with `=`.

    bare: the value that stands for one that is left out.
    """

    def __init__(self, *args: Any, bare: str = "true", **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        self.bare = bare


def switch(*names: str, default: bool | None = False, text: str, **more: Any) -> Callable[..., Any]:
    """Return an option that is true or false; with `default=None` it can be seen whether it was given."""
    return click.option(
        *names, cls=BareOption, type=click.BOOL, default=default, metavar="", help=text, **more
    )


def renamed(*names: str, text: str, instead: str, **more: Any) -> Callable[..., Any]:
    """Return an option under an older name of nsc's; its use gets a warning on stderr."""

    def warned(context: click.Context, param: click.Parameter, value: Any) -> Any:
        if value is not None and context.get_parameter_source(str(param.name)) is ParameterSource.COMMANDLINE:
            tell(f"Flag {param.opts[0]} has been deprecated, {instead}")
        return value

    return click.option(*names, default=None, callback=warned, help=text, **more)


def options_of(*decorators: Callable[..., Any]) -> list[click.Parameter]:
    """Return the options that these decorators would add to a command, for a group."""

    def command() -> None:
        """Take the options."""

    for decorator in reversed(decorators):
        decorator(command)
    return list(reversed(getattr(command, "__click_params__", [])))


def listed(*names: str, text: str, **more: Any) -> Callable[..., Any]:
    """Return an option that may be repeated and takes a list with commas; its value is a tuple of str."""
    return click.option(*names, multiple=True, callback=_split, metavar="TEXT,...", help=text, **more)


def _split(context: click.Context, param: click.Parameter, values: Iterable[str]) -> tuple[str, ...]:
    try:
        return tuple(
            item.strip() for row in csv.reader((v for v in values if v), strict=True) for item in row
        )
    except csv.Error as error:
        raise click.BadParameter(f"not a list with commas: {error}", context, param) from None


def _globals(taken: set[str]) -> list[click.Option]:
    """Return the global flags of nsc, without the spellings that a command uses itself."""

    def option(name: str, short: str, text: str, **more: Any) -> click.Option | None:
        spellings = [s for s in (f"--{name}", short) if s and s not in taken]
        if not spellings:
            return None
        field = name.replace("-", "_")

        def file(context: click.Context, _param: click.Parameter, value: Any) -> None:
            if value is not None:
                setattr(run_of(context), field, value)
                if value is True and field == "interactive":
                    session().asking.add(f"--{name}")

        shared = {"expose_value": False, "callback": file, "help": text, "hidden": True, "default": None}
        return more.pop("cls", click.Option)([*spellings, f"nsc_{field}"], **shared, **more)  # type: ignore[no-any-return]

    made = [
        option("private-key", "-K", "Key that signs: a role, a public key, a seed, or a file", metavar="KEY"),
        option("interactive", "-i", "Ask for what is not given", cls=BareOption, type=click.BOOL),
        option("all-dirs", "-H", "Directory of configuration, stores and keys together", metavar="DIR"),
        *(option(name, "", text, metavar="DIR") for name, text in _DIRS.items()),
        option("json", "", "Tell what was done as JSON", cls=BareOption, type=click.BOOL),
    ]
    return [one for one in made if one is not None]


def _with_globals(params: list[click.Parameter], ctx: click.Context) -> list[click.Parameter]:
    made = ctx.meta.setdefault("pyjs.nsc.globals", {})
    if id(ctx) not in made:
        made[id(ctx)] = _globals({text for p in params for text in (*p.opts, *p.secondary_opts)})
    return [*params, *made[id(ctx)]]


def _spelled_out(args: list[str], params: Iterable[click.Parameter], *, whole: bool) -> list[str]:
    """Return the words of a line with every left-out value filled in.

    whole: whether options may come after arguments too.
    """
    options = {text: p for p in params if isinstance(p, click.Option) for text in p.opts}
    result: list[str] = []
    words = iter(args)
    for word in words:
        if word == "--" or not (whole or word.startswith("-")):
            return [*result, word, *words]
        if word.startswith("--"):
            filled, waiting = _filled(word, options)
        elif word.startswith("-") and len(word) > 1:
            filled, waiting = _letters(word, options)
        else:
            filled, waiting = [word], False
        result += filled
        if waiting:
            result += [following for following in [next(words, None)] if following is not None]
    return result


def _filled(word: str, options: dict[str, click.Option]) -> tuple[list[str], bool]:
    """Return (a long option, with its value if that can be left out; whether the next word is its value)."""
    name, equals, _ = word.partition("=")
    known = options.get(name)
    if isinstance(known, BareOption):
        return [word if equals else f"{name}={known.bare}"], False
    return [word], known is not None and not equals and not known.is_flag


def _letters(word: str, options: dict[str, click.Option]) -> tuple[list[str], bool]:
    """Return (short options written together, one by one; whether the next word is the last one's value)."""
    name, _, value = word.partition("=")
    done: list[str] = []
    letters = name[1:]
    for at, letter in enumerate(letters):
        known = options.get(f"-{letter}")
        if not isinstance(known, BareOption):
            rest = word[1 + at :]
            if rest[1:2] == "=":
                return [*done, f"-{letter}", rest[2:]], False
            waiting = known is not None and len(rest) == 1 and not known.is_flag
            return [*done, f"-{rest}"], waiting
        text = value if at == len(letters) - 1 and value else known.bare
        longest = max(known.opts, key=len)
        done.append(f"{longest}={text}" if longest.startswith("--") else longest + text)
    return done, False


class NscCommand(Command):
    """A command of nsc, with its global flags. Errors end it with `Error: …` and exit code 1."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the command's own parameters and nsc's global flags."""
        return _with_globals(click.Command.get_params(self, ctx), ctx)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse as click does, with values that may be left out."""
        return super().parse_args(ctx, _spelled_out(args, self.get_params(ctx), whole=True))

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; report an error as nsc does."""
        try:
            return super().invoke(ctx)
        except (IdentityError, CliError) as error:
            raise _failed(error) from None

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the global flags of nsc."""
        click.Command.format_epilog(self, ctx, formatter)
        _describe_globals(ctx, formatter)


class NscLocalCommand(NscCommand, LocalCommand):
    """A command that connects to nothing. Its questions come before anything is changed."""


class NscGroup(CommandGroup):
    """A group of nsc's commands."""

    command_class = NscCommand

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the group's own parameters and nsc's global flags."""
        return _with_globals(click.Group.get_params(self, ctx), ctx)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse as click does, with values that may be left out."""
        return super().parse_args(ctx, _spelled_out(args, self.get_params(ctx), whole=False))

    def invoke(self, ctx: click.Context) -> Any:
        """Run the sub command; without one, show the help, as nsc does.

        What the group's own flags say becomes the default of the same flags of the sub command.
        """
        if not ctx.args and not ctx._protected_args:
            click.echo(ctx.get_help())
            return None
        given = {
            name: value
            for name, value in ctx.params.items()
            if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE
        }
        ctx.default_map = {self.aliases.get(word, word): given for word in ctx._protected_args}
        return super().invoke(ctx)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the global flags of nsc."""
        click.Group.format_epilog(self, ctx, formatter)
        _describe_globals(ctx, formatter)


def _describe_globals(ctx: click.Context, formatter: click.HelpFormatter) -> None:
    lines = [(", ".join(reversed(option.opts)), option.help or "") for option in _globals(set())]
    with formatter.section("Flags of all nsc commands, accepted anywhere on the line"):
        formatter.write_dl(lines, col_max=34)
