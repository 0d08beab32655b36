"""What monitoring shows about TLS: the server's certificates, and what was negotiated with a peer."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from ...protocol.timestamp import format_rfc3339
from ..config.certificate import public_key_hash
from ..config.distinguished_name import distinguished_name
from ..config.ocsp_peer import PeerRules
from ..config.tls import go_name

if TYPE_CHECKING:
    from ..config.options import TLSOptions
    from ..connection import Listener
    from ..connection.secure import TLSState


def listener_tls(listener: Listener, options: TLSOptions | None) -> dict[str, Any]:
    """Return when the certificate that a listener shows expires, and whether peers are checked by OCSP."""
    end = listener.certificate_end
    facts: dict[str, Any] = {"tls_cert_not_after": format_rfc3339(end)} if end else {}
    if options is not None and PeerRules.of(options.ocsp_peer) is not None:
        facts["tls_ocsp_peer_verify"] = True
    return facts


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
