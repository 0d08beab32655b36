"""Checks whether a text is an nkey of the kind that an option requires. Without nkeys nothing is imported."""

from __future__ import annotations


def is_public_key(text: str, letter: str) -> bool:
    """Whether `text` is a public key of a kind: User, Account, Operator, X curve, N server or Cluster."""
    from ....keys.nkey import KeyRole, is_public

    return is_public(text, next(role for role in KeyRole if role.letter == letter))


def is_user_seed(text: str) -> bool:
    """Whether `text` is the seed (`SU...`) of a user."""
    from ....keys.errors import NkeyError
    from ....keys.nkey import KeyRole, read_seed

    try:
        read_seed(text, KeyRole.USER)
    except NkeyError:
        return False
    return True
