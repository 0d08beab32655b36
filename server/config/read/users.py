"""Readers of lists of users."""

from __future__ import annotations

from ..options.authorization import UserOptions
from ..tree import ConfigError, ConfigNode
from .context import OptionSlot, ReadContext, wrong
from .keys import is_public_key
from .section import read_into, read_maps

_EXAMPLE = 'as [{user: "a", password: "b"}]'


def read_users(context: ReadContext, slot: OptionSlot, node: ConfigNode) -> list[UserOptions]:
    """Read users with a name and a password, or with a public key."""
    found: list[UserOptions] = []
    for path, item, entries in read_maps(context, slot, node, _EXAMPLE, of="users"):
        user = UserOptions()
        read_into(context, user, entries, path)
        if not user.nkey and not user.user:
            raise ConfigError.at(item.position, "User entry requires a user", "or an nkey")
        if user.nkey and not is_public_key(user.nkey, "U"):
            raise ConfigError.at(
                context.positions[f"{path}.nkey"], "Not a valid public nkey for a user", "it starts with U"
            )
        if user.nkey and (user.user or user.password):
            raise ConfigError.at(item.position, "Nkey users do not take usernames or passwords")
        found.append(user)
    return found


_LEAF_KEYS = ("user", "username", "pass", "password", "account", "proxy_required")


def read_leaf_users(context: ReadContext, slot: OptionSlot, node: ConfigNode) -> list[UserOptions]:
    """Read users of leaf connections: name, password and the account they are bound to ("" is `$G`)."""
    found: list[UserOptions] = []
    for path, _, entries in read_maps(context, slot, node, _EXAMPLE, of="users"):
        user = UserOptions(account="")
        rest = {}
        for key, item in entries.items():
            if key.lower() == "account":
                if not isinstance(item.value, str):
                    raise wrong(item, "account must be a string")
                user.account = item.value
                context.positions[f"{path}.account"] = item.position
            elif key.lower() in _LEAF_KEYS:
                rest[key] = item
            else:
                context.unknown(key, item, _LEAF_KEYS)
        read_into(context, user, rest, path)
        found.append(user)
    return found
