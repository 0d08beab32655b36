"""A `FakeDisk` whose files are encrypted: faults happen to what lies below, the store sees what is above."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any, cast

from lib.fake_disk import Choose, FakeDisk
from pyjs.store.extents.disk import ExtentDisk
from pyjs.store.extents.keys import StoreKeys

KEYS = StoreKeys("a key of the tests")
_PASSED_ON = ("space", "forgets")


def disk_of(number: int) -> FakeDisk:
    """Return a disk: of odd numbers one that encrypts, so that a test with many examples tries both."""
    return cast("FakeDisk", SealedFakeDisk()) if number % 2 else FakeDisk()


class SealedFakeDisk(ExtentDisk):
    """A disk with the faults of a `FakeDisk`.

    reported: what was damaged and did no harm.
    """

    def __init__(
        self,
        below: FakeDisk | None = None,
        keys: StoreKeys | None = KEYS,
        *,
        compress: bool = False,
        warn: Callable[[str], None] | None = None,
    ) -> None:
        self.fake = below or FakeDisk()
        self.reported: list[str] = []
        super().__init__(self.fake, keys, compress=compress, warn=warn or self.reported.append)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.fake, name)

    def __setattr__(self, name: str, value: object) -> None:
        if name in _PASSED_ON:
            setattr(self.fake, name, value)
        else:
            super().__setattr__(name, value)

    def __deepcopy__(self, memo: dict[int, Any]) -> SealedFakeDisk:
        return SealedFakeDisk(deepcopy(self.fake, memo), self._keys, compress=self.compress)

    def kill(self) -> None:
        """End the process."""
        self._forget()
        self.fake.kill()

    def _forget(self) -> None:
        self._files.clear()
        self._warned.clear()
        if self._caches is not None:
            self._caches.closed.clear()

    def crash(self, choose: Choose, *, lose_sectors: bool = False) -> None:
        """Cut the power."""
        self._forget()
        self.fake.crash(choose, lose_sectors=lose_sectors)
