"""The formats of acknowledgement: the ack subject of every delivery, and the body that comes back.

Promises: `ack_prefix` writes what the reference writes, the new form if the feature flag `js_ack_fc_v2`
is on; `parse_subject` reads the old form (9 tokens) and the new one (11 or more, with domain and account
hash); `parse_body` reads every ack body of the reference. The delivery state decides whether an ack
counts.
"""

import enum
from typing import NamedTuple

from ....protocol import duration, gojson

PREFIX = "$JS.ACK"
FLOW_PREFIX = "$JS.FC"
_OLD_TOKENS = 9
_NEW_TOKENS = 11


class AckReplyInfo(NamedTuple):
    """The fields of an ack subject.

    deliveries: how often the message was delivered, this time included.
    stream_seq: its sequence in the stream.
    consumer_seq: the number of this delivery.
    time: when the stream stored the message, ns.
    pending: how many messages the consumer has yet to deliver.
    """

    deliveries: int
    stream_seq: int
    consumer_seq: int
    time: int
    pending: int


class AckType(enum.Enum):
    """What the receiver of a message asks for."""

    ACK = "+ACK"
    NAK = "-NAK"
    PROGRESS = "+WPI"
    NEXT = "+NXT"
    TERM = "+TERM"
    UNKNOWN = ""


def scope_of(domain: str, account_hash: str) -> str:
    """Return the part that the new form has before the stream. domain: the JetStream domain, "" for none."""
    return f"{domain or '_'}.{account_hash}."


def ack_prefix(stream: str, consumer: str, scope: str = "") -> str:
    """Return the part of the ack subject that never changes, with its last dot.

    The rest is ``<count>.<stream seq>.<consumer seq>.<time ns>.<pending>``. scope: "" for the old form.
    """
    return f"{PREFIX}.{scope}{stream}.{consumer}."


def flow_subject(ack_prefix: str, unique: str) -> str:
    """Return the reply subject of a flow control request of the consumer with this `ack_prefix`."""
    return f"{FLOW_PREFIX}{ack_prefix[len(PREFIX) :]}{unique}"


def ack_filters(stream: str, consumer: str, domain: str, account_hash: str) -> tuple[str, str]:
    """Return the two subjects on which a consumer listens for acks: the old and the new form.

    domain: the JetStream domain, "" for none.
    """
    return (
        f"{PREFIX}.{stream}.{consumer}.*.*.*.*.*",
        f"{PREFIX}.{domain or '_'}.{account_hash}.{stream}.{consumer}.*.*.*.*.>",
    )


def flow_filters(stream: str, consumer: str, domain: str, account_hash: str) -> tuple[str, str]:
    """Return the two subjects on which a consumer listens for answers to flow control requests."""
    return (
        f"{FLOW_PREFIX}.{stream}.{consumer}.*",
        f"{FLOW_PREFIX}.{domain or '_'}.{account_hash}.{stream}.{consumer}.*",
    )


def parse_subject(subject: str) -> AckReplyInfo | None:
    """Read an ack subject of either form; None if it is not one."""
    tokens = subject.split(".")
    size = len(tokens)
    if size == _OLD_TOKENS:
        first = 4
    elif size >= _NEW_TOKENS:
        first = 6
    else:
        return None
    if tokens[0] != "$JS" or tokens[1] != "ACK":
        return None
    numbers = tokens[first : first + 5]
    # int() alone would also take signs, underscores and digits of other scripts, which are not valid here
    digits = "".join(numbers)
    if not (digits.isascii() and digits.isdigit()):
        return None
    try:
        return AckReplyInfo(*map(int, numbers))
    except ValueError:
        return None


def stream_sequence(subject: bytes) -> int:
    """Read only the stream sequence of an ack subject; 0 if it is not one (see `parse_subject`)."""
    tokens = subject.split(b".")
    size = len(tokens)
    first = 4 if size == _OLD_TOKENS else 6
    numbers = tokens[first : first + 5]
    if not (size == _OLD_TOKENS or size >= _NEW_TOKENS) or b"" in numbers or not b"".join(numbers).isdigit():
        return 0
    try:
        return int(numbers[1])
    except ValueError:  # more digits than int() accepts
        return 0


def parse_body(body: bytes) -> tuple[AckType, bytes]:
    """Split an ack body into its verb and the rest (blanks stripped)."""
    if not body or body in (b"+ACK", b"+OK"):
        return AckType.ACK, b""
    if body.startswith(b"-NAK"):
        return AckType.NAK, body[4:].strip()
    if body.startswith(b"+NXT"):
        return AckType.NEXT, body[4:].strip()
    if body.startswith(b"+TERM"):
        return AckType.TERM, body[5:].strip()
    if body == b"+WPI":
        return AckType.PROGRESS, b""
    return AckType.UNKNOWN, body


def nak_delay(argument: bytes) -> int:
    """Read the argument of a -NAK, ``{"delay": ns}`` or a Go duration; return ns, 0 for none.

    Raises ValueError if it is neither; the reference then treats the NAK as a plain one.
    """
    if not argument:
        return 0
    if argument.startswith(b"{"):
        value = gojson.decode(argument)
        delay = value.get("delay", 0)
        if not isinstance(delay, int) or isinstance(delay, bool):
            raise ValueError(f"delay is not a whole number of nanoseconds: {delay!r}")
        return delay
    return duration.parse_go(argument.decode("utf-8", "replace"))
