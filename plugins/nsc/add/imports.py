"""`nsc add import`."""

from __future__ import annotations

from dataclasses import dataclass, replace

import click

from ....cli import prompt
from ....cli.errors import CliError
from ....keys import AccountClaims, Export, IdentityError, Import, Workspace, WorkspaceError
from ....keys.claims.issues import quote
from ....keys.claims.subjects import has_wildcards
from ....keys.folders.store import OperatorStore
from ....keys.workspace.activations import generate_activation
from ....keys.workspace.imports import add_activated_import, add_import
from ....keys.workspace.source import load_token
from .. import completion, prompts, questions
from ..command import NscCommand, finish, open_workspace, run, switch


@dataclass(frozen=True, slots=True)
class ImportRequest:
    """The import that is asked for.

    source: where its activation is.
    token: the activation itself.
    """

    name: str = ""
    local: str = ""
    exporter: str = ""
    remote: str = ""
    service: bool = False
    share: bool = False
    allow_trace: bool = False
    source: str = ""
    token: str = ""


@click.command("import", cls=NscCommand)
@click.option(
    "-u",
    "--token",
    "source",
    default="",
    metavar="FILE",
    help="activation: a file or URL (private imports only)",
)
@click.option("-n", "--name", default="", help="import name")
@click.option("-s", "--local-subject", "local", default="", help="local subject")
@click.option(
    "--src-account",
    "exporter",
    default="",
    metavar="NAME",
    help="name or key of the exporter",
    shell_complete=completion.accounts,
)
@click.option("--remote-subject", "remote", default="", help="remote subject (only public imports)")
@switch("--service", text="import a service")
@switch("--share", text="share data when tracking latency (service only)")
@switch("--allow-trace", text="allow trace requests (stream only)")
@prompts.ACCOUNT
async def add(account: str, **given: str | bool) -> None:
    """Add an import: from --src-account its --remote-subject, or with --token what an activation allows."""
    workspace = open_workspace()
    wanted = ImportRequest(**given)  # type: ignore[arg-type]
    if run().interactive:
        account = await prompts.account(workspace, account)
        wanted = await _asked(workspace, account, wanted)
        workspace = await questions.account_signer(workspace, workspace.account(account))
    else:
        _check(wanted)
    if wanted.source:
        wanted = replace(wanted, token=load_token(wanted.source))
    if wanted.token:
        finish(
            add_activated_import(
                workspace,
                wanted.token,
                name=wanted.name,
                local_subject=wanted.local,
                share=wanted.share,
                allow_trace=wanted.allow_trace,
                account=account,
            )
        )
        return
    item = Import(
        name=wanted.name,
        subject=wanted.remote,
        account=wanted.exporter,
        local_subject=wanted.local,
        type="service" if wanted.service else "stream",
        share=wanted.share,
        allow_trace=wanted.allow_trace,
    )
    finish(add_import(workspace, item, account=account))


def _check(wanted: ImportRequest) -> None:
    if wanted.source and (wanted.exporter or wanted.remote):
        raise WorkspaceError("private imports require src-account, remote-subject and service to be unset")
    if not wanted.source and not (wanted.exporter and wanted.remote):
        raise WorkspaceError("public imports require src-account, remote-subject")


async def _asked(workspace: Workspace, account: str, wanted: ImportRequest) -> ImportRequest:
    """Have an export of this store chosen, or ask for one from elsewhere; then ask for its name here."""
    importer = workspace.account(account)
    offers = _offers(workspace.store(), importer)
    if offers and await prompt.confirm("pick from locally available exports", default=True):
        wanted = await _picked(workspace, importer, offers, wanted)
    else:
        wanted = await _described(wanted)
    if wanted.service:
        wanted = replace(
            wanted,
            share=await prompts.yes("share information when tracking latency?", "--share", wanted.share),
        )
    name = await prompt.text("name", flag="--name", default=wanted.name or wanted.remote)
    local = await prompt.text(
        "local subject", flag="--local-subject", default=wanted.local, check=prompts.optional(prompts.subject)
    )
    trace = wanted.allow_trace
    if not wanted.service:
        trace = await prompts.yes("allow tracing", "--allow-trace", trace)
    return replace(wanted, name=name, local=local, allow_trace=trace)


def _offers(store: OperatorStore, importer: AccountClaims) -> list[tuple[AccountClaims, Export]]:
    """Return what the other accounts of the store export, by account and subject."""
    found = []
    for name in store.accounts():
        try:
            claims = store.account(name)
        except IdentityError:  # an account with a damaged token offers nothing
            continue
        if claims.sub != importer.sub:
            found += [(claims, export) for export in claims.nats.exports]
    return found


async def _picked(
    workspace: Workspace,
    importer: AccountClaims,
    offers: list[tuple[AccountClaims, Export]],
    wanted: ImportRequest,
) -> ImportRequest:
    labels = [(prompts.label(export, claims.name), f"{at}") for at, (claims, export) in enumerate(offers)]
    exporter, export = offers[int(await prompt.choose("select the export", labels, flag="", default="0"))]
    remote, local = _own_place(export, importer.sub)
    local = wanted.local or local
    if export.type == "service" and has_wildcards(remote):
        remote = await prompt.text("export subject", flag="", default=remote, check=prompts.subject)
    service = export.type == "service"
    if service:
        local = local or remote
    token = ""
    if export.token_req:
        giver = await questions.user_signer(
            replace(workspace, private_key=""),
            exporter.name,
            f"select the signing key for account {exporter.name}",
        )
        token = generate_activation(giver, importer.sub, subject=remote, account=exporter.name).token
    else:
        prompt.note("--src-account", exporter.name)
        prompt.note("--remote-subject", remote)
    return replace(
        wanted,
        exporter=exporter.name,
        name=wanted.name or export.name,
        remote=remote,
        local=local,
        service=service,
        token=token,
    )


def _own_place(export: Export, importer: str) -> tuple[str, str]:
    """Return (the subject with the importer's key where the export demands it, the same without it)."""
    place = export.account_token_position
    tokens = export.subject.split(".")
    if not 0 < place <= len(tokens):
        return export.subject, ""
    own = [*tokens[: place - 1], importer, *tokens[place:]]
    return ".".join(own), ".".join([*tokens[: place - 1], *tokens[place:]])


async def _described(wanted: ImportRequest) -> ImportRequest:
    if not await prompt.confirm("is the export public?", default=not wanted.source):
        source = await prompt.text(
            "token path or url", flag="--token", default=wanted.source or None, required=True
        )
        token = load_token(source)
        return replace(wanted, token=token)
    exporter = await prompt.text(
        "src-account public key", flag="--src-account", default=wanted.exporter or None, required=True
    )
    remote = await prompt.text(
        "remote subject",
        flag="--remote-subject",
        default=wanted.remote or None,
        required=True,
        check=prompts.subject,
    )
    service = await prompts.yes("is import a service", "--service", True)
    if not exporter:
        raise CliError(f"an account to import {quote(remote)} from is required")
    return replace(wanted, exporter=exporter, remote=remote, service=service)
