"""TLS contexts from TLS options. `ssl` is imported only when a context is asked for.

Differences to nats-server, whose TLS is Go's: cipher suites of TLS 1.3 are Python's defaults and cannot be
chosen; of `curve_preferences` only the first is used (ssl offers no list).
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from .options import TLSOptions

if TYPE_CHECKING:
    import ssl

CURVES = {
    "X25519": "X25519",
    "X25519MLKEM768": "X25519",
    "CurveP256": "prime256v1",
    "CurveP384": "secp384r1",
    "CurveP521": "secp521r1",
}


class TLSConfigError(Exception):
    """TLS options that no context can be made of. `option` is the field at fault."""

    def __init__(self, option: str, message: str) -> None:
        self.option = option
        super().__init__(message)


def server_context(tls: TLSOptions) -> ssl.SSLContext:
    """For a listener: presents the certificate; asks for the peer's if `verify` (or a form of it) is set."""
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    _common(context, tls)
    if not tls.cert_file and not tls.certs:
        raise TLSConfigError("cert_file", "a listener's TLS needs cert_file and key_file")
    if tls.verify or tls.verify_and_map or tls.verify_known_urls:
        if not tls.ca_file:
            context.load_default_certs(ssl.Purpose.CLIENT_AUTH)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def client_context(tls: TLSOptions) -> ssl.SSLContext:
    """For dialling: checks the server by `ca_file` or the system's authorities, unless `insecure`."""
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if tls.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif not tls.ca_file:
        context.load_default_certs(ssl.Purpose.SERVER_AUTH)
    _common(context, tls)
    return context


def _common(context: ssl.SSLContext, tls: TLSOptions) -> None:
    import ssl

    context.minimum_version = ssl.TLSVersion.TLSv1_3 if tls.min_version == "1.3" else ssl.TLSVersion.TLSv1_2
    pairs = [(pair.cert_file, pair.key_file) for pair in tls.certs]
    if tls.cert_file:
        pairs.append((tls.cert_file, tls.key_file))
    for certificate, key in pairs:
        try:
            context.load_cert_chain(certificate, key, password=_no_password)
        except (OSError, ValueError) as error:
            raise TLSConfigError("cert_file", f"error parsing X509 certificate/key pair: {error}") from None
    if tls.ca_file:
        try:
            context.load_verify_locations(tls.ca_file)
        except OSError as error:
            raise TLSConfigError(
                "ca_file", f"failed to parse root ca certificate {tls.ca_file}: {error}"
            ) from None
    if tls.cipher_suites:
        _ciphers(context, tls)
    if tls.curve_preferences:
        _curve(context, tls.curve_preferences[0])


def _no_password() -> str:
    raise ValueError("the private key is encrypted")


def _ciphers(context: ssl.SSLContext, tls: TLSOptions) -> None:
    import ssl

    names = [openssl_name(name) for name in tls.cipher_suites if not _is_tls13(name)]
    if not names:
        return
    try:
        context.set_ciphers(":".join(names))
    except ssl.SSLError:
        wanted = ", ".join(tls.cipher_suites)
        raise TLSConfigError("cipher_suites", f"unrecognized cipher suite in {wanted}") from None


def _is_tls13(name: str) -> bool:
    return name in ("TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256")


def openssl_name(name: str) -> str:
    """OpenSSL's name of a suite: ECDHE-RSA-AES128-GCM-SHA256 for TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256."""
    body = name.removeprefix("TLS_").removeprefix("RSA_WITH_").replace("_WITH_", "-").replace("_", "-")
    body = body.replace("AES-128", "AES128").replace("AES-256", "AES256").replace("-CBC-", "-")
    return body.replace("CHACHA20-POLY1305-SHA256", "CHACHA20-POLY1305")


def _curve(context: ssl.SSLContext, name: str) -> None:
    curve = CURVES.get(name)
    if curve is None:
        raise TLSConfigError("curve_preferences", f"unrecognized curve preference {name}")
    if curve != "X25519":  # the default, which set_ecdh_curve does not take everywhere
        context.set_ecdh_curve(curve)


def public_key_hash(certificate: bytes) -> str:
    """SHA-256 (hex) of the SubjectPublicKeyInfo of a DER certificate, as `pinned_certs` lists them."""
    return hashlib.sha256(_subject_public_key(certificate)).hexdigest()


def _subject_public_key(certificate: bytes) -> bytes:
    """The seventh element of the TBSCertificate, the version included (RFC 5280 4.1)."""
    _, start, _ = _element(certificate, 0)
    _, at, end = _element(certificate, start)
    index = 0 if certificate[at] == 0xA0 else 1
    while at < end:
        _, _, after = _element(certificate, at)
        if index == 6:
            return certificate[at:after]
        index += 1
        at = after
    raise ValueError("no SubjectPublicKeyInfo")


def _element(data: bytes, at: int) -> tuple[int, int, int]:
    """Tag, start of the content and end of a DER element."""
    tag, length = data[at], data[at + 1]
    start = at + 2
    if length & 0x80:
        size = length & 0x7F
        length = int.from_bytes(data[start : start + size], "big")
        start += size
    return tag, start, start + length
