"""`pyjs server request`: the raw answers of servers about themselves, one line of JSON for each.

The commands are a table: the endpoint, and which options become which fields of the request.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click

from ...cli import render
from ...cli.command import Command, CommandGroup
from ...cli.connection import connect
from ...cli.param import ExistingPath, split_list
from .archive import archive_option, servers
from .connections import STATES
from .poll import poll
from .profile import PROFILES, save_all

Info = dict[str, Any]
SORTS = ("cid", "start", "subs", "pending", "msgs_to", "msgs_from", "bytes_to", "bytes_from", "last", "idle",
         "uptime", "stop", "reason", "rtt")  # fmt: skip


class Field(NamedTuple):
    """An option of a command, and the fields of the request that its value sets."""

    spelling: str
    help: str
    keys: tuple[str, ...] = ()
    kind: Any = str
    default: Any = None

    def option(self) -> click.Option:
        """Return the option, whose value arrives in the keyword argument `name`."""
        words = [*self.spelling.split(), "value_" + self.name]
        if self.kind is bool:
            return click.Option(words, is_flag=True, default=bool(self.default), help=self.help)
        return click.Option(words, type=self.kind, default=self.default, help=self.help)

    @property
    def name(self) -> str:
        """The long spelling as a Python name."""
        return self.spelling.split()[-1].partition("/")[0].removeprefix("--").replace("-", "_")


class RequestSpec(NamedTuple):
    """A command: its endpoint and its options.

    paged: whether it has --limit and --offset.
    """

    name: str
    endpoint: str
    help: str
    aliases: tuple[str, ...] = ()
    fields: tuple[Field, ...] = ()
    fixed: tuple[str, ...] = ()  # fields of the request that are always true
    paged: bool = False


SUBSCRIPTIONS = Field(
    "--subscriptions", "Show subscriptions.", ("subscriptions", "subscriptions_detail"), bool
)
OF_ACCOUNT = Field("--account", "Only this account.", ("account",))
QUERIES = (
    RequestSpec("accounts", "ACCOUNTZ", "Accounts, or details of one", ("accountz", "acct"), (OF_ACCOUNT,)),
    RequestSpec(
        "connections", "CONNZ", "Connections", ("conn", "connz"),
        (
            Field("--sort", "Sort by this.", ("sort",), click.Choice(SORTS), "cid"),
            SUBSCRIPTIONS,
            Field("--filter-cid", "Only the connection of this number.", ("cid",), int),
            Field("--filter-state", "open, closed or all.", ("state",), click.Choice(tuple(STATES)), "open"),
            Field("--filter-user", "Only connections of this user.", ("user",)),
            Field("--filter-account", "Only connections of this account.", ("acc",)),
            Field("--filter-subject", "Only connections subscribed to it.", ("filter_subject",)),
            Field("--filter-empty", "Only servers that have connections.", (), bool),
        ),
        ("auth",), paged=True,
    ),
    RequestSpec(
        "gateways", "GATEWAYZ", "Gateways", ("gateway", "gwy", "gatewayz"),
        (
            Field("--filter-account", "Only this account in the details.", ("account_name",)),
            Field("--accounts", "Show accounts.", ("accounts",), bool),
            Field("--subscriptions/--no-subscriptions", "Show subscriptions of an account.",
                  ("subscriptions", "subscriptions_detail"), bool, True),
        ),
    ),
    RequestSpec(
        "ipqueue", "IPQUEUESZ", "Internal queues", ("ipq", "ipqueuesz"),
        (
            Field("--all/--no-all", "Everything there is (default: yes).", ("all",), bool, True),
            Field("--filter", "Only queues of this name.", ("filter",)),
        ),
    ),
    RequestSpec(
        "jetstream", "JSZ", "JetStream", ("jsz", "js"),
        (
            OF_ACCOUNT,
            Field("--accounts", "Show accounts.", ("accounts",), bool),
            Field("--streams", "Show Streams.", ("streams",), bool),
            Field("--consumer", "Show Consumers.", ("consumer",), bool),
            Field("--config", "Show configurations.", ("config",), bool),
            Field("--raft", "Show Raft groups.", ("raft",), bool),
            Field("--leader", "Only the leader of the meta group answers.", ("leader_only",), bool),
            Field("--stream-leader", "Only leaders of Streams answer.", ("stream_leader_only",), bool),
            Field("--all", "All of it.", ("accounts", "streams", "consumer", "config", "raft"), bool),
        ),
        paged=True,
    ),
    RequestSpec(
        "jetstream-health", "HEALTHZ", "Health", ("healthz",),
        (
            Field("-J --js-enabled/--no-js-enabled", "JetStream has to be on.", ("js-enabled-only",), bool),
            Field("-S --server-only/--no-server-only", "Not its Streams.", ("js-server-only",), bool),
            OF_ACCOUNT,
            Field("--stream", "Only this Stream.", ("stream",)),
            Field("--consumer", "Only this Consumer.", ("consumer",)),
            Field("--details/--no-details", "Each fault by itself (default: yes).", ("details",), bool, True),
        ),
    ),
    RequestSpec("leafnodes", "LEAFZ", "Leaf connections", ("leaf", "leafz"), (SUBSCRIPTIONS,)),
    RequestSpec(
        "raft", "RAFTZ", "Raft groups", ("raftz",),
        (OF_ACCOUNT, Field("--group", "Only this group.", ("group",))),
    ),
    RequestSpec("routes", "ROUTEZ", "Routes", ("route", "routez"), (SUBSCRIPTIONS,)),
    RequestSpec(
        "subscriptions", "SUBSZ", "Subscriptions", ("sub", "subsz"),
        (
            Field("--detail", "Show each of them.", ("subscriptions",), bool),
            Field("--filter-account", "Only those of this account.", ("account",)),
            Field("--filter-subject", "Only those that hear this subject.", ("test",)),
        ),
        paged=True,
    ),
    RequestSpec("variables", "VARZ", "Settings and numbers", ("var", "varz")),
)  # fmt: skip
# They may come after `request` as well as after the command.
SHARED = (
    Field("--limit", "Show this many (default: 2048).", (), int),
    Field("--offset", "Begin with this one.", (), int),
    Field("--name", "Only servers of this name.", ("server_name",)),
    Field("--host", "Only servers on this host.", ("host",)),
    Field("--cluster", "Only servers of this cluster.", ("cluster",)),
)
TAGS = ("--tags", "value_tags")


def _tags() -> click.Option:
    return click.Option(TAGS, multiple=True, help="Only servers with this tag.")


def _given(context: click.Context, name: str) -> Any:
    """Return a shared option's value, given after the command or after `request`."""
    key = "value_" + name
    parent = context.parent.params if context.parent is not None else {}
    return context.params.get(key) or parent.get(key)


