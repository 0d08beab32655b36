"""Inventory: which streams this server's disk holds.

Promises:
- What the disk refuses to read (no file descriptor left, a permission, a mount that is gone) counts neither
  as missing nor as damaged, so that it is neither deleted nor replaced. It is read again until that succeeds.
- The time between two attempts doubles, up to `LONGEST`. An attempt reads in slices, the folder of an account
  in one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING

from ....protocol.lazy_dataclass import dataclass
from ....protocol.timestamp import parse_rfc3339
from ...clock import SECOND
from ...slices import Slices, Steps, paced
from ..meta.reconcile import ReplicaOnDisk

if TYPE_CHECKING:
    from ....store.configs import StoredConfig
    from ...clock import Timer
    from ...cluster.environment import GroupEnvironment
    from ..account.account import JetStreamAccount

Key = tuple[str, str]  # account, stream; the stream is "" for all streams of the account
FIRST = 1 * SECOND  # ns until the first new attempt
LONGEST = 64 * SECOND


def covers(keys: Container[Key], key: Key) -> bool:
    """Return whether a stream is one of those that the keys are about."""
    return key in keys or (key[0], "") in keys


@dataclass(slots=True)
class Listing:
    """What one reading of the disk has found.

    on_disk: the streams that can be read.
    damaged: what is wrong with each of those that are damaged.
    """

    on_disk: dict[Key, ReplicaOnDisk] = field(default_factory=dict)
    damaged: dict[Key, str] = field(default_factory=dict)


class Inventory:
    """Lists the streams on the disk.

    refused: why the disk did not let something be read.
    accounts: those that have JetStream here, by name.
    readable: is called, with the keys and what they are, when the disk lets be read what it refused before.
    """

    def __init__(
        self,
        environment: GroupEnvironment,
        accounts: Mapping[str, JetStreamAccount],
        readable: Callable[[set[Key], Listing], None],
    ) -> None:
        self.refused: dict[Key, str] = {}
        self._clock = environment.clock
        self._executor = environment.executor
        self._log = environment.log
        self._accounts = accounts
        self._readable = readable
        self._wait = FIRST
        self._timer: Timer | None = None
        self._trying = False

    def read(self, accounts: Iterable[JetStreamAccount]) -> Listing:
        """Return the streams of these accounts. Blocks."""
        listing = Listing()
        for account in accounts:
            key = (account.name, "")
            try:
                self._note(key, account.directory.streams(), listing)
            except OSError as error:
                self._refuse(key, str(error))
        self._arm()
        return listing

    def forget(self, account: str = "") -> None:
        """Read nothing again of one account, or of all."""
        for key in [key for key in self.refused if account in ("", key[0])]:
            del self.refused[key]
        if self.refused:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._wait = None, FIRST

    def _note(self, key: Key, found: Iterable[StoredConfig], listing: Listing) -> None:
        for stored in found:
            own = (key[0], stored.name)
            if stored.refused:
                self._refuse(own, stored.damage)
            elif stored.document is None:
                listing.damaged[own] = stored.damage
            else:
                if stored.repaired:
                    name = " > ".join(own)
                    self._log.warning(f"Stream '{name}': {stored.repaired}: rewritten from the other file")
                created = parse_rfc3339(stored.document["created"])
                listing.on_disk[own] = ReplicaOnDisk(stored.document.get("group", ""), created)

    def _refuse(self, key: Key, why: str) -> None:
        self.refused[key] = why
        what = f"Stream '{' > '.join(key)}'" if key[1] else f"The folder of account '{key[0]}'"
        self._log.error(f"{what} cannot be read, and will be read again: {why}")

    # --- what the disk refused

    def _arm(self) -> None:
        if self.refused and self._timer is None and not self._trying:
            self._timer = self._clock.call_later(self._wait, self._try)
            self._wait = min(2 * self._wait, LONGEST)

    def _try(self) -> None:
        self._timer, self._trying = None, True
        read: dict[Key, list[StoredConfig]] = {}
        # Nothing is noted before the end: until then, what was refused is left alone.
        Slices(self._executor, paced(self._reading(list(self.refused), read)), lambda _: self._tried(read))

    def _reading(self, keys: list[Key], read: dict[Key, list[StoredConfig]]) -> Steps[None]:
        for key in keys:
            account = self._accounts.get(key[0])
            if account is None or key not in self.refused:
                continue  # forgotten meanwhile
            try:
                found = account.directory.streams(key[1])
            except OSError as error:
                self.refused[key] = str(error)
            else:
                if not (key[1] and found and found[0].refused):
                    read[key] = found
            yield

    def _tried(self, read: dict[Key, list[StoredConfig]]) -> None:
        self._trying = False
        keys = read.keys() & self.refused.keys()
        listing = Listing()
        for key in keys:
            del self.refused[key]
            self._note(key, read[key], listing)
        if not self.refused:
            self._wait = FIRST
        self._arm()
        if keys:
            self._readable(keys, listing)
