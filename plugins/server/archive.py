"""What `audit gather` saved of a deployment, read in place of servers: `--archive FILE`.

The format is that of `nats audit gather` (jsm.go's audit/archive): a ZIP file of the servers' own answers,
and a manifest that says what each file is, and of which server, account and stream. `ServerArchive.answers`
returns the answers to a request on `$SYS.REQ.SERVER…`, so that every report reads archives.

Promises: files of an archive are read one by one, never extracted, and none beyond MOST bytes. What an
archive cannot know is refused, not left out.
"""

from __future__ import annotations

import json
import struct
import zipfile
import zlib
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import click

from ...cli.connection import NatsConnection, connect
from ...cli.errors import CliError, NotFoundError, UsageError
from ...cli.param import ExistingPath

Info = dict[str, Any]

MANIFEST = "capture/misc/manifest.json"
METADATA = "capture/misc/audit_gather_metadata.json"
# What reading a damaged ZIP file raises.
DAMAGE = (zipfile.BadZipFile, zlib.error, struct.error, OSError, RuntimeError, EOFError, ValueError)
MOST = 1 << 28  # bytes of one file
UNCLUSTERED = "unclustered"
SERVICE = "$SYS.REQ.SERVER."
EVERYONE = "PING"
# What an answer is called in an archive.
ARTIFACTS = {
    "VARZ": "variables",
    "EXPVARZ": "exp_variables",
    "CONNZ": "connections",
    "ROUTEZ": "routes",
    "GATEWAYZ": "gateways",
    "LEAFZ": "leafs",
    "SUBSZ": "subs",
    "JSZ": "jetstream_info",
    "ACCOUNTZ": "accounts",
    "HEALTHZ": "health",
    "RAFTZ": "account_raftz",
    "IPQUEUESZ": "account_ipqueues",
}
STREAM_INFO = "stream_info"
ACCOUNT_INFO, ACCOUNT_CONNECTIONS = "account_info", "account_connections"
PROFILE = "profile"
# Fields of requests that servers look at and an archive cannot, since it does not have what they choose from.
UNKNOWN = {
    "CONNZ": ("filter_subject", "user", "state", "cid"),
    "HEALTHZ": ("js-enabled-only", "js-server-only", "account", "stream", "consumer"),
    "GATEWAYZ": ("name", "account_name"),
    "SUBSZ": ("test",),
    "JSZ": ("stream_leader_only",),
    "PROFILEZ": ("duration",),
}
# The list, or the object, in which a server's answer to a request is spread over several files.
SPREAD = {"JSZ": "account_details", "SUBSZ": "subscriptions_list", "CONNZ": "connections"}
KEY = "pyjs.server.archive"


def _keep(context: click.Context, _param: click.Parameter, value: str | None) -> None:
    if value:
        context.meta[KEY] = value


_OPTION: dict[str, Any] = {
    "metavar": "FILE",
    "type": ExistingPath(dir_okay=False),
    "expose_value": False,
    "callback": _keep,
    "help": "Read this file of 'audit gather' instead of asking servers.",
}
ARCHIVE = click.option("--archive", **_OPTION)


def archive_option() -> click.Option:
    """Return the option of a command that is made without decorators."""
    return click.Option(["--archive"], **_OPTION)


class Artifact(NamedTuple):
    """A file of an archive. tags: what it is of, by the names of the manifest."""

    path: str
    tags: dict[str, str]


