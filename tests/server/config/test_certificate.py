"""What is read of certificates, beside what openssl says of them; damage is a ValueError and nothing else."""

from __future__ import annotations

import ssl
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyjs.server.config.certificate import (
    file_not_after,
    is_authority,
    not_after,
    public_key_hash,
    signature_algorithm,
)

PEM = Path(__file__).with_name("pem")
# openssl x509 -in server.pem -pubkey -noout | openssl pkey -pubin -outform DER | sha256sum
SERVER_KEY_HASH = "2d1f41705f660bb6c1568dd051dbf272d4f8635c9f86329aecd0e055a2c9673d"
# openssl x509 -in server.pem -noout -enddate: Oct 28 01:44:12 2126 GMT
END = 4_948_825_452_000_000_000


def read(name: str) -> bytes:
    return ssl.PEM_cert_to_DER_cert((PEM / f"{name}.pem").read_text())


@pytest.mark.parametrize(("name", "authority"), [("server", False), ("client", False), ("ca", True)])
def test_end_kind_and_signature(name: str, authority: bool) -> None:
    assert not_after(read(name)) == file_not_after(str(PEM / f"{name}.pem")) == END
    assert is_authority(read(name)) is authority
    assert signature_algorithm(read(name)) == "ECDSA-SHA256"


def test_a_pinned_certificate_is_the_hash_of_its_public_key() -> None:
    assert public_key_hash(read("server")) == SERVER_KEY_HASH


@given(data=st.data())
def test_damage_is_a_value_error(data: st.DataObject) -> None:
    damaged = bytearray(read("ca"))
    for place in data.draw(st.lists(st.integers(0, len(damaged) - 1), max_size=3)):
        damaged[place] ^= data.draw(st.integers(1, 255))
    cut = bytes(damaged[: data.draw(st.integers(0, len(damaged)))])
    for read_of in (not_after, is_authority, signature_algorithm, public_key_hash):
        with suppress(ValueError):
            read_of(cut)
    with pytest.raises(ValueError, match="cut short"):
        not_after(read("ca")[: data.draw(st.integers(0, 200))])
