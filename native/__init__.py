"""The inner loops of the server: compiled where there is a compiler, and the same in plain Python elsewhere.

Each function here exists twice. The plain one, in this folder, is the specification; its compiled twin in
`_native.pyx` does the same with the same arguments, on any bytes. `tests/native` compares them.

Promises: the functions take batches, know neither the event loop nor the disk, keep nothing between two
calls, and never raise on what a peer has sent. They take and return built-in types, with these exceptions:
`deliver_publishes` also reads plans and the tree of patterns, and appends to the queues of those who receive;
`add_sequences` appends to the sequences of a store; `frame_replies` and `frame_answers` read subscriptions,
the latter queues too. `decode_message` and `decode_messages` make tuples of a class that they are given, and
`head_answers` calls what it is given to write a time. What they read and write of such objects stands in base
classes (`fields`), whose compiled twins are structures of C.

COMPILED: whether the compiled twins are in use. `PYJS_PURE=1` in the environment forces the plain ones.
FORM: the same as a word, "compiled" or "pure".
"""

from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING

from .acks import scan_acks
from .blocks import take_acks, take_deliveries
from .checksums import crc32c
from .copies import take_copies
from .deliveries import deliver_publishes
from .fields import BucketFields, NodeFields, PlanFields, QueueFields, SubscriptionFields
from .framing import frame_deliveries
from .gets import head_answers, read_gets
from .ingest import take_publishes
from .masks import mask_bytes, take_frames
from .matching import match_names
from .publishes import scan_publishes
from .records import decode_message, decode_messages, encode_messages, keep_messages
from .replies import frame_answers, frame_replies
from .s2 import compress_s2, decompress_s2
from .sequences import add_sequences

__all__ = [
    "COMPILED",
    "FORM",
    "BucketFields",
    "NodeFields",
    "PlanFields",
    "QueueFields",
    "SubscriptionFields",
    "add_sequences",
    "compress_s2",
    "crc32c",
    "decode_message",
    "decode_messages",
    "decompress_s2",
    "deliver_publishes",
    "encode_messages",
    "frame_answers",
    "frame_deliveries",
    "frame_replies",
    "head_answers",
    "keep_messages",
    "mask_bytes",
    "match_names",
    "read_gets",
    "scan_acks",
    "scan_publishes",
    "take_acks",
    "take_copies",
    "take_deliveries",
    "take_frames",
    "take_publishes",
]

COMPILED = False

if not TYPE_CHECKING and os.environ.get("PYJS_PURE", "") in {"", "0"}:
    try:
        from ._native import (
            BucketFields,
            NodeFields,
            PlanFields,
            QueueFields,
            SubscriptionFields,
            add_sequences,
            compress_s2,
            crc32c,
            decode_message,
            decode_messages,
            decompress_s2,
            deliver_publishes,
            encode_messages,
            frame_answers,
            frame_deliveries,
            frame_replies,
            head_answers,
            keep_messages,
            mask_bytes,
            match_names,
            read_gets,
            scan_acks,
            scan_publishes,
            take_copies,
            take_frames,
            take_publishes,
        )

        from ._blocks import take_acks, take_deliveries  # isort: skip
    except ModuleNotFoundError:  # no compiler when it was installed
        pass
    except ImportError as error:  # compiled from older sources
        warnings.warn(f"{error}; pyjs runs without it: install pyjs again", RuntimeWarning, stacklevel=2)
    else:
        COMPILED = True

FORM = "compiled" if COMPILED else "pure"
