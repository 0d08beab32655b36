"""Text in quotes for errors and logs, as Go's `%q` writes it, which is what the reference's errors contain.

Bytes that are not UTF-8 (decoded with "surrogateescape") are shown one by one. Control characters, and others
that are invisible or change the direction of text, are shown as escapes. So a name can neither forge a line
nor hide. Source: strconv.Quote.
"""

from __future__ import annotations

_SHORT = {char: "\\" + letter for char, letter in zip('"\\\a\b\f\n\r\t\v', '"\\abfnrtv', strict=True)}
_FIRST_BYTE, _LAST_BYTE = 0xDC80, 0xDCFF  # what "surrogateescape" makes of bytes from 0x80 on
_BEFORE_BYTES = 0xDC00
_SURROGATES = range(0xD800, 0xE000)


def quoted(text: str) -> str:
    """Return `text` in double quotes, with all of it printable."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return '"' + "".join(map(_shown, text)) + '"'


def _shown(char: str) -> str:
    short = _SHORT.get(char)
    if short is not None:
        return short
    if char.isprintable():
        return char
    code = ord(char)
    if _FIRST_BYTE <= code <= _LAST_BYTE:
        return f"\\x{code - _BEFORE_BYTES:02x}"
    if code in _SURROGATES:
        return "\ufffd"
    if code < 0x20 or code == 0x7F:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
