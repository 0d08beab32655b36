"""Readable transcripts of the wire, parsed whole, byte by byte and cut anywhere, with the same result."""

import itertools
import random
import re
from pathlib import Path

import pytest
from pyjs.protocol.wire.client import ClientParser
from pyjs.protocol.wire.leaf import LeafParser
from pyjs.protocol.wire.ops import NAMES, VIOLATION, Op

GOLDEN = Path(__file__).parent.parent / "golden" / "wire"
_ESCAPE = re.compile(r"\\(x[0-9a-f]{2}|[rnt])")
_LETTERS = {"r": "\r", "n": "\n", "t": "\t"}


def read(path: Path) -> tuple[bytes, list[str]]:
    """Bytes sent and operations expected."""
    sent: list[str] = []
    wanted: list[str] = []
    for line in path.read_text("utf-8").splitlines():
        if line.startswith("C>"):
            text = line[3:]
            sent.append(_ESCAPE.sub(lambda m: _LETTERS.get(m[1]) or chr(int(m[1][1:], 16)), text) + "\r\n")
        elif line.startswith("=>"):
            wanted.append(line[3:])
    return "".join(sent).encode(), wanted


def show(op: Op) -> str:
    """One operation as the transcripts write it."""
    if op[0] == VIOLATION:
        return f"fault {op[1].text or op[1].reason}"
    words = [NAMES[op[0]]]
    for value in op[1:]:
        if isinstance(value, tuple):
            value = b",".join(value)
        words.append(value.decode() or "-" if isinstance(value, bytes) else str(value))
    return " ".join(words).replace("\r", "\\r").replace("\n", "\\n")


def parser_for(path: Path) -> ClientParser | LeafParser:
    return LeafParser() if path.name.startswith("leaf") else ClientParser()


TRANSCRIPTS = sorted(GOLDEN.glob("*.txt"))


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_transcript_whole(path: Path) -> None:
    sent, wanted = read(path)
    assert [show(op) for op in parser_for(path).feed(sent)] == wanted


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_transcript_byte_by_byte(path: Path) -> None:
    sent, wanted = read(path)
    parser = parser_for(path)
    assert [show(op) for i in range(len(sent)) for op in parser.feed(sent[i : i + 1])] == wanted


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_transcript_cut_anywhere(path: Path) -> None:
    sent, wanted = read(path)
    chance = random.Random(path.stem)
    for _ in range(50):
        cuts = [0, *sorted(chance.randrange(len(sent)) for _ in range(chance.randrange(6))), len(sent)]
        parser = parser_for(path)
        got = [show(op) for a, b in itertools.pairwise(cuts) for op in parser.feed(sent[a:b])]
        assert got == wanted


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_trailing_bytes_wait(path: Path) -> None:
    sent, wanted = read(path)
    parser = parser_for(path)
    assert [show(op) for op in parser.feed(sent + b"PIN")] == wanted
    assert [show(op) for op in parser.feed(b"G\r\n")] == ["PING"]
