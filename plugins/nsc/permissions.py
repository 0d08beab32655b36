"""Flags that several commands share: permissions, a user's limits, dates, tags, signing keys.

Each block of flags arrives at the command as one value: `permissions`, `edits`, `dates`, `tags`,
`signing_keys`.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Any

import click

from ...keys.errors import WorkspaceError
from ...keys.workspace.edits import Dates, SigningKeys, Tags
from ...keys.workspace.flag_values import moment, size
from ...keys.workspace.permissions import PermissionEdits, UserEdits
from ...protocol import duration
from .command import BareOption, listed, renamed, switch

_LIST = "comma separated list or option can be specified multiple times"
_SPANS = "yyyy-mm-dd, #m(inutes), #h(ours), #d(ays), #w(eeks), #M(onths), #y(ears)"
Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def folded(name: str, fold: Callable[[dict[str, Any]], Any], *options: Decorator) -> Decorator:
    """Return a decorator that adds options, whose values arrive together as `name`, made by `fold`."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def called(*args: Any, **values: Any) -> Any:
            values[name] = fold(values)
            return function(*args, **values)

        result: Callable[..., Any] = called
        for option in reversed(options):
            result = option(result)
        return result

    return decorate


def permission_options(what: str = "permissions", *, remove: bool = False) -> Decorator:
    """Return a decorator that adds the flags of permissions.

    They arrive as `permissions`, a PermissionEdits.

    remove: whether there are flags that take permissions away too.
    """
    options: list[Decorator] = []
    for verb, kinds in (("allow", ("pub", "pubsub", "sub")), ("deny", ("pub", "pubsub", "sub"))):
        for kind in kinds:
            words = {"pub": "publish", "sub": "subscribe", "pubsub": "publish and subscribe"}[kind]
            denied = "deny " if verb == "deny" else ""
            options.append(listed(f"--{verb}-{kind}", text=f"add {denied}{words} {what} - {_LIST}"))
    options += [
        click.option(
            "--allow-pub-response",
            cls=BareOption,
            bare="1",
            type=int,
            default=None,
            metavar="",
            help=f"{what} to publish to reply subjects, one answer or --allow-pub-response=n",
        ),
        renamed(
            "--max-responses",
            type=int,
            metavar="N",
            text="older name of --allow-pub-response=N",
            instead="use --allow-pub-response or --allow-pub-response=n",
        ),
        click.option(
            "--response-ttl",
            default="",
            metavar="SPAN",
            help=f"how long {what} to answer last after a request, as 5s (default: no limit)",
        ),
    ]
    if remove:
        options += [
            switch("--rm-response-perms", text=f"remove response settings from {what}"),
            listed("--rm", text=f"remove publish/subscribe and deny {what} - {_LIST}"),
        ]
    return folded("permissions", _permissions, *options)


def user_options() -> Decorator:
    """Return a decorator that adds the flags for what a user may do: `edits`, a UserEdits.

    The flags of permissions are among them.
    """
    options = [
        click.option(
            "--time", "times", multiple=True, metavar="RANGE", help="add a range of hours hh:mm:ss-hh:mm:ss"
        ),
        listed("--rm-time", text=f"remove the range of hours that starts at hh:mm:ss - {_LIST}"),
        click.option("--locale", default=None, metavar="ZONE", help="time zone of the hours"),
        listed("--source-network", text=f"add source network for connection - {_LIST}"),
        listed("--rm-source-network", text=f"remove source network - {_LIST}"),
        listed(
            "--conn-type",
            text="set allowed connection types: LEAFNODE MQTT STANDARD WEBSOCKET LEAFNODE_WS MQTT_WS "
            f"IN_PROCESS - {_LIST}",
        ),
        listed("--rm-conn-type", text=f"remove connection types - {_LIST}"),
        click.option("--subs", default=None, metavar="N", help="maximum of subscriptions (-1 is unlimited)"),
        click.option("--data", default=None, metavar="SIZE", help="maximum data in bytes (-1 is unlimited)"),
        click.option(
            "--payload",
            default=None,
            metavar="SIZE",
            help="maximum message payload in bytes (-1 is unlimited)",
        ),
        switch("--bearer", default=None, text="no connect challenge required for user"),
    ]
    both = (permission_options(remove=True), folded("edits", _edits, *options))

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        # `permissions` is outermost, so it is made first and goes into `edits`
        return both[0](both[1](function))

    return decorate


def date_options() -> Decorator:
    """Return a decorator that adds `--start` and `--expiry`, which arrive as `dates`, a Dates."""
    return folded(
        "dates",
        _dates,
        click.option(
            "--start",
            default="",
            metavar="WHEN",
            help=f"valid from ('0' is always, '3d' is three days) - {_SPANS}",
        ),
        click.option(
            "--expiry",
            default="",
            metavar="WHEN",
            help=f"valid until ('0' is always, '2M' is two months) - {_SPANS}",
        ),
    )


def tag_options() -> Decorator:
    """Return a decorator that adds `--tag` and `--rm-tag`, which arrive as `tags`, a Tags."""
    return folded(
        "tags",
        lambda values: Tags(values.pop("tag"), values.pop("rm_tag")),
        listed("--tag", text=f"add tags - {_LIST}"),
        listed("--rm-tag", text=f"remove tags - {_LIST}"),
    )


def signing_key_options() -> Decorator:
    """Return a decorator that adds `--sk` and `--rm-sk`, which arrive as `signing_keys`, a SigningKeys."""
    return folded(
        "signing_keys",
        lambda values: SigningKeys(values.pop("sk"), values.pop("rm_sk")),
        listed("--sk", text=f'signing key, its file, or "generate" for a new one - {_LIST}'),
        listed("--rm-sk", text=f"remove signing key - {_LIST}"),
    )


def number(text: str | None) -> int | None:
    """Return a flag's number or size; None if it was not given. Raises WorkspaceError."""
    return None if text is None else size(text)


def _permissions(values: dict[str, Any]) -> PermissionEdits:
    lists = {
        f"{verb}_{kind}": values.pop(f"{verb}_{kind}")
        for verb in ("allow", "deny")
        for kind in ("pub", "pubsub", "sub")
    }
    new, old = values.pop("allow_pub_response"), values.pop("max_responses")
    return PermissionEdits(
        **lists,
        responses=new if new is not None else old,
        response_ttl=_span(values.pop("response_ttl")),
        rm_responses=values.pop("rm_response_perms", False),
        rm=values.pop("rm", ()),
    )


def _edits(values: dict[str, Any]) -> UserEdits:
    return UserEdits(
        permissions=values.pop("permissions"),
        payload=number(values.pop("payload")),
        data=number(values.pop("data")),
        subs=number(values.pop("subs")),
        bearer=values.pop("bearer"),
        conn_types=values.pop("conn_type"),
        rm_conn_types=values.pop("rm_conn_type"),
        src=values.pop("source_network"),
        rm_src=values.pop("rm_source_network"),
        times=values.pop("times"),
        rm_times=values.pop("rm_time"),
        locale=values.pop("locale"),
    )


def _dates(values: dict[str, Any]) -> Dates:
    start, expiry = values.pop("start"), values.pop("expiry")
    now = time.time_ns()
    return Dates(
        moment(start, now) if start else None,
        moment(expiry, now) if expiry else None,
    )


def _span(text: str) -> int | None:
    if not text:
        return None
    try:
        return duration.parse_go(text)
    except duration.DurationError as error:
        raise WorkspaceError(f"--response-ttl: {error}") from None
