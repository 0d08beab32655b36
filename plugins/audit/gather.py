"""`pyjs audit gather`: saves what all servers of the connection say of themselves in one file.

Promises: a server that does not answer, or refuses, is reported and does not end the gathering; the archive's
own log has what was reported.
"""

from __future__ import annotations

import base64
import getpass
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from ...cli import output, render
from ...cli.command import Command
from ...cli.connection import NatsConnection, connect
from ...cli.errors import CliError, UsageError
from ...cli.output.options import FORMATS
from ...version import __version__
from ..server.archive import ARTIFACTS, PROFILE, STREAM_INFO
from ..server.poll import poll
from .writing import ArchiveWriter, as_bytes

Info = dict[str, Any]
SERVICE = "$SYS.REQ.SERVER."
PAGE = 1024
SERVER_ENDPOINTS = ("VARZ", "EXPVARZ", "CONNZ", "ROUTEZ", "GATEWAYZ", "LEAFZ", "SUBSZ", "JSZ", "ACCOUNTZ",
                    "HEALTHZ")  # fmt: skip
ACCOUNT_ENDPOINTS = {
    "CONNZ": "account_connections",
    "LEAFZ": "account_leafs",
    "SUBSZ": "account_subs",
    "INFO": "account_info",
    "JSZ": "account_jetstream_info",
}
# What servers tell of an account if they are asked themselves, and the field that names it.
FILTERED_ENDPOINTS = {"RAFTZ": "account", "IPQUEUESZ": "filter"}
DETAILS: dict[str, Info] = {
    "CONNZ": {"subscriptions": True, "subscriptions_detail": True},
    "GATEWAYZ": {"accounts": True, "subscriptions": True, "subscriptions_detail": True},
    "HEALTHZ": {"details": True},
    "JSZ": {"accounts": True, "streams": True, "consumer": True, "config": True, "raft": True},
    "LEAFZ": {"subscriptions": True},
    "ROUTEZ": {"subscriptions": True, "subscriptions_detail": True},
    "SUBSZ": {"subscriptions": True},
}
PAGED = {"CONNZ": "connections", "SUBSZ": "subscriptions_list", "JSZ": "account_details"}
PROFILES = (("goroutine", 1), ("goroutine", 2), ("heap", 0), ("allocs", 0), ("mutex", 0), ("threadcreate", 0),
            ("block", 0), ("cpu", 0))  # fmt: skip
GRACE = 2.0  # seconds for the answer, after a server has measured for as long as --timeout


@click.command(cls=Command)
@output.showing("audit_archive")
@click.option(
    "-o", "--output", "target", metavar="FILE", default="",
    help="The archive to write (default: a file audit-archive-… in the temporary folder).",
)  # fmt: skip
@click.option("--progress/--no-progress", default=True, help="Say what is gathered (default: yes).")
@click.option("--cluster", default="", help="Only servers of this cluster.")
@click.option(
    "--server-endpoints/--no-server-endpoints", default=True, help="Gather server endpoints (default: yes)."
)
@click.option("--server-profiles/--no-server-profiles", default=True, help="Profiles (default: yes).")
@click.option(
    "--account-endpoints/--no-account-endpoints",
    default=True,
    help="Gather account endpoints (default: yes).",
)
@click.option("--streams/--no-streams", default=True, help="Each replica of Streams (default: yes).")
@click.option("--consumers/--no-consumers", default=True, help="Consumers of Streams (default: yes).")
@click.option("--details/--no-details", default=True, help="Ask for details (default: yes).")
async def gather(target: str, progress: bool, **wanted: Any) -> None:
    """Save what all servers say of themselves in an archive; as a user of the system account."""
    if target in FORMATS:
        raise UsageError(
            f"-o and --output name the archive here: use --json, or ./{target} for an archive of this name"
        )
    began = time.time()
    path = Path(target or Path(tempfile.gettempdir()) / f"audit-archive-{int(began)}.zip")
    async with connect() as connection:
        writer = ArchiveWriter(path)
        gathering = _Gathering(connection, writer, wanted, progress=progress)
        try:
            await gathering.run()
        except BaseException:
            writer.abandon()
            raise
        writer.finish()
    document = {"archive": str(path), **gathering.counts}
    output.show_page(document, f"Archive created at: {path}", name=str(path))


