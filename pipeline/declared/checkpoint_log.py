"""How far a query has come, from its checkpoint: Spark's own records, of which these facts are read.

`offsets/<batch>` is written before a batch runs, `commits/<batch>` when it is done. A record of offsets has a
line `v1`, a line of facts of the batch, and a line for each source with its offset as JSON, or `-`. Spark
documents this format only in its source (OffsetSeqLog). It has been the same since Spark 2.1, and a test
reads what a real query has written.

The folder may be on any file system that pyarrow reaches: local, HDFS, S3 and others.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from pyarrow import fs

from ..sink.first_try import located


@dataclass(frozen=True)
class Position:
    """Where a query stands. Each is the number of a batch, None before the first.

    started: the newest batch that was begun
    done: the newest batch that was completed
    offsets: the ends of the sources in the batch that is done, as Spark keeps them; None: no offset yet
    """

    started: int | None
    done: int | None
    offsets: tuple[dict[str, Any] | None, ...] = ()

    @property
    def unfinished(self) -> bool:
        """Whether a batch was begun and not completed: the next run does it again."""
        return self.started is not None and self.started != self.done


def position(checkpoint: str) -> Position:
    """Return where the query of a checkpoint stands.

    checkpoint: the folder's path, or its URI

    Raises OSError if it cannot be read, ValueError if it is of a Spark with other records.
    """
    where, path = located(checkpoint)
    started, done = _newest(where, f"{path}/offsets"), _newest(where, f"{path}/commits")
    if done is None:
        return Position(started, None)
    with where.open_input_stream(f"{path}/offsets/{done}") as record:
        lines = record.read().decode().splitlines()
    if not lines or not lines[0].startswith("v"):
        raise ValueError(f"{checkpoint}/offsets/{done} is no record of offsets that is known here")
    return Position(started, done, tuple(None if each == "-" else json.loads(each) for each in lines[2:]))


def _newest(where: fs.FileSystem, folder: str) -> int | None:
    """Return the largest number among the names in a folder; None if there is none."""
    found = where.get_file_info(fs.FileSelector(folder, allow_not_found=True))
    return max((int(one.base_name) for one in found if one.base_name.isdigit()), default=None)
