"""What the three commands share: documents, the APIs of domains on one connection, and errors in words."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...cli.connection import NatsConnection
from ...cli.errors import (
    CliError,
    DiffersError,
    NotFoundError,
    RefusedError,
    UnavailableError,
    UsageError,
    mistakes,
    warn,
)
from ...cli.jetstream import JsApi
from ...cli.proposal import in_hint

if TYPE_CHECKING:
    from ...documents.problem import DocumentError
    from ...keys import Workspace
    from ...provision.errors import ProvisionError
    from ...provision.identity.planner import IdentityPlan
    from ...provision.model import DomainDocument
    from ...provision.servers import ApiOf

FILES = click.option(
    "-f",
    "--file",
    "paths",
    multiple=True,
    type=click.Path(path_type=Path),
    help="A document, or a folder of documents; may be repeated.",
)
OWNER = click.option("--owner", default="", metavar="TEAM", help="The owner of documents that name none.")
MOST_NAMED = 5  # losses in a hint
PRUNE = click.option("--prune", is_flag=True, help="Delete what the owner has and no document declares.")


def apis(connection: NatsConnection) -> ApiOf:
    """Return the JetStream API of any domain by one connection; that of an empty name is the run's own."""

    def api_of(domain: str) -> JsApi:
        js = connection.js
        return js if not domain else JsApi(js.nc, f"$JS.{domain}.API", js.timeout, trace=js.trace)

    return api_of


def no_path(word: str, line: str) -> UsageError:
    """Return the error for a path of documents that stands where none may stand; `line`: what to type."""
    return UsageError(f"{word} is no option", f"documents are named by -f: {in_hint(line)}")


def documents(paths: Sequence[Path]) -> list[DomainDocument]:
    """Return the documents in files and folders. Raises CliError."""
    from ...provision.files import load

    if not paths:
        raise UsageError("no documents are given", "name a file or a folder with -f")
    with explained():
        return load(paths)


def identity(found: Sequence[DomainDocument]) -> tuple[IdentityPlan, Workspace] | None:
    """Return the plan for the accounts that documents declare, and nsc's folders; None without accounts."""
    if not any(each.accounts for each in found):
        return None
    from ...keys import NscDirectories, Workspace
    from ...provision.identity import planner

    with explained():
        operator, sections = planner.sections_of(found)
        workspace = Workspace.open(NscDirectories.locate(os.environ, Path.cwd()))
        workspace = workspace.with_operator(operator) if operator else workspace
        return planner.make(sections, workspace), workspace


def pruned(prune: bool, owner: str, found: Sequence[DomainDocument]) -> str:
    """Return the owner whose undeclared things are deleted. Raises UsageError without one.

    found: the documents; their owners are named to who gave none.
    """
    if prune and not owner:
        named = [f"--owner {each}" for each in sorted({each.owner for each in found if each.owner})]
        written = f"; the documents' own: {', '.join(named)}" if named else ""
        raise UsageError(
            "--prune needs --owner", f"only what carries the mark of an owner is ever deleted{written}"
        )
    owners = [each.owner or owner for each in found]
    if prune and owner not in owners:
        others = ", ".join(sorted(set(owners)))
        warn(
            f"no document is {owner}'s, they are {others}'s: all that {owner} has in these domains is to be "
            "deleted"
        )
    return owner if prune else ""


@contextmanager
def explained() -> Iterator[None]:
    """Turn errors of documents and plans into those of the command line."""
    from ...documents.problem import DocumentError
    from ...keys.errors import IdentityError
    from ...provision.errors import ProvisionError

    try:
        yield
    except DocumentError as error:
        raise _mistakes(error) from None
    except IdentityError as error:
        raise CliError(str(error)) from None
    except ProvisionError as error:
        raise _refused(error) from None
    except FileNotFoundError as error:
        raise NotFoundError(f"there is no {error.filename}") from None


def _mistakes(error: DocumentError) -> CliError:
    """Return mistakes in documents as an error; several are shown at once, and the error counts them."""
    from ...provision.files import DocumentErrors

    errors = error.errors if isinstance(error, DocumentErrors) else [error]
    found = [(problem.text(each.file), problem.hint) for each in errors for problem in each.problems]
    where = f" in {len(errors)} documents" if len(errors) > 1 else ""
    return mistakes(found, "nothing was done", where)


def _refused(error: ProvisionError) -> CliError:
    from ...provision.errors import LossError, StateChangedError, UnreadableError

    for reason in error.reasons:
        click.echo(reason, err=True)
    if isinstance(error, LossError):
        flags = " ".join(f"--allow-loss {shlex.quote(title)}" for title in error.titles[:MOST_NAMED])
        others = len(error.titles) - MOST_NAMED
        more = f" and {others} more" if others > 0 else ""
        return RefusedError(error.message, f"{flags}{more} allows it; --allow-loss all allows everything")
    if isinstance(error, StateChangedError):
        return DiffersError(error.message)
    if isinstance(error, UnreadableError):
        return UnavailableError(error.message)
    return RefusedError(error.message)
