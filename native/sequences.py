"""Adding the sequences of new messages to those of their subjects, which may be new, too."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from typing import Any


def add_sequences(
    ids: dict[str, int],
    columns: list[Any],
    messages: Sequence[tuple[str, bytes, bytes]],
    start: int,
    seqs: array[int],
    numbers: array[int],
    make: Callable[[], Any],
    names: list[str] | None,
) -> int:
    """Add the messages from place `start` on; return the place of the first that needs more.

    That is one of a subject without an id, if `names` is None.

    ids: of the subjects.
    columns: the sequences of each subject, by id: a `store.sequences.Sequences`, or a single one as an int.
    messages: (subject, header, body) of each.
    seqs: the sequence of each, as a column of type "Q", ascending and greater than all that were added.
    numbers: a column of type "I", which receives the id of each message's subject.
    make: makes an empty `store.sequences.Sequences`.
    names: the subjects by id, of which none is free. A new subject gets the next id; None if it must not.
    """
    for place in range(start, len(messages)):
        subject = messages[place][0]
        number = ids.get(subject)
        if number is None:
            if names is None:
                return place
            number = ids[subject] = len(names)
            names.append(subject)
            columns.append(seqs[place])
        else:
            sequences = columns[number]
            if isinstance(sequences, int):
                columns[number] = made = make()
                made.append(sequences)
                sequences = made
            sequences.append(seqs[place])
        numbers.append(number)
    return len(messages)
