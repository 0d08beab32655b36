"""Passwords that are kept as bcrypt hashes: the order of the checks, and which are no longer needed.

A check occupies a thread for tens of milliseconds, by design, and anyone who can connect can ask for one.
Promises:

- Addresses take turns: one connection of each address has its turn after one of another address. Among those
  of one address the latest comes first, three times out of four, so that a new connection waits for a few
  and not for the thousand that came before it and may have given up. The fourth time it is the oldest, so
  that nobody waits forever.
- A password that was right is not checked again. An HMAC of the password and its hash, made with a secret of
  this process, is kept, so that a changed hash needs another check. At most `_KNOWN` are kept, those that
  were used last.

As many checks can wait as there are connections. The reference runs all checks at once, side by side
(`comparePasswords` in auth.go), so that each takes as long as all of them together.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
from collections import deque
from collections.abc import Callable
from functools import partial
from threading import Lock

BCRYPT = re.compile(r"\$2[abxy]\$\d{2}\$.{53}\Z", re.DOTALL)
_AT_ONCE = 2  # checks that run at the same time
_KNOWN = 4096
_OLDEST = 4  # the oldest has every fourth turn
_MEASURED = 72  # bytes of a password that bcrypt looks at

Check = Callable[[], bool]
# Runs a slow function on another thread and hands its result back on the loop.
Offload = Callable[[Check, Callable[[bool], None]], None]


class _Queue:
    """The waiting checks of one address."""

    __slots__ = ("_turns", "waiting")

    def __init__(self) -> None:
        self.waiting: deque[tuple[Check, Callable[[bool], None]]] = deque()
        self._turns = 0

    def take(self) -> tuple[Check, Callable[[bool], None]]:
        """Remove and return the check whose turn it is."""
        self._turns += 1
        return self.waiting.pop() if self._turns % _OLDEST else self.waiting.popleft()


class PasswordChecks:
    """The password checks of all connections of a server. `len()` is how many wait."""

    def __init__(self, offload: Offload) -> None:
        self._offload = offload
        self._queues: dict[str, _Queue] = {}  # by address, in order of their turns
        self._under_way = 0

    def __len__(self) -> int:
        return sum(len(queue.waiting) for queue in self._queues.values())

    def __call__(self, check: Check, done: Callable[[bool], None], address: str) -> None:
        """Run `check` for a connection from `address`, and call `done` on the loop with its result."""
        queue = self._queues.get(address)
        if queue is None:
            queue = self._queues[address] = _Queue()
        queue.waiting.append((check, done))
        self._begin()

    def _begin(self) -> None:
        while self._queues and self._under_way < _AT_ONCE:
            address = next(iter(self._queues))
            queue = self._queues.pop(address)
            check, done = queue.take()
            if queue.waiting:
                self._queues[address] = queue
            self._under_way += 1
            self._offload(check, partial(self._ended, done))

    def _ended(self, done: Callable[[bool], None], passed: bool) -> None:
        self._under_way -= 1
        self._begin()
        done(passed)


class VerifiedPasswords:
    """The passwords that were right. Safe to use from several threads."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self._digests: dict[bytes, None] = {}  # latest used last
        self._lock = Lock()

    def has(self, hashed: str, given: str) -> bool:
        """Return whether this password is known to be right for this hash."""
        digest = self._digest(hashed, given)
        with self._lock:
            if digest not in self._digests:
                return False
            del self._digests[digest]
            self._digests[digest] = None
        return True

    def add(self, hashed: str, given: str) -> None:
        """Remember that this password is right for this hash."""
        digest = self._digest(hashed, given)
        with self._lock:
            self._digests[digest] = None
            if len(self._digests) > _KNOWN:
                del self._digests[next(iter(self._digests))]

    def _digest(self, hashed: str, given: str) -> bytes:
        password = given.encode("utf-8", "surrogatepass")[:_MEASURED]
        return hmac.digest(self._secret, hashed.encode() + password, hashlib.sha256)


_known = VerifiedPasswords(os.urandom(32))


def check_for(hashed: str, given: str) -> Check | None:
    """Return the check of a password against a bcrypt hash, None if it is known to be right."""
    if _known.has(hashed, given):
        return None

    def check() -> bool:
        # Another check of the same password may have succeeded while this one waited.
        right = _known.has(hashed, given) or check_bcrypt(hashed, given)
        if right:
            _known.add(hashed, given)
        return right

    return check


def check_bcrypt(hashed: str, given: str) -> bool:
    """Return whether `given` is the password of a bcrypt hash. Slow by design: call it off the loop."""
    import bcrypt

    # The library writes 2b; 2a, 2x and 2y differ from it only by bugs that were fixed long ago.
    normal = "$2b" + hashed[3:]
    try:
        return bcrypt.checkpw(given.encode()[:_MEASURED], normal.encode())
    except ValueError:
        return False
