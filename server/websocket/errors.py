"""WebSocketError, and the status codes of close frames."""

from __future__ import annotations

NORMAL, GOING_AWAY, PROTOCOL_ERROR, INVALID_TEXT, POLICY, TOO_BIG, INTERNAL = (
    1000,
    1001,
    1002,
    1007,
    1008,
    1009,
    1011,
)
TLS_FAILED = 1015
_BY_REASON = {
    "Client Closed": NORMAL,
    "Authentication Timeout": POLICY,
    "Authentication Failure": POLICY,
    "Authentication Expired": POLICY,
    "Credentials Revoked": POLICY,
    "Slow Consumer (Pending Bytes)": POLICY,
    "Slow Consumer (Write Deadline)": POLICY,
    "Maximum Account Connections Exceeded": POLICY,
    "Maximum Connections Exceeded": POLICY,
    "Maximum Control Line Exceeded": POLICY,
    "Maximum Subscriptions Exceeded": POLICY,
    "Missing Account": POLICY,
    "TLS Handshake Failure": TLS_FAILED,
    "Parse Error": PROTOCOL_ERROR,
    "Protocol Violation": PROTOCOL_ERROR,
    "Bad Client Protocol Version": PROTOCOL_ERROR,
    "Maximum Message Payload Exceeded": TOO_BIG,
    "Maximum Payload Violation": TOO_BIG,
    "Write Error": GOING_AWAY,
    "Read Error": GOING_AWAY,
    "Stale Connection": GOING_AWAY,
    "Server Shutdown": GOING_AWAY,
}


class WebSocketError(Exception):
    """The peer broke the protocol of frames. `code` is the status with which to close."""

    def __init__(self, text: str, code: int = PROTOCOL_ERROR) -> None:
        super().__init__(text)
        self.code = code


def status_of(reason: str) -> int:
    """Return the status with which a connection is closed for `reason`, as nats-server does."""
    return _BY_REASON.get(reason, INTERNAL)
