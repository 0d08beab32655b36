"""StreamCloser: stops several streams, and writes them to disk in parallel.

Promises:
- When `closed` is called, all that is stored is on the disk.
- The loop does little at a time; worker threads do what blocks.
- A stream that cannot be written is logged, and does not keep the others from closing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...slices import Slices, Steps, paced

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ...task_executor import TaskExecutor
    from ..consumers.core import Consumer
    from ..streams.core import Stream


class StreamCloser:
    """Stops the given streams, beginning when it is made.

    closed: called once all of them are stopped and written.
    """

    def __init__(
        self, executor: TaskExecutor, streams: Sequence[Stream[Consumer]], closed: Callable[[], None]
    ) -> None:
        self._executor = executor
        self._left = 1 + len(streams)
        self._closed = closed
        Slices(executor, paced(self._halting(streams)), self._ended, self._failed)

    def _halting(self, streams: Sequence[Stream[Consumer]]) -> Steps[None]:
        """Silence one stream after another, and let each be written out."""
        for stream in streams:
            if not stream.stopped:
                yield from stream.silencing()
            if stream.stopped:
                self._ended()
            else:
                self._halt(stream)
            yield

    def _halt(self, stream: Stream[Consumer]) -> None:
        try:
            stream.halt()
        except Exception as error:  # whatever it is, the other streams must be closed
            stream.output.log_failure(f"was not halted well: {type(error).__name__}: {error}")
        self._write_out(stream)

    def _write_out(self, stream: Stream[Consumer]) -> None:
        def written(error: BaseException | None) -> None:
            if error is not None:
                stream.output.log_failure(f"was not closed well: {error}")
            stream.answer()
            self._ended()

        self._executor.work(stream.write_out, written)

    def _ended(self, _: None = None) -> None:
        self._left -= 1
        if not self._left:
            self._closed()

    def _failed(self, error: Exception) -> None:
        raise error
