"""`nsc edit account`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from ....keys.workspace.accounts import AccountEdits, edit_account
from ....keys.workspace.jetstream import JetStreamEdits
from .. import completion, current_entities, questions
from ..command import NscLocalCommand, finish, open_workspace, renamed, run, switch
from ..permissions import (
    date_options,
    folded,
    number,
    permission_options,
    signing_key_options,
    tag_options,
)

_UNITS = "(-1 is unlimited / 0 disabled) (units: k/m/g/t kib/mib/gib/tib)"
# flag: (field of the claims, help)
_LIMITS = {
    "conns": ("conn", "set maximum active connections for the account (-1 is unlimited)"),
    "leaf-conns": ("leaf", "set maximum active leaf node connections for the account (-1 is unlimited)"),
    "data": ("data", "set maximum data in bytes for the account (-1 is unlimited)"),
    "exports": ("exports", "set maximum number of exports for the account (-1 is unlimited)"),
    "imports": ("imports", "set maximum number of imports for the account (-1 is unlimited)"),
    "payload": ("payload", "set maximum message payload in bytes for the account (-1 is unlimited)"),
    "subscriptions": ("subs", "set maximum subscription for the account (-1 is unlimited)"),
}
_JETSTREAM = {
    "mem-storage": ("mem_storage", f"set maximum memory storage in bytes {_UNITS}"),
    "disk-storage": ("disk_storage", f"set maximum disk storage in bytes {_UNITS}"),
    "streams": ("streams", "set maximum streams (-1 is unlimited)"),
    "consumer": ("consumer", "set maximum consumer (-1 is unlimited)"),
    "max-mem-stream": ("mem_max_stream_bytes", f"set maximum size of a memory stream {_UNITS}"),
    "max-disk-stream": ("disk_max_stream_bytes", f"set maximum size of a disk stream {_UNITS}"),
    "max-ack-pending": ("max_ack_pending", "set number of maximum acks that can be pending for a consumer"),
}
_OLD = ("mem-storage", "disk-storage", "streams", "consumer")  # names without js-, which are accepted too


def _limits(values: dict[str, Any]) -> dict[str, int | bool]:
    found: dict[str, int | bool] = {}
    for flag, (field, _) in _LIMITS.items():
        value = number(values.pop(flag.replace("-", "_")))
        if value is not None:
            found[field] = value
    for flag, field in (("wildcard_exports", "wildcards"), ("disallow_bearer", "disallow_bearer")):
        chosen_ = values.pop(flag)
        if chosen_ is not None:
            found[field] = chosen_
    return found


def _jetstream(values: dict[str, Any]) -> JetStreamEdits:
    limits: dict[str, int] = {}
    for flag, (field, _) in _JETSTREAM.items():
        name = flag.replace("-", "_")
        old = values.pop(name, None)
        value = number(values.pop(f"js_{name}"))
        value = value if value is not None else number(old)
        if value is not None:
            limits[field] = value
    return JetStreamEdits(
        tier=values.pop("js_tier"),
        limits=limits,
        max_bytes_required=values.pop("js_max_bytes_required"),
        enable=_tier(values.pop("js_enable")),
        remove=_tier(values.pop("rm_js_tier")),
        disable=values.pop("js_disable"),
    )


def _tier(value: int | None) -> int | None:
    return None if value == -1 else value  # -1 is nsc's value for "none"


def limit_options() -> Callable[..., Any]:
    """Return a decorator that adds the flags of limits, which arrive as `limits`."""
    options = [
        click.option(f"--{flag}", default=None, metavar="N", help=text) for flag, (_, text) in _LIMITS.items()
    ]
    return folded(
        "limits",
        _limits,
        *options,
        switch("--wildcard-exports", default=None, text="exports can contain wildcards"),
        switch("--disallow-bearer", default=None, text="require user jwt to not be bearer token"),
    )


def jetstream_options() -> Callable[..., Any]:
    """Return a decorator that adds the flags of JetStream, which arrive as `jetstream`, a JetStreamEdits."""
    options = [
        click.option(f"--js-{flag}", default=None, metavar="N", help=f"JetStream: {text}")
        for flag, (_, text) in _JETSTREAM.items()
    ]
    options += [
        renamed(
            f"--{flag}",
            metavar="N",
            text=f"older name of --js-{flag}",
            instead=f"it got renamed to --js-{flag}",
        )
        for flag in _OLD
    ]
    return folded(
        "jetstream",
        _jetstream,
        click.option(
            "--js-tier", type=int, default=None, help="JetStream: replication tier (0 for all assets)"
        ),
        click.option("--rm-js-tier", type=int, default=None, help="JetStream: remove the limits of a tier"),
        *options,
        switch(
            "--js-max-bytes-required",
            default=None,
            text="JetStream: set whether max bytes is required when creating a stream",
        ),
        switch("--js-disable", text="disables JetStream in the account by deleting any limits"),
        click.option("--js-enable", type=int, default=None, help="enables JetStream for the specified tier"),
    )


@click.command(cls=NscLocalCommand)
@click.argument("argument", metavar="[NAME]", default="", shell_complete=completion.accounts)
@click.option("-n", "--name", default="", metavar="NAME", help="account to edit")
@limit_options()
@jetstream_options()
@signing_key_options()
@tag_options()
@date_options()
@permission_options("default permissions", remove=True)
@click.option("--description", default=None, metavar="TEXT", help="description for this account")
@click.option("--info-url", default=None, metavar="URL", help="link for more info on this account")
@click.option(
    "--trace-context-subject",
    "trace_subject",
    default=None,
    metavar="SUBJECT",
    help='sets the subject where w3c trace context information is sent, "" to disable',
)
@click.option(
    "--trace-context-sampling",
    "sampling",
    default=None,
    metavar="N",
    help="set the trace context sampling rate (1-100) - 0 is 100",
)
@switch(
    "--host-cluster-traffic",
    default=None,
    text="route JetStream cluster traffic via the account",
)
async def account(argument: str, name: str, sampling: str | None, **given: Any) -> None:
    """Edit an account: limits, JetStream, default permissions, signing keys and more."""
    workspace = open_workspace()
    edits = AccountEdits(
        own_cluster_traffic=given.pop("host_cluster_traffic"), trace_sampling=number(sampling), **given
    )
    name = name or argument
    if run().interactive:
        name = await current_entities.account(workspace, name)
        edits, workspace = await questions.account_edits(workspace, name, edits)
    finish(edit_account(workspace, name, edits))
