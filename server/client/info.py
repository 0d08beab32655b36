"""InfoDocument: the INFO that clients get, from fields of the server and a few of the connection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...protocol.limits import API_LEVEL
from ...protocol.wire import encode
from ..connection import connect_info

if TYPE_CHECKING:
    from ..config.options import Options
    from ..identity import ServerIdentity

PROTOCOL = 1


class InfoDocument:
    """The INFO of all clients. After a change of a field, the caller sends it again.

    Fields that are false or empty are left out.
    """

    def __init__(self, options: Options, identity: ServerIdentity, port: int) -> None:
        self.options = options
        self.identity = identity
        self.port = port
        self.jetstream = False
        self.auth_required = False
        self.lame_duck = False
        self.connect_urls: list[str] = []
        self.websocket_port = 0
        self.websocket_urls: list[str] = []
        self.own_websocket_urls: list[str] = []

    def _address(self) -> tuple[str, int]:
        """Return the host and port in INFO where clients may connect.

        These are the listener's, or what is advertised instead.
        """
        host, _, port = self.options.client_advertise.rpartition(":")
        if host and port.isdigit():
            return host.strip("[]"), int(port)
        return self.options.client_advertise or self.options.host, self.port

    def render(self, client: dict[str, Any]) -> bytes:
        """Return the INFO line of one connection.

        client: the connection's own fields, which must include `max_payload`.
        """
        return encode.info(self._document(client))

    def render_websocket(self, client: dict[str, Any], *, auth_required: bool) -> bytes:
        """Return the INFO line of a WebSocket client: with what holds for its listener."""
        block = self.options.websocket
        assert block is not None
        document = self._document(client)
        document |= {"host": block.host, "port": self.websocket_port}
        for key, value in (
            ("auth_required", auth_required),
            ("tls_required", block.tls is not None),
            ("tls_available", block.tls is not None),
            ("connect_urls", self.websocket_urls),
        ):
            document.pop(key, None)
            if value:
                document[key] = value
        return encode.info(document)

    def _document(self, client: dict[str, Any]) -> dict[str, Any]:
        options, identity = self.options, self.identity
        host, port = self._address()
        document = connect_info.of_server(
            identity, PROTOCOL, host, port, headers=not options.no_header_support
        )
        optional = {
            "auth_required": self.auth_required,
            "tls_required": options.tls is not None and not options.allow_non_tls,
            "tls_verify": options.tls is not None and (options.tls.verify or options.tls.verify_and_map),
            "tls_available": options.tls is not None and options.allow_non_tls,
        }
        document.update((key, value) for key, value in optional.items() if value)
        document["max_payload"] = client["max_payload"]
        if self.jetstream:
            document["jetstream"] = True
        document.update((key, value) for key, value in client.items() if value)
        if options.cluster is not None and options.cluster.name:
            document["cluster"] = options.cluster.name
        if self.jetstream and options.jetstream.domain:
            document["domain"] = options.jetstream.domain
        if self.connect_urls:
            document["connect_urls"] = self.connect_urls
        if self.lame_duck:
            document["ldm"] = True
        if identity.curve is not None:
            document["xkey"] = identity.curve.public_key
        document["api_lvl"] = API_LEVEL
        return document
