"""Reading a document for a command, with the connection that the line names, and reporting its mistakes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...cli import context, flags, profile
from ...cli.errors import CliError, NotFoundError, mistakes

if TYPE_CHECKING:
    from ...documents.problem import DocumentError
    from ...pipeline.declared.options import Overlay
    from ...pipeline.declared.reading import LoadedDocument

INSTALL = "pip install 'pyjs[spark]'"
# Global flags, and the equivalent options of the data source.
OPTIONS = {
    "server": "servers",
    "context": "context",
    "user": "user",
    "password": "password",
    "token": "token",
    "creds": "creds",
    "nkey": "nkey",
    "tlscert": "tlsCert",
    "tlskey": "tlsKey",
    "tlsca": "tlsCa",
    "tlsfirst": "tlsFirst",
    "timeout": "timeout",
    "js-api-prefix": "jsApiPrefix",
    "js-domain": "domain",
    "inbox-prefix": "inboxPrefix",
}


def _validated(_context: click.Context, _param: click.Parameter, value: str) -> str:
    """Return a trigger that a document could have. Raises click.BadParameter."""
    try:
        from ...pipeline.declared.document import AVAILABLE_NOW, BATCH
        from ...pipeline.declared.section import milliseconds
    except ImportError as error:
        raise lacking(error) from None
    try:
        if value not in {"", AVAILABLE_NOW, BATCH}:
            milliseconds(value)
    except ValueError as error:
        raise click.BadParameter(f"{error}, nor {BATCH} or {AVAILABLE_NOW}") from None
    return value


TRIGGER = click.option(
    "--trigger",
    default="",
    callback=_validated,
    metavar="WHEN",
    help='batch, availableNow, or how often, such as "10s"; before the document\'s.',
)


def _variables(_context: click.Context, _param: click.Parameter, value: tuple[str, ...]) -> dict[str, str]:
    """Return NAME=VALUE words as a dict. Raises click.BadParameter."""
    found = {}
    for word in value:
        name, mark, text = word.partition("=")
        if not mark or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
            raise click.BadParameter(f'"{word}" is not NAME=VALUE')
        found[name] = text
    return found


SET = click.option(
    "--set",
    "given",
    multiple=True,
    callback=_variables,
    metavar="NAME=VALUE",
    help="The value of a variable ${NAME} of the document, before the environment's; repeatable.",
)
FILE = click.argument("file", type=click.Path(path_type=Path))


def loaded(
    file: Path,
    *,
    trigger: str = "",
    given: Mapping[str, str] | None = None,
    implied: Mapping[str, str] | None = None,
) -> LoadedDocument:
    """Return the document in `file`, with the values of variables that are given or implied.

    Raises DocumentError, CliError.
    """
    try:
        from ...pipeline.declared import reading
        from ...pipeline.declared.variables import Variables
    except ImportError as error:
        raise lacking(error) from None
    try:
        variables = Variables(given or {}, implied or {})
        return reading.load(file, trigger=trigger, overlay=overlay(), variables=variables)
    except FileNotFoundError:
        raise NotFoundError(f"there is no {file}", "'pyjs pipeline init' writes one to start from") from None
    except OSError as error:
        raise CliError(f"cannot read {file}: {error.strerror}") from None


def lacking(error: ImportError) -> CliError:
    """Return the error for a package that is not installed."""
    return CliError(f"pipelines need packages that are not installed ({error.name})", INSTALL)


def playable(loaded: LoadedDocument) -> None:
    """Raise DocumentError for what the document's session cannot do."""
    from ...documents.problem import DocumentError
    from ...pipeline.declared import engine

    problems = engine.problems(loaded)
    if problems:
        raise DocumentError(str(loaded.file), problems)


def refused(error: DocumentError) -> CliError:
    """Return a document's mistakes as an error of the command line."""
    return mistakes([(each.text(error.file), each.hint) for each in error.problems], "nothing was run")


def overlay() -> Overlay:
    """Return the connection that flags, or else the environment and the selected context, describe."""
    from ...pipeline.declared.options import Overlay

    session = flags.session()
    given = _options(session.given)
    if session.given.get("no-context"):
        given.pop("context", None)
    settings, _ = profile.given(session)
    ambient = _options(settings)
    selected = "" if session.given.get("no-context") else context.selected()
    if "context" not in ambient and selected:
        ambient["context"] = selected
    if "context" not in ambient:
        ambient.setdefault("servers", context.DEFAULT_URL)
    return Overlay(given, ambient)


def _options(settings: dict[str, object]) -> dict[str, str]:
    found = {OPTIONS[name]: _text(name, value) for name, value in settings.items() if name in OPTIONS}
    if "user" in found and "password" not in found:  # as in `nats`, a user without a password is a token
        found["token"] = found.pop("user")
    return found


def _text(name: str, value: object) -> str:
    if name == "timeout" and isinstance(value, int):
        return f"{value // 1_000_000}ms"
    return str(value).lower() if isinstance(value, bool) else str(value)
