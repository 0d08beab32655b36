"""An HTTP server of account tokens, as a URL resolver asks one."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Library(ThreadingHTTPServer):
    """Tokens by path. `slowness`: seconds that it takes to find one."""

    tokens: dict[str, str]
    slowness: float


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        assert isinstance(self.server, Library)
        body = self.server.tokens.get(self.path, "").encode()
        if body and self.server.slowness:
            threading.Event().wait(self.server.slowness)
        self.send_response(200 if body or self.path == "/jwt/" else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def library_of_tokens(*, slowness: float = 0, tls: ssl.SSLContext | None = None) -> Iterator[Library]:
    """Start a library without tokens yet, on a free port; over TLS if `tls` is given."""
    server = Library(("127.0.0.1", 0), _Handler)
    server.tokens, server.slowness = {}, slowness
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
