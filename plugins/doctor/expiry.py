"""When something that expires is to be told of."""

from __future__ import annotations

from collections.abc import Iterator

from ...cli import words
from ..explain.finding import ERROR, WARNING, Finding

SECOND = 1_000_000_000
DAY = 24 * 3600 * SECOND
SOON = 30 * DAY  # before a certificate expires
URGENT = 7 * DAY
TOKEN_SOON = 7 * DAY  # before a token expires: these live for less
TOKEN_URGENT = DAY
NO_CONNECTION = "after that no connection is made with it"


def ending(
    check: str,
    what: str,
    end: int,
    now: int,
    soon: int,
    urgent: int,
    line: str,
    about: str,
    then: str = NO_CONNECTION,
) -> Iterator[Finding]:
    """Yield that something expires in less than `soon`, or has expired. Times are in ns.

    then: what happens when it has expired.
    """
    left = end - now
    if left > soon:
        return
    text = f"expired {words.span(-left)} ago" if left <= 0 else f"expires in {words.span(left)}"
    yield Finding(
        check, ERROR if left <= urgent else WARNING, f"{what} {text}; {then}.",
        {"expires": words.go_span(left)}, (line,), about,
    )  # fmt: skip
