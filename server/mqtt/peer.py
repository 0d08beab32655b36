"""MQTTPeer: one MQTT client as the parts of its connection see it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from ..accounts.auth import MQTT, MQTT_WS
from ..accounts.flusher import OutboundQueue
from ..client import ClientConnection
from .packets import NAMES

if TYPE_CHECKING:
    from ..accounts import Account
    from ..config.options import MQTTOptions
    from .account_sessions import AccountSessions
    from .flow import Resume
    from .session import Session

DUPLICATE = "Duplicate Client ID"


class MQTTPeer(ClientConnection):
    """What is known of one client, and how to answer it.

    mqtt_client: its client id; "" before CONNECT.
    session, sessions: its session, and those of its account; None until it has one.
    """

    tag = "mid"
    description: ClassVar = {"kind": "Client", "client_type": "mqtt"}
    session: Session | None = None
    sessions: AccountSessions | None = None

    @property
    def block(self) -> MQTTOptions:
        """The options of MQTT in force."""
        block = self.context.options.mqtt
        assert block is not None
        return block

    @property
    def joined(self) -> tuple[AccountSessions, Session, Account]:
        """The sessions, the session and the account of a client that has them."""
        assert self.sessions is not None
        assert self.session is not None
        assert self.account is not None
        return self.sessions, self.session, self.account

    @property
    def connection_type(self) -> str:
        """How it is connected, as in a user's allowed_connection_types."""
        return MQTT if self.upgrade is None else MQTT_WS

    @property
    def client_type(self) -> str:
        """How it is connected, as monitoring and events show it."""
        return "mqtt"

    def client_info(self, *, share: bool = True) -> dict[str, object]:
        """See `Connection.client_info`."""
        info = super().client_info(share=share)
        if share and self.mqtt_client:
            info["client_id"] = self.mqtt_client
        return info

    def rest(self, resume: Resume) -> None:
        """Let others have their turn. A wait of a flow."""
        self.clock.soon(lambda: resume(None))

    def caught_up(self, resume: Resume) -> None:
        """Wait until the client has read most of what it was sent. A wait of a flow."""
        self.flush()
        if self.closed_reason or self.pending <= self.stall_at:
            self.rest(resume)
        else:
            self.when_writable(lambda: self.rest(resume))

    def send_packet(self, packet: bytes) -> None:
        """Queue a packet without a payload, in order with messages."""
        if not self.closed_reason:
            OutboundQueue.send_line(self, packet)
            self._flusher.schedule()
            if self.context.options.trace:
                self.context.log.trace(f"{self} - ->> [{NAMES[packet[0] & 0xF0]} {len(packet)} bytes]")

    @property
    def holds_back(self) -> bool:
        """Whether the server reads nothing from the client at the moment."""
        return self._paused

    def count_message(self, size: int) -> None:
        """Count a message that the client has published."""
        self._count(self.account, size)

    def send_line(self, line: bytes) -> None:
        """Send nothing: the lines of NATS mean nothing to an MQTT client."""

    def stall(self, stalled: list[OutboundQueue]) -> None:
        """Read nothing for a moment; see `Connection.stall`."""
        super().stall([each for each in stalled if each is not self])

    def replace(self) -> None:
        """Close without a will: another client has come with the same id."""
        raise NotImplementedError

    def stale(self) -> None:
        """Close a client whose keep alive is over."""
        self.context.statistics.stale += 1
        self.context.log.debug(f"{self} - keep alive is over")
        self.close("Read Error")
