"""An operator who signs account tokens, and directories for them, on a clock that stands still."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyjs.keys import AccountClaims, KeyPair, KeyRole, Trust, encode
from pyjs.server.operator.resolver.directory import DirectoryRules, TokenDirectory

from .fake_clock import FakeClock

SECOND = 1_000_000_000


class Remembering:
    """A log that keeps its lines."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def debug(self, text: str) -> None:
        del text

    trace = debug

    def info(self, text: str) -> None:
        self.lines.append(text)

    warning = error = info


class Operated:
    """Signs account tokens; `trust` is what servers trust."""

    def __init__(self) -> None:
        self.key = KeyPair.create(KeyRole.OPERATOR)
        self.trust = Trust.in_keys([self.key.public_key])
        self.log = Remembering()
        self.clock = FakeClock()
        self.accounts = sorted(KeyPair.create(KeyRole.ACCOUNT).public_key for _ in range(5))

    @property
    def seconds(self) -> int:
        return self.clock.now() // SECOND

    def token(
        self, account: int | str = 0, issued: int = 0, *, by: KeyPair | None = None, exp: int = 0
    ) -> str:
        """Return the token of an account (or of its number), signed `issued` seconds after the start."""
        key = self.accounts[account] if isinstance(account, int) else account
        claims = AccountClaims.new(key, f"name{issued}")
        claims.exp = exp
        return encode(claims, by or self.key, now=(1_600_000_000 + issued) * SECOND)

    def directory(self, path: Path, **options: Any) -> TokenDirectory:
        """Return an opened directory."""
        directory = TokenDirectory(path, self.trust, self.clock, self.log, DirectoryRules(**options))
        directory.open()
        return directory
