"""Replicas of a stream have the same content, whatever happens to them: that of a stream without replicas."""

from __future__ import annotations

from lib.examples import seeds
from lib.replica_scenario import Play


@seeds(12)
def test_a_log_makes_of_a_stream_what_it_would_be_alone(seed: int) -> None:
    play = Play(seed, beside=True)
    for _ in range(60):
        play.step()
        play.befall()
    play.finish()
    play.check()


@seeds(12)
def test_replicas_are_alike_also_when_others_lead(seed: int) -> None:
    play = Play(10_000 + seed, beside=False)
    for _ in range(80):
        play.step()
        play.befall(transfer=True)
    play.finish()
    play.check()
