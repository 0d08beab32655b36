"""TLS contexts from options, tried against each other in memory."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest
from pyjs.server.config import ConfigError
from pyjs.server.config.load import load_text
from pyjs.server.config.options import CertificateOptions, TLSOptions
from pyjs.server.config.tls import (
    INSECURE_SUITES,
    TLSConfigError,
    client_context,
    openssl_name,
    server_context,
)

PEM = Path(__file__).with_name("pem")


def pem(name: str) -> str:
    return str(PEM / f"{name}.pem")


def server(**options: object) -> TLSOptions:
    return TLSOptions(**{"cert_file": pem("server"), "key_file": pem("server-key")} | options)  # type: ignore[arg-type]


def shake_hands(listener: TLSOptions, dialler: TLSOptions, name: str = "localhost") -> ssl.SSLObject:
    """A whole handshake and one byte each way; the server's side. Raises ssl.SSLError."""
    up, down = ssl.MemoryBIO(), ssl.MemoryBIO()
    theirs = server_context(listener).wrap_bio(up, down, server_side=True)
    ours = client_context(dialler).wrap_bio(down, up, server_hostname=name)
    waiting = [ours.do_handshake, theirs.do_handshake]
    for _ in range(10):
        for step in list(waiting):
            try:
                step()
            except ssl.SSLWantReadError:
                continue
            waiting.remove(step)
        if not waiting:
            break
    assert not waiting
    # TLS 1.3 tells the client of a refused certificate with the first read only.
    theirs.write(b"!")
    assert ours.read(1) == b"!"
    return theirs


def test_a_client_that_knows_the_authority_connects() -> None:
    assert shake_hands(server(), TLSOptions(ca_file=pem("ca"))).version() == "TLSv1.3"


def test_a_client_that_does_not_know_the_authority_refuses() -> None:
    with pytest.raises(ssl.SSLCertVerificationError):
        shake_hands(server(), TLSOptions())


def test_a_client_refuses_another_name_unless_insecure() -> None:
    with pytest.raises(ssl.SSLCertVerificationError):
        shake_hands(server(), TLSOptions(ca_file=pem("ca")), "elsewhere")
    shake_hands(server(), TLSOptions(insecure=True), "elsewhere")


def test_verify_asks_for_a_certificate_of_the_authority() -> None:
    listener = server(ca_file=pem("ca"), verify=True)
    with pytest.raises(ssl.SSLError):
        shake_hands(listener, TLSOptions(ca_file=pem("ca")))
    own = TLSOptions(ca_file=pem("ca"), cert_file=pem("client"), key_file=pem("client-key"))
    certificate = shake_hands(listener, own).getpeercert()
    assert certificate is not None
    assert (("commonName", "client"),) in certificate["subject"]


def test_the_lowest_version_is_kept() -> None:
    context = server_context(server(min_version="1.3"))
    assert context.minimum_version is ssl.TLSVersion.TLSv1_3
    assert server_context(server()).minimum_version is ssl.TLSVersion.TLSv1_2


def test_cipher_suites_are_named_as_go_does() -> None:
    context = server_context(server(cipher_suites=["TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"]))
    names = {cipher["name"] for cipher in context.get_ciphers()}
    assert "ECDHE-ECDSA-AES128-GCM-SHA256" in names
    assert "ECDHE-ECDSA-AES256-GCM-SHA384" not in names


@pytest.mark.parametrize(
    ("go", "openssl"),
    [
        ("TLS_RSA_WITH_AES_128_GCM_SHA256", "AES128-GCM-SHA256"),
        ("TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "ECDHE-RSA-AES256-GCM-SHA384"),
        ("TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256", "ECDHE-RSA-AES128-SHA256"),
        ("TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305"),
    ],
)
def test_a_suites_name_is_translated(go: str, openssl: str) -> None:
    assert openssl_name(go) == openssl
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_ciphers(openssl)


@pytest.mark.parametrize("name", INSECURE_SUITES)
def test_insecure_suites_must_be_allowed(name: str) -> None:
    for given in (name, openssl_name(name)):
        with pytest.raises(TLSConfigError, match="allow_insecure_cipher_suites") as caught:
            server_context(server(cipher_suites=[given]))
        assert caught.value.option == "cipher_suites"
        server_context(server(cipher_suites=[given], allow_insecure_cipher_suites=True))


def test_several_certificates_and_curves_are_taken() -> None:
    pair = CertificateOptions(pem("server"), pem("server-key"))
    server_context(TLSOptions(certs=[pair], curve_preferences=["CurveP256"]))


@pytest.mark.parametrize(
    ("options", "option"),
    [
        ({"cipher_suites": ["TLS_NO_SUCH_SUITE"]}, "cipher_suites"),
        ({"curve_preferences": ["CurveP1"]}, "curve_preferences"),
        ({"key_file": pem("client-key")}, "cert_file"),
        ({"ca_file": pem("server-key")}, "ca_file"),
    ],
)
def test_what_makes_no_context_is_named(options: dict[str, object], option: str) -> None:
    with pytest.raises(TLSConfigError) as caught:
        server_context(server(**options))
    assert caught.value.option == option


@pytest.mark.parametrize(
    ("block", "message"),
    [
        (f'cert_file: "{pem("server")}"', "1:1: missing 'key_file' in TLS configuration"),
        (f'key_file: "{pem("server")}"', "1:1: missing 'cert_file' in TLS configuration"),
        ("verify: true", "1:1: a listener's TLS needs cert_file and key_file"),
        ('cert_file: "/none.pem"\n key_file: "/none.pem"', "1:7: cannot open /none.pem: No such file"),
        (
            f'cert_file: "{pem("server")}"\n key_file: "{pem("client-key")}"',
            "1:7: error parsing X509 certificate/key pair",
        ),
        ("min_version: 1.3", '1:7: min_version must be a string, got a float (as "1.2" or "1.3", in quotes)'),
        ("pinned_certs: [zz]", "is not the SHA-256 of a public key"),
    ],
)
def test_a_wrong_block_is_named_with_its_place(block: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_text(f"tls {{ {block} }}")
    assert message in str(caught.value)


def test_with_tls_there_is_time_for_the_handshake_before_authentication() -> None:
    options = load_text(
        f'tls {{ cert_file: "{pem("server")}", key_file: "{pem("server-key")}", timeout: 3 }}'
    )
    assert options.auth_timeout == 4_000_000_000