def asked(context: click.Context, query: RequestSpec) -> Info:
    """Return the request for the options of a command's context."""
    body: Info = dict.fromkeys(query.fixed, True)
    for field in query.fields:
        value = context.params["value_" + field.name]
        if value not in (None, False, ""):
            body |= dict.fromkeys(field.keys, value)
    if "state" in body:
        body["state"] = STATES[body["state"]]
    if query.paged:
        body |= {"limit": _given(context, "limit") or 2048, "offset": _given(context, "offset") or 0}
    for name, key in (("name", "server_name"), ("host", "host"), ("cluster", "cluster")):
        if _given(context, name):
            body |= {key: _given(context, name), "exact_match": True}
    tags = split_list(tuple(_given(context, "tags") or ()))
    return body | ({"tags": tags, "exact_match": True} if tags else {})


def _command(query: RequestSpec) -> click.Command:
    """Return the command of a row of the table."""

    async def ask(wait: int, filter_name: str = "", **_: Any) -> None:
        context = click.get_current_context()
        body = asked(context, query)
        if filter_name:
            body["name"] = filter_name
        if body.get("account_name"):
            body["accounts"] = True
        if body.get("leader_only") or body.get("server_name"):
            wait = wait or 1
        async with servers() as connection:
            answers = await poll(connection, f"$SYS.REQ.SERVER.PING.{query.endpoint}", body, expect=wait)
        for each in answers:
            connections = (each.document.get("data") or {}).get("num_connections", 0)
            if connections or not context.params.get("value_filter_empty"):
                show(each.document)

    params: list[click.Parameter] = [
        click.Argument(["wait"], required=False, type=click.IntRange(min=0), default=0)
    ]
    if query.endpoint == "GATEWAYZ":
        params.append(click.Argument(["filter_name"], required=False, default=""))
    taken = {field.name for field in query.fields}
    options = [field.option() for field in (*query.fields, *(f for f in SHARED if f.name not in taken))]
    text = f"{query.help}, of each server; ends with WAIT answers when it is given."
    params += [*options, _tags(), archive_option()]
    return Command(query.name, callback=ask, params=params, help=text, short_help=query.help)


def show(document: Info) -> None:
    """Show an answer on one line."""
    render.show(json.dumps(document, separators=(",", ":"), ensure_ascii=False))


@click.command("kick", cls=Command)
@click.argument("client", type=click.IntRange(min=1))
@click.argument("server", metavar="SERVER_ID")
async def kick(client: int, server: str) -> None:
    """Disconnect a client, by its number and its server's id."""
    async with connect() as connection:
        answers = await poll(connection, f"$SYS.REQ.SERVER.{server}.KICK", {"cid": client}, expect=1)
    render.show_json(answers[0].document)


PROFILE = RequestSpec(
    "profile", "PROFILEZ", "Save profiles of servers in files",
    fields=(Field("--level", "Debug level: 1 and 2 are texts.", ("debug",), int, 0),),
)  # fmt: skip


def _profile() -> click.Command:
    async def take(profile: str, directory: Path, **_: Any) -> None:
        body = asked(click.get_current_context(), PROFILE) | {"name": profile}
        async with servers() as connection:
            await save_all(connection, body, directory)

    params: list[click.Parameter] = [
        click.Argument(["profile"], type=click.Choice(PROFILES)),
        click.Argument(
            ["directory"],
            required=False,
            default=".",
            type=ExistingPath(file_okay=False, path_type=Path),
        ),
        *(field.option() for field in (*PROFILE.fields, *SHARED) if field.name not in ("limit", "offset")),
        _tags(),
        archive_option(),
    ]
    text = "Save a profile of each server in a file of DIRECTORY; a cpu profile takes as long as --timeout."
    return Command("profile", callback=take, params=params, help=text, short_help=PROFILE.help)


def _group(queries: Sequence[RequestSpec]) -> CommandGroup:
    made = CommandGroup(
        name="request",
        params=[*(field.option() for field in SHARED), _tags()],
        callback=lambda **_: None,
        help="What servers say of themselves, one line of JSON for each.",
    )
    for query in queries:
        made.add_command(_command(query))
        made.add_alias(query.name, *query.aliases)
    made.add_command(kick)
    made.add_command(_profile())
    return made


request = _group(QUERIES)
