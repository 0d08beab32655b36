"""The errors of the command line, and how they are reported.

Promises: every failure is reported as one line `pyjs: error: <what>` on stderr, with optional `hint:` lines
that say what to do, and ends with one of the exit codes below. There is never a traceback for something that
the user or the server did. Seeds and tokens are never repeated.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from ..client import ClientError

PROGRAM = "pyjs"
INTERRUPT = "interrupt"


class ExitCode(IntEnum):
    """How a run ended. `nats` ends every failure with 1: a script that only looks for failure sees the same.

    `pyjs server check` has the codes of monitoring systems: 0 fine, 1 warning, 2 critical, 3 unknown.
    """

    OK = 0  # done, help was asked for, or the answer to a confirmation was no
    FAILED = 1  # everything that has no code of its own
    USAGE = 2  # the line is wrong: a flag, an argument, or a question that nobody is there to answer
    NOT_FOUND = 3  # what was named does not exist
    REFUSED = 4  # a server understood and said no: who one is, what one may do, or a limit
    DIFFERS = 5  # a comparison found differences: `edit --dry-run`, `plan`
    UNAVAILABLE = 6  # nobody answered: no server, no JetStream, no leader, or not in time; later it may work
    WARNINGS = 7  # an examination found warnings, and nothing worse
    ERRORS = 8  # an examination found errors
    INTERRUPTED = 130  # Ctrl-C
    BROKEN_PIPE = 141  # the reader of the output went away, as in `pyjs … | head`


class CliError(Exception):
    """An error that the user can act on.

    hints: whole sentences, shown on a line each.
    """

    exit_code = ExitCode.FAILED

    def __init__(self, message: str, *hints: str) -> None:
        super().__init__(message)
        self.message = message
        self.hints = tuple(hint for hint in hints if hint)


class UsageError(CliError):
    """The line is wrong: flags that do not go together, a value that is none, something that is missing."""

    exit_code = ExitCode.USAGE


class NotFoundError(CliError):
    """What was named does not exist."""

    exit_code = ExitCode.NOT_FOUND


class RefusedError(CliError):
    """A server refused the login or the request."""

    exit_code = ExitCode.REFUSED


class UnavailableError(CliError):
    """Nobody answered, or not in time."""

    exit_code = ExitCode.UNAVAILABLE


class DiffersError(CliError):
    """A comparison found differences; the message says what was compared."""

    exit_code = ExitCode.DIFFERS


class RemoteError(CliError):
    """The JetStream API answered with an error: an HTTP-like `code`, an `err_code` and a `description`.

    The text is `description (err_code)`, which is what users of `nats` search for.
    """

    def __init__(self, code: int, err_code: int, description: str, *hints: str, doing: str = "") -> None:
        text = f"{description} ({err_code})" if err_code else description
        super().__init__(f"{doing}: {text}" if doing else text, *hints)
        self.code = code
        self.err_code = err_code
        self.description = description
        self.exit_code = _of_status(code, err_code)

    def while_doing(self, doing: str, *hints: str) -> RemoteError:
        """Return the same error with the failed action in front, e.g. `could not create Stream`."""
        return RemoteError(self.code, self.err_code, self.description, *(hints or self.hints), doing=doing)


SEQUENCE_NOT_FOUND = 10043  # which servers answer with the status 400


def _of_status(code: int, err_code: int) -> ExitCode:
    """Return the exit code for the status of an API's answer."""
    if code == 404 or err_code == SEQUENCE_NOT_FOUND:
        return ExitCode.NOT_FOUND
    if code == 503:
        return ExitCode.UNAVAILABLE
    return ExitCode.REFUSED if 400 <= code < 500 else ExitCode.FAILED


class InterruptedRunError(CliError):
    """Ctrl-C was pressed at a prompt or during an operation; nothing more was changed.

    done: what had been done by then.
    """

    exit_code = ExitCode.INTERRUPTED

    def __init__(self, done: str = "") -> None:
        super().__init__(f"{INTERRUPT}: {done}" if done else INTERRUPT)


def mistakes(found: Sequence[tuple[str, str]], outcome: str, where: str = "") -> CliError:
    """Return the mistakes of documents as one error: a single one, or how many were written to stderr.

    found: what is wrong and where, and a hint that may be empty.
    outcome: what follows from it, such as `nothing was done`.
    where: where several are, such as ` in 2 documents`.
    """
    if len(found) == 1:
        return CliError(*found[0])
    for text, hint in found:
        tell(f"{text} ({hint})" if hint else text)
    return CliError(f"{len(found)} mistakes{where}: {outcome}")


