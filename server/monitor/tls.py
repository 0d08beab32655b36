"""What monitoring shows about TLS: the server's certificates, and what was negotiated with a peer."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from ...protocol.timestamp import format_rfc3339
from ..config.certificate import public_key_hash
from ..config.distinguished_name import distinguished_name
from ..config.tls import go_name

if TYPE_CHECKING:
    from ..connection import Listener
    from ..connection.secure import TLSState


def certificate_end(listener: Listener) -> dict[str, str]:
    """Return when the certificate that a listener shows expires; {} if it has none."""
    end = listener.certificate_end
    return {"tls_cert_not_after": format_rfc3339(end)} if end else {}


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
