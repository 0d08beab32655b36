"""Long lines on a terminal, broken where they may be instead of within a word.

`command` breaks a command line so that a shell still reads the same command. `line` breaks what a command
printed, or a line of a file; a word that is wider than the terminal (a key, a token) is shortened in its
middle. Tables are left alone: they fit already. `output` does all that; `said` for what goes to stderr.
"""

from __future__ import annotations

import re
import sys

from .cells import shortened, width_of
from .columns import MIDDLE
from .extent import size

INDENT = 4
PROMPT = "  $ "  # before a command that is proposed
LEAST = 16  # columns that a line has at least, however narrow the terminal
_BORDERS = tuple("╭├│╰+|")
# What the rest of a line stands below: the value behind a name, or the text behind `[ OK ]`.
_LABEL = re.compile(r"\s*(?:[A-Z][\w. ]*: |\[ *\w+ *\] )")
_QUOTED = re.compile(r"(?<!\w)(?:'[^']+'|`[^`]+`)(?!\w)")
_KEPT = "\0"  # stands for a blank where no line is broken
_COMMENT = re.compile(r"\s*# ")


def command(text: str, width: int, remark: str = "", start: int = 0) -> str:
    """Return a command line in lines of at most `width` columns, the first one of `start` less.

    remark: a comment behind it. A quoted word is broken at a comma, or not at all if it has none.
    """
    lines = [""]
    room = max(width, LEAST) - 2  # for ` \`
    for word in _words(text):
        used = width_of(lines[-1]) + (start if len(lines) == 1 else 0)
        if lines[-1] and used + 1 + width_of(word) > room:
            lines[-1] += " \\"
            lines.append(" " * INDENT)
            used = INDENT
        else:
            lines[-1] += " " if lines[-1] else ""
        first, *others = _parts(word, room - used, room)
        lines[-1] += first
        lines += others
    if remark:
        used = width_of(lines[-1]) + (start if len(lines) == 1 else 0)
        if used + 4 + width_of(remark) > width:
            lines.append(" " * INDENT + f"# {remark}")
        else:
            lines[-1] += f"  # {remark}"
    return "\n".join(lines)


def _words(text: str) -> list[str]:
    """Return the words of a command line as they are written, with their quotes."""
    return re.findall(r"""(?:'[^']*'|"[^"]*"|\S)+""", text)


def _parts(word: str, room: int, later: int) -> list[str]:
    """Return a word in parts that a shell joins again: `room` columns for the first, `later` for the rest."""
    parts, begin, quote, comma = [], 0, "", 0
    prefix = ""  # what opens the quotes again
    for at, letter in enumerate(word):
        if width_of(prefix + word[begin : at + 1]) > room and comma > begin:
            inside = "'" if quote == "'" else ""
            parts.append(f"{prefix}{word[begin:comma]}{inside}\\")
            prefix, begin, room = inside, comma, later
        if quote and letter in ", ":
            comma = at + 1
        if letter == quote:
            quote = ""
        elif not quote and letter in "'\"":
            quote = letter
    return [*parts, prefix + word[begin:]]


def said(text: str) -> str:
    """Return what is said on stderr, a terminal, with its lines broken, and none in a quoted command."""
    width = size(sys.stderr).columns
    kept = _QUOTED.sub(
        lambda found: found[0].replace(" ", _KEPT) if len(found[0]) < width else found[0], text
    )
    return output(kept, width, whole=True).replace(_KEPT, " ")


def output(text: str, width: int, *, whole: bool = False) -> str:
    """Return what a command printed, with its lines broken; a command line in it stays one.

    whole: whether lines with a word that is too wide are left alone, and the word is not shortened.
    """
    lines = []
    for each in text.split("\n"):
        parts = re.findall(r"[^,\s]*,|[^,\s]+", each) if whole else []
        if max(map(width_of, parts), default=0) > width:
            lines.append(each)
        elif each.startswith("  pyjs "):
            lines.append("  " + command(each.strip(), width, start=2))
        elif each.startswith(PROMPT):
            lines.append(PROMPT + command(each.removeprefix(PROMPT), width, start=len(PROMPT)))
        else:
            lines.append(line(each, width))
    return "\n".join(lines)


def line(text: str, width: int) -> str:
    """Return a line in lines of at most `width` columns, broken at blanks, in long words at commas."""
    width = max(width, LEAST)
    if width_of(text) <= width or text.lstrip().startswith(_BORDERS):
        return text
    margin = _margin(text)
    words = re.findall(r"\s*\S+", text)
    longest = max(width_of(word.strip()) for word in words)
    margin = margin[: max(0, min(len(margin), width - longest))] if longest <= width else margin[: width // 2]
    lines, begun = [""], False
    for word in words:
        for part in _fitting(word, width - len(margin)):
            if not begun:
                lines[-1] = part[max(0, width_of(part) - width) :]  # what goes is of its blanks
            elif width_of(lines[-1] + part) > width:
                lines.append(margin + part.lstrip())
            else:
                lines[-1] += part
            begun = True
    return "\n".join(lines)


def _margin(text: str) -> str:
    """Return what the further lines of a broken line begin with."""
    if found := _COMMENT.match(text):
        return found[0]
    if found := _LABEL.match(text):
        return " " * len(found[0])
    return " " * (len(text) - len(text.lstrip()) + INDENT)


def _fitting(word: str, room: int) -> list[str]:
    """Return a word, with the blanks before it, in parts of at most `room` columns."""
    if width_of(word.lstrip()) <= room:
        return [word]
    blanks = word[: len(word) - len(word.lstrip())]
    parts = [shortened(part, room, MIDDLE) for part in re.findall(r"[^,]*,|[^,]+", word.lstrip())]
    return [blanks + parts[0], *parts[1:]]
