"""Checks whether a text is an nkey of the kind that an option requires."""

from __future__ import annotations

from ....keys.errors import NkeyError
from ....keys.nkey import KeyRole, is_public, read_seed

_ROLES = {role.letter: role for role in KeyRole}


def is_public_key(text: str, letter: str) -> bool:
    """Whether `text` is a public key of a kind: User, Account, Operator, X curve, N server or Cluster."""
    return is_public(text, _ROLES[letter])


def is_user_seed(text: str) -> bool:
    """Whether `text` is the seed (`SU...`) of a user."""
    try:
        read_seed(text, KeyRole.USER)
    except NkeyError:
        return False
    return True
