"""Stores: the tree of tokens, which token may be filed where, and damaged or foreign ones."""

from __future__ import annotations

import base64
import json
import shutil
import stat
import tempfile
from pathlib import Path
from typing import Any

import pytest
from pyjs.keys.claims import AccountClaims, OperatorClaims, UserClaims
from pyjs.keys.errors import DamagedError, FolderError, ForeignError, NotFoundError, TokenError
from pyjs.keys.folders.check import check_store
from pyjs.keys.folders.store import OperatorStore, Stores

GOLDEN = Path(__file__).parents[1] / "golden" / "nsc"


@pytest.fixture
def demo(tmp_path: Path) -> OperatorStore:
    """A store as nsc lays it out, with tokens that nsc made."""
    folder = tmp_path / "OP"
    places = {
        "OP": "OP.jwt",
        "SYS": "accounts/SYS/SYS.jwt",
        "sys-user": "accounts/SYS/users/sys.jwt",
        "TEST": "accounts/TEST/TEST.jwt",
        "leaf": "accounts/TEST/users/leaf.jwt",
    }
    for name, place in places.items():
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(GOLDEN / f"{name}.jwt", folder / place)
    (folder / ".nsc").write_text('{"managed":false,"name":"OP","kind":"operator","version":"1"}')
    return OperatorStore(folder)


def test_a_store_of_nsc_is_read_whole(demo: OperatorStore) -> None:
    assert (demo.name, demo.managed, demo.operator().name) == ("OP", False, "OP")
    assert demo.accounts() == ["SYS", "TEST"]
    assert (demo.users("SYS"), demo.users("TEST")) == (["sys"], ["leaf"])
    assert demo.user("TEST", "leaf").account == demo.account("TEST").sub
    assert demo.account_named(demo.account("TEST").sub) == "TEST"
    assert [len(f.issues) for f in check_store(demo, 1_800_000_000 * 10**9)] == [0, 0, 0]


def test_tokens_written_again_give_the_same_tree(demo: OperatorStore, tmp_path: Path) -> None:
    copy = Stores(tmp_path / "copy").create("OP")
    copy.write_operator(demo.operator_token())
    for account in demo.accounts():
        copy.write_account(demo.account_token(account))
        for user in demo.users(account):
            assert copy.write_user(demo.user_token(account, user))[0] == account

    def tree(root: Path) -> dict[str, bytes]:
        return {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()}

    assert tree(copy.folder) == tree(demo.folder)
    assert all(stat.S_IMODE(p.stat().st_mode) == 0o600 for p in copy.folder.rglob("*") if p.is_file())
    assert all(stat.S_IMODE(p.stat().st_mode) == 0o700 for p in copy.folder.rglob("*") if p.is_dir())


def test_a_user_is_filed_with_the_account_that_signed_it(party: Any, store: OperatorStore) -> None:
    user = UserClaims.new(party.user.public_key, "bob", issuer_account=party.account.public_key)
    name, claims = store.write_user(party.signed(user, party.signing))
    assert (name, claims.name, store.users("ACC")) == ("ACC", "bob", ["ann", "bob"])
    with pytest.raises(ForeignError, match="no key of an account here"):
        store.write_user(party.signed(party.user_claims(), party.other))


def test_another_operators_tokens_are_refused(party: Any, store: OperatorStore) -> None:
    with pytest.raises(ForeignError, match="no key of operator OP"):
        store.write_account(party.signed(party.account_claims(), party.stranger))
    other = OperatorClaims.new(party.stranger.public_key, "OP")
    with pytest.raises(ForeignError, match="is the store of operator"):
        store.write_operator(party.signed(other, party.stranger))
    store.write_operator(party.signed(other, party.stranger), reissued=True)
    assert store.operator().sub == party.stranger.public_key


def test_an_accounts_name_keeps_its_key(party: Any, store: OperatorStore) -> None:
    other = AccountClaims.new(party.other.public_key, "ACC")
    with pytest.raises(ForeignError, match="another key"):
        store.write_account(party.signed(other, party.operator))


@pytest.mark.parametrize("name", ["../x", "a/b", "a\\b", "..", ".", "", "  ", "a\0b", "x" * 300])
def test_a_name_in_a_token_cannot_leave_the_store(party: Any, store: OperatorStore, name: str) -> None:
    before = sorted(store.folder.parent.rglob("*"))
    for claims, by in ((party.account_claims(), party.operator), (party.user_claims(), party.account)):
        claims.name = name
        with pytest.raises((FolderError, TokenError)):
            (store.write_account if by is party.operator else store.write_user)(party.signed(claims, by))
    with pytest.raises(FolderError):
        store.account(name)
    with pytest.raises(FolderError):
        Stores(store.folder.parent).create(name)
    assert sorted(store.folder.parent.rglob("*")) == before


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"name":5}', "\xff"])
def test_a_half_written_mark_is_damage(store: OperatorStore, content: str) -> None:
    (store.folder / ".nsc").write_text(content, encoding="latin-1")
    with pytest.raises(DamagedError, match=r"\.nsc"):
        OperatorStore(store.folder)


