"""The inner loops of the server: compiled where there is a compiler, and the same in plain Python elsewhere.

Each function here exists twice. The plain one, in this folder, is the specification; its compiled twin in
`_native.pyx` does the same with the same arguments, on any bytes. `tests/native` compares them.

Promises: the functions take and give built-in types, batches at a time. They know neither the event loop nor
the disk, keep nothing between two calls, and never raise on what a peer has sent.

COMPILED: whether the compiled twins are in use. `PYJS_PURE=1` in the environment forces the plain ones.
FORM: the same as a word, "compiled" or "pure".
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from .publishes import scan_publishes
from .records import encode_messages

__all__ = ["COMPILED", "FORM", "encode_messages", "scan_publishes"]

COMPILED = False

if not TYPE_CHECKING and os.environ.get("PYJS_PURE", "") in {"", "0"}:
    try:
        from ._native import encode_messages, scan_publishes
    except ImportError:  # no compiler when it was installed
        pass
    else:
        COMPILED = True

FORM = "compiled" if COMPILED else "pure"
