"""Cycles of imports, and which export an import uses."""

from __future__ import annotations

from typing import Any

from pyjs.keys.claims import AccountClaims, Export, Import
from pyjs.keys.grants import activation_deadline, find_export, import_cycles
from pyjs.keys.nkey import KeyRole


def _accounts(party: Any, *names: str) -> dict[str, AccountClaims]:
    made = [AccountClaims.new(party.key(KeyRole.ACCOUNT, name).public_key, name) for name in names]
    return {claims.name: claims for claims in made}


def _imports(importer: AccountClaims, exporter: AccountClaims, subject: str, **more: Any) -> None:
    values = {"type": "service", "subject": subject, "account": exporter.sub, **more}
    importer.nats.imports.append(Import(**values))


def _cycles(accounts: dict[str, AccountClaims]) -> list[list[str]]:
    by_key = {claims.sub: claims.name for claims in accounts.values()}
    found = import_cycles({claims.sub: claims for claims in accounts.values()})
    return [[by_key[key] for key in cycle] for cycle in found]


def test_an_import_from_oneself_is_a_cycle(party: Any) -> None:
    accounts = _accounts(party, "A")
    _imports(accounts["A"], accounts["A"], "x")
    assert _cycles(accounts) == [["A"]]


def test_a_cycle_over_three_accounts_is_found_once(party: Any) -> None:
    accounts = _accounts(party, "A", "B", "C")
    for importer, exporter in ("AB", "BC", "CA"):
        _imports(accounts[importer], accounts[exporter], "x.>")
    assert _cycles(accounts) == [["A", "B", "C"]]


def test_two_accounts_may_import_different_subjects_from_each_other(party: Any) -> None:
    accounts = _accounts(party, "A", "B")
    _imports(accounts["A"], accounts["B"], "x")
    _imports(accounts["B"], accounts["A"], "y")
    assert _cycles(accounts) == []


def test_a_cycle_is_followed_through_local_subjects(party: Any) -> None:
    accounts = _accounts(party, "A", "B")
    _imports(accounts["A"], accounts["B"], "b.*", local_subject="a.$1")
    _imports(accounts["B"], accounts["A"], "a.*", local_subject="b.$1")
    assert _cycles(accounts) == [["A", "B"]]
    accounts["B"].nats.imports[0].local_subject = "c.$1"
    assert _cycles(accounts) == []


def test_streams_and_services_do_not_meet_and_strangers_end_a_path(party: Any) -> None:
    accounts = _accounts(party, "A", "B")
    _imports(accounts["A"], accounts["B"], "x")
    _imports(accounts["B"], accounts["A"], "x", type="stream")
    _imports(accounts["A"], _accounts(party, "Z")["Z"], "x")
    assert _cycles(accounts) == []


def test_many_imports_are_searched_quickly(party: Any) -> None:
    accounts = _accounts(party, *"ABCDEFGHIJKL")
    for importer in accounts.values():
        for exporter in accounts.values():
            if importer.name < exporter.name:
                _imports(importer, exporter, ">")
    assert _cycles(accounts) == []


def test_the_export_of_the_very_subject_wins(party: Any) -> None:
    account = party.account_claims()
    account.nats.exports = [Export(subject="a.>", type="stream"), Export(subject="a.*", type="stream")]
    for subject, wanted in (("a.*", "a.*"), ("a.b", "a.>"), ("a.b.c", "a.>")):
        found = find_export(account, Import(subject=subject, type="stream", account=account.sub))
        assert found is not None
        assert found.subject == wanted


def test_an_older_import_of_a_service_names_the_remote_subject_in_to() -> None:
    older = Import(subject="mine", to="theirs", type="service")
    assert (older.local, older.remote) == ("mine", "theirs")
    stream = Import(subject="theirs", to="prefix", type="stream")
    assert (stream.local, stream.remote) == ("prefix.theirs", "theirs")


def test_an_import_ends_with_its_activation(party: Any) -> None:
    from pyjs.keys.claims import ActivationClaims

    claims = ActivationClaims.new(party.other.public_key, "a", "stream")
    claims.exp = party.seconds + 9
    item = Import(subject="a", type="stream", token=party.signed(claims, party.account))
    assert activation_deadline(item) == (party.seconds + 9) * 10**9
    assert activation_deadline(Import(token="damaged")) == activation_deadline(Import()) == 0