@pytest.mark.parametrize(
    "content",
    ['{"name":"OP","kind":"account","version":"1"}', '{"name":"OP","kind":"operator","version":"2"}'],
)
def test_a_store_of_another_kind_is_foreign(store: OperatorStore, content: str) -> None:
    (store.folder / ".nsc").write_text(content)
    with pytest.raises(ForeignError):
        OperatorStore(store.folder)


def test_a_folder_without_a_mark_is_no_store(tmp_path: Path) -> None:
    (tmp_path / "OP").mkdir()
    assert Stores(tmp_path).names() == []
    with pytest.raises(NotFoundError):
        Stores(tmp_path).open("OP")


@pytest.mark.parametrize("keep", [0.0, 0.3, 0.6, 0.99])
def test_a_half_written_token_is_damage_that_names_the_file(store: OperatorStore, keep: float) -> None:
    path = store.account_path("ACC")
    text = path.read_text()
    path.write_text(text[: int(len(text) * keep)])
    with pytest.raises(DamagedError, match=r"ACC\.jwt"):
        store.account("ACC")
    findings = check_store(store, 0)
    assert any("damaged" in i.text or "empty" in i.text for i in findings[1].issues)


def test_a_store_of_version_1_is_foreign(party: Any, store: OperatorStore) -> None:
    parts = [{"typ": "jwt", "alg": "ed25519"}, {"type": "operator", "iss": party.operator.public_key}]
    head, body = (base64.urlsafe_b64encode(json.dumps(p).encode()).decode().rstrip("=") for p in parts)
    signature = base64.urlsafe_b64encode(party.operator.sign(body.encode())).decode().rstrip("=")
    store.operator_path.write_text(f"{head}.{body}.{signature}")
    with pytest.raises(ForeignError, match="version 1"):
        store.operator()


def test_a_changed_token_is_damage(store: OperatorStore) -> None:
    path = store.user_path("ACC", "ann")
    head, body, signature = path.read_text().split(".")
    path.write_text(f"{head}.{body}.{'A' if signature[0] != 'A' else 'B'}{signature[1:]}")
    with pytest.raises(DamagedError, match="signature"):
        store.user("ACC", "ann")
    assert 'user "ann": ' in next(iter(check_store(store, 0)[1].issues)).text


def test_what_is_missing_is_said_by_name(store: OperatorStore) -> None:
    with pytest.raises(NotFoundError, match="no account NONE"):
        store.account("NONE")
    with pytest.raises(NotFoundError, match="no user bob of account ACC"):
        store.user("ACC", "bob")
    with pytest.raises(NotFoundError):
        store.account_named("NONE")


def test_a_token_of_another_kind_is_not_stored(party: Any, store: OperatorStore) -> None:
    with pytest.raises(TokenError, match="user"):
        store.write_account(party.signed(party.user_claims(), party.account))


def test_removing(store: OperatorStore) -> None:
    assert store.remove_user("ACC", "ann")
    assert not store.remove_user("ACC", "ann")
    assert store.remove_account("ACC")
    assert not store.remove_account("ACC")
    assert store.accounts() == []
    root = Stores(store.folder.parent)
    root.remove("OP")
    assert root.names() == []


def test_an_existing_folder_is_not_overwritten(store: OperatorStore) -> None:
    with pytest.raises(FolderError, match="exists"):
        Stores(store.folder.parent).create("OP")


def test_a_write_that_fails_leaves_the_store_readable(
    party: Any, store: OperatorStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_only(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(tempfile, "mkstemp", read_only)
    with pytest.raises(FolderError, match=r"cannot write .*ACC\.jwt: Permission denied"):
        store.write_account(party.signed(party.account_claims(), party.operator))
    monkeypatch.undo()
    assert store.account("ACC").name == "ACC"


def test_the_chain_of_a_store_is_checked(party: Any, store: OperatorStore) -> None:
    operator = party.operator_claims()
    operator.nats.strict_signing_key_usage = True
    store.write_operator(party.signed(operator, party.operator))
    texts = [i.text for f in check_store(store, party.now) for i in f.issues]
    assert texts == [
        "Account is not issued by operator or operator signing keys",
        'user "ann" is issued by account key but operator is in strict mode',
    ]


def test_a_system_account_has_no_jetstream(party: Any, store: OperatorStore) -> None:
    operator, account = party.operator_claims(), party.account_claims()
    operator.nats.system_account, account.nats.limits.disk_storage = account.sub, -1
    store.write_operator(party.signed(operator, party.operator))
    store.write_account(party.signed(account, party.operator))
    assert [i.text for i in check_store(store, party.now, ["ACC"])[1].issues] == [
        "JetStream should not be enabled for system account"
    ]
