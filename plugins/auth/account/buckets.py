"""`pyjs auth account exports kv` and `imports kv`: a key-value bucket for other accounts.

Both are hidden, as in `nats`. Whoever imports what is exported may read, watch and write every key.
"""

from __future__ import annotations

import click

from ....cli import render
from ....cli.command import LocalCommand
from ....keys import Export, Import
from ....keys.claims.export import Kind
from ....keys.workspace.exports import add_exports
from ....keys.workspace.imports import add_imports
from ....protocol.buckets.key_value import stream_name
from .. import completion, folders
from ..outcome import checked

API = "$JS.API."
INBOX = "_INBOX.{stream}.>"
# What clients of a bucket ask of JetStream, and where they write.
REQUESTS = (
    "STREAM.INFO.{stream}",
    "DIRECT.GET.{stream}.$KV.{bucket}.>",
    "CONSUMER.CREATE.{stream}.>",
)
KEYS = "$KV.{bucket}.>"
ACCOUNT = click.option(
    "--account",
    default="",
    metavar="NAME",
    help="Account to act on, by name or public key.",
    shell_complete=completion.accounts,
)


@click.command("kv", cls=LocalCommand)
@click.argument("bucket")
@ACCOUNT
@folders.OPERATOR
async def export(bucket: str, account: str, operator: str) -> None:
    """Export a key-value BUCKET to all accounts: they may read, watch and write all its keys."""
    here, owner = await folders.in_account(operator, account, argument="--account")
    stream = stream_name(bucket)
    about = f"Export for KV Bucket {bucket}"
    made = [
        Export(name=stream, subject=subject, type="service", description=about)
        for subject in [*(f"{API}{_filled(each, bucket)}" for each in REQUESTS), _filled(KEYS, bucket)]
    ]
    made.append(Export(name=stream, subject=_filled(INBOX, bucket), type="stream", description=about))
    checked(add_exports(here, made, account=owner)[0])  # they share the report
    for each in made:
        render.show(f"Exporting {each.type.title()} Subject: {each.subject}")


@click.command("kv", cls=LocalCommand)
@click.argument("bucket")
@click.argument("prefix")
@click.argument("source", shell_complete=completion.accounts)
@ACCOUNT
@folders.OPERATOR
async def import_(bucket: str, prefix: str, source: str, account: str, operator: str) -> None:
    """Import a key-value BUCKET of the account SOURCE, with PREFIX for $JS.API and before its keys."""
    here, owner = await folders.in_account(operator, account, argument="--account")
    pairs = [(f"{API}{_filled(each, bucket)}", _filled(each, bucket)) for each in REQUESTS]
    pairs.append((_filled(KEYS, bucket), _filled(KEYS, bucket)))
    made = [_item(bucket, source, "service", subject, f"{prefix}.{local}") for subject, local in pairs]
    inbox = _filled(INBOX, bucket)
    made.append(_item(bucket, source, "stream", inbox, inbox))
    checked(add_imports(here, made, account=owner)[0])
    for each in made:
        render.show(f"Importing {each.type.title()} Subject: {each.local_subject}")


def _item(bucket: str, source: str, kind: Kind, subject: str, local: str) -> Import:
    return Import(name=stream_name(bucket), account=source, type=kind, subject=subject, local_subject=local)


def _filled(pattern: str, bucket: str) -> str:
    return pattern.format(stream=stream_name(bucket), bucket=bucket)
