"""How a query of a remote session is asked to stop: its state is in another process."""

from __future__ import annotations

from typing import Any

from pyjs.pipeline.declared.queries import RunningQuery


class Remote:
    """A streaming query as Spark Connect has it, in the midst of a batch."""

    def __init__(self) -> None:
        self.isActive = True
        self.status = {"isTriggerActive": True, "message": ""}
        self.recentProgress: list[dict[str, Any]] = []

    @property
    def lastProgress(self) -> dict[str, Any] | None:
        return self.recentProgress[-1] if self.recentProgress else None

    def complete(self, number: int) -> None:
        when = "2026-11-22T08:00:00.000Z"
        self.recentProgress.append({"batchId": number, "timestamp": when, "durationMs": {"addBatch": 1}})

    def stop(self) -> None:
        self.isActive = False


def test_a_remote_query_ends_after_the_batch_under_way() -> None:
    remote = Remote()
    query = RunningQuery("lake", lambda _: remote)  # type: ignore[arg-type,return-value]
    remote.complete(0)
    assert [batch.batch for batch in query.batches()] == [0]
    query.finish()
    assert query.alive
    remote.complete(1)
    assert [batch.batch for batch in query.batches()] == [1]
    query.finish()
    assert not query.alive


def test_a_remote_query_that_waits_for_its_trigger_ends_at_once() -> None:
    remote = Remote()
    remote.status["isTriggerActive"] = False
    query = RunningQuery("lake", lambda _: remote)  # type: ignore[arg-type,return-value]
    query.finish()
    assert not query.alive
