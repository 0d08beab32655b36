"""What monitoring shows about TLS: the server's certificates, and what was negotiated with a peer."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from ...protocol.timestamp import format_rfc3339
from ..config.certificate import file_not_after, public_key_hash
from ..config.distinguished_name import distinguished_name
from ..config.tls import go_name

if TYPE_CHECKING:
    from ..config.options import TLSOptions
    from ..connection.secure import TLSState


def certificate_end(tls: TLSOptions) -> dict[str, str]:
    """Return when the listener's certificate expires; {} if that cannot be read."""
    path = tls.cert_file or (tls.certs[0].cert_file if tls.certs else "")
    try:
        return {"tls_cert_not_after": format_rfc3339(file_not_after(path))} if path else {}
    except (OSError, ValueError):
        return {}


def tls_facts(secure: TLSState, *, peers: bool) -> dict[str, Any]:
    """Return the version and cipher suite of a connection, and with `peers` also the peer's certificates."""
    facts: dict[str, Any] = {
        "tls_version": secure.version.removeprefix("TLSv"),
        "tls_cipher_suite": go_name(secure.cipher),
    }
    if peers and (certificates := secure.certificates):
        facts["tls_peer_certs"] = [
            {
                "subject": distinguished_name(secure.subject),
                "spki_sha256": public_key_hash(certificate),
                "cert_sha256": hashlib.sha256(certificate).hexdigest(),
            }
            for certificate in certificates
        ]
    return facts
