"""Questions to OCSP responders, and what their answers say. Answers come from the network.

Promises: an answer counts only if it is about this certificate of this issuer, if the issuer has signed it
or a certificate that may sign such answers for it, and while it is current. Anything else raises
AnswerError.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, padding, rsa
from cryptography.hazmat.primitives.asymmetric.types import CertificatePublicKeyTypes
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509 import ocsp
from cryptography.x509.oid import AuthorityInformationAccessOID, ExtendedKeyUsageOID

from ..config.ocsp_peer import PeerRules
from ..config.options import SECOND

GOOD, REVOKED, UNKNOWN = "good", "revoked", "unknown"
_STATUSES = {
    ocsp.OCSPCertStatus.GOOD: GOOD,
    ocsp.OCSPCertStatus.REVOKED: REVOKED,
    ocsp.OCSPCertStatus.UNKNOWN: UNKNOWN,
}


class AnswerError(Exception):
    """An answer does not count; the text says why."""


class CertificateStatus(NamedTuple):
    """What a responder says: `GOOD`, `REVOKED` or `UNKNOWN`, and until when it counts, in ns since 1970."""

    status: str
    until: int


def responders(certificate: x509.Certificate) -> list[str]:
    """Return the URLs that a certificate names for questions about it."""
    try:
        access = certificate.extensions.get_extension_for_class(x509.AuthorityInformationAccess).value
    except (x509.ExtensionNotFound, ValueError):
        return []
    found = [
        str(each.access_location.value)
        for each in access
        if each.access_method == AuthorityInformationAccessOID.OCSP
    ]
    return [url for url in found if url.startswith(("http://", "https://"))]


def question(certificate: x509.Certificate, issuer: x509.Certificate) -> bytes:
    """Return the request about a certificate, in DER."""
    builder = ocsp.OCSPRequestBuilder().add_certificate(certificate, issuer, hashes.SHA1())  # noqa: S303 - a name, no proof
    return builder.build().public_bytes(Encoding.DER)


def read(
    raw: bytes, certificate: x509.Certificate, issuer: x509.Certificate, now: int, rules: PeerRules
) -> CertificateStatus:
    """Return what an answer says about a certificate. now: ns since 1970. Raises AnswerError."""
    try:
        response = ocsp.load_der_ocsp_response(raw)
        if response.response_status != ocsp.OCSPResponseStatus.SUCCESSFUL:
            raise AnswerError(f"the responder refused: {response.response_status.name.lower()}")
        _is_about(response, certificate, issuer)
        _is_signed(response, issuer, _time(now))
        return CertificateStatus(_STATUSES[response.certificate_status], _until(response, now, rules))
    except (ValueError, TypeError, InvalidSignature, UnsupportedAlgorithm) as error:
        raise AnswerError(f"the answer is not valid: {str(error) or type(error).__name__}") from None


def _is_about(response: ocsp.OCSPResponse, certificate: x509.Certificate, issuer: x509.Certificate) -> None:
    builder = ocsp.OCSPRequestBuilder().add_certificate(certificate, issuer, response.hash_algorithm)
    asked = builder.build()
    names = ("serial_number", "issuer_name_hash", "issuer_key_hash")
    if any(getattr(response, name) != getattr(asked, name) for name in names):
        raise AnswerError("the answer is about another certificate")


def _is_signed(response: ocsp.OCSPResponse, issuer: x509.Certificate, now: datetime) -> None:
    for signer in (issuer, *response.certificates):
        if signer is not issuer and not _may_sign(signer, issuer, now):
            continue
        try:
            _verify(signer.public_key(), response)
        except InvalidSignature:
            continue
        return
    raise AnswerError("nobody has signed the answer who may")


def _may_sign(signer: x509.Certificate, issuer: x509.Certificate, now: datetime) -> bool:
    """Return whether the issuer lets another certificate sign answers for it (RFC 6960 4.2.2.2)."""
    try:
        signer.verify_directly_issued_by(issuer)
        usage = signer.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    except (x509.ExtensionNotFound, ValueError, TypeError, InvalidSignature):
        return False
    valid = signer.not_valid_before_utc <= now <= signer.not_valid_after_utc
    return valid and ExtendedKeyUsageOID.OCSP_SIGNING in usage


def _verify(key: CertificatePublicKeyTypes, response: ocsp.OCSPResponse) -> None:
    signature, signed, used = (
        response.signature,
        response.tbs_response_bytes,
        response.signature_hash_algorithm,
    )
    if isinstance(key, ed25519.Ed25519PublicKey | ed448.Ed448PublicKey):
        key.verify(signature, signed)
    elif isinstance(key, ec.EllipticCurvePublicKey) and used is not None:
        key.verify(signature, signed, ec.ECDSA(used))
    elif isinstance(key, rsa.RSAPublicKey) and used is not None:
        key.verify(signature, signed, padding.PKCS1v15(), used)
    else:
        raise InvalidSignature


def _until(response: ocsp.OCSPResponse, now: int, rules: PeerRules) -> int:
    """Return until when an answer counts. Raises AnswerError if it does not count now."""
    begins = _nanoseconds(response.this_update_utc)
    ends = rules.ttl + begins
    if response.next_update_utc is not None:
        ends = _nanoseconds(response.next_update_utc)
    if not begins - rules.skew <= now <= ends + rules.skew:
        raise AnswerError("the answer is not current")
    return ends


def _time(nanoseconds: int) -> datetime:
    return datetime.fromtimestamp(0, UTC) + timedelta(microseconds=nanoseconds // 1000)


def _nanoseconds(time: datetime) -> int:
    return int(time.timestamp()) * SECOND
