"""Neighbours: the other servers that share the system account, and how many connections each has per account.

A server becomes known by its statistics. It is forgotten when it says that it stops, when the route to it is
lost, when another server of its name starts, or after a long silence. Promises that `count` and the accounts'
numbers of connections elsewhere include the known servers and no others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...protocol import gojson
from ..accounts.enforce_limits import close_excess
from ..accounts.registry import GLOBAL
from ..accounts.subscription import ConnectionKind
from ..clock import SECOND
from .envelope import Envelope, encode

if TYPE_CHECKING:
    from ..accounts import Account
    from ..accounts.subscription import Message
    from ..monitor import Monitored

SILENT = 150 * SECOND
_SERVERS = (ConnectionKind.ROUTER, ConnectionKind.LEAF, ConnectionKind.GATEWAY)
SWEEP_INTERVAL = 30 * SECOND


class Neighbours:
    """The other servers, as one server knows them.

    publish_count: publishes the counts of one account under a subject.
    discovered: called once for each new server.
    """

    def __init__(
        self,
        server: Monitored,
        envelope: Envelope,
        publish_count: Callable[[Account, str], None],
        discovered: Callable[[], None],
    ) -> None:
        self._server = server
        self._envelope = envelope
        self._publish_count = publish_count
        self._discovered = discovered
        self._seen: dict[str, int] = {}  # when each server was last seen (ns), by id
        self._names: dict[tuple[str, str], str] = {}  # the id of the server with this name and cluster

    @property
    def count(self) -> int:
        """How many other servers there are."""
        return len(self._seen)

    @property
    def inbox(self) -> str:
        """The subject under which others answer with their counts."""
        return f"$SYS._INBOX_.{self._server.identity.id}"

    def start(self, system: Account) -> None:
        """Subscribe to what the others send."""
        for subject, callback in (
            ("$SYS.SERVER.*.STATSZ", self._statistics),
            ("$SYS.SERVER.*.SHUTDOWN", self._shutdown),
            ("$SYS.SERVER.ACCOUNT.*.CONNS", self._connections),
            (self.inbox, self._connections),
        ):
            system.subscribe(subject, callback)

    def ask(self, account: Account) -> None:
        """Ask the others how many connections an account has there."""
        system = self._server.registry.system
        if system is None or not self._seen or account.name == GLOBAL:
            return
        request = {"server": self._envelope.sender(), "acc": account.name}
        subject = f"$SYS.REQ.ACCOUNT.{account.name}.CONNS"
        system.publish(subject, encode(request), reply=self.inbox, own=True)

    def asked(self, message: Message) -> None:
        """Answer the request of another server (see `ask`), if the account has connections here."""
        account = self._server.registry.get(message.subject.split(".")[3])
        if message.reply and account is not None and (account.connections or account.leafs):
            self._publish_count(account, message.reply)

    def gone(self, server_id: str) -> None:
        """Forget a server that can no longer be reached."""
        if self._seen.pop(server_id, None) is None:
            return
        self._names = {name: each for name, each in self._names.items() if each != server_id}
        for account in self._server.registry.accounts.values():
            account.elsewhere.pop(server_id, None)

    def sweep(self) -> None:
        """Forget the servers that have been silent for long."""
        since = self._server.clock.now() - SILENT
        for server_id in [each for each, seen in self._seen.items() if seen < since]:
            self.gone(server_id)

    def _saw(self, server: dict[str, Any]) -> None:
        server_id = server["id"]
        new = server_id not in self._seen
        self._seen[server_id] = self._server.clock.now()
        if not new:
            return
        name = (str(server.get("name")), str(server.get("cluster", "")))
        before = self._names.get(name)
        if before is not None:  # it was killed and started again, without a SHUTDOWN
            self.gone(before)
        self._names[name] = server_id
        self._discovered()
        for account in list(self._server.registry.accounts.values()):
            if (account.connections or account.leafs) and account.name != GLOBAL:
                self._publish_count(account, f"$SYS.SERVER.ACCOUNT.{account.name}.CONNS")

    def _statistics(self, message: Message) -> None:
        server = self._sender(message)
        if server and server["id"] == message.subject.split(".")[2]:
            self._saw(server)

    def _shutdown(self, message: Message) -> None:
        self.gone(message.subject.split(".")[2])

    def _connections(self, message: Message) -> None:
        server = self._sender(message)
        body = _read(message.body)
        account = self._server.registry.get(str(body.get("acc")))
        clients, leafs = body.get("conns"), body.get("leafnodes")
        if not server or account is None or not isinstance(clients, int) or not isinstance(leafs, int):
            return
        self._saw(server)
        if clients or leafs:
            account.elsewhere[server["id"]] = (clients, leafs)
            close_excess(account, *account.elsewhere_sums())
        else:
            account.elsewhere.pop(server["id"], None)

    def _sender(self, message: Message) -> dict[str, Any]:
        """Return the other server that sent this, with its `id`; {} for this server, or a client."""
        if message.source is None or message.source.kind not in _SERVERS:
            return {}
        server = _read(message.body).get("server")
        if not isinstance(server, dict) or not isinstance(server.get("id"), str):
            return {}
        return server if server["id"] != self._server.identity.id else {}


def _read(body: bytes) -> dict[str, Any]:
    try:
        document = gojson.decode(body)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}
