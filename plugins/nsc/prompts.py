"""What several commands of nsc ask for, by flag or with `-i`: the account, an export, subjects."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click

from ...cli import prompt
from ...cli.errors import CliError
from ...keys import Export, Workspace
from ...keys.claims import Issues, subjects
from ...keys.claims.export import Kind
from ...keys.claims.issues import quote
from ...keys.workspace.exports import RESPONSE_TYPES, SINGLETON, read_sampling
from ...protocol import duration
from . import completion
from .command import run

KINDS: tuple[Kind, Kind] = ("stream", "service")
ACCOUNT = click.option(
    "-a",
    "--account",
    default="",
    metavar="NAME",
    help="account name",
    shell_complete=completion.accounts,
)


async def account(workspace: Workspace, given: str) -> str:
    """Return the account to work on; with `-i`, ask if there are several and none is named."""
    if given or not run().interactive:
        return given
    names = workspace.store().accounts()
    if len(names) < 2:
        return ""
    current = workspace.context.account
    return await prompt.choose(
        "select account", [(n, n) for n in names], flag="--account", default=current or names[0]
    )


async def kind(message: str, service: bool) -> bool:
    """Return whether it is a service, asked as a choice."""
    chosen = await prompt.choose(message, [(k, k) for k in KINDS], flag="", default=KINDS[service])
    if chosen == "service":
        prompt.note("--service")
    return chosen == "service"


async def export(message: str, exports: Sequence[Export], account: str) -> Export:
    """Ask for one of these exports; if there is only one, return it without asking."""
    if not exports:
        raise CliError(f"account {quote(account)} doesn't have exports")
    choices = [(label(item, account), f"{at}") for at, item in enumerate(exports)]
    found = exports[int(await prompt.choose(message, choices, flag="", default="0"))]
    prompt.note("--subject", found.subject)
    return found


def label(item: Export, account: str) -> str:
    """Return an export for a list of choices: `TEST -> [name] subject [!]`; the mark is for a private one."""
    arrow = "<-" if item.type == "service" else "->"
    name = "" if item.name in ("", item.subject) else f"[{item.name}] "
    return f"{account} {arrow} {name}{item.subject}{' [!]' if item.token_req else ''}"


def subject(text: str) -> str:
    """Check a subject that was answered. Raises ValueError."""
    issues = Issues()
    subjects.check(text, issues)
    for issue in issues:
        raise ValueError(issue.text)
    return text


def optional(check: Callable[[str], str]) -> Callable[[str], str]:
    """Return the same check for an answer that may also be empty."""
    return lambda text: check(text) if text else ""


def results_subject(text: str) -> str:
    """Check the subject of latency metrics. Raises ValueError."""
    if subjects.has_wildcards(text):
        raise ValueError("results subject can not contain wildcards")
    return subject(text)


def sampling(text: str) -> str:
    """Check a sampling rate. Raises ValueError."""
    read_sampling(text)
    return text


async def yes(message: str, flag: str, default: bool) -> bool:
    """Ask yes or no; the answer is noted as `--flag` or `--flag=false`."""
    answer = await prompt.confirm(message, default=default)
    prompt.note(flag, *([] if answer else ["false"]))
    return answer


async def service(given: dict[str, Any], old: Export | None = None) -> dict[str, Any]:
    """Ask for what only a service has: latency tracking, response type, response threshold (ns).

    old: the present export, whose values are the defaults.
    """
    latency = old.service_latency if old is not None else None
    answers: dict[str, Any] = {"latency": None, "sampling": None}
    if await prompt.confirm("track service latency", default=latency is not None or bool(given["latency"])):
        rate = ("header" if not latency.sampling else f"{latency.sampling}") if latency is not None else ""
        answers["sampling"] = await prompt.text(
            "sampling percentage [1-100] or `header`",
            flag="--sampling",
            default=given["sampling"] or rate,
            required=True,
            check=sampling,
        )
        answers["latency"] = await prompt.text(
            "latency metrics subject",
            flag="--latency",
            default=given["latency"] or (latency.results if latency is not None else ""),
            required=True,
            check=results_subject,
        )
    answers["response_type"] = await prompt.choose(
        "service response type",
        [(name, name) for name in RESPONSE_TYPES],
        flag="--response-type",
        default=given["response_type"] or (old.response_type if old is not None else "") or SINGLETON,
    )
    threshold = given["response_threshold"] or (old.response_threshold if old is not None else 0)
    answers["response_threshold"] = await prompt.text(
        "response threshold (0 disabled)",
        flag="--response-threshold",
        default=duration.format_go(threshold),
        check=duration.parse_go,
    )
    return answers


def named_kind(service: bool | None) -> Kind:
    """Return the kind that `--service` names, "" if it was not given."""
    if service is None:
        return ""
    return "service" if service else "stream"


async def wanted_subject(message: str, flag: str, given: str) -> str:
    """Ask for a subject that is required; the given one is the default."""
    return await prompt.text(message, flag=flag, default=given or None, required=True, check=subject)
