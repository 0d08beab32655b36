"""`pyjs context`: named connection settings, shared with `nats`.

It writes only through `cli.context`, and connects only if asked to (`--connect`). It asks which context to
select, and for confirmation before a selected one is removed.
"""

from __future__ import annotations

import base64
import json
import os
import shlex
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import click

from ..cli import complete, flags, output, prompt, render
from ..cli import context as contexts
from ..cli.command import CommandGroup
from ..cli.errors import CliError, NotFoundError, UsageError, warn
from ..cli.output import FLAG, LIST, Column, Table
from ..cli.profile import Profile, given, overlay
from ..client import secret
from ..client.errors import SecretError

Fields = dict[str, Any]

context = CommandGroup(
    name="context", help="Manage NATS connection settings, the same files that `nats` uses."
)
context.add_alias("add", "create", "save")
context.add_alias("copy", "cp")
context.add_alias("edit", "vi")
context.add_alias("info", "show", "v", "view")
context.add_alias("ls", "list", "l")
context.add_alias("previous", "-")
context.add_alias("rm", "remove")
context.add_alias("select", "switch", "set")

NAME = click.argument("name", shell_complete=complete.contexts)
OPTIONAL_NAME = click.argument("name", required=False, default="", shell_complete=complete.contexts)
EMBEDDABLE = {"creds": "-----BEGIN", "nkey": "SU", "user_jwt": "eyJ", "user_seed": "SU"}
CONTEXTS = Table(
    "contexts",
    "Known Contexts",
    (
        Column("name", "Name", output.NAME, show=lambda each: each["name"] + "*" * each["selected"]),
        Column("description", "Description"),
        Column("url", "URL", wide=True),
        Column("jetstream_domain", "JS Domain", wide=True),
        Column("selected", "Selected", FLAG, wide=True),
    ),
    empty="No known contexts",
)
CHECKED = Table(
    "checked_contexts",
    "Contexts",
    (
        Column("name", "Name", output.NAME),
        Column("valid", "Valid", FLAG),
        Column("problems", "Problems", LIST, main=True),
    ),
)
CREDENTIALS = ("token", "creds", "nkey", "nsc")


@context.command("add")
@click.argument("name")
@click.option("--description", default="", help="Says what the context is for.")
@click.option("--select", "chosen", is_flag=True, help="Select it too.")
@click.option("--embed", is_flag=True, help="Store credentials in the context, not where they are.")
def add(name: str, description: str, chosen: bool, embed: bool) -> None:
    """Create or update a context from the global flags given."""
    base = str(flags.session().given.get("context") or "")
    start = contexts.load(name) if contexts.exists(name) else contexts.load(base) if base else {}
    _store(name, {**contexts.FIELDS, **start}, description, chosen, embed)


@context.command("copy")
@click.argument("source", shell_complete=complete.contexts)
@click.argument("name")
@click.option("--description", default="", help="Says what the context is for.")
@click.option("--select", "chosen", is_flag=True, help="Select it too.")
@click.option("--embed", is_flag=True, help="Store credentials in the context, not where they are.")
def copy(source: str, name: str, description: str, chosen: bool, embed: bool) -> None:
    """Clone a context, with the changes that global flags give."""
    if contexts.exists(name):
        raise CliError(f'context "{name}" already exists', "choose another name, or 'context rm' it first")
    _store(name, contexts.load(source), description, chosen, embed)


def _store(name: str, fields: Fields, description: str, chosen: bool, embed: bool) -> None:
    settings, _ = given(flags.session())
    result: Fields = overlay(fields, settings)
    result["url"] = result["url"] or contexts.DEFAULT_URL
    if description:
        result["description"] = description
    if result["nsc"]:  # the old spelling, which nats rewrites too
        result["creds"], result["nsc"] = result["creds"] or result["nsc"], ""
    kinds = [kind for kind in CREDENTIALS if result.get(kind)] + (["user"] if result["user"] else [])
    if len(set(kinds) - {"token"}) > 1:
        raise UsageError(
            "too many types of credentials: " + ", ".join(kinds),
            "choose one of user and password, creds, nkey",
        )
    if embed:
        for kind, marker in EMBEDDABLE.items():
            if result[kind] and not str(result[kind]).startswith("data:"):
                body = secret.text_or_file(kind, str(result[kind]), marker)
                result[kind] = "data:;base64," + base64.b64encode(body.encode()).decode()
    contexts.save(name, result)
    if chosen:
        contexts.select(name)
    _show(name)


