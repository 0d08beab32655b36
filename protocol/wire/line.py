"""One control line: its verb, its fields, its sizes."""

from collections.abc import Collection

MAX_SIZE_DIGITS = 9
_LONGEST_VERB = 8


def split_verb(line: bytes, unspaced: Collection[bytes]) -> tuple[bytes, bytes]:
    """Give the upper case verb and the arguments; verbs in `unspaced` need no blank after them.

    What is no verb comes back as it is (its first bytes), to be looked up in vain.
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
    """Give the length that an unfinished line counts with: its arguments without a CR that may be its end.

    Blanks before and after don't count on a whole line, but half the length does here, so that nobody can
    have blanks buffered for ever.
    """
    return max(len(arguments) - arguments.endswith(b"\r"), len(rest) // 2)


def read_size(digits: bytes) -> int:
    """Read a size of at most nine decimal digits; -1 if it is none."""
    if len(digits) > MAX_SIZE_DIGITS or not digits.isdigit():
        return -1
    return int(digits)
