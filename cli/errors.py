"""The errors of the command line, and how they are reported.

Promises: every failure is reported as one line `pyjs: error: <what>` on stderr, with optional `hint:` lines
that say what to do, and ends with one of the exit codes below. There is never a traceback for something that
the user or the server did.
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Callable, Iterable
from typing import Any

import click

EXIT_OK = 0  # done, help was asked for, or the user declined a confirmation
EXIT_ERROR = 1  # everything else, including usage errors, as `nats` does
# Commands like `server check` use 1, 2, 3 for warning, critical, unknown; they exit themselves.

PROGRAM = "pyjs"
INTERRUPTED = "interrupt"


class CliError(Exception):
    """An error that the user can act on.

    hints: whole sentences, shown on a line each.
    """

    def __init__(self, message: str, *hints: str, exit_code: int = EXIT_ERROR) -> None:
        super().__init__(message)
        self.message = message
        self.hints = tuple(hint for hint in hints if hint)
        self.exit_code = exit_code


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

    def while_doing(self, doing: str, *hints: str) -> RemoteError:
        """Return the same error with the failed action in front, e.g. `could not create Stream`."""
        return RemoteError(self.code, self.err_code, self.description, *(hints or self.hints), doing=doing)


class InterruptedRunError(CliError):
    """Ctrl-C was pressed at a prompt or during an operation; nothing more was changed."""

    def __init__(self) -> None:
        super().__init__(INTERRUPTED)


def close_matches(word: str, known: Iterable[str]) -> str:
    """Return a hint with the known words nearest to `word`, or an empty string."""
    names = sorted(known)
    folded = {name.lower(): name for name in names}
    near = difflib.get_close_matches(word.lower(), list(folded), n=3, cutoff=0.6)
    if not near:
        return ""
    return "did you mean " + " or ".join(folded[name] for name in near) + "?"


def say(error: CliError) -> None:
    """Write an error and its hints to stderr."""
    click.echo(f"{PROGRAM}: error: {error.message}", err=True)
    for hint in error.hints:
        click.echo(f"hint: {hint}", err=True)


def warn(text: str) -> None:
    """Write a warning to stderr."""
    click.echo(f"{PROGRAM}: warning: {text}", err=True)


def say_usage(error: click.UsageError) -> None:
    """Write a usage error: what is wrong, how the command is called, and where help is."""
    click.echo(f"{PROGRAM}: error: {error.format_message()}", err=True)
    if error.ctx is not None:
        click.echo("", err=True)
        click.echo(error.ctx.get_usage(), err=True)
        click.echo(f"Try '{error.ctx.command_path} --help' for help.", err=True)


def run(action: Callable[[], Any]) -> int:
    """Run a command line and turn whatever it raises into its exit code. Nothing else does this."""
    try:
        result = action()
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.ctx.get_help() if error.ctx else "", err=True)
        return EXIT_ERROR
    except click.UsageError as error:
        say_usage(error)
        return EXIT_ERROR
    except click.ClickException as error:
        say(CliError(error.format_message()))
        return EXIT_ERROR
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except (click.Abort, KeyboardInterrupt):
        say(InterruptedRunError())
        return EXIT_ERROR
    except CliError as error:
        say(error)
        return error.exit_code
    except BrokenPipeError:
        # The reader of our output is gone (`pyjs … | head`), which is not an error.
        sys.stderr.close()
        return EXIT_ERROR
    except OSError as error:
        say(CliError(str(error)))
        return EXIT_ERROR
    except Exception as error:
        if not _of_client(error):
            raise
        say(CliError(str(error)))
        return EXIT_ERROR
    return result if isinstance(result, int) and not isinstance(result, bool) else EXIT_OK


def _of_client(error: Exception) -> bool:
    # the reports of nats-py about a subject, a lost connection or a server, recognised without importing it
    client = sys.modules.get("nats.errors")
    return client is not None and isinstance(error, client.Error)
