"""The user that a client's certificate names (`verify_and_map`), in nats-server's order of names.

First come the e-mail addresses, then DNS names and URIs of the alternative names, each taken literally. Then
the subject as a distinguished name, in its order or in any, and last the subject as Go writes it. Promises
that however many users there are, a login looks up a few names. Source: nats-server's server/auth.go:
checkClientTLSCertSubject and processClientOrLeafAuthentication.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

from ..config.distinguished_name import Name, domain_components, go_subject, of_subject, parse

if TYPE_CHECKING:
    from .users import User


class TLSFacts(Protocol):
    """What TLS agreed on with a peer; `connection.secure.TLSState` has it."""

    @property
    def version(self) -> str:
        """The protocol, e.g. TLSv1.3."""

    @property
    def cipher(self) -> str:
        """OpenSSL's name of the cipher suite."""

    @property
    def certificates(self) -> list[bytes]:
        """The peer's certificates, verified, in DER."""

    @property
    def subject(self) -> list[list[tuple[str, str]]]:
        """The subject of the first certificate; see config.distinguished_name."""

    @property
    def names(self) -> list[tuple[str, str]]:
        """Its alternative names, each with its kind ("email", "DNS", "URI")."""


class CertificateUsers:
    """Users by the names that certificates may have for them.

    subjects: whether a name may be a distinguished name.
    """

    def __init__(self, *, subjects: bool = True) -> None:
        self._subjects = subjects
        self._users: dict[str, User] = {}
        self._ordered: dict[Name, list[User]] = {}
        self._unordered: dict[frozenset[object], list[User]] = {}

    def __len__(self) -> int:
        return len(self._users)

    def add(self, user: User) -> None:
        """Add a user with a name."""
        self._users[user.name] = user
        name = parse(user.name) if self._subjects else None
        if name is not None:
            self._ordered.setdefault(name, []).append(user)
            self._unordered.setdefault(_in_any_order(name), []).append(user)

    def find(self, secure: TLSFacts | None, connection_type: str) -> User | None:
        """Return the user of a connection by its certificate, None if none may connect in this way."""
        if secure is None or not secure.certificates:
            return None
        for user in self._named(secure):
            if user.connection_types is None or connection_type in user.connection_types:
                return user
        return None

    def _named(self, secure: TLSFacts) -> Iterator[User]:
        for kind in ("email", "DNS", "URI"):
            yield from self._literal(value for found, value in secure.names if found == kind)
        subject = of_subject(secure.subject)
        if subject is not None:
            yield from self._ordered.get(subject, ())
            yield from self._unordered.get(_in_any_order(subject), ())
        shown, components = go_subject(secure.subject), domain_components(secure.subject)
        yield from self._literal(iter([f"{shown},{components}", shown] if components else [shown]))

    def _literal(self, names: Iterator[str]) -> Iterator[User]:
        return (self._users[name] for name in names if name in self._users)


def _in_any_order(name: Name) -> frozenset[object]:
    return frozenset(Counter(name).items())
