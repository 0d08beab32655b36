"""Adding the sequences of new messages to those of their subjects."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any


def add_sequences(
    ids: dict[str, int],
    columns: list[Any],
    messages: Sequence[tuple[str, bytes, bytes]],
    start: int,
    seqs: array[int],
    numbers: array[int],
) -> int:
    """Add the messages from place `start` on; return the place of the first that needs more.

    That is one of a subject without an id, or of one with a single sequence so far.

    ids: of the subjects.
    columns: the sequences of each subject, by id: a `store.sequences.Sequences`, or a single one as an int.
    messages: (subject, header, body) of each.
    seqs: the sequence of each, as a column of type "Q", ascending and greater than all that were added.
    numbers: a column of type "I", which receives the id of each message's subject.
    """
    for place in range(start, len(messages)):
        number = ids.get(messages[place][0])
        if number is None:
            return place
        sequences = columns[number]
        if isinstance(sequences, int):
            return place
        sequences.append(seqs[place])
        numbers.append(number)
    return len(messages)
