"""Imports: subjects that an account uses from another account."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...protocol.subject_tree import SubjectTree
from ..errors import IdentityError
from . import subjects
from .export import Kind
from .issues import Issues, quote
from .model import ClaimsDocument

if TYPE_CHECKING:
    from .activation import ActivationClaims


class Import(ClaimsDocument):
    """One import.

    subject: the subject in the exporting account.
    local_subject: the subject in the importing account; `to` is the older form of this field.
    """

    name: str = ""
    subject: str = ""
    account: str = ""
    token: str = ""
    to: str = ""
    local_subject: str = ""
    type: Kind = ""
    share: bool = False
    allow_trace: bool = False

    @property
    def remote(self) -> str:
        """The subject in the exporting account."""
        return self.to if self.type == "service" and self.to else self.subject

    @property
    def local(self) -> str:
        """The subject inside the importing account, with every `$n` as `*`."""
        if self.local_subject:
            return subjects.plain(self.local_subject)
        return f"{self.to}.{self.subject}" if self.type == "stream" and self.to else self.subject

    def activation(self) -> ActivationClaims:
        """Decode the import's token. Raises IdentityError if it has none that can be read."""
        from ..token import decode
        from .activation import ActivationClaims

        return decode(self.token, ActivationClaims, v1=True)

    def check(self, importer: str, issues: Issues) -> None:
        """Validate one import of the account `importer`, including its token, but not the token's dates."""
        if not self.type:
            issues.error('invalid import type: "unknown"')
        if self.type == "service" and self.allow_trace:
            issues.error("AllowTrace only valid for stream import")
        if not self.account:
            issues.error("account to import from is not specified")
        if self.to:
            issues.warn("the field to has been deprecated (use LocalSubject instead)")
        subjects.check(self.subject, issues)
        if self.local_subject:
            subjects.check_renaming(self.local_subject, self.subject, issues)
            if self.to:
                issues.error("Local Subject replaces To")
        if self.share and self.type != "service":
            issues.error(
                "sharing information (for latency tracking) is only valid for services: "
                + quote(self.subject)
            )
        if self.token:
            self._check_token(importer, issues)

    def _check_token(self, importer: str, issues: Issues) -> None:
        try:
            claims = self.activation()
        except IdentityError:
            issues.error(f"import {quote(self.subject)} contains an invalid activation token")
            return
        if self.account not in {claims.iss, claims.nats.issuer_account}:
            issues.error(f"activation token doesn't match account for import {quote(self.subject)}")
        if claims.sub != importer:
            issues.error(
                f"activation token doesn't match account it is being included in, {quote(self.subject)}"
            )
        if claims.nats.kind != self.type:
            issues.error(
                f"mismatch between token import type {claims.nats.kind or 'unknown'} "
                f"and type of import {self.type or 'unknown'}"
            )
        claims.check_body(issues, 0)
        if not subjects.contained(self.remote, claims.nats.subject):
            issues.error(
                f"activation token import subject {quote(claims.nats.subject)} "
                f"doesn't match import {quote(self.subject)}"
            )


def check_imports(imports: list[Import], importer: str, issues: Issues) -> None:
    """Validate all imports, and that local subjects of services from one account do not overlap."""
    taken: dict[str, _Taken] = {}
    for item in imports:
        if item.type == "service":
            local = item.to or item.local
            for other in taken.setdefault(item.account, _Taken()).overlapping(local):
                if local == other:
                    issues.error(
                        f"overlapping subject namespace for {quote(local)} in account {quote(item.account)}"
                    )
                else:
                    issues.error(
                        f"overlapping subject namespace for {quote(local)} and {quote(other)} "
                        f"in same account {quote(item.account)}"
                    )
            taken[item.account].add(local)
        item.check(importer, issues)


class _Taken:
    """The local subjects of the imports from one account, in their order."""

    def __init__(self) -> None:
        self._all: list[str] = []
        self._outer: SubjectTree[list[int]] = SubjectTree()
        self._inner: SubjectTree[list[int]] = SubjectTree()

    def add(self, subject: str) -> None:
        for tree, written in ((self._outer, subject), (self._inner, subjects.last_token_literal(subject))):
            tree.setdefault(written, []).append(len(self._all))
        self._all.append(subject)

    def overlapping(self, subject: str) -> list[str]:
        """Return the subjects that contain `subject`, and those inside it (see `subjects.contained`)."""
        found = {place for places in self._outer.matching(subject) for place in places}
        found.update(place for places in self._inner.within(subject) for place in places)
        return [self._all[place] for place in sorted(found)]
