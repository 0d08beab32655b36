"""Reads the certificates of a server's listeners again, as a reload does, whether or not their paths changed.

Promises: all certificates are read before the first of them is used, so that one that cannot be used leaves
every listener as it was.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from .config.tls import server_context

if TYPE_CHECKING:
    import ssl

    from .config.options import Options, TLSOptions
    from .connection import Listener

# By the name of the block that has the `tls` block; "" is the listener for clients, "https" the monitoring.
Contexts = dict[str, "ssl.SSLContext"]


def read_contexts(options: Options) -> Contexts:
    """Return new TLS contexts for all listeners. Raises TLSConfigError.

    It takes up to a tenth of a second for each one that trusts the system's authorities.
    """
    contexts = {name: server_context(tls) for name, tls in _blocks(options)}
    if options.https_port is not None and options.tls is not None:
        from .monitor.secure import monitor_context

        contexts["https"] = monitor_context(options.tls)
    return contexts


def use_contexts(options: Options, listeners: Mapping[str, Listener | None], contexts: Contexts) -> None:
    """Let listeners use the contexts that were made for `options`, in new handshakes.

    listeners: by the same names as the contexts.
    """
    for name, tls in _blocks(options):
        listener = listeners[name]
        if listener is not None:
            listener.use_tls(tls, contexts[name])


def _blocks(options: Options) -> Iterator[tuple[str, TLSOptions]]:
    blocks = (
        ("", options),
        ("leafnodes", options.leafnodes),
        ("cluster", options.cluster),
        ("gateway", options.gateway),
        ("websocket", options.websocket),
        ("mqtt", options.mqtt),
    )
    for name, block in blocks:
        if block is not None and block.tls is not None:
            yield name, block.tls
