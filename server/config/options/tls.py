"""Options of a TLS block, used by every listener and by leaf remotes."""

from __future__ import annotations

from ....protocol.lazy_dataclass import dataclass
from .field import SECOND, option


@dataclass(slots=True)
class CertificateOptions:
    """One certificate and key of `tls { certs: [...] }`."""

    cert_file: str = option("", "cert_file", "path", "Certificate chain in PEM.")
    key_file: str = option("", "key_file", "path", "Private key in PEM.")


@dataclass(slots=True)
class TLSOptions:
    """A `tls { }` block, of a listener or of connections to other servers."""

    cert_file: str = option("", "cert_file", "path", "Certificate chain in PEM.", reload=True)
    key_file: str = option("", "key_file", "path", "Private key in PEM.", reload=True)
    ca_file: str = option("", "ca_file", "path", "Certificate authorities in PEM.", reload=True)
    certs: list[CertificateOptions] = option(
        list,
        "certs certificates",
        "sections",
        "Several certificates; not together with `cert_file`.",
        reload=True,
        section=CertificateOptions,
    )
    verify: bool = option(False, "verify", "bool", "Require and check the peer's certificate.", reload=True)
    verify_and_map: bool = option(
        False, "verify_and_map", "bool", "As `verify`; the certificate names the user.", reload=True
    )
    verify_known_urls: bool = option(
        False,
        "verify_cert_and_check_known_urls",
        "bool",
        "As `verify`; the certificate must name a known URL. In `cluster` and `gateway` only.",
        reload=True,
    )
    insecure: bool = option(
        False,
        "insecure",
        "bool",
        "Do not check the certificate of the server that is connected to.",
        reload=True,
    )
    timeout: int = option(2 * SECOND, "timeout", "seconds", "Longest time for the handshake.", reload=True)
    cipher_suites: list[str] = option(
        list, "cipher_suites", "strings", "Cipher suites by name; if unset, Python's defaults.", reload=True
    )
    allow_insecure_cipher_suites: bool = option(
        False,
        "allow_insecure_cipher_suites",
        "bool",
        "Let `cipher_suites` name weak ones: without forward secrecy, or with CBC and SHA-256.",
        reload=True,
    )
    curve_preferences: list[str] = option(
        list, "curve_preferences", "strings", "Elliptic curves by name; the first is used.", reload=True
    )
    min_version: str = option(
        "1.2",
        "min_version",
        "tls_version",
        "Lowest TLS version, 1.2 or 1.3.",
        reload=True,
        choices=("1.2", "1.3"),
    )
    pinned_certs: list[str] = option(
        list,
        "pinned_certs",
        "pinned_certs",
        "SHA-256 (hex) of the public keys that peers may have.",
        reload=True,
    )
    connection_rate_limit: int = option(
        0, "connection_rate_limit", "int", "Handshakes per second; 0: no limit.", reload=True
    )
    handshake_first: bool | int = option(
        False,
        "handshake_first first immediate",
        "handshake_first",
        'TLS before INFO: a bool, "auto" (50ms) or how long to wait for the client before INFO.',
        reload=True,
    )
    ocsp_peer: dict[str, object] | None = option(
        None,
        "ocsp_peer",
        "ocsp_peer",
        "Ask by OCSP whether peers' certificates were revoked: a bool or a map.",
        reload=True,
    )
    cert_store: str = option("", "cert_store", "string", "Windows certificate store.")
    cert_match_by: str = option("", "cert_match_by", "string", "Windows certificate store.")
    cert_match: str = option("", "cert_match", "string", "Windows certificate store.")
    ca_certs_match: list[str] = option(list, "ca_certs_match", "strings", "Windows certificate store.")
    cert_match_skip_invalid: bool = option(
        False, "cert_match_skip_invalid", "bool", "Windows certificate store."
    )

    @property
    def first_certificate(self) -> str:
        """The path of the certificate that is shown where no other one fits better; "" if there is none."""
        return self.cert_file or (self.certs[0].cert_file if self.certs else "")