class ServerArchive:
    """An open archive."""

    timeout = 0.0  # seconds: nobody is waited for

    def __init__(self, path: str, opened: zipfile.ZipFile) -> None:
        self.path = path
        self._zip = opened
        manifest = self.load(MANIFEST)
        try:
            self.artifacts = [
                Artifact(name, {str(tag["Name"]): str(tag["Value"]) for tag in manifest[name]})
                for name in sorted(manifest)
            ]
        except (KeyError, TypeError):
            raise CliError(f"the manifest of {path} is not in the form of 'audit gather'") from None

    def load(self, name: str) -> Info:
        """Return the document of a file. Raises CliError if it is missing, damaged or no JSON object."""
        try:
            document = json.loads(self.read(name))
        except (ValueError, RecursionError):
            document = None
        if not isinstance(document, dict):
            raise CliError(f"{name} in {self.path} is not a JSON object")
        return document

    def read(self, name: str) -> bytes:
        """Return the bytes of a file. Raises CliError if it is missing, damaged or larger than MOST."""
        try:
            if self._zip.getinfo(name).file_size > MOST:
                raise CliError(f"{name} in {self.path} is larger than {MOST >> 20} MiB")
            return self._zip.read(name)
        except KeyError:
            raise CliError(f"{self.path} has no {name}: it is not an archive of 'audit gather'") from None
        except DAMAGE as error:
            raise CliError(f"{name} in {self.path} cannot be read: {error}") from None

    def of_type(self, kind: str, **tags: str) -> Iterator[Artifact]:
        """Yield the files of a type that have these tags."""
        wanted = {"artifact_type": kind, **tags}
        for artifact in self.artifacts:
            if all(artifact.tags.get(name) == value for name, value in wanted.items()):
                yield artifact

    def answers(self, subject: str, request: Info) -> list[Info]:
        """Return the answers that servers would send. Raises UsageError for what the archive cannot know."""
        where, _, endpoint = subject.removeprefix(SERVICE).partition(".")
        if not endpoint and where != EVERYONE:
            raise UsageError(f"an archive does not answer {subject}")
        refused = [name for name in UNKNOWN.get(endpoint, ()) if request.get(name)]
        if refused:
            raise UsageError(
                f"an archive cannot select by {', '.join(refused)}: it has what was gathered without that"
            )
        found = self._statistics() if not endpoint else self._documents(endpoint, request)
        chosen = [each for each in found if _is_chosen(each.get("server") or {}, where, request)]
        if not chosen:
            raise NotFoundError(f"the archive has no {endpoint or 'statistics'} of such a server")
        return [_narrowed(endpoint, each, request) for each in chosen]

    def _documents(self, endpoint: str, request: Info) -> list[Info]:
        """Return one answer for each server, put together from all its files."""
        if endpoint == "PROFILEZ":
            return list(self._profiles(request))
        kind = ARTIFACTS.get(endpoint)
        if kind is None:
            raise UsageError(f"an archive has nothing that answers {endpoint}")
        artifacts = list(self.of_type(kind))
        if endpoint == "ACCOUNTZ" and request.get("account"):
            loaded = [self.load(each.path) for each in self.of_type(ACCOUNT_INFO, account=request["account"])]
            return [{**each, "data": {"account_detail": each.get("data")}} for each in loaded]
        if endpoint == "CONNZ":  # those of accounts say which account a connection is of
            artifacts = list(self.of_type(ACCOUNT_CONNECTIONS)) or artifacts
        by_server: dict[str, Info] = {}
        for artifact in artifacts:
            document = self.load(artifact.path)
            data = document.get("data")
            if endpoint == "CONNZ" and isinstance(data, dict):
                account = {"account": artifact.tags["account"]} if "account" in artifact.tags else {}
                data["connections"] = [{**account, **each} for each in data.get("connections") or []]
            server = str((document.get("server") or {}).get("id", artifact.path))
            if server in by_server:
                _merge(endpoint, by_server[server], document)
            else:
                by_server[server] = document
        return list(by_server.values())

    def _profiles(self, request: Info) -> Iterator[Info]:
        """Yield the profile asked for of each server."""
        import base64

        servers = {each["server"]["name"]: each["server"] for each in self._documents("VARZ", {})}
        debug = f"_{request['debug']}" if request.get("debug") else ""
        for artifact in self.of_type(PROFILE, profile_name=f"{request.get('name')}{debug}"):
            name = artifact.tags.get("server", "")
            cluster = artifact.tags.get("cluster", "")
            own = {"name": name, **({} if cluster == UNCLUSTERED else {"cluster": cluster})}
            profile = base64.b64encode(self.read(artifact.path)).decode()
            yield {"server": servers.get(name, own), "data": {"profile": profile}}

    def _statistics(self) -> list[Info]:
        """Return what servers answer to a ping, made of their variables, routes, gateways and accounts."""
        routes, gateways, accounts = (
            {_id(each): each.get("data") or {} for each in self._documents(endpoint, {})}
            for endpoint in ("ROUTEZ", "GATEWAYZ", "ACCOUNTZ")
        )
        variables = self._documents("VARZ", {})
        return [
            {
                "server": each.get("server") or {},
                "statsz": _statsz(
                    each.get("data") or {},
                    routes.get(_id(each), {}),
                    gateways.get(_id(each), {}),
                    len(accounts.get(_id(each), {}).get("accounts") or ()),
                    len(variables),
                ),
            }
            for each in variables
        ]


Source = NatsConnection | ServerArchive


