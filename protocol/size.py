"""Sizes in bytes as text: the grammar of the `nats` tool, and the form that its tables show.

A size consists of digits and an optional unit in any case: ``B K KB KIB M MB MIB G GB GIB T TB TIB``. All
units are powers of 1024 (1KB = 1024). There are no fractions. Any text that starts with ``-`` is -1,
which means unlimited.
"""

import re

_SIZE = re.compile(r"(\d+)(B|(?:[KMGT](?:I?B)?))?", re.ASCII | re.IGNORECASE)
_POWERS = {"": 0, "B": 0, "K": 1, "M": 2, "G": 3, "T": 4}
_IEC = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
MAX = (1 << 63) - 1


class SizeError(ValueError):
    """The text is not a size."""


def parse(text: str) -> int:
    """Read a size and return it in bytes. Raises SizeError for anything outside the grammar above."""
    if text.startswith("-"):
        return -1
    found = _SIZE.fullmatch(text)
    if found is None:
        raise SizeError(f'invalid size "{text}": use digits and a unit such as 512, 64KB, 10MiB, 1GB')
    value: int = int(found[1]) * 1024 ** _POWERS[(found[2] or "")[:1].upper()]
    if value > MAX:
        raise SizeError(f'invalid size "{text}": it is larger than 8 EiB')
    return value


def format_iec(size: int) -> str:
    """Write a size as the tool's tables do: ``45 B``, ``1.0 KiB``, ``12 MiB``.

    There is one decimal below ten of a unit, and none above.
    """
    if size < 0:
        return f"-{format_iec(-size)}"
    if size < 1024:
        return f"{size} B"
    power = min((size.bit_length() - 1) // 10, len(_IEC) - 1)
    value = int(size / (1 << (10 * power)) * 10 + 0.5) / 10
    if value < 10:
        return f"{value:.1f} {_IEC[power]}"
    return f"{value:.0f} {_IEC[power]}"
