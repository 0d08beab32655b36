"""The flags for an account's limits, and the edits that they stand for."""

from __future__ import annotations

import click

from ....cli import prompt
from ....cli.errors import UsageError
from ....cli.param import DURATION, SIZE
from ....cli.setting import Given, Setting
from ....keys.claims.base import SECOND
from ....keys.workspace.accounts import AccountEdits
from ....keys.workspace.edits import Dates, Tags
from ....keys.workspace.jetstream import JetStreamEdits

COUNT = click.IntRange(min=-1)
# flag: the limit of an account that it sets
_LIMITS = {
    "connections": "conn",
    "exports": "exports",
    "imports": "imports",
    "leafnodes": "leaf",
    "payload": "payload",
    "subscriptions": "subs",
}
# flag: the limit of JetStream that it sets
_JETSTREAM = {
    "js_consumers": "consumer",
    "js_disk": "disk_storage",
    "js_disk_stream": "disk_max_stream_bytes",
    "js_max_pending": "max_ack_pending",
    "js_memory": "mem_storage",
    "js_memory_stream": "mem_max_stream_bytes",
    "js_streams": "streams",
}
SETTINGS: tuple[Setting, ...] = (
    Setting("--bearer/--no-bearer", bool, "", "Let users log in by their token alone, without a key"),
    Setting("--connections", COUNT, "", "Maximum connections (-1: unlimited)"),
    Setting("--expiry", DURATION, "", "How long the account is valid from now on"),
    Setting("--exports", COUNT, "", "Maximum exports (-1: unlimited)"),
    Setting("--imports", COUNT, "", "Maximum imports (-1: unlimited)"),
    Setting("--jetstream/--no-jetstream", bool, "", "Enable JetStream"),
    Setting("--js-consumers", COUNT, "", "Maximum consumers of a stream (-1: unlimited)"),
    Setting("--js-disk", SIZE, "", "Maximum bytes on disk (-1: unlimited)"),
    Setting("--js-disk-stream", SIZE, "", "Maximum bytes of a stream on disk (-1: unlimited)"),
    Setting("--js-max-pending", COUNT, "", "Maximum unacknowledged messages of a consumer (-1: unlimited)"),
    Setting("--js-memory", SIZE, "", "Maximum bytes in memory (-1: unlimited)"),
    Setting("--js-memory-stream", SIZE, "", "Maximum bytes of a stream in memory (-1: unlimited)"),
    Setting("--js-stream-size-required/--no-js-stream-size-required", bool, "",
            "Require that streams have a maximum size"),
    Setting("--js-streams", COUNT, "", "Maximum streams (-1: unlimited)"),
    Setting("--js-cluster-traffic", click.Choice(("owner", "system")), "",
            "The account that carries the traffic of JetStream clusters"),
    Setting("--leafnodes", COUNT, "", "Maximum leaf node connections (-1: unlimited)"),
    Setting("--payload", SIZE, "", "Maximum bytes of a message (-1: unlimited)"),
    Setting("--subscriptions", COUNT, "", "Maximum subscriptions (-1: unlimited)"),
    Setting("--tags", str, "", "Tags to add", multiple=True),
    Setting("--no-tags", str, "", "Tags to remove", multiple=True, only="edit"),
)  # fmt: skip
_STORAGE = (("js_disk", "Disk"), ("js_memory", "Memory"))


def count_or_unlimited(answer: str) -> int:
    """Return the number that was answered, -1 for unlimited. Raises ValueError in plain words."""
    value = prompt.whole(answer)
    if value < -1:
        raise ValueError(f"{value} is no limit: give a number, or -1 for none")
    return value


def bytes_or_unlimited(answer: str) -> int:
    """Return the number of bytes that was answered, -1 for unlimited. Raises click.BadParameter."""
    return SIZE.convert(answer, None, None)


async def ask_limits(given: Given) -> None:
    """Ask for the limits of a new account that no flag gives."""
    for name, title, check in (
        ("connections", "Maximum Connections", count_or_unlimited),
        ("subscriptions", "Maximum Subscriptions", count_or_unlimited),
        ("payload", "Maximum Message Payload", bytes_or_unlimited),
    ):
        if given.get(name) is None:
            given[name] = await prompt.text(
                title,
                flag=f"--{name}",
                default="-1",
                explain=f"-1 is unlimited; --{name} sets it",
                check=check,
            )


async def ask_storage(given: Given) -> None:
    """Ask how much JetStream may store, if it is enabled and no flag says so."""
    if not given.get("jetstream"):
        return
    for name, kind in _STORAGE:
        if given.get(name) is None:
            flag = f"--{name.replace('_', '-')}"
            given[name] = await prompt.text(
                f"Maximum JetStream {kind} Storage",
                flag=flag,
                default="1GB",
                explain=f"how much this account may store; {flag} sets it",
                check=bytes_or_unlimited,
            )


def edits_of(given: Given, now: int, *, enabled: bool) -> AccountEdits:
    """Return what the flags change.

    now: ns.
    enabled: whether the account has JetStream already.

    Raises UsageError for flags of JetStream where it is not enabled.
    """
    limits: dict[str, int | bool] = {
        limit: given[name] for name, limit in _LIMITS.items() if given.get(name) is not None
    }
    if given.get("bearer") is not None:
        limits["disallow_bearer"] = not given["bearer"]
    traffic = given.get("js_cluster_traffic")
    expiry = given.get("expiry")
    return AccountEdits(
        dates=Dates(expiry=(now + expiry) // SECOND if expiry else None),
        tags=Tags(add=given.get("tags") or (), remove=given.get("no_tags") or ()),
        limits=limits,
        jetstream=_jetstream(given, enabled=enabled),
        own_cluster_traffic=None if traffic is None else traffic == "owner",
    )


def _jetstream(given: Given, *, enabled: bool) -> JetStreamEdits:
    limits = {limit: given[name] for name, limit in _JETSTREAM.items() if given.get(name) is not None}
    required = given.get("js_stream_size_required")
    wanted = given.get("jetstream")
    if (limits or required is not None) and (wanted is False or not (wanted or enabled)):
        flags = [f"--{name.replace('_', '-')}" for name in _JETSTREAM if given.get(name) is not None]
        named = flags[0] if flags else "--js-stream-size-required"
        raise UsageError(f"{named} is for accounts with JetStream", "enable it with --jetstream")
    if wanted is False:
        return JetStreamEdits(disable=enabled)
    return JetStreamEdits(limits=limits, max_bytes_required=required)
