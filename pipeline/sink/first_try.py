"""When Spark first planned the batch that a streaming query writes: it is in the query's checkpoint.

A query that was killed writes its last batch again when it is started again, perhaps days later. Spark
records a batch before it runs it (`offsets/<batch>`, with the time), and does not change that record later.
"""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
from pyarrow import fs

_TIME = re.compile(rb'"batchTimestampMs":\s*(\d+)')


def recorded(checkpoint: str) -> float | None:
    """Return when the batch that is recorded last was planned first, in seconds since the epoch.

    checkpoint: the folder's path, or its URI in a file system that pyarrow can reach

    None if that cannot be read: no folder, another file system, or a Spark with other records.
    """
    try:
        where, path = located(checkpoint)
        found = where.get_file_info(fs.FileSelector(f"{path}/offsets"))
        batches = {int(one.base_name): one.path for one in found if one.base_name.isdigit()}
        if not batches:
            return None
        with where.open_input_stream(batches[max(batches)]) as record:
            time = _TIME.search(record.read())
    except (OSError, pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
    return int(time.group(1)) / 1000 if time else None


def located(checkpoint: str) -> tuple[fs.FileSystem, str]:
    """Return the file system of a checkpoint, and its path there. Raises OSError, pa.ArrowInvalid."""
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", checkpoint):
        # Java writes file:/path, with one slash.
        return fs.FileSystem.from_uri(re.sub(r"^file:/(?!/)", "file:///", checkpoint))  # type: ignore[no-any-return]
    return fs.LocalFileSystem(), str(Path(checkpoint).absolute())
