"""One control line: its verb, its fields and its sizes."""

from collections.abc import Collection

MAX_SIZE_DIGITS = 9
_LONGEST_VERB = 8


def split_verb(line: bytes, unspaced: Collection[bytes]) -> tuple[bytes, bytes]:
    """Return the upper-case verb and the arguments. Verbs in `unspaced` need no blank after them.

    If the line has no verb, its first bytes are returned as the verb, which no lookup then finds.
    """
    verb = line[:_LONGEST_VERB].replace(b"\t", b" ").partition(b" ")[0]
    known = verb.upper()
    if known not in unspaced:
        for bare in unspaced:
            if known.startswith(bare):
                known = bare
                break
    return known, line[len(known) :].strip(b" \t")


def fields(arguments: bytes) -> list[bytes]:
    """Split arguments at runs of blanks, tabs and stray carriage returns."""
    if b"\t" in arguments or b"\r" in arguments:
        arguments = arguments.replace(b"\t", b" ").replace(b"\r", b" ")
    return [field for field in arguments.split(b" ") if field]


def pending_length(rest: bytes, arguments: bytes) -> int:
    """Return the length that an unfinished line counts with: its arguments, without a CR that may end them.

    Blanks before and after do not count in a complete line. An unfinished one counts with at least half its
    whole length, so that nobody can have blanks buffered for ever.
    """
    return max(len(arguments) - arguments.endswith(b"\r"), len(rest) // 2)


def read_size(digits: bytes) -> int:
    """Read a size of at most nine decimal digits. Return -1 if it is none."""
    if len(digits) > MAX_SIZE_DIGITS or not digits.isdigit():
        return -1
    return int(digits)
