"""Reads what is needed of X.509 certificates in DER: their end, public key, signature, and kind.

Certificates come from peers: what cannot be read raises ValueError and nothing else. No signature is checked
here. RFC 5280 4.1 has the fields.
"""

from __future__ import annotations

import hashlib
import re
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from .options import SECOND

_VALIDITY, _PUBLIC_KEY = 4, 6  # fields of a TBSCertificate, where the version is 0
_VERSION, _EXTENSIONS = 0xA0, 0xA3
_BOOLEAN, _UTC_TIME = 0x01, 0x17
_BASIC_CONSTRAINTS = bytes.fromhex("551d13")  # 2.5.29.19
_ALTERNATIVE_NAMES = bytes.fromhex("551d11")  # 2.5.29.17
_TLS_FEATURES = bytes.fromhex("2b06010505070118")  # 1.3.6.1.5.5.7.1.24
_STATUS_REQUEST = b"\x05"
_DNS_NAME = 0x82
_CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)
_ALGORITHMS = {
    "2a864886f70d010105": "SHA1-RSA",
    "2a864886f70d01010a": "RSASSA-PSS",
    "2a864886f70d01010b": "SHA256-RSA",
    "2a864886f70d01010c": "SHA384-RSA",
    "2a864886f70d01010d": "SHA512-RSA",
    "2a8648ce3d040302": "ECDSA-SHA256",
    "2a8648ce3d040303": "ECDSA-SHA384",
    "2a8648ce3d040304": "ECDSA-SHA512",
    "2b6570": "Ed25519",
}


class _Element(NamedTuple):
    """A DER element: its tag, its content, and all of it."""

    tag: int
    content: bytes
    whole: bytes


def public_key_hash(certificate: bytes) -> str:
    """Return the SHA-256 (hex) of a certificate's SubjectPublicKeyInfo, as in `pinned_certs`."""
    return hashlib.sha256(_field(certificate, _PUBLIC_KEY).whole).hexdigest()


def file_not_after(path: str) -> int:
    """Return when the first certificate of a file expires, in ns since 1970. Raises OSError or ValueError."""
    return _first_end(path, Path(path).stat().st_mtime_ns)


@lru_cache(maxsize=16)
def _first_end(path: str, _changed: int) -> int:
    return not_after(_first_of(path))


def host_names(path: str) -> list[str]:
    """Return the DNS names of the first certificate of a file. Raises OSError or ValueError."""
    names = _extension(_first_of(path), _ALTERNATIVE_NAMES)
    return [name.content.decode("ascii", "replace") for name in names if name.tag == _DNS_NAME]


def demands_staple(path: str) -> bool:
    """Return whether the first certificate of a file is to be shown with an OCSP answer (RFC 7633).

    Raises OSError or ValueError.
    """
    return any(feature.content == _STATUS_REQUEST for feature in _extension(_first_of(path), _TLS_FEATURES))


def _first_of(path: str) -> bytes:
    """Return the first certificate of a PEM file, in DER."""
    import ssl

    found = _CERTIFICATE.search(Path(path).read_text("ascii", "replace"))
    if found is None:
        raise ValueError(f"no certificate in {path}")
    return ssl.PEM_cert_to_DER_cert(found.group())


def not_after(certificate: bytes) -> int:
    """Return when a certificate expires, in ns since 1970."""
    _, end = _elements(_field(certificate, _VALIDITY).content)
    text = end.content.decode("ascii")
    if end.tag == _UTC_TIME:  # the year has two digits; RFC 5280 4.1.2.5.1
        text = ("19" if text >= "50" else "20") + text
    return int(datetime.strptime(text, "%Y%m%d%H%M%SZ").replace(tzinfo=UTC).timestamp()) * SECOND


def is_authority(certificate: bytes) -> bool:
    """Return whether a certificate may sign others, by its basicConstraints (RFC 5280 4.2.1.9)."""
    said = _extension(certificate, _BASIC_CONSTRAINTS)
    return bool(said) and said[0].tag == _BOOLEAN and said[0].content != b"\0"


def signature_algorithm(certificate: bytes) -> str:
    """Return what a certificate was signed with, such as `ECDSA-SHA256`; an unknown one as the OID in hex."""
    parts = _elements(_first(certificate).content)
    found = _first(parts[1].content if len(parts) > 1 else b"").content.hex()
    return _ALGORITHMS.get(found, found)


def _extension(certificate: bytes, oid: bytes) -> list[_Element]:
    """Return the elements of the sequence that an extension holds; none if the certificate lacks it."""
    for field in _fields(certificate):
        if field.tag != _EXTENSIONS:
            continue
        for extension in _elements(_first(field.content).content):
            parts = _elements(extension.content)
            if parts[0].content == oid:
                return _elements(_first(parts[-1].content).content)
    return []


def _field(certificate: bytes, number: int) -> _Element:
    """Return a field of the TBSCertificate by its number, where the version is 0."""
    fields = _fields(certificate)
    index = number if fields and fields[0].tag == _VERSION else number - 1
    if len(fields) <= index:
        raise ValueError("the certificate is cut short")
    return fields[index]


def _fields(certificate: bytes) -> list[_Element]:
    return _elements(_first(_first(certificate).content).content)


def _first(data: bytes) -> _Element:
    found = _elements(data)
    if not found:
        raise ValueError("the certificate is cut short")
    return found[0]


def _elements(data: bytes) -> list[_Element]:
    """Return the DER elements that stand one after the other in `data`."""
    found = []
    at = 0
    while at < len(data):
        start = at + 2
        length = data[at + 1] if at + 1 < len(data) else 0
        if length & 0x80:
            size = length & 0x7F
            length = int.from_bytes(data[start : start + size])
            start += size
        if start + length > len(data):
            raise ValueError("the certificate is cut short")
        found.append(_Element(data[at], data[start : start + length], data[at : start + length]))
        at = start + length
    return found
