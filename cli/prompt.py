"""Questions on a terminal, in the style of `nats`.

Promises: it asks only if stdin and stdout are terminals, or if the run has `replies`, which are asked
instead. Otherwise a question with a default takes it, and one without is an error that names the flag which
answers it. An answered question stays on the screen as `? Question answer`. `?` explains. Ctrl-C ends the run
with `interrupt`. Every answer is noted with its flag, so that the same run can be shown as one command
(`equivalent`).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, TypeVar, overload

import click

from . import flags, proposal
from .errors import PROGRAM, CliError, InterruptedRunError, NotFoundError, UsageError, close_matches
from .loop import need_loop
from .output.terminal import styled

T = TypeVar("T")
HELP_KEY = "?"


def interactive() -> bool:
    """Return whether questions can be asked: there are `replies`, or stdin and stdout are terminals."""
    return flags.session().replies is not None or (sys.stdin.isatty() and sys.stdout.isatty())


def note(flag: str, *values: str) -> None:
    """Note that `flag` (an argument, if it is empty) with these values would have answered a question."""
    session = flags.session()
    session.answers.append((flag, list(values)))
    context = click.get_current_context(silent=True)
    if context is not None:
        params = context.command.get_params(context)
        session.options = [param for param in params if isinstance(param, click.Option)]


def whole(answer: str) -> int:
    """Return the whole number that was answered, for `text(check=…)`. Raises ValueError in plain words."""
    try:
        return int(answer)
    except ValueError:
        raise ValueError(f'"{answer}" is not a whole number') from None


def equivalent(run: flags.CliSession) -> str:
    """Return the command line that does what `run` did without asking; empty if nothing was asked.

    It has the flags that were typed, but no password, token or seed.
    """
    if not run.answers:
        return ""
    replaced = {flag for flag, _ in run.answers if flag} | run.asking
    words = _without(proposal.typed(run), replaced, run.options)
    for flag, values in run.answers:
        for value in values:
            words += [value] if not flag else [f"{flag}={value}"]
        if flag and not values:
            words.append(flag)
    return " ".join([PROGRAM, *map(proposal.quoted, words)])


def _without(words: list[str], replaced: set[str], options: Sequence[click.Option]) -> list[str]:
    """Return the typed words without the flags (in any spelling, with values) that answers replace."""
    gone: dict[str, bool] = dict.fromkeys(replaced, True)  # spelling to whether the next word is its value
    for option in options:
        spellings = [*option.opts, *option.secondary_opts]
        if replaced.intersection(spellings):
            valued = not option.is_flag and not option.count and not hasattr(option, "bare")
            gone |= dict.fromkeys(spellings, valued)
    kept: list[str] = []
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word in gone:
            skip = gone[word]
        elif word.partition("=")[0] not in gone:
            kept.append(word)
    return kept


@overload
async def text(
    message: str, *, flag: str, default: str | None = ..., explain: str = ..., required: bool = ...
) -> str: ...


@overload
async def text(
    message: str,
    *,
    flag: str,
    default: str | None = ...,
    explain: str = ...,
    required: bool = ...,
    check: Callable[[str], T],
) -> T: ...


async def text(
    message: str,
    *,
    flag: str,
    default: str | None = None,
    explain: str = "",
    required: bool = False,
    check: Callable[[str], Any] | None = None,
) -> Any:
    """Ask for a line of text.

    default: None if there is none.
    check: converts the text to a value; a ValueError or click.BadParameter has it asked again.
    flag: what would have answered: `--flag`, the name of an argument in angle brackets such as `<STREAM>`, or
        empty if the caller notes the answer itself.
    """
    if not interactive():
        if default is None or (required and not default):
            raise needed(message, flag)
        return check(default) if check else default
    while True:
        given = await _ask_text(message, default, explain)
        answer = given or default or ""
        if given == HELP_KEY:
            click.echo(f"  {explain or 'no further help'}")
            continue
        if required and not answer:
            click.echo("  a value is required")
            continue
        try:
            value = check(answer) if check else answer
        except (ValueError, click.UsageError) as error:
            click.echo(f"  {error.message if isinstance(error, click.UsageError) else error}")
            continue
        _echo_answer(message, answer)
        _note_answer(flag, answer)
        return value


async def choose(
    message: str,
    choices: Sequence[tuple[str, str]],
    *,
    flag: str,
    default: str,
    explain: str = "",
    noted: Mapping[str, str] | None = None,
) -> str:
    """Ask for one of `choices` ((label shown, value returned)) and return its value.

    Arrows move, typing filters, `?` explains. `default` is a value. `noted` maps values to what the flag
    calls them.
    """
    if not interactive():
        return default
    labels = {value: label for label, value in choices}
    value = await _ask_select(message, [label for label, _ in choices], labels[default], explain)
    chosen = next(v for label, v in choices if label == value)
    _echo_answer(message, value)
    _note_answer(flag, noted[chosen] if noted else chosen)
    return chosen


async def choose_many(message: str, choices: Sequence[str], *, flag: str) -> list[str]:
    """Ask for any number of `choices`; without a terminal, return none.

    Arrows move, space marks, enter ends.
    """
    if not interactive():
        return []
    chosen = await _ask_many(message, choices)
    _echo_answer(message, ", ".join(chosen))
    for value in chosen:
        _note_answer(flag, value)
    return chosen


async def confirm(message: str, *, default: bool = False, flag: str = "", explain: str = "") -> bool:
    """Ask yes or no; without a terminal, return the default. A `flag` is noted as `--flag` or `--no-flag`."""
    if not interactive():
        return default
    while True:
        given = (await _ask_text(message, "Y/n" if default else "y/N", explain)).strip().lower()
        if given == HELP_KEY:
            click.echo(f"  {explain or 'answer y or n'}")
        elif given in ("", "y", "yes", "n", "no"):
            break
    answer = default if not given else given.startswith("y")
    _echo_answer(message, "Yes" if answer else "No")
    if flag:
        note(flag if answer else "--no-" + flag.removeprefix("--"))
    return answer


async def sure(message: str, *, forced: bool, flag: str = "--force") -> bool:
    """Ask for confirmation of something that cannot be undone.

    `forced` skips the question; without a terminal it is refused.
    """
    if forced:
        return True
    if not interactive():
        raise UsageError("cannot ask for confirmation without a terminal", f"{flag} does it without asking")
    answer = await confirm(message)
    if answer:
        note(flag)
    return answer


async def pick(kind: str, names: Sequence[str], *, given: str = "", argument: str = "") -> str:
    """Return one of the existing names: the one `given`, else the answer to `Select a <kind>`.

    A watch, which does the same again and again, asks once.

    Raises CliError if there are none, or if there is no terminal to choose on.
    """
    if given:
        return given
    label = argument or f"<{kind.upper()}>"
    if not names:
        raise NotFoundError(f"no {kind}s are defined")
    if not interactive():
        raise UsageError(
            f"cannot pick {one(kind)} without a terminal and no {kind} name supplied", f"give it as {label}"
        )
    picked = flags.session().picked
    if picked is not None and label in picked:
        return picked[label]
    name = await choose(f"Select {one(kind)}", [(name, name) for name in names], flag=label, default=names[0])
    if picked is not None:
        picked[label] = name
    return name


def one(kind: str) -> str:
    """Return a kind of thing with its article."""
    return f"an {kind}" if kind[0] in "AEIO" else f"a {kind}"


def needed(message: str, flag: str) -> CliError:
    """Return the error for a question without a default that cannot be asked."""
    return UsageError(f'cannot ask for "{message}" without a terminal', f"give it as {flag}")


def no_match(kind: str, name: str, known: Sequence[str]) -> CliError:
    """Return the error for an unknown name."""
    return NotFoundError(f'unknown {kind} "{name}"', close_matches(name, known))


def _note_answer(flag: str, answer: str) -> None:
    if flag:
        note("" if flag.startswith("<") else flag, answer)


def _echo_answer(message: str, answer: str) -> None:
    asked = message if os.environ.get("NO_COLOR") else click.style(message, bold=True)
    click.echo(f"{styled('?', 'green', bold=True)} {asked} {styled(answer, 'cyan')}".rstrip())


@cache
def questions() -> Any:
    """Import questionary and return it; the default key bindings are made once, and not for each question.

    prompt_toolkit makes 600 of them for each, which takes a third of the time between two questions. None
    belongs to a question: their conditions ask for the one that runs.
    """
    import questionary
    from prompt_toolkit.application import application
    from prompt_toolkit.key_binding import defaults

    application.load_key_bindings = cache(defaults.load_key_bindings)  # type: ignore[attr-defined]
    return questionary


async def _ask_text(message: str, default: str | None, explain: str) -> str:
    replies = flags.session().replies
    if replies is not None:
        return replies(message)
    hints = " ".join(filter(None, ["[? for help]" if explain else "", f"({default})" if default else ""]))
    label = f"{message} {hints}" if hints else message
    return str(await _answer(questions().text(label, qmark="?", erase_when_done=True)))


async def _ask_select(message: str, labels: list[str], default: str, explain: str) -> str:
    replies = flags.session().replies
    if replies is not None:
        return _one_of(labels, replies(message), message)
    from prompt_toolkit.application import run_in_terminal
    from prompt_toolkit.key_binding import KeyBindings

    tail = ", ? for help]" if explain else "]"
    question = questions().select(
        message,
        choices=labels,
        default=default,
        qmark="?",
        instruction="[arrows move, type to filter" + tail,
        use_search_filter=True,
        use_jk_keys=False,
        erase_when_done=True,
    )
    bindings = question.application.key_bindings
    if explain and isinstance(bindings, KeyBindings):

        @bindings.add(HELP_KEY, eager=True)
        def show_help(_event: Any) -> None:
            run_in_terminal(lambda: click.echo(f"  {explain}"))

    return str(await _answer(question))


async def _ask_many(message: str, choices: Sequence[str]) -> list[str]:
    replies = flags.session().replies
    if replies is not None:
        given = replies(message)
        return [_one_of(choices, each, message) for each in given.split(", ")] if given else []
    question = questions().checkbox(message, choices=list(choices), qmark="?", erase_when_done=True)
    marked = await _answer(question)
    return [str(value) for value in marked] if isinstance(marked, list) else []


def _one_of(labels: Sequence[str], reply: str, message: str) -> str:
    if reply not in labels:
        raise UsageError(f'"{reply}" is no answer to "{message}"', f"one of: {', '.join(labels)}")
    return reply


async def _answer(question: Any) -> object:
    need_loop()
    try:
        return await question.unsafe_ask_async()
    except (KeyboardInterrupt, EOFError):
        raise InterruptedRunError from None