class _Gathering:
    """Asks servers and accounts, and adds their answers to an archive."""

    def __init__(
        self, connection: NatsConnection, writer: ArchiveWriter, wanted: Info, *, progress: bool
    ) -> None:
        self._connection = connection
        self._writer = writer
        self._wanted = wanted
        self._progress = progress
        self._log: list[str] = []
        self._servers: dict[str, Info] = {}
        self.counts = {"servers": 0, "accounts": 0, "streams": 0, "answers": 0, "profiles": 0, "failed": 0}

    async def run(self) -> None:
        """Gather everything that is wanted."""
        self._servers = await self._discovered()
        accounts, system = await self._accounts()
        self.counts |= {"servers": len(self._servers), "accounts": len(accounts)}
        if self._wanted["server_endpoints"]:
            for server in self._servers.values():
                for endpoint in SERVER_ENDPOINTS:
                    await self._of_server(server, endpoint)
            self._say(f"Captured {self.counts['answers']} endpoint responses")
        if self._wanted["server_profiles"]:
            for server in self._servers.values():
                await self._profiles(server)
        for account in accounts:
            stores = account != system and await self._has_jetstream(account)
            if self._wanted["account_endpoints"]:
                await self._of_account(account, stores)
            if self._wanted["streams"] and stores:
                await self._streams(account)
        metadata = self._metadata()
        self._writer.add_special("audit_gather_metadata", "json", as_bytes(metadata))
        self._writer.add_special("audit_gather_log", "log", "\n".join([*self._log, ""]).encode())

    def _say(self, text: str) -> None:
        self._log.append(f"{datetime.now():%H:%M:%S} {text}")
        if self._progress:
            render.log(text)

    async def _ask(
        self, subject: str, request: Info | None, expect: int = 0, longer: float = 0.0
    ) -> list[Info]:
        """Return the answers of servers that are known; failures are logged."""
        try:
            found = await poll(self._connection, subject, request, expect=expect, longer=longer)
        except CliError as error:
            self.counts["failed"] += 1
            self._say(f"No answer to {subject}: {error.message}")
            return []
        answers = [each.document for each in found]
        return [each for each in answers if not self._servers or _id(each) in self._servers]

    async def _discovered(self) -> dict[str, Info]:
        asked = {"cluster": self._wanted["cluster"], "exact_match": True} if self._wanted["cluster"] else None
        found = await poll(self._connection, SERVICE + "PING", asked)
        servers = {_id(each.document): each.document["server"] for each in found}
        self._say(f"Discovered {len(servers)} servers")
        return servers

    async def _accounts(self) -> tuple[list[str], str]:
        """Return the accounts of all servers, and the system account."""
        names: set[str] = set()
        system = ""
        for answer in await self._ask(SERVICE + "PING.ACCOUNTZ", None, len(self._servers)):
            data = answer.get("data") or {}
            names.update(data.get("accounts") or ())
            system = data.get("system_account") or system
        self._say(f"Discovered {len(names)} accounts over {len(self._servers)} servers")
        return sorted(names), system

    async def _of_server(self, server: Info, endpoint: str) -> None:
        if endpoint == "JSZ" and not server.get("jetstream"):
            return
        subject = f"{SERVICE}{server['id']}.{endpoint}"
        details = DETAILS.get(endpoint) if self._wanted["details"] else None
        offset = 0
        while True:
            paging = {"offset": offset, "limit": PAGE} if details and endpoint in PAGED else {}
            answers = await self._ask(subject, {**(details or {}), **paging} or None, 1)
            for answer in answers:
                (answer.get("data") or {}).pop("cmdline", None)  # of EXPVARZ; it may hold a password
                self._add(answer, ARTIFACTS[endpoint])
            listed = (answers[0].get("data") or {}).get(PAGED.get(endpoint, "")) if answers else None
            if not paging or len(listed or ()) < PAGE:
                return
            offset += PAGE

    async def _profiles(self, server: Info) -> None:
        """Save the profiles of a server; one that answers nothing to the first is not asked for more."""
        for name, debug in PROFILES:
            request = {"name": name, "debug": debug}
            longer = 0.0
            if name == "cpu":
                request["duration"], longer = round(self._connection.timeout * 1e9), GRACE
            answers = await self._ask(f"{SERVICE}{server['id']}.PROFILEZ", request, 1, longer)
            if not answers:
                return
            data = answers[0].get("data") or {}
            try:
                profile = base64.b64decode(data.get("profile") or "", validate=True)
            except ValueError:
                profile = b""
            if data.get("error") or not profile:
                self._say(f"No {name} profile from {server.get('name')}: {data.get('error', 'it is empty')}")
                continue
            tag = f"{name}_{debug}" if debug else name
            self._writer.add(profile, PROFILE, **_where(answers[0]), profile_name=tag)
            self.counts["profiles"] += 1

    async def _has_jetstream(self, account: str) -> bool:
        """Return whether a server says that the account has JetStream."""
        subject = f"$SYS.REQ.ACCOUNT.{account}.INFO"
        answers = await self._ask(subject, None, len(self._servers))
        return any((each.get("data") or {}).get("jetstream_enabled") for each in answers)

    async def _of_account(self, account: str, stores: bool) -> None:
        expect = len(self._servers)
        for endpoint, kind in ACCOUNT_ENDPOINTS.items():
            if endpoint == "JSZ" and not stores:
                continue
            for answer in await self._ask(f"$SYS.REQ.ACCOUNT.{account}.{endpoint}", None, expect):
                self._add(answer, kind, account=account)
        for endpoint, field in FILTERED_ENDPOINTS.items():
            for answer in await self._ask(f"{SERVICE}PING.{endpoint}", {field: account}, expect):
                self._add(answer, ARTIFACTS[endpoint], account=account)

    async def _streams(self, account: str) -> None:
        """Save each replica of the streams of an account."""
        asked = {
            "account": account,
            "streams": True,
            "consumer": self._wanted["consumers"],
            "config": True,
            "raft": True,
            "direct_consumer": True,
        }
        names: set[str] = set()
        for answer in await self._ask(SERVICE + "PING.JSZ", asked, len(self._servers)):
            details = (answer.get("data") or {}).get("account_details") or []
            if len(details) != 1:  # a server that does not know the account tells of all of them
                continue
            for stream in details[0].get("stream_detail") or ():
                names.add(str(stream["name"]))
                cluster = (stream.get("cluster") or {}).get("name", "")
                where = {**_where(answer), "cluster": cluster}
                self._writer.add(
                    as_bytes(stream), STREAM_INFO, **where, account=account, stream=str(stream["name"])
                )
        self.counts["streams"] += len(names)
        self._say(f"Discovered {len(names)} streams in account {account}")

    def _add(self, answer: Info, kind: str, **tags: str) -> None:
        self._writer.add(as_bytes(answer), kind, **_where(answer), **tags)
        self.counts["answers"] += 1

    def _metadata(self) -> Info:
        greeting = self._connection.greeting
        return {
            "capture_timestamp": datetime.now(UTC).isoformat().replace("+00:00", "Z"),
            "connected_server_name": greeting.get("server_name", ""),
            "connected_server_version": greeting.get("version", ""),
            "connect_url": self._connection.url,
            "user_name": getpass.getuser(),
            "version": f"pyjs {__version__}",
        }


def _id(answer: Info) -> str:
    return str((answer.get("server") or {}).get("id", ""))


def _where(answer: Info) -> dict[str, str]:
    server = answer["server"]
    return {"server": str(server.get("name", "")), "cluster": str(server.get("cluster", ""))}
