"""Answers of OCSP responders: who may sign them, and what is damaged, late or about somebody else."""

from __future__ import annotations

import datetime
import random
import time
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key
from cryptography.x509 import ocsp
from cryptography.x509.oid import ExtendedKeyUsageOID
from lib.certificates import Authority
from pyjs.server.config.ocsp_peer import PeerRules
from pyjs.server.config.options import SECOND
from pyjs.server.ocsp.answer import GOOD, REVOKED, AnswerError, question, read, responders

RULES = PeerRules()
MAY_SIGN = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.OCSP_SIGNING])
MAY_SERVE = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


def answer(
    authority: Authority,
    peer: x509.Certificate,
    status: ocsp.OCSPCertStatus = ocsp.OCSPCertStatus.GOOD,
    signer: tuple[Path, x509.Certificate] | None = None,
    lasts: datetime.timedelta | None = datetime.timedelta(hours=1),
) -> bytes:
    now = datetime.datetime.now(datetime.UTC)
    builder = ocsp.OCSPResponseBuilder().add_response(
        peer,
        authority.certificate,
        hashes.SHA1(),
        status,
        now,
        None if lasts is None else now + lasts,
        now if status is ocsp.OCSPCertStatus.REVOKED else None,
        None,
    )
    name = ocsp.OCSPResponderEncoding.NAME
    if signer is None:
        signed = builder.responder_id(name, authority.certificate).sign(authority.key, hashes.SHA256())
    else:
        key = load_pem_private_key(signer[0].read_bytes(), None)
        builder = builder.responder_id(name, signer[1]).certificates([signer[1]])
        signed = builder.sign(key, hashes.SHA256())  # type: ignore[arg-type]
    return signed.public_bytes(Encoding.DER)


def test_what_it_says(authority: Authority) -> None:
    peer = authority.issue("peer", 5)
    for status, expected in ((ocsp.OCSPCertStatus.GOOD, GOOD), (ocsp.OCSPCertStatus.REVOKED, REVOKED)):
        raw = answer(authority, peer, status)
        found = read(raw, peer, authority.certificate, time.time_ns(), RULES)
        assert found.status == expected
        assert 0 < found.until - time.time_ns() <= 3600 * SECOND


def test_without_an_end_it_counts_for_a_while(authority: Authority) -> None:
    peer = authority.issue("peer", 5)
    raw = answer(authority, peer, lasts=None)
    now = time.time_ns()
    assert read(raw, peer, authority.certificate, now, RULES).until <= now + RULES.ttl
    with pytest.raises(AnswerError, match="not current"):
        read(raw, peer, authority.certificate, now + RULES.ttl + 2 * RULES.skew, RULES)


def test_about_another_certificate(authority: Authority) -> None:
    peer, other = authority.issue("peer", 5), authority.issue("other", 6)
    with pytest.raises(AnswerError, match="about another"):
        read(answer(authority, other), peer, authority.certificate, time.time_ns(), RULES)


@pytest.mark.parametrize(("usage", "counts"), [(MAY_SIGN, True), (MAY_SERVE, False)])
def test_somebody_else_signs(authority: Authority, usage: x509.ExtendedKeyUsage, counts: bool) -> None:
    peer, signer = authority.issue("peer", 5), authority.issue("signer", 9, usage)
    raw = answer(authority, peer, signer=(authority.folder / "signer.key", signer))
    if counts:
        assert read(raw, peer, authority.certificate, time.time_ns(), RULES).status == GOOD
    else:
        with pytest.raises(AnswerError, match="nobody has signed"):
            read(raw, peer, authority.certificate, time.time_ns(), RULES)


def test_a_signer_of_another_authority(authority: Authority, tmp_path: Path) -> None:
    other = Authority(tmp_path)
    peer, signer = authority.issue("peer", 5), other.issue("signer", 9, MAY_SIGN)
    raw = answer(authority, peer, signer=(tmp_path / "signer.key", signer))
    with pytest.raises(AnswerError, match="nobody has signed"):
        read(raw, peer, authority.certificate, time.time_ns(), RULES)


def test_no_damage_makes_a_revoked_certificate_good(authority: Authority) -> None:
    peer = authority.issue("peer", 5)
    raw = answer(authority, peer, ocsp.OCSPCertStatus.REVOKED)
    pick = random.Random(5)
    damaged = [raw[:size] for size in range(0, len(raw), 7)]
    for _ in range(400):
        changed = bytearray(raw)
        changed[pick.randrange(len(raw))] ^= 1 << pick.randrange(8)
        damaged.append(bytes(changed))
    for each in damaged:
        try:
            found = read(each, peer, authority.certificate, time.time_ns(), RULES)
        except AnswerError:
            continue
        assert found.status == REVOKED


def test_only_http_is_asked(authority: Authority) -> None:
    uris = ("file:///etc/passwd", "http://a/", "ldap://b", "https://c/")
    access = [
        x509.AccessDescription(
            x509.oid.AuthorityInformationAccessOID.OCSP, x509.UniformResourceIdentifier(uri)
        )
        for uri in uris
    ]
    peer = authority.issue("peer", 5, x509.AuthorityInformationAccess(access))
    assert responders(peer) == ["http://a/", "https://c/"]
    assert ocsp.load_der_ocsp_request(question(peer, authority.certificate)).serial_number == 5