@asynccontextmanager
async def servers() -> AsyncIterator[Source]:
    """Yield the archive that `--archive` names, or a connection."""
    path = click.get_current_context().meta.get(KEY)
    if not path:
        async with connect() as connection:
            yield connection
        return
    with open_archive(path) as opened:
        yield ServerArchive(path, opened)


def open_archive(path: str) -> zipfile.ZipFile:
    """Open an archive's file. Raises CliError if it is none."""
    try:
        return zipfile.ZipFile(path)
    except DAMAGE as error:
        raise CliError(f"{path} is no archive of 'audit gather': {error}") from None


def _id(document: Info) -> str:
    return str((document.get("server") or {}).get("id", ""))


def _is_chosen(server: Info, where: str, request: Info) -> bool:
    """Whether a request is meant for a server, by the fields that select servers.

    Source: nats-server's server/events.go, filterRequest.
    """
    if where != EVERYONE and where != server.get("id"):
        return False
    exact = bool(request.get("exact_match"))

    def is_like(name: str, wanted: str) -> bool:
        value = str(server.get(name, ""))
        return value == wanted if exact else wanted in value

    name = request.get("server_name")
    if name and not (is_like("name", name) or is_like("id", name)):
        return False
    for field in ("host", "cluster"):
        if request.get(field) and not is_like(field, request[field]):
            return False
    tags = {str(tag).lower() for tag in server.get("tags") or ()}
    return {str(tag).lower() for tag in request.get("tags") or ()} <= tags


def _merge(endpoint: str, into: Info, more: Info) -> None:
    """Add the data of another file of the same server."""
    data, added = into.get("data"), more.get("data")
    if not isinstance(data, dict) or not isinstance(added, dict):
        return
    if endpoint in SPREAD:
        name = SPREAD[endpoint]
        data[name] = [*(data.get(name) or ()), *(added.get(name) or ())]
    elif endpoint in ("RAFTZ", "IPQUEUESZ"):
        data.update(added)


def _narrowed(endpoint: str, document: Info, request: Info) -> Info:
    """Return an answer with only the account, or the part, that was asked for."""
    data = document.get("data")
    if not isinstance(data, dict):
        return document
    account = request.get("account") or request.get("acc")
    if endpoint == "CONNZ":
        listed = [each for each in data["connections"] if not account or each.get("account") == account]
        data = {**data, "connections": listed, "num_connections": len(listed), "total": len(listed)}
    elif endpoint == "JSZ" and account:
        details = [each for each in data.get("account_details") or () if each.get("name") == account]
        data = {**data, "account_details": details}
    elif endpoint == "RAFTZ":
        groups = {name: each for name, each in data.items() if not account or name == account}
        wanted = request.get("group")
        data = {
            name: {group: state for group, state in each.items() if not wanted or group == wanted}
            for name, each in groups.items()
        }
    elif endpoint == "IPQUEUESZ" and request.get("filter"):
        data = {name: each for name, each in data.items() if request["filter"] in name}
    elif endpoint in ("LEAFZ", "SUBSZ") and account:
        name = "leafs" if endpoint == "LEAFZ" else "subscriptions_list"
        data = {**data, name: [each for each in data.get(name) or () if each.get("account") == account]}
    return {**document, "data": data}


def _statsz(variables: Info, routes: Info, gateways: Info, accounts: int, servers: int) -> Info:
    """Return the statistics of a server. Source: jsm.go's serverdata/audit_archive.go, Statz."""
    same = ("start", "mem", "cores", "gomaxprocs", "cpu", "connections", "total_connections",
            "slow_consumers", "slow_consumer_stats")  # fmt: skip
    found = {name: variables[name] for name in same if name in variables}
    found |= {
        "subscriptions": variables.get("subscriptions", 0),
        "sent": {"msgs": variables.get("out_msgs", 0), "bytes": variables.get("out_bytes", 0)},
        "received": {"msgs": variables.get("in_msgs", 0), "bytes": variables.get("in_bytes", 0)},
        "active_accounts": accounts,
        "active_servers": servers,
        "routes": [
            {"rid": each.get("rid"), "name": each.get("remote_name", "")}
            for each in routes.get("routes") or ()
        ],
        "gateways": [
            {
                "name": name,
                "inbound_connections": len((gateways.get("inbound_gateways") or {}).get(name) or ()),
            }
            for name in sorted(gateways.get("outbound_gateways") or ())
        ],
    }
    if (variables.get("jetstream") or {}).get("config"):
        found["jetstream"] = variables["jetstream"]
    return found
