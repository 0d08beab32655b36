"""Checks of the WebSocket and MQTT listeners."""

from __future__ import annotations

from urllib.parse import urlsplit

from ..options import ListenerAuthorization, MQTTOptions, Options, WebSocketOptions
from ..read.context import ReadContext
from .users import all_users, check_no_auth_user

_OWN_HEADERS = ("host", "content-length", "connection", "upgrade", "nats-no-masking")
_PREFIX = "sec-websocket-"


def check(options: Options, context: ReadContext) -> None:
    """Check the blocks of both listeners. Without a port they are not looked at."""
    _websocket(options, context)
    _mqtt(options, context)


def _listener_authorization(
    options: Options, context: ReadContext, authorization: ListenerAuthorization | None, path: str
) -> None:
    if authorization is None:
        return
    at = context.positions.get(f"{path}.authorization")
    if authorization.user and authorization.token:
        context.error(at, f"{path}: cannot have a user/pass and a token")
    if not all_users(options):
        return
    for given, name in ((authorization.user, "username"), (authorization.token, "token")):
        if given:
            context.error(at, f"{path} authentication {name} not compatible with presence of users/nkeys")


def _websocket(options: Options, context: ReadContext) -> None:
    block = options.websocket
    if block is None or block.port is None:
        return
    where = context.positions
    if block.tls is None and not block.no_tls:
        context.error(where.get("websocket"), "websocket requires TLS configuration", "or no_tls: true")
    _origins(block, context)
    check_no_auth_user(options, block.no_auth_user, "websocket.no_auth_user", context)
    if block.jwt_cookie and not (options.operator or options.trusted_keys):
        context.error(
            where.get("websocket.jwt_cookie"),
            "trusted operators or trusted keys configuration is required for JWT authentication via cookie "
            f'"{block.jwt_cookie}"',
        )
    _listener_authorization(options, context, block.authorization, "websocket")
    for name, value in block.headers.items():
        _header(name, value, context)


def _origins(block: WebSocketOptions, context: ReadContext) -> None:
    at = context.positions.get("websocket.allowed_origins")
    for origin in block.allowed_origins:
        problem = ""
        try:
            parts = urlsplit(origin)
            if parts.scheme not in ("http", "https"):
                problem = "allowed origins must be absolute URLs with http or https scheme"
            elif not parts.hostname:
                problem = "host is required"
            elif parts.port == 0:
                problem = "0 is no port"
        except ValueError as error:
            problem = str(error)
        if problem:
            context.error(at, f'unable to parse allowed origin "{origin}": {problem}')


def _header(name: str, value: str, context: ReadContext) -> None:
    at = context.positions.get("websocket.headers")
    if name.lower() in _OWN_HEADERS:
        context.error(at, f'websocket: invalid header "{name}" not allowed')
    elif name.lower().startswith(_PREFIX):
        context.error(at, f'websocket: invalid header "{name}", "Sec-WebSocket-" prefix not allowed')
    elif not name or any(character in " :\r\n" for character in name) or "\r" in value or "\n" in value:
        context.error(at, f'websocket: invalid header "{name}", it would break the answer')


def _mqtt(options: Options, context: ReadContext) -> None:
    block = options.mqtt
    if block is None or block.port is None:
        return
    clustered = (
        options.cluster is not None and options.cluster.port is not None
    ) or options.gateway is not None
    if clustered and not options.server_name:
        context.error(
            context.positions.get("mqtt"), "mqtt requires server_name to be set in clustering or gateway mode"
        )
    check_no_auth_user(options, block.no_auth_user, "mqtt.no_auth_user", context)
    _listener_authorization(options, context, block.authorization, "mqtt")
    _mqtt_jetstream(options, block, clustered, context)


def _mqtt_jetstream(options: Options, block: MQTTOptions, clustered: bool, context: ReadContext) -> None:
    where, leafs = context.positions, options.leafnodes
    alone = not clustered and leafs.port is None and not leafs.remotes
    if alone and not options.jetstream.enabled:
        text = "mqtt requires JetStream to be enabled if running in standalone mode"
        context.error(where.get("mqtt"), text)
    for value, name in ((block.ack_wait, "ack wait"), (block.js_api_timeout, "JS API timeout")):
        if value < 0:
            context.error(where.get("mqtt"), f"{name} must be a positive value")
