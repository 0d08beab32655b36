"""TLS between a connection and its wire, on memory buffers: no loop, no socket.

Why not the loop's own TLS: whether a client speaks TLS is seen only from its first byte (`allow_non_tls`,
`handshake_first`), and that byte is then already read. Promises: nothing is written in the clear once it
exists; `feed` raises HandshakeError or gives plain text, nothing else.
"""

from __future__ import annotations

import contextlib
import ssl
from collections.abc import Collection
from typing import TYPE_CHECKING, Any, cast

from ..config.tls import public_key_hash

if TYPE_CHECKING:
    from .wire import Wire

FIRST_BYTE = 0x16  # of a TLS handshake record; no word of the client protocol starts so
_CHUNK = 1 << 18


class HandshakeError(Exception):
    """The peer does not do TLS as it is asked to, or broke it later."""


class SecureWire:
    """A Wire that encrypts what is written and decrypts what it is fed.

    ready: the handshake is done. ended: the peer has said goodbye.
    """

    def __init__(
        self,
        inner: Wire,
        context: ssl.SSLContext,
        pinned: Collection[str] = (),
        server_hostname: str | None = None,
    ) -> None:
        self.inner = inner
        self.ready = False
        self.ended = False
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._pinned = pinned
        self._early: list[bytes] = []
        self._tls = context.wrap_bio(
            self._incoming,
            self._outgoing,
            server_side=server_hostname is None,
            server_hostname=server_hostname,
        )

    def feed(self, data: bytes) -> bytes:
        """Take what the socket brought; give the plain text in it. Raises HandshakeError."""
        self._incoming.write(data)
        try:
            if not self.ready and not self._shake_hands():
                return b""
            plain = self._read()
        except ssl.SSLError as error:
            self._send()
            raise HandshakeError(str(error)) from error
        self._send()
        return plain

    def write(self, data: bytes) -> None:
        """Send encrypted; what is written before the handshake is done waits for it."""
        if not self.ready:
            self._early.append(data)
            return
        try:
            view = memoryview(data)
            while view:
                view = view[self._tls.write(view[:_CHUNK]) :]
        except ssl.SSLError:
            self.inner.abort()
            return
        self._send()

    def close(self) -> None:
        """Say goodbye and close."""
        if self.ready:
            with contextlib.suppress(ssl.SSLError):  # the peer's goodbye is not awaited
                self._tls.unwrap()
            self._send()
        self.inner.close()

    def abort(self) -> None:
        """Close now."""
        self.inner.abort()

    def get_write_buffer_size(self) -> int:
        """Bytes, encrypted, that the peer has not taken."""
        return self.inner.get_write_buffer_size()

    def pause_reading(self) -> None:
        """Read no more."""
        self.inner.pause_reading()

    def resume_reading(self) -> None:
        """Read on."""
        self.inner.resume_reading()

    @property
    def version(self) -> str:
        """The protocol agreed on, e.g. TLSv1.3."""
        return self._tls.version() or ""

    @property
    def cipher(self) -> str:
        """The cipher suite agreed on."""
        cipher = self._tls.cipher()
        return cipher[0] if cipher else ""

    def certificates(self) -> list[bytes]:
        """The peer's certificate in DER; [] where none was asked for."""
        certificate = self._tls.getpeercert(binary_form=True)
        return [] if certificate is None else [certificate]

    @property
    def subject(self) -> list[list[tuple[str, str]]]:
        """The subject of the peer's certificate: names and values, in the order of the certificate."""
        told = cast("dict[str, Any]", self._tls.getpeercert() or {})
        return [list(part) for part in told.get("subject", ())]

    def _shake_hands(self) -> bool:
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            self._send()
            return False
        self._check_pin()
        self.ready = True
        early, self._early = b"".join(self._early), []
        if early:
            self.write(early)
        return True

    def _check_pin(self) -> None:
        if not self._pinned:
            return
        certificate = self._tls.getpeercert(binary_form=True)
        if certificate is None or public_key_hash(certificate) not in self._pinned:
            raise HandshakeError("certificate is not pinned")

    def _read(self) -> bytes:
        chunks = []
        try:
            while chunk := self._tls.read(_CHUNK):
                chunks.append(chunk)
            self.ended = True
        except ssl.SSLZeroReturnError:
            self.ended = True
        except ssl.SSLWantReadError:
            pass
        return b"".join(chunks)

    def _send(self) -> None:
        data = self._outgoing.read()
        if data:
            self.inner.write(data)
