"""Activation claims: an exporter's permission for one account to import one subject."""

from __future__ import annotations

import base64
import hashlib
from typing import ClassVar

from pydantic import Field

from ..nkey import KeyRole, is_public
from . import subjects
from .base import Claims
from .export import Kind
from .issues import Issues
from .model import VERSION, Body


class Activation(Body):
    """The document under `nats` in an activation: the subject and kind of the import."""

    subject: str = ""
    kind: Kind = ""
    issuer_account: str = ""


class ActivationClaims(Claims):
    """An activation.

    Its subject is the importing account, its issuer the exporter or one of its signing keys.
    """

    KIND: ClassVar[str] = "activation"
    ISSUERS: ClassVar[tuple[KeyRole, ...]] = (KeyRole.ACCOUNT, KeyRole.OPERATOR)
    SUBJECTS: ClassVar[tuple[KeyRole, ...]] = (KeyRole.ACCOUNT,)

    nats: Activation = Field(default_factory=Activation)

    @classmethod
    def new(cls, importer: str, subject: str, kind: Kind, name: str = "") -> ActivationClaims:
        """Return new claims of an activation for the account `importer`."""
        return cls(sub=importer, name=name, nats=Activation(subject=subject, kind=kind))

    def check_body(self, issues: Issues, now: int) -> None:
        """Validate the subject, the kind and the issuer account."""
        if not self.nats.kind:
            issues.error('invalid import type: "unknown"')
        subjects.check(self.nats.subject, issues)
        if self.nats.issuer_account and not is_public(self.nats.issuer_account, KeyRole.ACCOUNT):
            issues.error("account_id is not an account public key")

    def prepare(self) -> None:
        """Set type and version."""
        self.nats.type, self.nats.version = self.KIND, VERSION

    @property
    def hash_id(self) -> str:
        """The name under which account servers keep the activation.

        It is "" unless the issuer and both subjects are set.
        """
        if not (self.iss and self.sub and self.nats.subject):
            return ""
        tokens = self.nats.subject.split(".")
        wild = next((i for i, token in enumerate(tokens) if token in {"*", ">"}), len(tokens))
        text = f"{self.iss}.{self.sub}.{'.'.join(tokens[:wild]) or '_'}"
        return base64.b32encode(hashlib.sha256(text.encode()).digest()).decode()
