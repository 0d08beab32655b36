"""Options of the WebSocket and MQTT listeners."""

from __future__ import annotations

from ....protocol.lazy_dataclass import dataclass
from .field import SECOND, option
from .tls import TLSOptions


@dataclass(slots=True)
class ListenerAuthorization:
    """One user or a token, for this listener only."""

    user: str = option("", "user username", "string", "User name.")
    password: str = option("", "password pass", "string", "Password.", secret=True)
    token: str = option("", "token", "string", "Token instead of a user.", secret=True)
    timeout: int | None = option(None, "timeout", "seconds", "Time to log in.")


@dataclass(slots=True)
class WebSocketOptions:
    """The `websocket { }` block: clients and leaf nodes over WebSocket."""

    host: str = option("0.0.0.0", "host net", "string", "Address to listen on.")  # noqa: S104 the reference's default
    port: int | None = option(None, "port listen", "port", "Port or `host:port`; -1: any free port.")
    advertise: str = option("", "advertise", "advertise", "Address announced to clients.")
    no_tls: bool = option(False, "no_tls", "bool", "Serve without TLS.")
    tls: TLSOptions | None = option(
        None, "tls", "section", "TLS of the listener.", reload=True, section=TLSOptions
    )
    same_origin: bool = option(False, "same_origin", "bool", "Accept only web pages of this host.")
    allowed_origins: list[str] = option(
        list,
        "allowed_origins allowed_origin allow_origins allow_origin origins origin",
        "strings",
        "Accept only web pages of these origins.",
    )
    handshake_timeout: int = option(
        0, "handshake_timeout", "duration", "Longest time for the upgrade, TLS included; 0: 10 seconds."
    )
    compression: bool = option(False, "compression compress", "bool", "Offer compression.")
    authorization: ListenerAuthorization | None = option(
        None, "authorization authentication", "section", "Who may connect.", section=ListenerAuthorization
    )
    no_auth_user: str = option("", "no_auth_user", "string", "User for clients that send no credentials.")
    jwt_cookie: str = option("", "jwt_cookie", "string", "Cookie that holds a JWT.")
    user_cookie: str = option("", "user_cookie", "string", "Cookie that holds the user name.")
    pass_cookie: str = option("", "pass_cookie", "string", "Cookie that holds the password.")
    token_cookie: str = option("", "token_cookie", "string", "Cookie that holds the token.")
    headers: dict[str, str] = option(dict, "headers", "string_map", "Headers of the HTTP answer.")
    ping_interval: int | None = option(None, "ping_interval", "duration", "Time between pings.")


@dataclass(slots=True)
class MQTTOptions:
    """The `mqtt { }` block: clients that speak MQTT."""

    host: str = option("0.0.0.0", "host net", "string", "Address to listen on.")  # noqa: S104 the reference's default
    port: int | None = option(
        None, "port listen", "port", "Port or `host:port`, usually 1883; -1: any free port."
    )
    tls: TLSOptions | None = option(
        None, "tls", "section", "TLS of the listener.", reload=True, section=TLSOptions
    )
    authorization: ListenerAuthorization | None = option(
        None, "authorization authentication", "section", "Who may connect.", section=ListenerAuthorization
    )
    no_auth_user: str = option("", "no_auth_user", "string", "User for clients that send no credentials.")
    ack_wait: int = option(
        30 * SECOND, "ack_wait ackwait", "duration", "Longest time for an acknowledgement.", reload=True
    )
    js_api_timeout: int = option(
        5 * SECOND, "js_api_timeout api_timeout", "duration", "Longest time for a JetStream request."
    )
    max_ack_pending: int = option(
        1024,
        "max_ack_pending max_pending max_inflight",
        "int",
        "Unacknowledged messages of a subscription.",
        minimum=0,
        maximum=65535,
        reload=True,
    )
    js_domain: str = option("", "js_domain", "string", "JetStream domain to use.")
    stream_replicas: int = option(
        0, "stream_replicas", "int", "Replicas; 0: chosen by the server.", reload=True
    )
    consumer_replicas: int = option(0, "consumer_replicas", "int", "Ignored.")
    consumer_memory_storage: bool = option(
        False, "consumer_memory_storage", "bool", "Keep consumers in memory.", reload=True
    )
    consumer_inactive_threshold: int = option(
        0,
        "consumer_inactive_threshold consumer_auto_cleanup",
        "duration",
        "Remove idle consumers.",
        reload=True,
    )
    reject_qos2_publish: bool = option(False, "reject_qos2_publish", "bool", "Refuse QoS 2 messages.")
    downgrade_qos2_subscribe: bool = option(False, "downgrade_qos2_subscribe", "bool", "QoS 1 instead of 2.")
