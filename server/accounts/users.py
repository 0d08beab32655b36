"""A user: who someone is once authenticated, and what follows from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .account import Account
    from .permissions import Permissions


class User:
    """name "" for an nkey user. permissions None: no restriction. connection_types None: any."""

    __slots__ = ("account", "connection_types", "name", "nkey", "password", "permissions")

    def __init__(
        self,
        account: Account,
        *,
        name: str = "",
        password: str = "",
        nkey: str = "",
        permissions: Permissions | None = None,
        connection_types: frozenset[str] | None = None,
    ) -> None:
        self.account = account
        self.name = name
        self.password = password
        self.nkey = nkey
        self.permissions = permissions
        self.connection_types = connection_types

    @property
    def label(self) -> str:
        """The name shown to operators."""
        return self.name or self.nkey
