"""MonitorTLS: TLS of the monitoring page, whose certificate a reload may replace while it listens."""

from __future__ import annotations

import ssl
from dataclasses import replace

from ..config.options import TLSOptions
from ..config.tls import server_context


def monitor_context(options: TLSOptions) -> ssl.SSLContext:
    """Return a context for the page. Raises TLSConfigError.

    It asks nobody for a certificate, whatever `verify` says; nor does nats-server.
    """
    own = replace(options, verify=False, verify_and_map=False, verify_known_urls=False, ca_file="")
    return server_context(own)


class MonitorTLS:
    """One TLS context for the loop's listener, which passes each handshake on to the newest one.

    context: what the listener uses.
    """

    def __init__(self, newest: ssl.SSLContext) -> None:
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.sni_callback = self._choose  # called for clients that name no server, too
        self.use(newest)

    def use(self, newest: ssl.SSLContext) -> None:
        """Use a context of `monitor_context` in new handshakes."""
        self._newest = newest
        # OpenSSL takes all but this from the chosen context.
        self.context.minimum_version = newest.minimum_version

    def _choose(self, tls_object: ssl.SSLObject, asked: str | None, _: ssl.SSLContext) -> int | None:
        tls_object.context = self._newest
        by_name = self._newest.sni_callback
        return None if by_name is None else by_name(tls_object, asked or "", self._newest)
