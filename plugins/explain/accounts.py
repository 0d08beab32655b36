"""Accounts as running servers tell of them, made into the server's own accounts.

The system account's users may ask for mappings, exports and imports of every account (ACCOUNTZ), and with
pyjs all users for those of their own. An `AccountRegistry` is made from that, so that the same classes decide
as in the server. Exports are taken from the imports that servers call valid: they have checked who may import
what.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ...cli.connection import NatsConnection
from ...cli.user import ask_own_server
from ...protocol.subject import is_subset, matches
from ..server.poll import poll
from .queries import allowed
from .waypoint import UNKNOWN, Waypoint

if TYPE_CHECKING:
    from ...server.accounts.registry import AccountRegistry
    from ...server.config.options import AccountOptions, MappingOptions

Info = dict[str, Any]
REQUESTS = "$SYS.REQ.SERVER.{}.ACCOUNTZ"
OWN = "$SYS.REQ.USER.ACCOUNT"
MOST_ENTRIES = 16_384  # of the own account
MOST_ACCOUNTS = 100  # that are asked about to find who imports from an account
FULL = 100
RESPONSES = {"Singleton": "singleton", "Streamed": "stream", "Chunked": "chunked"}  # as ACCOUNTZ has them
SYSTEM_USERS = "users of the system account"
MAYBE = "A mapping may lead it elsewhere."
UNSEEN = f"This server tells mappings, imports and leaf connections to {SYSTEM_USERS} only."
REFUSED = f"This user may not ask its server for mappings and imports: it may not publish to {OWN}."
ELSEWHERE = "--sys names a context of a user of the system account. --config reads a server's file."


class Accounts:
    """What servers told of their accounts.

    details: the accounts that were asked about, by name.
    system: the name of the system account; empty if it is not known.
    note: what could not be looked at.
    own: the only account that is known, and by what its own users are told; empty if it is not so.
    """

    def __init__(self, details: dict[str, Info], system: str = "", note: str = "", own: str = "") -> None:
        self.details = details
        self.system = system
        self.note = note
        self.own = own

    def registry(self, name: str) -> AccountRegistry:
        """Return the accounts, `name` among them, with their mappings and imports."""
        from ...server.accounts.registry import AccountRegistry
        from ...server.clock import LoopClock
        from ...server.config.options import Options

        options = Options()
        names = {name, self.system, *self.details} - {""}
        options.accounts = {each: _options(each, self.details.get(each, {})) for each in sorted(names)}
        for importer in list(options.accounts.values()):
            for link in importer.imports:
                self._export(options.accounts, link.account, link.kind, link.subject)
        options.system_account = self.system
        return AccountRegistry(options, LoopClock(asyncio.get_running_loop()))

    def _export(self, accounts: dict[str, AccountOptions], name: str, kind: str, subject: str) -> None:
        from ...server.config.options import AccountOptions, ExportOptions

        account = accounts.setdefault(name, AccountOptions(name=name))
        if not any((each.kind, each.subject) == (kind, subject) for each in account.exports):
            export = ExportOptions(kind, subject)
            for each in self.details.get(name, {}).get("exports") or []:
                if each.get("type") == kind and is_subset(subject, str(each.get("subject"))):
                    export.response_type = RESPONSES.get(each.get("response_type"), export.response_type)
            account.exports.append(export)

    def add_to(self, waypoint: Waypoint) -> None:
        """Add what servers say of an account's imports that they do not serve, and what was not looked at."""
        for each in self.details.get(waypoint.account, {}).get("imports") or []:
            if each.get("invalid"):
                text = f"The import of {each.get('subject')} from account {each.get('account')} is not valid."
                waypoint.add("import", UNKNOWN, text, str(each.get("account", "")))
        if self.note:
            waypoint.add("accounts", UNKNOWN, self.note)
        if self.own == waypoint.account != "":
            self._add_unseen(waypoint)
        elif self.own:
            text = f"What becomes of it in account {waypoint.account} is told to {SYSTEM_USERS} only."
            waypoint.add("service", UNKNOWN, text, waypoint.account)

    def _add_unseen(self, waypoint: Waypoint) -> None:
        """Add what the users of an account are not told of it."""
        exported = [
            str(each.get("subject"))
            for each in self.details[self.own].get("exports") or []
            if each.get("type") == "stream" and matches(str(each.get("subject")), waypoint.subject)
        ]
        if exported:
            text = f"The account exports {exported[0]}. Who imports it is told to {SYSTEM_USERS} only."
            waypoint.add("stream export", UNKNOWN, text)
        text = (
            f"Which leaf connections it crosses is told to {SYSTEM_USERS} only: --sys names a context of one."
        )
        waypoint.add("leaf", UNKNOWN, text)


