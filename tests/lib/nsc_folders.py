"""Folders of nsc with an operator and accounts, made without nsc, and their content at one moment.

Keys are derived from names, and the clock stands still: two runs make the same tokens.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from pyjs.keys import (
    AccountClaims,
    KeyPair,
    KeyRole,
    NscDirectories,
    OperatorClaims,
    Stores,
    UserClaims,
    Workspace,
    encode,
)
from pyjs.keys.folders.keystore import Keystore
from pyjs.keys.nkey import write_seed

NOW = 1_800_000_000 * 10**9
OPERATOR = "OP"


def key_of(role: KeyRole, name: str) -> KeyPair:
    """Return the same key for the same name, each time."""
    return KeyPair(write_seed(role, hashlib.sha256(f"folders {name}".encode()).digest()))


class NscFolders:
    """One operator's folders below `home` (as `-H home`). `now`: nanoseconds, may be moved."""

    def __init__(self, home: Path, *accounts: str, managed: bool = False, server: str = "") -> None:
        self.home = home
        self.now = NOW
        self.operator = key_of(KeyRole.OPERATOR, "operator")
        claims = OperatorClaims.new(self.operator.public_key, OPERATOR)
        claims.nats.account_server_url = server
        self.keystore = Keystore(home)
        if not managed:
            self.keystore.add(self.operator)
        self.store = Stores(home).create(OPERATOR, managed=managed)
        self.store.write_operator(encode(claims, self.operator, now=self.now))
        for name in accounts:
            self.add_account(name)

    def add_account(self, name: str) -> KeyPair:
        """Add an unlimited account and store its key; in a managed store it is self-signed."""
        pair = key_of(KeyRole.ACCOUNT, name)
        self.keystore.add(pair)
        signer = pair if self.store.managed else self.operator
        self.store.write_account(encode(AccountClaims.new(pair.public_key, name), signer, now=self.now))
        return pair

    def add_user(self, account: str, name: str, signer: KeyPair | None = None) -> KeyPair:
        """Add a user, signed by the account's identity or by a signing key of it."""
        pair, owner = key_of(KeyRole.USER, name), key_of(KeyRole.ACCOUNT, account)
        issuer = "" if signer is None else owner.public_key
        claims = UserClaims.new(pair.public_key, name, issuer_account=issuer)
        self.store.write_user(encode(claims, signer or owner, now=self.now))
        return pair

    def key(self, account: str) -> str:
        """Return an account's public key."""
        return key_of(KeyRole.ACCOUNT, account).public_key

    def claims(self, account: str) -> AccountClaims:
        """Return the claims of an account as they are stored."""
        return self.store.account(account)

    def change(self, claims: AccountClaims) -> None:
        """Store an account as it is here, without any checks."""
        self.store.write_account(encode(claims, self.operator, now=self.now))

    def workspace(self, account: str = "", private_key: str = "") -> Workspace:
        """Return the workspace, whose clock is this one's."""
        directories = NscDirectories.locate(
            {"HOME": str(self.home)}, self.home.parent, all_dirs=str(self.home)
        )
        opened = Workspace.open(directories, now=lambda: self.now, private_key=private_key)
        return opened.with_account(account) if account else opened

    def content(self) -> dict[str, bytes]:
        """Return all files below the folders, except the settings."""
        files = (path for path in self.home.rglob("*") if path.is_file() and path.name != "nsc.json")
        return {str(path.relative_to(self.home)): path.read_bytes() for path in files}
