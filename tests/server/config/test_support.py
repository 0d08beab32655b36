"""Options that are parsed but not served: a warning, or a refusal where ignoring them would be unsafe."""

from __future__ import annotations

from pathlib import Path

import pytest
from cryptography import x509
from lib.certificates import Authority
from pyjs.server.config.load import load_text
from pyjs.server.config.options import Options, specs
from pyjs.server.config.support import UNSUPPORTED, unsupported


def rows(text: str) -> tuple[list[str], list[str]]:
    warnings, refusals = unsupported(load_text(text))
    return [str(w) for w in warnings], [str(r) for r in refusals]


def test_a_plain_configuration_is_served() -> None:
    assert rows(
        "port: 4222\njetstream { store_dir: /x }\naccounts { A { users: [{user: a, pass: b}] } }"
    ) == ([], [])


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("disable_sublist_cache: true", "1:1: no_sublist_cache: "),
        (
            "jetstream: true\naccounts { A { jetstream {\n cluster_traffic: owner } } }",
            "3:2: accounts.A.jetstream.cluster_traffic: ",
        ),
        (
            "leafnodes { remotes: [{urls: [leaf://h, HTTP://u:secret@h, http://g]}] }",
            "1:24: leafnodes.remotes.0.urls: the scheme http:// is not known and taken for nats-leaf://",
        ),
        ("accounts {\n A { jetstream: enabled } }", "2:6: accounts.A.jetstream: the server has no JetStream"),
    ],
)
def test_a_part_that_may_be_missed_is_warned_of(text: str, start: str) -> None:
    warnings, refusals = rows(text)
    assert refusals == []
    assert len(warnings) == 1
    assert warnings[0].startswith(start)


@pytest.mark.parametrize(
    "text",
    [
        "cluster { port: 6222, pool_size: 4, accounts: [A], compression: s2_auto }",
        "ocsp: true",
        "ocsp: false",
        "ocsp { mode: never }",
        "leafnodes { remotes: [{url: nats://x:1, tls { ocsp_peer: false } }] }",
        "leafnodes { remotes: [{url: nats://x:1, tls { ocsp_peer { verify: false } } }] }",
        "leafnodes { port: 7422, compression: on, remotes: [{url: nats://x:1, compression: s2_best}] }",
        "jetstream { store_dir: /x }\naccounts { A { jetstream: enabled } }",
    ],
)
def test_what_asks_for_no_more_than_there_is_is_not_warned_of(text: str) -> None:
    assert rows(text) == ([], [])


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("jetstream {\n store_dir: /x\n tpm { keys_file: /x } }", "3:2: jetstream.tpm: "),
        (
            "leafnodes { remotes: [{url: nats://x:1, tls {\n ocsp_peer: true } }] }",
            "2:2: leafnodes.remotes.0.tls.ocsp_peer: only listeners",
        ),
    ],
)
def test_what_would_be_unsafe_to_go_without_is_refused(text: str, start: str) -> None:
    warnings, refusals = rows(text)
    assert warnings == []
    assert len(refusals) == 1
    assert refusals[0].startswith(start)


def test_every_row_names_an_option() -> None:
    for row in UNSUPPORTED:
        assert row.action in ("warn", "refuse")
        cls: type[object] | None = Options
        for step in row.path.replace(".*", "").split("."):
            assert cls is not None
            assert step in specs(cls), row.path
            cls = specs(cls)[step].section


@pytest.mark.parametrize("mode", ["always", "must"])
def test_stapled_answers_that_clients_were_promised_are_refused(mode: str) -> None:
    _, refusals = rows(f"ocsp {{ mode: {mode} }}")
    assert len(refusals) == 1
    assert refusals[0].startswith("1:1: ocsp: Python's ssl cannot send OCSP answers")


@pytest.mark.parametrize(
    ("ocsp", "starts"),
    [("", False), ("ocsp: true", False), ("ocsp { mode: never }", True), ("ocsp: false", True)],
)
def test_a_certificate_that_demands_a_staple(tmp_path: Path, ocsp: str, starts: bool) -> None:
    authority = Authority(tmp_path)
    authority.issue("server", 5, x509.TLSFeature([x509.TLSFeatureType.status_request]))
    tls = f'tls {{ cert_file: "{tmp_path}/server.pem", key_file: "{tmp_path}/server.key" }}'
    warnings, refusals = rows(f"{tls}\n{ocsp}")
    assert warnings == []
    assert (refusals == []) is starts
    assert starts or refusals[0].startswith("1:7: tls.cert_file: the certificate demands an OCSP answer")
