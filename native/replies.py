"""Framing messages of the server to inboxes, with headers or without, many to one receiver at a time."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any


def frame_replies(
    messages: Sequence[tuple[bytes, bytes]],
    start: int,
    most: int,
    plans: Container[bytes],
    receivers: dict[bytes, Any],
    ends: Container[bytes],
    literal: Container[str],
) -> tuple[int, Any, bytes, int]:
    """Frame the messages from place `start` on, as long as the same one receives them.

    Return (stop, receiver, frames, size). `frames` has the messages before place `stop`, with `size` bytes of
    payload together; the receiver is None if the very first one needs more. That is so if its subject has a
    plan, or no receiver in `receivers`, or if others may receive it, too; see
    `server.accounts.inbox_routes`.

    messages: (subject, body) of each.
    most: how many are framed at most.
    receivers: by all tokens of the subject but the last: (subscription, queue) or None. Of a subscription its
        `sid` is read.
    ends: the last tokens of the patterns that end in a token.
    literal: the subjects that have subscriptions of their own.
    """
    receiver: Any = None
    frames: list[bytes] = []
    size = 0
    stop = start
    for place in range(start, min(start + most, len(messages))):
        subject, body = messages[place]
        if subject in plans:
            break
        head, _, last = subject.rpartition(b".")
        found = receivers.get(head)
        if found is None or (receiver is not None and found is not receiver) or not last:
            break
        if last in ends or subject.decode("utf-8", "surrogateescape") in literal:
            break
        receiver = found
        frames.append(b"MSG %b %b %d\r\n%b\r\n" % (subject, receiver[0].sid, len(body), body))
        size += len(body)
        stop += 1
    return stop, receiver, b"".join(frames), size


def frame_answers(
    answers: Sequence[tuple[bytes, bytes, bytes]],
    start: int,
    most: int,
    plans: Container[bytes],
    receivers: dict[bytes, Any],
    ends: Container[bytes],
    literal: Container[str],
) -> tuple[int, Any, bytes, int]:
    """Do as `frame_replies` for messages that may have a header.

    A receiver whose queue takes no headers gets them without; `size` does not count those.

    answers: (subject, header, body) of each; the header is b"" for none.
    receivers: of a queue its `headers` is read.
    """
    pairs = [(subject, body) for subject, _, body in answers]
    stop, receiver, _, size = frame_replies(pairs, start, most, plans, receivers, ends, literal)
    if receiver is None:
        return start, None, b"", 0
    subscription, queue = receiver
    frames: list[bytes] = []
    for subject, header, body in answers[start:stop]:
        lead = b"%b %b" % (subject, subscription.sid)
        if header and queue.headers:
            whole = len(header) + len(body)
            frames.append(b"HMSG %b %d %d\r\n%b%b\r\n" % (lead, len(header), whole, header, body))
            size += len(header)
        else:
            frames.append(b"MSG %b %d\r\n%b\r\n" % (lead, len(body), body))
    return stop, receiver, b"".join(frames), size
