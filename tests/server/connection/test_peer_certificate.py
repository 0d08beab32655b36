"""Which DNS names of a certificate stand for the host of a known URL."""

from __future__ import annotations

import pytest
from pyjs.server.connection.peer_certificate import names_host, names_user
from pyjs.server.connection.secure import TLSState


def shown(*names: tuple[str, str]) -> TLSState:
    return TLSState("TLSv1.3", "", [b"certificate"], [[("commonName", "s")]], list(names))


@pytest.mark.parametrize(
    ("name", "host", "known"),
    [
        ("s1.example.com", "s1.example.com", True),
        ("S1.Example.com", "s1.eXample.com", True),
        ("*.example.com", "s1.example.com", True),
        ("*.example.com", "example.com", False),
        ("*.example.com", "a.b.example.com", False),
        ("s1.*.com", "s1.example.com", False),
        ("*", "localhost", True),
        ("*", "example.com", False),
        ("", "localhost", False),
        ("s1", "s2", False),
    ],
)
def test_a_dns_name_and_a_host(name: str, host: str, known: bool) -> None:
    assert names_host(shown(("DNS", name)), [f"nats-route://u:p@{host}:6222", "nats://o.o.o.o.o:1"]) is known


def test_only_dns_names_are_hosts() -> None:
    other = shown(("email", "localhost"), ("URI", "localhost"), ("IP Address", "127.0.0.1"))
    assert not names_host(other, ["nats://localhost:1", "nats://127.0.0.1:1"])


def test_nobody_without_a_certificate() -> None:
    for secure in (None, shown()._replace(certificates=[])):
        assert not names_host(secure, ["nats://localhost:1"])
        assert not names_user(secure, "CN=s")
    assert names_user(shown(), "CN=s")
    assert not names_user(shown(("DNS", "")), "")