async def own(connection: NatsConnection, seconds: float) -> Accounts:
    """Return the account of this user, by what its server says of it; none if it does not.

    seconds: for each answer.
    """
    details: Info = {"mappings": {}, "imports": [], "exports": []}
    offset, total, name = 0, -1, ""
    while offset < MOST_ENTRIES:
        request = json.dumps({"offset": offset}).encode()
        page = (await ask_own_server(connection, OWN, request, seconds)).get("data") or {}
        if "total" not in page:
            break
        name, total = str(page["account"]), int(page["total"])
        details["mappings"] |= page["mappings"]
        details["imports"] += page["imports"]
        details["exports"] += page["exports"]
        offset += int(page["count"])
        if offset >= total or not page["count"]:
            break
    if not name:
        refused = any(OWN in str(each) for each in connection.errors)
        return Accounts(
            {}, note=f"A mapping may lead it elsewhere. {REFUSED if refused else UNSEEN} {ELSEWHERE}"
        )
    note = f"Only {offset} of {total} mappings, imports and exports were told." if offset < total else ""
    return Accounts({name: details}, note=note, own=name)


async def asked(system: NatsConnection, name: str, server: str) -> Accounts:
    """Return the account called `name` and those that its messages may come to.

    server: the id of the server that tells; another one is asked if it does not answer.
    """
    subject = REQUESTS.format(server)
    first = await _data(system, subject, {})
    if not first:
        subject = REQUESTS.format("PING")
        first = await _data(system, subject, {})
    names = [str(each) for each in first.get("accounts") or []]
    note = ""
    if len(names) > MOST_ACCOUNTS:
        note = f"There are {len(names)} accounts: which of them import from this one was not looked at."
        names = []
    details: dict[str, Info] = {}
    wanted = [name, *names]
    while wanted and len(details) < 2 * MOST_ACCOUNTS:
        each = wanted.pop(0)
        if each and each not in details:
            details[each] = (await _data(system, subject, {"account": each})).get("account_detail") or {}
            wanted += [str(link.get("account", "")) for link in details[each].get("imports") or []]
    return Accounts(details, str(first.get("system_account", "")), note)


async def _data(system: NatsConnection, subject: str, request: Info) -> Info:
    answers = await allowed(poll(system, subject, request, expect=1)) or []
    found: Info = (answers[0].document.get("data") or {}) if answers else {}
    return found


def _options(name: str, detail: Info) -> AccountOptions:
    from ...server.config.options import AccountOptions, ImportOptions

    valid = [each for each in detail.get("imports") or [] if not each.get("invalid")]
    imports = [
        ImportOptions(
            str(each.get("type", "")), str(each.get("account", "")), str(each.get("subject", "")),
            to=str(each.get("local_subject") or each.get("to") or ""),
        )
        for each in valid
    ]  # fmt: skip
    return AccountOptions(name=name, imports=imports, mappings=list(_mappings(detail.get("mappings") or {})))


def _mappings(reported: Info) -> Iterable[MappingOptions]:
    from ...server.config.options import MappingOptions
    from ...server.config.options.accounts import DestinationOptions

    for source, targets in reported.items():
        here = [each for each in targets if not each.get("cluster")]
        weights = weights_of([int(each.get("weight", FULL)) for each in here])
        yield MappingOptions(
            source,
            [
                DestinationOptions(str(each.get("subject", "")), weight)
                for each, weight in zip(here, weights, strict=True)
            ],
        )


def weights_of(reported: list[int]) -> list[int]:
    """Return the weights of a mapping's destinations, which nats-server adds up from one to the next.

    Only sums above 100 show that it did (server/accounts.go, `AddWeightedMappings`).
    """
    if sum(reported) <= FULL:
        return reported
    return [each - before for each, before in zip(reported, [0, *reported], strict=False)]