@context.command("edit")
@NAME
def edit(name: str) -> None:
    """Open a context as JSON in $EDITOR; nothing is saved if it does not parse."""
    before = contexts.load(name)
    command = shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi")
    handle, draft = tempfile.mkstemp(suffix=".json", prefix=f"context-{name}-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            json.dump(before, stream, indent=2, ensure_ascii=False)
            stream.write("\n")
        try:
            subprocess.run([*command, draft], check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise CliError(f"the editor {command[0]} failed: {error}", "set EDITOR to your editor") from None
        contexts.save(name, _parsed(Path(draft).read_text(encoding="utf-8")))
    finally:
        Path(draft).unlink(missing_ok=True)
    _show(name)


def _parsed(text: str) -> Fields:
    try:
        fields = json.loads(text)
    except ValueError as error:
        raise CliError(f"what was edited is not JSON: {error}", "the context is unchanged") from None
    if not isinstance(fields, dict):
        raise CliError("what was edited is not a JSON object", "the context is unchanged")
    for name, value in fields.items():
        kind = type(contexts.FIELDS.get(name, ""))
        if name in contexts.FIELDS and kind in (str, bool) and not isinstance(value, kind):
            raise CliError(f'field "{name}" must be a {kind.__name__}', "the context is unchanged")
    return fields


@context.command("info")
@output.showing("context")
@OPTIONAL_NAME
@click.option("--connect", "try_it", is_flag=True, help="Try to connect with it.")
async def info(name: str, try_it: bool) -> None:
    """Show a context, and whether the files it names are there."""
    name = name or contexts.selected()
    if not name:
        raise UsageError("no default context and no name supplied", "'context select' chooses a default")
    if not output.is_for_people():
        output.show_page({"name": name, **contexts.load(name)}, None, name=name)
        return
    _show(name, await _connection_problem(name) if try_it else None)


@context.command("ls")
@output.listing(CONTEXTS, legacy="the contexts with every setting")
@click.option("--names", is_flag=True, help="Only the names.")
@click.option("--completion", is_flag=True, help="NAME:DESCRIPTION, as shells want it.")
def ls(names: bool, completion: bool) -> None:
    """List the contexts; the selected one has a star."""
    known = contexts.names()
    if names or completion:
        for name in known:
            render.show(f"{name}:{contexts.load(name).get('description', '')}" if completion else name)
        return
    star = contexts.selected()
    found = [{"name": name, **contexts.load(name)} for name in known]
    records = [{**each, "selected": each["name"] == star} for each in found]
    output.show(CONTEXTS.of(records), document=found)


@context.command("previous")
def previous() -> None:
    """Go back to the context that was selected before."""
    name = contexts.previous()
    if not name:
        raise NotFoundError("there is no previous context")
    contexts.select(name)
    _show(name)


@context.command("rm")
@NAME
@click.option("-f", "--force", is_flag=True, help="Remove it without asking, even if it is selected.")
async def rm(name: str, force: bool) -> None:
    """Remove a context."""
    contexts.load(name)
    if contexts.selected() == name and not force:
        raise CliError(
            "cannot remove the selected context, select another one or use the unselect command",
            "--force removes it nevertheless",
        )
    if await prompt.sure(f'Really delete context "{name}"', forced=force):
        contexts.remove(name)


@context.command("select")
@OPTIONAL_NAME
async def select(name: str) -> None:
    """Make a context the default."""
    chosen = await prompt.pick("Context", contexts.names(), given=name, argument="<NAME>")
    contexts.select(chosen)
    _show(chosen)


@context.command("unselect")
def unselect() -> None:
    """Have no default context."""
    before = contexts.unselect()
    render.show(f'Unselected the "{before}" context' if before else "No context currently selected")


@context.command("validate")
@output.listing(CHECKED)
@OPTIONAL_NAME
@click.option("--connect", "try_it", is_flag=True, help="Try to connect with each.")
async def validate(name: str, try_it: bool) -> None:
    """Show one context or all of them; fail if a file is missing or a connection fails."""
    pages: list[str] = []
    found: dict[str, list[str]] = {}
    for each in [name] if name else contexts.names():
        try:
            text, problems = _page(each, await _connection_problem(each) if try_it else None)
        except CliError as error:
            text, problems = f"Could not load {each}: {error.message}\n", [error.message]
        found[each] = problems
        pages.append(text + "\n")
    if output.is_asked_for():
        output.show(
            CHECKED.of(
                {"name": each, "valid": not problems, "problems": problems}
                for each, problems in found.items()
            )
        )
    elif pages:
        render.show("\n".join(pages))
    _warn_of_variables()
    failures = sum(map(len, found.values()))
    if failures:
        raise CliError(f"validation failed: {failures} problems")


def _show(name: str, problem: str | None = None) -> None:
    """Write the page of a context; `problem` is the result of connecting, as for `_page`."""
    render.show(_page(name, problem)[0])
    _warn_of_variables()


def _warn_of_variables() -> None:
    _, variables = given(flags.session())
    if variables:
        warn("Shell environment overrides in place using " + ", ".join(variables))


def _page(name: str, problem: str | None = None) -> tuple[str, list[str]]:
    """Return the page of a context, and what is wrong with it.

    problem: the result of connecting: None if it was not tried, empty if it succeeded.
    """
    fields = contexts.load(name)
    problems: list[str] = []
    rows: list[tuple[str, str]] = []

    def add_text(label: str, value: object) -> None:
        if value:
            rows.append((label, str(value)))

    def add_file(label: str, value: str) -> None:
        if not value:
            return
        if value.startswith("data:"):
            rows.append((label, "embedded data"))
            return
        state, wrong = _file_state(label, value)
        if wrong:
            problems.append(f"{label}: cannot read {value}")
        rows.append((label, f"{value} ({state})"))

    add_text("Description", fields["description"])
    add_text("Server URLs", fields["url"])
    add_text("SOCKS5 Proxy", fields["socks_proxy"])
    add_text("Username", fields["user"])
    add_text("Password", "*" * 8 if fields["password"] else "")
    add_text("Token", "*" * 8 if fields["token"] else "")
    for label, key in (
        ("Credentials", "creds"),
        ("User JWT", "user_jwt"),
        ("User Seed", "user_seed"),
        ("NKey", "nkey"),
        ("Certificate", "cert"),
        ("Key", "key"),
        ("CA", "ca"),
    ):
        add_file(label, str(fields[key]))
    add_text("TLS First", "true" if fields["tls_first"] else "")
    add_text("JS API Prefix", fields["jetstream_api_prefix"])
    add_text("JS Event Prefix", fields["jetstream_event_prefix"])
    add_text("JS Domain", fields["jetstream_domain"])
    add_text("Inbox Prefix", fields["inbox_prefix"])
    add_text("Path", contexts.path_of(name))
    add_text("Color Scheme", fields["color_scheme"])
    if problem is not None:
        if problem:
            problems.append(f"Connection: {problem}")
        rows.append(("Connection", problem or "OK"))
    width = max(len(label) for label, _ in rows) + 2
    return f'NATS Configuration Context "{name}"\n\n{render.fields(rows, width)}\n', problems


def _file_state(what: str, value: str) -> tuple[str, bool]:
    """Return the state of a file in words, and whether it cannot be read."""
    for scheme, words in (("op://", "1Password"), ("env://", "runtime environment")):
        if value.startswith(scheme):
            return words, False
    try:
        readable = os.access(secret.location(what, value), os.R_OK)
    except SecretError:
        readable = False
    return ("OK", False) if readable else ("ERROR", True)


async def _connection_problem(name: str) -> str:
    """Return why a context does not connect, or an empty string."""
    from ..cli.connection import connect

    try:
        async with connect(Profile(context=name, fields=contexts.load(name)), quiet=True):
            return ""
    except CliError as error:
        return error.message.removeprefix("setup failed: ")
