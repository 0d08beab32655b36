"""Activations: for one account, a private export or a part of it, with dates; sent to account servers."""

from __future__ import annotations

from pathlib import Path

import pytest
from lib.nsc_folders import NOW, NscFolders, key_of
from pyjs.keys import ActivationClaims, Export, IdentityError, KeyRole, decode
from pyjs.keys.workspace.activations import (
    activation_server,
    generate_activation,
    push_activation,
)
from pyjs.keys.workspace.exports import add_export

SECONDS = NOW // 10**9
DAY = 86400


@pytest.fixture
def folders(tmp_path: Path) -> NscFolders:
    made = NscFolders(tmp_path / "nsc", "A", "B")
    for export in (Export(subject="open"), Export(subject="secret.>", name="S", token_req=True)):
        add_export(made.workspace(), export, account="A")
    return made


def test_a_sole_private_export_is_meant(folders: NscFolders) -> None:
    before = folders.content()
    made = generate_activation(folders.workspace(), "B", account="A")
    claims = decode(made.token, ActivationClaims)
    assert (claims.iss, claims.sub, claims.name) == (folders.key("A"), folders.key("B"), "secret.>")
    assert (claims.nats.subject, claims.nats.kind, claims.nats.issuer_account) == ("secret.>", "stream", "")
    assert made.report.render() == f'[ OK ] generated "S" activation for account "{folders.key("B")}"'
    assert folders.content() == before


def test_a_part_with_dates_is_reported(folders: NscFolders) -> None:
    made = generate_activation(
        folders.workspace(),
        "B",
        subject="secret.x",
        start=SECONDS + DAY,
        expiry=SECONDS + 3 * DAY,
        account="A",
    )
    claims = decode(made.token, ActivationClaims)
    assert (claims.nats.subject, claims.nbf, claims.exp) == ("secret.x", SECONDS + DAY, SECONDS + 3 * DAY)
    assert made.report.render().splitlines()[1:] == [
        "[ OK ] token valid 2027-01-16 08:00:00 UTC - In 1 Day",
        "[ OK ] token expires 2027-01-18 08:00:00 UTC - In 3 Days",
    ]
    assert made.report.summed_up() == "all jobs succeeded"


def test_a_signing_key_names_its_account(folders: NscFolders) -> None:
    signing = key_of(KeyRole.ACCOUNT, "signing")
    claims = folders.claims("A")
    claims.nats.signing_keys = {signing.public_key: None}
    folders.change(claims)
    made = generate_activation(folders.workspace(private_key=signing.seed), "B", account="A")
    activation = decode(made.token, ActivationClaims)
    assert (activation.iss, activation.nats.issuer_account) == (signing.public_key, folders.key("A"))


@pytest.mark.parametrize(
    ("account", "target", "subject", "error"),
    [
        ("B", "A", "", "doesn't have exports"),
        ("A", "B", "open", 'a private export for "open" was not found in account "A"'),
        ("A", "B", "secret x", "cannot have spaces"),
        ("A", "A", "", "needs no activation for what it exports itself"),
        ("A", "NOBODY", "", "account NOBODY does not exist"),
        ("A", key_of(KeyRole.USER, "u").public_key, "", "of a user, not of an account"),
        ("A", key_of(KeyRole.ACCOUNT, "B").seed, "", "a public key is expected"),
    ],
)
def test_what_cannot_be_activated(
    folders: NscFolders, account: str, target: str, subject: str, error: str
) -> None:
    with pytest.raises(IdentityError, match=error):
        generate_activation(folders.workspace(), target, subject=subject, account=account)


def test_dates_that_never_hold_are_refused(folders: NscFolders) -> None:
    for start, expiry in ((0, SECONDS - 1), (SECONDS + DAY, SECONDS + DAY)):
        with pytest.raises(IdentityError, match="would never be valid"):
            generate_activation(folders.workspace(), "B", start=start, expiry=expiry, account="A")


def test_the_operators_key_signs_no_activation(folders: NscFolders) -> None:
    with pytest.raises(IdentityError, match="of an operator, not of an account"):
        generate_activation(folders.workspace(private_key=folders.operator.public_key), "B", account="A")


def test_without_a_stored_key_none_is_made(folders: NscFolders) -> None:
    folders.keystore.remove(folders.key("A"))
    with pytest.raises(IdentityError, match=folders.key("A")):
        generate_activation(folders.workspace(), "B", account="A")


def test_activations_go_to_account_servers_of_http_only(folders: NscFolders, tmp_path: Path) -> None:
    made = generate_activation(folders.workspace(), "B", account="A")
    with pytest.raises(IdentityError, match="doesn't have an account server url configured"):
        push_activation(folders.workspace(), made)
    nats = NscFolders(tmp_path / "other", server="nats://127.0.0.1:4222")
    with pytest.raises(IdentityError, match="only supported for http base account server"):
        activation_server(nats.workspace())
