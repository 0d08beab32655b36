"""A workspace: the folders of nsc, what is current in them, and what every operation needs.

An operation takes a Workspace, checks all its arguments, then writes. It returns a small result with an
`OperationReport`, or raises an IdentityError and has changed nothing.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from ...protocol.lazy_dataclass import dataclass
from .. import files
from ..claims import AccountClaims, OperatorClaims, UserClaims
from ..claims.base import SECOND
from ..errors import FolderError, IdentityError, NotFoundError, WorkspaceError
from ..folders.context import NscContext
from ..folders.keystore import Keystore
from ..folders.locations import NscDirectories
from ..folders.store import OperatorStore, Stores
from ..nkey import KeyRole, Signer, is_public
from ..token import encode
from . import accountserver
from .report import Grade, OperationReport, Show, place


@dataclass(frozen=True, slots=True)
class Workspace:
    """Folders, current operator and account, the time, and the key that `-K` names.

    now: returns the time (ns).

    Operations that change what is current return a new Workspace.
    """

    context: NscContext
    now: Callable[[], int] = time.time_ns
    private_key: str = ""

    @classmethod
    def open(
        cls,
        directories: NscDirectories,
        *,
        now: Callable[[], int] = time.time_ns,
        private_key: str = "",
        layout: bool = True,
    ) -> Workspace:
        """Find out what is current; a first run writes the settings, as `nsc` does.

        layout: whether to refuse a keystore of the older layout.

        Raises FolderError.
        """
        context = NscContext.load(directories)
        if layout:
            Keystore(directories.keys).check_layout()
        if directories.cwd_only and not context.from_cwd and directories.stores is None:
            context = context.with_root(directories.cwd)  # no store is here yet; a new one will be
        if context.first_run:
            files.make_folder(context.stores.root)
            settings = context.settings.model_copy(update={"last_update": now() // SECOND})
            context = replace(context, settings=settings).save()
        return cls(context, now, private_key)

    @property
    def keystore(self) -> Keystore:
        """The folder of secrets."""
        return self.context.keystore

    @property
    def stores(self) -> Stores:
        """The root of all operators' stores."""
        return self.context.stores

    def store(self) -> OperatorStore:
        """Open the current operator's store. Raises WorkspaceError if none is current."""
        if not self.context.operator:
            known = self.stores.names()
            advice = (
                f"choose one with `nsc env -o <name>`: {', '.join(known)}"
                if known
                else "make one with `nsc add operator`"
            )
            raise WorkspaceError(f"no operator is current in {place(self.stores.root)}: {advice}")
        return self.context.store()

    def operator(self) -> OperatorClaims:
        """Read the current operator's claims. Raises FolderError."""
        return self.store().operator()

    def account(self, given: str = "") -> AccountClaims:
        """Read the claims of an account, by name or public key, or of the current one.

        Raises WorkspaceError.
        """
        return self.store().account(self.account_name(given))

    def account_name(self, given: str = "") -> str:
        """Return an account's name in the store, from its name or public key.

        By default the current account's.

        Raises WorkspaceError, NotFoundError.
        """
        store = self.store()
        if given:
            return store.account_named(given)
        if not self.context.account:
            raise WorkspaceError("an account is required: name one, or choose one with `nsc env -a <name>`")
        return self.context.account

    def user_name(self, account: str, given: str = "") -> str:
        """Return the name of an account's user, from its name or public key.

        By default that of the only user.

        Raises WorkspaceError, NotFoundError.
        """
        store = self.store()
        names = store.users(account)
        if given in names:
            return given
        if given and is_public(given, KeyRole.USER):
            for name in names:
                if store.user(account, name).sub == given:
                    return name
        if given:
            raise NotFoundError(f"account {account} has no user {given}")
        if len(names) != 1:
            has = f"{len(names)} of them" if names else f"none: add one with `nsc add user -a {account}`"
            raise WorkspaceError(f"a user is required: account {account} has {has}")
        return names[0]

    def with_operator(self, name: str) -> Workspace:
        """Return a workspace in which another operator is current. Raises NotFoundError."""
        return replace(self, context=self.context.with_operator(name))

    def with_account(self, given: str) -> Workspace:
        """Return a workspace in which another account is current, by name or public key."""
        self.store()
        return replace(self, context=self.context.with_account(given))

    def with_root(self, root: Path) -> Workspace:
        """Return a workspace in another stores root. Raises WorkspaceError if it is not a directory."""
        if root.exists() and not root.is_dir():
            raise WorkspaceError(f"{place(root)} is no directory")
        return replace(self, context=self.context.with_root(root))

    def save(self) -> Workspace:
        """Save what is current; if only the working directory decides, nothing is written."""
        if self.context.directories.cwd_only:
            return self
        return replace(self, context=self.context.save())

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Prevent other runs from changing this operator's store meanwhile, so that no edit is lost."""
        mark = self.store().folder / ".nsc"
        try:
            descriptor = os.open(mark, os.O_RDONLY)
        except OSError as error:
            raise FolderError(f"cannot read {mark}: {error.strerror}") from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def write_operator(self, claims: OperatorClaims, signer: Signer, *, reissued: bool = False) -> str:
        """Sign and store the operator's claims; return the token."""
        token = encode(claims, signer, now=self.now())
        self.store().write_operator(token, reissued=reissued)
        return token

    def write_account(self, claims: AccountClaims, signer: Signer) -> OperationReport:
        """Sign and store an account's claims; in a managed store they are sent to its account server first.

        Returns the report about that, which is empty for an operator whose key is here.
        """
        return self.store_account(encode(claims, signer, now=self.now()))

    def store_account(self, token: str) -> OperationReport:
        """Store an account's token and return a report.

        In a managed store the token is sent to the operator's account server first, and what the server
        returns is stored. If that fails, the given token is stored, with a warning.
        """
        store = self.store()
        if not store.managed:
            store.write_account(token)
            return OperationReport()
        operator, claims = store.operator(), store.check_account(token)
        url = operator.nats.account_server_url
        report = OperationReport("stored self signed account jwt", show=Show.CHILDREN)
        if not accountserver.is_http(url):
            store.write_account(token)
            report.warn(
                f'unable to push to "{operator.name}" - operator doesn\'t set an account server url or '
                "manual exchange necessary"
            )
            report.warn("perform push/pull again or exchange self-signed JWT manually")
            return report
        report.text = "synchronized account jwt with account server"
        where = accountserver.account_url(url, claims.sub)
        sent = accountserver.push(where, token)
        report.add(sent)
        pulled = ""
        if sent.grade is Grade.OK:
            got, pulled = accountserver.pull(where)
            report.add(got)
        if pulled:
            try:
                store.write_account(pulled)
            except IdentityError as error:
                report.error(f"failed to store the account server's jwt: {error}")
                pulled = ""
        if not pulled:
            store.write_account(token)
            report.warn("perform push/pull again or exchange self-signed JWT manually")
        return report

    def write_user(self, claims: UserClaims, signer: Signer) -> str:
        """Sign and store a user's claims with the account that signs; return the token."""
        token = encode(claims, signer, now=self.now())
        self.store().write_user(token)
        return token

    def put_user(
        self, account: str, claims: UserClaims, signer: Signer, report: OperationReport
    ) -> Path | None:
        """Sign and store a user's claims and credentials, both or neither, and report it.

        Return their path.
        """
        store = self.store()
        there = claims.name in store.users(account)
        before = store.user_token(account, claims.name) if there else ""
        self.write_user(claims, signer)
        try:
            return self.write_credentials(account, claims.name, report)
        except IdentityError:
            with contextlib.suppress(IdentityError):
                if before:
                    store.write_user(before)
                else:
                    store.remove_user(account, claims.name)
            raise

    def write_credentials(self, account: str, user: str, report: OperationReport) -> Path | None:
        """Write a stored user's credentials if its seed is stored, and report it; return their path."""
        store = self.store()
        token, key = store.user_token(account, user), store.user(account, user).sub
        if not self.keystore.has(key):
            report.ok("skipped generating creds file - user private key is not available")
            return None
        pair = self.keystore.get(key)
        path = self.keystore.write_credentials(store.name, account, user, token, pair.seed)
        report.ok(f"generated user creds file {place(path)}")
        return path
