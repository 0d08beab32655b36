"""`pyjs server generate`: asks some questions, and writes the configuration of servers into a new folder.

Promises: the folder is written whole or not at all, and never over something that is there; files may hold
passwords and tokens, so only their owner may read them.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import click

from ...cli import prompt, render
from ...cli.command import Command
from ...cli.errors import CliError, NotFoundError, UsageError, close_matches
from ...cli.param import PAIR, SIZE
from .generate_files import TEMPLATES, ConfigTemplate, Files, OperatorToTrust, Question

YES = {"true": True, "yes": True, "y": True, "false": False, "no": False, "n": False}
FOREIGN = (
    "bundles of nats are made of Go templates, which pyjs cannot run",
    f"--source takes one of its own templates: {', '.join(TEMPLATES)}",
)
QUESTIONS = "; ".join(
    f"{name}: {', '.join(each.name for each in template.questions)}" for name, template in TEMPLATES.items()
)


@click.command(cls=Command)
@click.argument("target", type=click.Path(path_type=Path))
@click.option("--source", default="", metavar="TEMPLATE", help=f"{', '.join(TEMPLATES)}. No bundles of nats.")
@click.option(
    "--set", "given", type=PAIR, multiple=True, metavar="NAME=VALUE",
    help=f"Answers a question; repeatable. Questions of {QUESTIONS}.",
)  # fmt: skip
async def generate(target: Path, source: str, given: tuple[tuple[str, str], ...]) -> None:
    """Write the configuration of servers into the new folder TARGET, by a template and questions."""
    _check_free(target)
    name = source or await _template()
    template = _found(name)
    known = [each.name for each in template.questions]
    wrong = next((each for each, _ in given if each not in known), None)
    if wrong is not None:
        hint = close_matches(wrong, known) or f"there are {', '.join(known)}"
        raise UsageError(f'the template "{name}" has no question "{wrong}"', hint)
    answers: dict[str, Any] = {"operator": _operator()} if template.operator else {}
    for each in template.questions:
        answers[each.name] = await _answer(each, dict(given), asked=not each.when or answers[each.when])
    if prompt.interactive():
        noted = [f"{each}={_said(answers[each])}" for each in known]
        prompt.note("--source", name)
        prompt.note("--set", *noted)
    files = template.files(answers)
    _write(target, files)
    render.show(f"{template.title}, in {target}:\n")
    for path in sorted(files):
        render.show(f"  {path}")
    render.show(f"\n{_next(name, target, answers)}")


def _check_free(target: Path) -> None:
    if os.path.lexists(target):
        raise CliError(f"{target} exists already", "name a folder that does not exist")


async def _template() -> str:
    choices = [(template.title, name) for name, template in TEMPLATES.items()]
    if not prompt.interactive():
        raise UsageError("no template was chosen", f"--source takes one of {', '.join(TEMPLATES)}")
    return await prompt.choose("Select a template", choices, flag="", default=choices[0][1])


def _found(name: str) -> ConfigTemplate:
    if name in TEMPLATES:
        return TEMPLATES[name]
    if "://" in name or Path(name).exists():
        raise UsageError(*FOREIGN)
    raise NotFoundError(f'there is no template "{name}"', close_matches(name, TEMPLATES) or FOREIGN[1])


def _operator() -> OperatorToTrust:
    """Return the current operator of nsc's folders. Raises CliError if there is none."""
    from ...keys import NscDirectories, Workspace
    from ...keys.errors import IdentityError
    from ...keys.workspace.configuration import ConfigInput

    try:
        found = ConfigInput.read(
            Workspace.open(NscDirectories.locate(os.environ, Path.cwd()), now=time.time_ns)
        )
    except IdentityError as error:
        raise CliError(f"no operator: {error}", "'pyjs nsc add operator' makes one") from None
    tokens = {claims.sub: token for claims, token in found.accounts}
    return OperatorToTrust(
        found.operator.name, found.operator_token, found.system, tokens.get(found.system, "")
    )


async def _answer(question: Question, given: dict[str, str], *, asked: bool) -> Any:
    """Return the answer to a question: the one that was given, that of the user, or the default."""
    default = question.default() if callable(question.default) else question.default
    if question.name in given:
        try:
            return _read(question, given[question.name], default)
        except ValueError as error:
            raise UsageError(f"--set {question.name}: {error}") from None
    if not asked:
        return default
    if isinstance(default, bool):
        return await prompt.confirm(question.text, default=default)
    return await prompt.text(
        question.text, flag="", default=str(default), check=lambda text: _read(question, text, default)
    )


def _read(question: Question, text: str, default: Any) -> Any:
    """Return an answer as a value of the default's type. Raises ValueError."""
    if isinstance(default, bool):
        if text.lower() not in YES:
            raise ValueError("answer yes or no")
        return YES[text.lower()]
    if isinstance(default, int):
        number = prompt.whole(text)
        if not question.least <= number <= question.most:
            raise ValueError(f"it must be between {question.least} and {question.most}")
        return number
    if question.name.startswith("max_"):
        try:
            return SIZE.convert(text, None, None)
        except click.BadParameter as error:
            raise ValueError(error.message) from None
    if not text.isprintable():
        raise ValueError("it has characters that cannot be printed")
    return text


def _said(value: object) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def _write(target: Path, files: Files) -> None:
    """Write the files beside the target, and then give the folder its name. Raises CliError."""
    draft: Path | None = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}-"))
        for name, text in files.items():
            path = draft / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with os.fdopen(
                os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="utf-8"
            ) as f:
                f.write(text)
        draft.rename(target)
    except OSError as error:
        raise CliError(f"could not write {target}: {error.strerror}") from None
    finally:
        if draft is not None and draft.exists():
            shutil.rmtree(draft)


def _next(name: str, target: Path, answers: dict[str, Any]) -> str:
    """Return what to do with the files."""
    if name == "cluster":
        login = f"Users: user and system, password {answers['password']}\n" if answers["password"] else ""
        return (
            f"{login}Start it in {target} by 'docker compose up', and a shell beside it by\n"
            f"'docker compose run --rm cli.{answers['domain']}'."
        )
    if name == "kubernetes":
        return (
            "helm repo add nats https://nats-io.github.io/k8s/helm/charts/\n"
            f"helm upgrade --install nats nats/nats -f {target}/values.yaml"
        )
    if name == "leafnode":
        return (
            f"Put the credentials into {answers['credentials']}, and run "
            f"'pyjs server run -c {target}/leafnode.conf'."
        )
    return f"Run 'pyjs server run -c {target}/server.conf', then 'pyjs nsc push --all' pushes the accounts."