def close_matches(word: str, known: Iterable[str]) -> str:
    """Return a hint with the known words nearest to `word`, or an empty string."""
    import difflib

    names = sorted(known)
    folded = {name.lower(): name for name in names}
    near = difflib.get_close_matches(word.lower(), list(folded), n=3, cutoff=0.6)
    if not near:
        return ""
    return "did you mean " + " or ".join(folded[name] for name in near) + "?"


def say(error: CliError) -> None:
    """Write an error and its hints to stderr."""
    tell(f"{PROGRAM}: error: {error.message}")
    for hint in error.hints:
        tell(f"hint: {hint}")


def warn(text: str) -> None:
    """Write a warning to stderr."""
    tell(f"{PROGRAM}: warning: {text}")


def say_usage(error: click.UsageError) -> None:
    """Write a usage error: what is wrong, how the command is called, and where help is."""
    tell(f"{PROGRAM}: error: {error.format_message()}")
    if error.ctx is not None:
        tell("")
        tell(error.ctx.get_usage())
        tell(f"Try '{error.ctx.command_path} --help' for help.")


def tell(text: str) -> None:
    """Write to stderr, on a terminal in lines broken at blanks.

    A seed or token that was given in a wrong place is not repeated.
    """
    from ..keys.errors import without_secrets

    text = without_secrets(text)
    if sys.stderr.isatty():
        from .output import folding

        text = folding.said(text)
    click.echo(text, err=True)


def run(action: Callable[[], Any]) -> int:
    """Run a command line and turn whatever it raises into its exit code. Nothing else does this."""
    try:
        result = action()
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.ctx.get_help() if error.ctx else "", err=True)
        return ExitCode.USAGE
    except click.UsageError as error:
        say_usage(error)
        return ExitCode.USAGE
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except (click.Abort, KeyboardInterrupt):
        return _ended(InterruptedRunError())
    except SystemExit:
        # The reader of our output is gone (`pyjs … | head`): click ends the run so, after it has put a
        # stream in place of stdout that flushes in silence. Its class is private and is known by its name.
        if type(sys.stdout).__name__.lstrip("_") == "PacifyFlushWrapper":
            return ExitCode.BROKEN_PIPE
        raise
    except Exception as error:
        return _ended(_known(error))
    return result if isinstance(result, int) and not isinstance(result, bool) else ExitCode.OK


def of_client(error: ClientError) -> CliError:
    """Return an error of the client in its words, with the exit code of what happened."""
    from ..client import errors

    if isinstance(error, errors.NotPermitted):
        return RefusedError(str(error))
    if isinstance(error, errors.SecretNotFoundError):
        return NotFoundError(str(error))
    lost = errors.TimedOut, errors.NoResponders, errors.ConnectionLost
    return (UnavailableError if isinstance(error, lost) else CliError)(str(error))


def _ended(error: CliError) -> ExitCode:
    say(error)
    return error.exit_code


def _known(error: Exception) -> CliError:
    """Return an error that the user or the server made in our words; another one is a bug, and raised."""
    if isinstance(error, CliError):
        return error
    if isinstance(error, click.ClickException):
        return CliError(error.format_message())
    from ..keys import errors as identity

    if isinstance(error, identity.IdentityError):
        return (NotFoundError if isinstance(error, identity.NotFoundError) else CliError)(str(error))
    if isinstance(error, RecursionError):  # of JSON that somebody sent or wrote: nothing of ours goes so deep
        return CliError("what was read is nested too deeply")
    from ..client import errors as client_errors

    if isinstance(error, client_errors.ClientError):
        return of_client(error)
    # the reports of nats-py about a subject, a lost connection or a server, recognised without importing it
    client = sys.modules.get("nats.errors")
    if client is not None and isinstance(error, client.Error):
        gone = client.TimeoutError, client.NoRespondersError, client.ConnectionClosedError
        return (UnavailableError if isinstance(error, gone) else CliError)(str(error))
    if isinstance(error, OSError):
        return (NotFoundError if isinstance(error, FileNotFoundError) else CliError)(str(error))
    raise error
