"""Documents without their secrets: what a run records, prints and puts into a report.

References such as `env://NAME` and `file://PATH` are no secrets and stay.
"""

from __future__ import annotations

import re

from ...documents.located_yaml import LocatedYaml, Path

MASK = "********"
_KEY = re.compile(r"(?i)secret|password|token|access[.]?key|credential")
_REFERENCE = re.compile(r"^(env|file|op|nsc)://|^\$\{\w+\}$")  # or a variable without a default
_USER_INFO = re.compile(r"(?<=://)[^/@\s,]+(?=@)")
_IN_URL = re.compile(r"(?i)((?:password|secret|token)\w*=)[^&;\s,]+")


def masked(text: str, written: LocatedYaml) -> str:
    """Return the document's text with every secret replaced by MASK; comments and places stay as they are."""
    found = [(path, place) for path, place in written.places.items() if _secret(path, written)]
    for _, place in sorted(found, key=lambda each: -each[1].start):
        end = place.start + len(text[place.start : place.end].rstrip())  # a block includes its line ends
        text = text[: place.start] + f'"{MASK}"' + text[end:]
    return clean(text)


def clean(text: str) -> str:
    """Return `text` without the user parts of URLs and without the passwords in them."""
    return _IN_URL.sub(rf"\1{MASK}", _USER_INFO.sub(MASK, text))


def _secret(path: Path, written: LocatedYaml) -> bool:
    """Return whether the value at `path` is a secret itself, not a reference to one."""
    key = path[-1] if path else ""
    if not isinstance(key, str) or not _KEY.search(key) or len(path) < 2 or key == "creds":
        return False
    value = written.value
    for part in path:
        value = value[part]
    return isinstance(value, str | int) and bool(str(value)) and not _REFERENCE.match(str(value))
