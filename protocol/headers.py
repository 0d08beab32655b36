"""The NATS header block: ``NATS/1.0[ status[ description]]``, lines ``Key: Value``, an empty line; all CRLF.

The helpers for the hot path work on the bytes of the block and touch only the line they look for. Keys are
case sensitive, as on the reference server. `encode` and `decode` convert whole blocks from and to dicts.
No function raises for a malformed block: a line that is not a header line is ignored.
"""

from collections.abc import Iterable, Mapping

VERSION = b"NATS/1.0"
EMPTY = b"NATS/1.0\r\n\r\n"
_BLANKS = b" \t"


def _find(block: bytes, key: bytes, start: int = 0) -> int:
    """Return where the line of `key` starts, or -1."""
    needle = b"\r\n" + key + b":"
    at = block.find(needle, start)
    return -1 if at < 0 else at + 2


def get(block: bytes, key: bytes) -> bytes | None:
    """Return the first value of `key` without surrounding blanks, or None."""
    at = block.find(b"\r\n" + key + b":")
    if at < 0:
        return None
    at += len(key) + 3
    end = block.find(b"\r\n", at)
    return block[at : end if end >= 0 else len(block)].strip(_BLANKS)


def get_all(block: bytes, key: bytes) -> list[bytes]:
    """Return all values of `key` in order."""
    values: list[bytes] = []
    at = _find(block, key)
    while at >= 0:
        end = block.find(b"\r\n", at)
        if end < 0:
            end = len(block)
        values.append(block[at + len(key) + 1 : end].strip(_BLANKS))
        at = _find(block, key, end)
    return values


def set(block: bytes, key: bytes, value: bytes) -> bytes:  # noqa: A001 - the word for it, used as headers.set
    """Return the block with exactly one line for `key`, at the end. An empty block becomes a complete one."""
    kept = remove(block, (key,))
    head = kept[:-2] if kept else b"NATS/1.0\r\n"
    return b"".join((head, key, b": ", value, b"\r\n\r\n"))


def add(block: bytes, key: bytes, value: bytes) -> bytes:
    """Return the block with one more line for `key`."""
    head = block[:-2] if block else b"NATS/1.0\r\n"
    return b"".join((head, key, b": ", value, b"\r\n\r\n"))


def remove(block: bytes, keys: Iterable[bytes] = (), prefix: bytes = b"") -> bytes:
    """Return the block without the lines of `keys` and the lines that start with `prefix`.

    The result is b"" if no line is left. A status on the first line counts as a line.
    """
    if not block:
        return b""
    names = tuple(key + b":" for key in keys)
    if prefix:
        names = (*names, prefix)
    if not any(b"\r\n" + name in block for name in names):
        return block
    first, *lines = block.split(b"\r\n")
    kept = [line for line in lines if line and not line.startswith(names)]
    if not kept and first.strip() == VERSION:
        return b""
    return b"\r\n".join((first, *kept, b"", b""))


def status(block: bytes) -> tuple[int | None, str]:
    """Return code and description of the first line. The code is None if there is no status."""
    if not block.startswith(VERSION) or block.startswith(b"NATS/1.0\r"):
        return None, ""
    end = block.find(b"\r\n")
    line = block[len(VERSION) : end if end >= 0 else len(block)].strip(_BLANKS)
    code, _, description = line.partition(b" ")
    if len(code) != 3 or not code.isdigit():
        return None, line.decode("utf-8", "replace")
    return int(code), description.strip(_BLANKS).decode("utf-8", "replace")


def encode(values: Mapping[str, str | list[str]] | None = None, status: str = "") -> bytes:
    """Return a header block. `status` is e.g. ``"404 No Messages"``.

    Line breaks in values and in the status become blanks.
    """
    parts = [f"NATS/1.0 {_one_line(status)}" if status else "NATS/1.0"]
    for key, value in (values or {}).items():
        parts.extend(f"{key}: {_one_line(item)}" for item in ([value] if isinstance(value, str) else value))
    parts.append("\r\n")
    return "\r\n".join(parts).encode("utf-8", "surrogateescape")


def _one_line(value: str) -> str:
    if "\r" in value or "\n" in value:
        return value.replace("\r\n", " ").replace("\r", " ").replace("\n", " ")
    return value


def decode(block: bytes) -> dict[str, list[str]]:
    """Return the values of each key, with the keys in order of first appearance."""
    out: dict[str, list[str]] = {}
    for line in block.split(b"\r\n")[1:]:
        key, colon, value = line.partition(b":")
        if not colon or not key:
            continue
        out.setdefault(key.decode("utf-8", "replace"), []).append(
            value.strip(_BLANKS).decode("utf-8", "replace")
        )
    return out
