"""Changes that operators, accounts and users share: dates, tags, signing keys."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator

from ...protocol.lazy_dataclass import dataclass
from ..claims import Claims, add_tags
from ..claims.model import Body
from ..errors import IdentityError, WorkspaceError
from ..folders.keystore import Keystore
from ..nkey import KeyPair, KeyRole
from .flag_values import date, relative
from .report import OperationReport, quote
from .signing import GENERATE, given_key


@dataclass(frozen=True, slots=True)
class Dates:
    """The validity dates of a token, in seconds: 0 for no bound, None for no change."""

    start: int | None = None
    expiry: int | None = None

    @property
    def given(self) -> bool:
        """Whether a date should be changed."""
        return self.start is not None or self.expiry is not None

    def apply(self, claims: Claims, now: int) -> OperationReport:
        """Set the dates and return a report about the new ones. `now`: ns."""
        report = OperationReport()
        if self.start is not None and self.start != claims.nbf:
            claims.nbf = self.start
            if self.start:
                report.ok(f"changed jwt valid start to {date(self.start)} - {relative(self.start, now)}")
            else:
                report.ok("changed jwt start to not have a start date")
        if self.expiry is not None and self.expiry != claims.exp:
            claims.exp = self.expiry
            if self.expiry:
                report.ok(f"changed jwt expiry to {date(self.expiry)} - {relative(self.expiry, now)}")
            else:
                report.ok("changed jwt expiry to never expire")
        return report


@dataclass(frozen=True, slots=True)
class Tags:
    """Tags to add and to remove."""

    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()

    @property
    def given(self) -> bool:
        """Whether tags should be changed."""
        return bool(self.add or self.remove)

    def apply(self, body: Body) -> OperationReport:
        """Change the tags, which are kept sorted and in lower case."""
        gone = {tag.strip().lower() for tag in self.remove}
        body.tags = sorted(tag for tag in add_tags(body.tags, *self.add) if tag not in gone)
        report = OperationReport()
        for tag in self.add:
            report.ok(f"added tag {quote(tag.strip().lower())}")
        for tag in self.remove:
            report.ok(f"removed tag {quote(tag.strip().lower())}")
        return report


@dataclass(frozen=True, slots=True)
class SigningKeys:
    """Signing keys to add (public key, seed, file, or `generate`) and public keys to remove.

    forget: whether the seeds of removed keys leave the keystore, too.
    """

    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()
    forget: bool = False

    @property
    def given(self) -> bool:
        """Whether signing keys should be changed."""
        return bool(self.add or self.remove)

    def read(self, role: KeyRole, present: Iterable[str], whose: str) -> tuple[list[str], list[KeyPair]]:
        """Return (public keys to add, the key pairs generated for them); nothing is stored yet.

        Raises WorkspaceError, NkeyError for something that is not a key of `role`, or for removing a key that
        is not `present`.
        """
        keys: list[str] = []
        made: list[KeyPair] = []
        for text in self.add:
            if text == GENERATE:
                made.append(KeyPair.create(role))
                keys.append(made[-1].public_key)
            else:
                keys.append(given_key(text, role).public_key)
        there = {*present, *keys}
        for key in self.remove:
            if key not in there:
                raise WorkspaceError(f"{whose} has no signing key {key}")
        return keys, made

    def tell(self, added: Iterable[str]) -> OperationReport:
        """Return a report about what was added and removed."""
        report = OperationReport()
        for key in added:
            report.ok(f"added signing key {quote(key)}")
        for key in self.remove:
            report.ok(f"removed signing key {quote(key)}")
        return report

    def forget_removed(self, keystore: Keystore, report: OperationReport) -> None:
        """Delete the seeds of the removed keys if that was asked for. It is the last step: no way back."""
        for key in self.remove if self.forget else ():
            if keystore.remove(key):
                report.ok(f"deleted signing key {quote(key)} from the keystore")


NO_DATES, NO_TAGS = Dates(), Tags()


@contextlib.contextmanager
def kept(keystore: Keystore, pairs: Iterable[KeyPair]) -> Iterator[None]:
    """Store the given keys; remove the new ones again if the block raises IdentityError."""
    stored: list[str] = []
    try:
        for pair in pairs:
            if not keystore.has(pair.public_key):
                keystore.add(pair)
                stored.append(pair.public_key)
        yield
    except IdentityError:
        for key in stored:
            with contextlib.suppress(IdentityError):
                keystore.remove(key)
        raise


def refuse_new_errors(old: Claims | None, new: Claims, now: int) -> None:
    """Raise WorkspaceError for the first error in claims that they did not have before.

    Dates in the past are not an error, since a token may be made as an expired one.
    """
    before = {issue.text for issue in old.issues(now).blocking(time=False)} if old is not None else set()
    for issue in new.issues(now).blocking(time=False):
        if issue.text not in before:
            raise WorkspaceError(issue.text)
