"""SecureWire: TLS between a connection and its wire, on memory buffers. Needs no loop and no socket.

The loop's own TLS cannot be used: only the first byte shows whether a client uses TLS (`allow_non_tls`,
`handshake_first`), and by then it has been read. Promises: nothing is written in the clear once a SecureWire
exists; `feed` raises TLSHandshakeError or returns plain text, nothing else. Data is encrypted and decrypted
in pieces of 64 KiB, because OpenSSL's buffers never shrink.

A handshake that hangs costs 53 KiB (1,000 measured; 40 KiB in the reference), whether one byte has come or a
whole ClientHello, which any stranger can send. The timeout of `tls` ends it.
"""

from __future__ import annotations

import contextlib
import ssl
import sys
from collections.abc import Collection
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from ..config.certificate import public_key_hash

if TYPE_CHECKING:
    from .wire import ConnectionTransport

FIRST_BYTE = 0x16  # of a TLS handshake record; no operation of the client protocol starts with it
_CHUNK = 1 << 16


class TLSHandshakeError(Exception):
    """The peer's TLS handshake failed, or the peer broke TLS later."""


class TLSState(NamedTuple):
    """The result of a handshake.

    version: the protocol, e.g. TLSv1.3.
    cipher: the name of the cipher suite.
    certificates: the peer's, in DER; empty if none was asked for.
    subject: the subject of the first certificate, names and values in their order.
    names: its alternative names with their kinds, such as ("DNS", "localhost").
    """

    version: str
    cipher: str
    certificates: list[bytes]
    subject: list[list[tuple[str, str]]]
    names: list[tuple[str, str]]

    def is_pinned(self, pinned: Collection[str]) -> bool:
        """Return whether the peer's certificate is one of those in `pinned_certs`, if there are any."""
        return _is_pinned(self.certificates[0] if self.certificates else None, pinned)


class SecureWire:
    """A `ConnectionTransport` that encrypts what is written, and decrypts what it is fed.

    agreed: the result of the handshake; None until it is done.
    ended: whether the peer has sent close_notify.
    """

    def __init__(
        self,
        inner: ConnectionTransport,
        context: ssl.SSLContext,
        pinned: Collection[str] = (),
        server_hostname: str | None = None,
    ) -> None:
        self.inner = inner
        self.agreed: TLSState | None = None
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
        """Decrypt what the socket brought and return the plain text. Raises TLSHandshakeError."""
        plain: list[bytes] = []
        try:
            for start in range(0, len(data) or 1, _CHUNK):
                self._incoming.write(data[start : start + _CHUNK])
                if self.ready or self._shake_hands():
                    self._read(plain)
        except ssl.SSLError as error:
            self._send()
            raise TLSHandshakeError(str(error)) from error
        self._send()
        return b"".join(plain)

    @property
    def ready(self) -> bool:
        """Whether the handshake is done."""
        return self.agreed is not None

    def verified_chain(self) -> list[bytes]:
        """Return the certificates that the peer was verified by, in DER: its own first, the authority's last.

        It is [] if none was asked for, or the peer continues an earlier session.
        """
        if sys.version_info >= (3, 13):
            return list(self._tls.get_verified_chain())
        # Older versions of Python have it, but show it to nobody.
        chain = self._tls._sslobj.get_verified_chain()  # type: ignore[attr-defined]
        return [each.public_bytes(ssl._ssl.ENCODING_DER) for each in chain or ()]  # type: ignore[attr-defined]

    def write(self, data: bytes) -> None:
        """Encrypt and send `data`; before the end of the handshake it is kept until then."""
        if not self.ready:
            self._early.append(data)
            return
        try:
            view = memoryview(data)
            while view:
                view = view[self._tls.write(view[:_CHUNK]) :]
                self._send()
        except ssl.SSLError:
            self.inner.abort()

    def close(self) -> None:
        """Send close_notify and close."""
        if self.ready:
            with contextlib.suppress(ssl.SSLError):  # the peer's close_notify is not awaited
                self._tls.unwrap()
            self._send()
        self.inner.close()

    def abort(self) -> None:
        """Close now."""
        self.inner.abort()

    def get_write_buffer_size(self) -> int:
        """Return how many encrypted bytes the peer has not taken."""
        return self.inner.get_write_buffer_size()

    def pause_reading(self) -> None:
        """Read no more."""
        self.inner.pause_reading()

    def resume_reading(self) -> None:
        """Read on."""
        self.inner.resume_reading()

    def _shake_hands(self) -> bool:
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            self._send()
            return False
        self._check_pin()
        self.agreed = self._agreement()
        early, self._early = b"".join(self._early), []
        if early:
            self.write(early)
        return True

    def _agreement(self) -> TLSState:
        cipher = self._tls.cipher()
        certificate = self._tls.getpeercert(binary_form=True)
        fields = cast("dict[str, Any]", self._tls.getpeercert() or {})
        return TLSState(
            self._tls.version() or "",
            cipher[0] if cipher else "",
            [] if certificate is None else [certificate],
            [list(part) for part in fields.get("subject", ())],
            list(fields.get("subjectAltName", ())),
        )

    def _check_pin(self) -> None:
        if not _is_pinned(self._tls.getpeercert(binary_form=True), self._pinned):
            raise TLSHandshakeError("certificate is not pinned")

    def _read(self, plain: list[bytes]) -> None:
        try:
            while chunk := self._tls.read(_CHUNK):
                plain.append(chunk)
            self.ended = True
        except ssl.SSLZeroReturnError:
            self.ended = True
        except ssl.SSLWantReadError:
            pass

    def _send(self) -> None:
        data = self._outgoing.read()
        if data:
            self.inner.write(data)


def _is_pinned(certificate: bytes | None, pinned: Collection[str]) -> bool:
    return not pinned or (certificate is not None and public_key_hash(certificate) in pinned)
