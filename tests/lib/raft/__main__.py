"""Play simulated Raft groups.

`python -m lib.raft [--first SEED] [--runs N]`, or one of them with its trace: `--seed N`.

The exit code is 1 if a promise was broken; the seed is printed, and plays the same run again.
"""

from __future__ import annotations

import argparse
import sys
import time

from lib.raft.simulation import Simulation


def say(text: str) -> None:
    sys.stdout.write(text + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(prog="lib.raft", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--runs", type=int, default=5000, help="how many seeds")
    parser.add_argument("--seed", type=int, help="play this one alone and print its trace")
    given = parser.parse_args()
    seeds = range(given.first, given.first + given.runs) if given.seed is None else [given.seed]
    begin, acknowledged, broken = time.monotonic(), 0, 0
    for seed in seeds:
        simulation = Simulation(seed, trace=given.seed is not None)
        try:
            simulation.run()
        except Exception as error:
            broken += 1
            say(f"seed {seed}: {type(error).__name__}: {error}")
        acknowledged += simulation.acknowledged
        if simulation.trace is not None:
            say("\n".join(simulation.trace))
    say(f"{len(seeds)} runs, {acknowledged} acknowledged, {broken} broken, {time.monotonic() - begin:.0f} s")
    return 1 if broken else 0


sys.exit(main())
