"""Makes TLS contexts from TLS options. `ssl` is imported only when a context is requested.

Differences to nats-server, which uses Go's TLS: the cipher suites of TLS 1.3 are Python's defaults and cannot
be chosen. Only the first of `curve_preferences` is used, as ssl accepts no list.
"""

from __future__ import annotations

import re
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

# Which suites only `allow_insecure_cipher_suites` allows: Go's InsecureCipherSuites. Its suites
# with RC4 and 3DES are missing here, because OpenSSL does not know them.
INSECURE_SUITES = (
    "TLS_RSA_WITH_AES_128_CBC_SHA",
    "TLS_RSA_WITH_AES_256_CBC_SHA",
    "TLS_RSA_WITH_AES_128_CBC_SHA256",
    "TLS_RSA_WITH_AES_128_GCM_SHA256",
    "TLS_RSA_WITH_AES_256_GCM_SHA384",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256",
)


class TLSConfigError(Exception):
    """No context can be made of TLS options. `option` is the name of the wrong field."""

    def __init__(self, option: str, message: str) -> None:
        self.option = option
        super().__init__(message)


def server_context(tls: TLSOptions) -> ssl.SSLContext:
    """Return a context for a listener. Raises TLSConfigError.

    It requires a certificate of the peer if `verify` or a variant of it is set.
    """
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    _common(context, tls)
    if not tls.cert_file and not tls.certs:
        raise TLSConfigError("cert_file", "a listener's TLS needs cert_file and key_file")
    _verify_peers(context, tls)
    return context


def _verify_peers(context: ssl.SSLContext, tls: TLSOptions) -> None:
    import ssl

    if tls.ocsp_peer is not None:  # who continues a session shows no certificates that could be checked
        context.options |= ssl.OP_NO_TICKET
        context.num_tickets = 0

    if tls.verify or tls.verify_and_map or tls.verify_known_urls:
        if not tls.ca_file:
            context.load_default_certs(ssl.Purpose.CLIENT_AUTH)
        context.verify_mode = ssl.CERT_REQUIRED


def client_context(tls: TLSOptions) -> ssl.SSLContext:
    """Return a context for outgoing connections. Raises TLSConfigError.

    It checks the server's certificate by `ca_file` or the system's authorities, unless `insecure` is set.
    """
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

    _limit(context, tls)
    pairs = [(pair.cert_file, pair.key_file) for pair in tls.certs]
    if tls.cert_file:
        pairs.append((tls.cert_file, tls.key_file))
    for pair in reversed(pairs):  # of those with the same kind of key OpenSSL keeps the last one
        _load(context, pair)
    if len(pairs) > 1 and context.protocol == ssl.PROTOCOL_TLS_SERVER:
        _choose_by_name(context, tls, pairs)
    _know_authorities(context, tls)


def _know_authorities(context: ssl.SSLContext, tls: TLSOptions) -> None:
    if tls.ca_file:
        try:
            context.load_verify_locations(tls.ca_file)
        except OSError as error:
            raise TLSConfigError(
                "ca_file", f"failed to parse root ca certificate {tls.ca_file}: {error}"
            ) from None


def _limit(context: ssl.SSLContext, tls: TLSOptions) -> None:
    """Set the versions, cipher suites and curves that a context takes."""
    import ssl

    context.minimum_version = ssl.TLSVersion.TLSv1_3 if tls.min_version == "1.3" else ssl.TLSVersion.TLSv1_2
    if tls.cipher_suites:
        _ciphers(context, tls)
    if tls.curve_preferences:
        _curve(context, tls.curve_preferences[0])


def _load(context: ssl.SSLContext, pair: tuple[str, str]) -> None:
    try:
        context.load_cert_chain(*pair, password=_no_password)
    except (OSError, ValueError) as error:
        raise TLSConfigError("cert_file", f"error parsing X509 certificate/key pair: {error}") from None


def _choose_by_name(context: ssl.SSLContext, tls: TLSOptions, pairs: list[tuple[str, str]]) -> None:
    """Show the first certificate that has the name that a client asks for, or else the first of all.

    Clients that name no server, or one that no certificate has, get what `context` itself shows.
    """
    import ssl

    from .certificate import host_names

    known: dict[str, ssl.SSLContext] = {}
    for pair in pairs:
        try:
            names = host_names(pair[0])
        except (OSError, ValueError) as error:
            raise TLSConfigError("cert_file", f"error parsing X509 certificate: {error}") from None
        own = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        _limit(own, tls)
        _load(own, pair)
        _verify_peers(own, tls)
        _know_authorities(own, tls)  # OpenSSL takes them from the chosen context
        for name in names:
            known.setdefault(name.lower(), own)

    def choose(tls_object: ssl.SSLObject, asked: str | None, _: ssl.SSLContext) -> None:
        name = (asked or "").lower().rstrip(".")
        wildcard = "*." + name.partition(".")[2]
        found = known.get(name) or known.get(wildcard)
        if found is not None:
            tls_object.context = found

    context.sni_callback = choose


def _no_password() -> str:
    raise ValueError("the private key is encrypted")


def _ciphers(context: ssl.SSLContext, tls: TLSOptions) -> None:
    import ssl

    names = [openssl_name(name) for name in tls.cipher_suites if not _is_tls13(name)]
    if not names:
        return
    insecure = set(names) & {openssl_name(name) for name in INSECURE_SUITES}
    if insecure and not tls.allow_insecure_cipher_suites:
        given = ", ".join(name for name in tls.cipher_suites if openssl_name(name) in insecure)
        raise TLSConfigError(
            "cipher_suites",
            f"insecure cipher suites configured without 'allow_insecure_cipher_suites' option set: {given}",
        )
    try:
        context.set_ciphers(":".join(names))
    except ssl.SSLError:
        wanted = ", ".join(tls.cipher_suites)
        raise TLSConfigError("cipher_suites", f"unrecognized cipher suite in {wanted}") from None


def _is_tls13(name: str) -> bool:
    return name in ("TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256")


def openssl_name(name: str) -> str:
    """Return OpenSSL's name of a cipher suite.

    For TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 that is ECDHE-RSA-AES128-GCM-SHA256.
    """
    body = name.removeprefix("TLS_").removeprefix("RSA_WITH_").replace("_WITH_", "-").replace("_", "-")
    body = body.replace("AES-128", "AES128").replace("AES-256", "AES256").replace("-CBC-", "-")
    return body.replace("CHACHA20-POLY1305-SHA256", "CHACHA20-POLY1305")


def go_name(cipher: str) -> str:
    """Return the standard name of a cipher suite that OpenSSL names differently."""
    if cipher.startswith("TLS_"):
        return cipher
    exchange, _, rest = cipher.partition("-AES")
    name = rest and f"AES{rest}"
    if not name:
        exchange, _, rest = cipher.partition("-CHACHA20")
        name = f"CHACHA20{rest}-SHA256"
    name = re.sub(r"^AES(\d+)", r"AES_\1", name)
    name = re.sub(r"^(AES_\d+)-SHA", r"\1-CBC-SHA", name)
    return f"TLS_{exchange or 'RSA'}_WITH_{name}".replace("-", "_")


def _curve(context: ssl.SSLContext, name: str) -> None:
    curve = CURVES.get(name)
    if curve is None:
        raise TLSConfigError("curve_preferences", f"unrecognized curve preference {name}")
    if curve != "X25519":  # the default, which set_ecdh_curve does not accept everywhere
        context.set_ecdh_curve(curve)
