"""Compares two configurations, and decides whether a running server can follow the change.

It is a pure comparison: which options differ, in words for the log, and which of them need a restart. One
change that cannot be followed rejects the whole new configuration.

Source: nats-server's server/reload.go: diffOptions.
"""

from __future__ import annotations

import re
from dataclasses import field
from typing import Any, NamedTuple

from ...protocol.lazy_dataclass import dataclass
from .options import Options, specs
from .options.field import OptionSpec

# Options that nats-server can follow and this server cannot yet. Whoever adds that deletes the row.
RESTART = ("resolver",)


# What no log should show: user and password in a URL, a token.
_LOGIN = re.compile(r"""(?<=://)[^\s'"]*@""")
_TOKEN = re.compile(r"\beyJ[\w-]+\.[\w.-]+")


class OptionChange(NamedTuple):
    """An option that differs, by its path, with values that may be shown (no secrets)."""

    path: str
    old: str
    new: str


@dataclass(slots=True)
class Reload:
    """The result of the comparison. `refused` is empty if the new configuration can be applied."""

    changes: list[OptionChange] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)


def compare(old: Options, new: Options) -> Reload:
    """Return what differs between `old` and `new`."""
    found = Reload()
    _compare(found, old, new, "", _switch(found, old, new))
    return found


def _switch(found: Reload, old: Options, new: Options) -> tuple[str, ...]:
    """Check a switch of JetStream between on and off. Return the options that need no comparison then."""
    before, after = old.jetstream.enabled, new.jetstream.enabled
    if before and after:
        return ()
    if before != after:
        change = OptionChange("jetstream.enabled", str(before), str(after))
        if old.cluster is None and new.cluster is None and new.jetstream.extension_hint != "will_extend":
            found.changes.append(change)
        else:
            text = f"config reload not supported for jetstream in a cluster: old={before}, new={after}"
            found.refused.append(text)
    return ("jetstream",)


def _compare(found: Reload, old: Any, new: Any, path: str, but: tuple[str, ...] = ()) -> None:
    for name, spec in specs(type(old)).items():
        if name in but:
            continue
        before, after = getattr(old, name), getattr(new, name)
        if before == after:
            continue
        here = f"{path}.{name}" if path else name
        if here not in RESTART and _is_block(before, after, spec):
            assert spec.section is not None
            _compare(found, before or spec.section(), after or spec.section(), here)
            continue
        change = OptionChange(here, _shown(before, spec), _shown(after, spec))
        if _can_follow(here, before, after, spec) and not _needs_leafs(here, old):
            found.changes.append(change)
        else:
            found.refused.append(
                f"config reload not supported for {here}: old={change.old}, new={change.new}"
            )


def _is_block(before: Any, after: Any, spec: OptionSpec) -> bool:
    if spec.section is None:
        return False
    return all(value is None or isinstance(value, spec.section) for value in (before, after))


def _can_follow(path: str, before: Any, after: Any, spec: OptionSpec) -> bool:
    if path == "system_account":
        return bool(before == "$SYS" and after == "")
    if path in RESTART:
        return False
    if path in ("jetstream.max_memory", "jetstream.max_file"):
        # None is a share of the machine, which cannot be compared; stored data may need the old limit.
        return before is not None and after is not None and after > before >= 0
    return spec.reload


def _needs_leafs(path: str, block: Any) -> bool:
    """Whether this is the first remote of a server without leaf nodes, whose part is not running."""
    return path == "leafnodes.remotes" and block.port is None and not block.remotes


def _shown(value: Any, spec: OptionSpec) -> str:
    if spec.secret:
        return "[REDACTED]"
    if isinstance(value, (list, dict)) and spec.section is not None:
        return f"{len(value)} entries"
    return _TOKEN.sub("[JWT]", _LOGIN.sub("[REDACTED]@", str(value)))
