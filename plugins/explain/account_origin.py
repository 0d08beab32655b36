"""Where an account is made, by tokens of an operator or in a configuration, and so how it is changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...cli.profile import Profile
from ...cli.proposal import command

OF_TOKENS = ("creds", "nsc", "user_jwt")  # settings of a user that has a token
OPTIONS = {"memory": "max_memory", "storage": "max_store"}  # of an account's block in a configuration
FLAGS = {"memory": "--js-mem-storage", "storage": "--js-disk-storage"}


@dataclass(frozen=True)
class AccountOrigin:
    """Where an account is made.

    tokens: whether by tokens of an operator; None if nobody told.
    name: of the account, if it was told.
    """

    tokens: bool | None = None
    name: str = ""

    def change(self, kind: str, limit: int, tier: int = 0) -> tuple[str, tuple[str, ...]]:
        """Return how to change the limit of `memory` or `storage`: a sentence, and commands.

        tier: the replicas of the tier that has the limit; 0 for none.
        """
        name, tiered = self.name or "NAME", ("--js-tier", tier) if tier else ()
        line = command("nsc", "edit", "account", "--name", name, *tiered, FLAGS[kind], limit)
        told = f"{OPTIONS[kind]} in the jetstream block of the account"
        if self.tokens:
            return "", (line, command("nsc", "push", "--account", name))
        if self.tokens is not None:
            of = f" {self.name}" if self.name else ""
            return f" The limit is {told}{of}, in the servers' configuration.", ()
        return f" If no operator made the account, it is {told}, in the servers' configuration.", (line,)


UNTOLD = AccountOrigin()


def origin_of(user: Mapping[str, Any], profile: Profile) -> AccountOrigin:
    """Return where the account of a user is made.

    user: what the server says of it; empty if it says nothing. Accounts of an operator have their public key
        there. Otherwise a user that has a token tells.
    """
    from ...keys.nkey import KeyRole, is_public

    account = str(user.get("account") or "")
    if account:
        name = str(user.get("account_name") or "")
        tokens = is_public(account, KeyRole.ACCOUNT)
        return AccountOrigin(tokens, ("" if name == account else name) if tokens else account)
    return AccountOrigin(True if any(profile.text(name) for name in OF_TOKENS) else None)
