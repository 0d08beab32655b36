"""Names of buckets, keys and patterns of keys: which are valid, and what is wrong with those that are not.

The sets of letters are those of the NATS clients (ADR-8). A key with an empty token, such as ``a..b``, passes
the check of other clients, but no server stores it; here it is refused.
"""

import re

from .. import duration
from ..subject import ANY_REST

MAX_KEY = 2048  # letters: subjects share the protocol line of 4096 bytes with a reply subject
_BUCKET = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
_LETTERS = re.compile(r"[-/_=.A-Za-z0-9]", re.ASCII)
_PATTERN_LETTERS = re.compile(r"[-/_=.A-Za-z0-9*]", re.ASCII)


class BucketError(ValueError):
    """A name or a setting that a bucket cannot have.

    reason: what is wrong with it, as a whole sentence.
    """

    def __init__(self, message: str, reason: str = "") -> None:
        super().__init__(f"{message}: {reason}" if reason else message)
        self.message = message
        self.reason = reason


def check_bucket(name: str) -> None:
    """Raise BucketError for a name that is no name of a bucket."""
    if _BUCKET.fullmatch(name) is None:
        raise BucketError(
            "invalid bucket name", f"{_wrong_bucket(name)}; letters, digits, - and _ are allowed"
        )


def _wrong_bucket(name: str) -> str:
    if not name:
        return "it is empty"
    odd = next((letter for letter in name if _BUCKET.fullmatch(letter) is None), "")
    return f"{name!r} has {_letter(odd)}"


def check_key(key: str) -> None:
    """Raise BucketError for a key that cannot be stored."""
    wrong = _wrong_key(key, _LETTERS)
    if wrong:
        raise BucketError("invalid key", f"{wrong}; letters, digits and - / _ = . are allowed")


def check_pattern(pattern: str) -> None:
    """Raise BucketError for what is no pattern of keys: a key with the tokens ``*`` and, at its end, ``>``.

    A ``*`` inside a token is an ordinary letter, which no key has; other clients take such patterns, too.
    """
    *tokens, last = pattern.split(".")
    literal = ".".join([*tokens, "x" if last == ANY_REST else last])
    wrong = _wrong_key(literal, _PATTERN_LETTERS)
    if wrong:
        raise BucketError(
            "invalid key",
            f"{wrong}; * stands for a token of a key, and > for the rest of it",
        )


def _wrong_key(key: str, letters: re.Pattern[str]) -> str:
    """Return what is wrong with a key; empty if nothing is."""
    if not key:
        return "it is empty"
    if len(key) > MAX_KEY:
        return f"it has {len(key)} letters, and {MAX_KEY} are the most"
    if key.startswith(".") or key.endswith("."):
        return f"{key!r} begins or ends with a dot"
    if ".." in key:
        return f"{key!r} has two dots in a row"
    odd = next((letter for letter in key if letters.fullmatch(letter) is None), "")
    return f"{key!r} has {_letter(odd)}" if odd else ""


def _letter(letter: str) -> str:
    if letter == " ":
        return "a blank"
    if letter in "*>":
        return f"the wildcard {letter}"
    return repr(letter)


def check_span(nanoseconds: int, what: str) -> None:
    """Raise BucketError for a time to live that is negative or, unless it is 0, shorter than a second."""
    if nanoseconds < 0:
        raise BucketError(f"invalid {what}", "it is negative; 0 is none")
    if 0 < nanoseconds < duration.SECOND:
        raise BucketError(f"invalid {what}", f"{duration.format_go(nanoseconds)} is less than a second")
