"""A directory against the simplest model: a dict."""

from __future__ import annotations

import contextlib
import hashlib
import tempfile
from pathlib import Path

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from lib.examples import one_in
from lib.token_issuer import SECOND, Operated
from pyjs.server.operator.resolver import ResolverError
from pyjs.server.operator.resolver.directory import EMPTY, Deletion, TokenDirectory

OPERATED = Operated()
ACCOUNTS = st.integers(0, 4)
# Signed once: a token is (when it was issued, when it expires), seconds after the start.
TIMES = [(issued, expires) for issued in range(4) for expires in (0, 30)]
START = OPERATED.seconds
TOKENS = {
    (account, issued, expires): OPERATED.token(account, issued, exp=START + expires if expires else 0)
    for account in range(5)
    for issued, expires in TIMES
}


class Model(RuleBasedStateMachine):
    """stored: (issued, expires, last use) by account."""

    @initialize(limit=st.sampled_from([0, 2, 3]), evict=st.booleans(), ttl=st.sampled_from([0, 20]))
    def begin(self, limit: int, evict: bool, ttl: int) -> None:
        OPERATED.clock._now = START * SECOND
        self.folder = tempfile.TemporaryDirectory()
        self.options = {
            "limit": limit,
            "evict": evict,
            "ttl": ttl * SECOND,
            "deletion": Deletion.RENAME,
        }
        self.limit, self.evict, self.ttl = limit, evict, ttl
        self.directory = self.open()
        self.stored: dict[int, tuple[int, int]] = {}
        self.used: dict[int, int] = {}

    def open(self) -> TokenDirectory:
        return OPERATED.directory(Path(self.folder.name), **self.options)

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            self.folder.cleanup()

    def touch(self, account: int) -> None:
        self.used.pop(account, None)
        self.used[account] = OPERATED.seconds

    @rule(account=ACCOUNTS, times=st.sampled_from(TIMES), newer_only=st.booleans())
    def store(self, account: int, times: tuple[int, int], newer_only: bool) -> None:
        token = TOKENS[account, *times]
        stored = self.stored.get(account)
        full = self.limit and len(self.stored) >= self.limit and stored is None
        taken: bool | None = None
        if newer_only and self.directory.deleted(OPERATED.accounts[account], token):
            assert stored is None and not self.evict
            assert not self.directory.store(OPERATED.accounts[account], token, newer_only=True)
            return
        with contextlib.suppress(ResolverError):
            taken = self.directory.store(OPERATED.accounts[account], token, newer_only=newer_only)
        if full and not self.evict:
            assert taken is None
            return
        if stored is not None:
            self.touch(account)
        if stored == times or (newer_only and stored is not None and stored[0] > times[0]):
            assert taken is False
            return
        if newer_only and stored is not None and stored[0] == times[0]:
            assert taken is not None
            if not taken:
                return
        assert taken
        self.stored[account] = times
        self.touch(account)
        if full:
            oldest = next(iter(self.used))
            del self.stored[oldest], self.used[oldest]

    @rule(account=ACCOUNTS)
    def load(self, account: int) -> None:
        times = self.stored.get(account)
        expected = "" if times is None else TOKENS[account, *times]
        assert self.directory.load(OPERATED.accounts[account]) == expected
        if times is not None:
            self.touch(account)

    @rule(account=ACCOUNTS)
    def delete(self, account: int) -> None:
        self.directory.delete(OPERATED.accounts[account])
        self.stored.pop(account, None)
        self.used.pop(account, None)

    @rule(seconds=st.integers(1, 15))
    def wait(self, seconds: int) -> None:
        OPERATED.clock.advance(seconds * SECOND)

    @rule()
    def sweep(self) -> None:
        now = OPERATED.seconds
        ends = {
            account: self.used[account] + self.ttl if self.ttl else START + expires if expires else 0
            for account, (_, expires) in self.stored.items()
        }
        gone = [account for account, end in ends.items() if 0 < end <= now]
        assert sorted(self.directory.sweep()) == sorted(OPERATED.accounts[a] for a in gone)
        for account in gone:
            del self.stored[account], self.used[account]

    @rule()
    def merge_into_another(self) -> None:
        """What one directory tells, another that is empty holds then."""
        with tempfile.TemporaryDirectory() as folder:
            other = OPERATED.directory(Path(folder))
            for key, token in self.directory.pairs():
                assert other.store(key, token, newer_only=True)
            assert other.keys() == self.directory.keys()
            if len(other) == len(self.directory):
                assert other.digest == self.directory.digest

    @invariant()
    def holds_what_the_model_holds(self) -> None:
        if not hasattr(self, "directory"):
            return
        now = OPERATED.seconds
        keys = [a for a, (_, expires) in self.stored.items() if not expires or START + expires >= now]
        assert self.directory.keys() == sorted(OPERATED.accounts[a] for a in keys)
        total = EMPTY
        for account, times in self.stored.items():
            one = hashlib.sha256(TOKENS[account, *times].encode()).digest()
            total = bytes(a ^ b for a, b in zip(total, one, strict=True))
        assert self.directory.digest == total
        files = {file.name for file in Path(self.folder.name).glob("*.jwt")}
        assert files == {f"{OPERATED.accounts[a]}.jwt" for a in self.stored}


Model.TestCase.settings = one_in(3, stateful_step_count=30)
TestModel = Model.TestCase
