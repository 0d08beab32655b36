"""Operator claims: the keys that sign accounts, and the operator's servers."""

from __future__ import annotations

import re
from typing import ClassVar

from pydantic import Field

from ..errors import TokenError, TokenFault
from ..nkey import KeyRole, is_public
from . import urls
from .base import Claims
from .issues import Issues, quote
from .model import VERSION, Body

_SERVICE_SCHEMES = ("nats", "tls", "ws", "wss")


class Operator(Body):
    """The document under `nats` in an operator's token."""

    signing_keys: list[str] = Field(default_factory=list)
    account_server_url: str = ""
    operator_service_urls: list[str] = Field(default_factory=list)
    system_account: str = ""
    assert_server_version: str = ""
    strict_signing_key_usage: bool = False

    def check(self, issues: Issues) -> None:
        """Validate the URLs, the keys and the version."""
        if error := self.url_error():
            issues.error(error)
        for url in self.operator_service_urls:
            if error := service_url_error(url):
                issues.error(error)
        for key in self.signing_keys:
            if not is_public(key, KeyRole.OPERATOR):
                issues.error(f"{key} is not an operator public key")
        if self.system_account and not is_public(self.system_account, KeyRole.ACCOUNT):
            issues.error(f"{self.system_account} is not an account public key")
        if error := version_error(self.assert_server_version):
            issues.error(f"assert server version error: {error}")

    def url_error(self) -> str:
        """Return what is wrong with the account server's URL, "" if nothing is."""
        url = self.account_server_url
        if not url:
            return ""
        try:
            scheme = urls.parse(url).scheme
        except urls.UrlError as error:
            return f"error parsing account server url: {error}"
        return "" if scheme else f"account server url {quote(url)} requires a protocol"


def service_url_error(url: str) -> str:
    """Return what is wrong with the URL of an operator's service, "" if nothing is."""
    if not url:
        return ""
    try:
        parts = urls.parse(url)
    except urls.UrlError as error:
        return f"error parsing operator service url {quote(url)}: {error}"
    if parts.user:
        return f"operator service url {quote(url)} - credentials are not supported"
    if parts.path:
        return f"operator service url {quote(url)} - paths are not supported"
    if parts.scheme not in _SERVICE_SCHEMES:
        known = ", ".join(f"'{scheme}'" for scheme in _SERVICE_SCHEMES)
        return f"operator service url {quote(url)} - protocol not supported (only {known} only)"
    return ""


def version_error(version: str) -> str:
    """Return what is wrong with a server version to assert, "" if nothing is or if there is none."""
    parts = version.split(".") if version else ["0"] * 3
    if len(parts) != 3:
        return "asserted server version must be of the form <major>.<minor>.<update>"
    for part in parts:
        if not re.fullmatch(r"[+-]?[0-9]+", part, re.ASCII):
            return f"asserted server version cant parse {part} to int"
    return (
        "" if all(int(p) >= 0 for p in parts) else f"asserted server version has negative values: {version}"
    )


class OperatorClaims(Claims):
    """An operator's token, signed by the operator itself."""

    KIND: ClassVar[str] = "operator"
    ISSUERS: ClassVar[tuple[KeyRole, ...]] = (KeyRole.OPERATOR,)
    SUBJECTS: ClassVar[tuple[KeyRole, ...]] = (KeyRole.OPERATOR,)

    nats: Operator = Field(default_factory=Operator)

    @classmethod
    def new(cls, subject: str, name: str = "") -> OperatorClaims:
        """Return new claims for the operator's public key."""
        return cls(sub=subject, name=name)

    def check_body(self, issues: Issues, now: int) -> None:
        """Validate the document under `nats`."""
        self.nats.check(issues)

    def prepare(self) -> None:
        """Set type and version. Raises TokenError if the account server's URL has no scheme."""
        if error := self.nats.url_error():
            raise TokenError(TokenFault.CONTENT, error)
        self.nats.type, self.nats.version = self.KIND, VERSION

    def did_sign(self, claims: Claims) -> bool:
        """Return whether the operator vouches for a token.

        It does if its own key signed (in strict mode only the operator's own token) or one of its signing
        keys.
        """
        if claims.iss == self.sub:
            return not self.nats.strict_signing_key_usage or claims.sub == self.sub
        return claims.iss in self.nats.signing_keys
