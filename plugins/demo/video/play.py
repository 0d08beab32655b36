"""Plays the video from its first chapter to its last, or one chapter of it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from ..stage import DemoError, Stage
from . import usage
from .accounts import across
from .copies import mirrors, sources, topology
from .exchange import through
from .ground import domains, setup, system_account
from .player import Player
from .topology import VideoTopology

MEMORY_MIB = 600
IDLE_CORE = 0.10  # of one core, for all nine together
IDLE_SECONDS = 5.0


class Chapter(NamedTuple):
    """A chapter: its heading, what it is about, and the function that plays it."""

    title: str
    about: str
    play: Callable[[Player], None]


CHAPTERS = (
    Chapter(
        "Setup: a hub and two spokes",
        """Three clusters of three servers. The spokes connect to the hub by leaf connections, one for the
        system account, one for TEST. Accounts and users are tokens signed under one operator; the servers
        keep the accounts that are pushed to them.""",
        setup,
    ),
    Chapter(
        "Connected system accounts",
        """With the same operator on either end and connected system accounts, leaf nodes are seen from
        everywhere.""",
        system_account,
    ),
    Chapter(
        "JetStream domains",
        """A domain makes each cluster a JetStream of its own, addressable by name. From here on
        three reports, one of each domain, show what happened.""",
        domains,
    ),
    Chapter(
        "Stream mirrors across domains",
        """Command and control: a stream in the hub, mirrored in each spoke, so that the hub reaches the
        spokes without loss.""",
        mirrors,
    ),
    Chapter(
        "Stream sources across domains",
        """The other way around: data is collected in the spokes and aggregated in the hub.""",
        sources,
    ),
    Chapter(
        "Sources and mirrors do not depend on the topology",
        """A backup of a stream in spoke-1 is kept in spoke-2. All of it goes through the hub, as
        taking the hub away shows.""",
        topology,
    ),
    Chapter(
        "Streams across accounts",
        """A mirror and a pull consumer of another account, through exports and imports that are pushed
        into the running network.""",
        across,
    ),
    Chapter(
        "Streams through accounts",
        """The same account and subject in every spoke, isolated; what shall cross goes through an
        exchange account, the only one of them in the remotes.""",
        through,
    ),
)


def play(stage: Stage, only: int = 0) -> bool:
    """Play all chapters, or show only one after silently playing those that it builds on.

    Returns whether all claims held. Raises DemoError if it cannot continue.
    """
    began = time.monotonic()
    player = Player(stage, VideoTopology.choose())
    for number, chapter in enumerate(CHAPTERS[: only or None], 1):
        if only and number < only:
            _prepare(player, number, chapter)
            continue
        stage.chapter(f"{number}. {chapter.title}", chapter.about)
        chapter.play(player)
    if usage.countable():
        _frugal(stage)
    holds = stage.show_results()
    stage.console.print(f"Played in {time.monotonic() - began:.0f} s.", highlight=False)
    if stage.keep:
        _farewell(player)
    return holds


def _prepare(player: Player, number: int, chapter: Chapter) -> None:
    stage = player.stage
    stage.console.print(f"[dim]Chapter {number} is played in silence …[/dim]", highlight=False)
    stage.console.quiet = True
    try:
        chapter.play(player)
    finally:
        stage.console.quiet = False
    for claim in stage.claims:
        if not claim.holds:
            raise DemoError(f"chapter {number} failed, there is no going on: {claim.text} ({claim.seen})")
    stage.claims.clear()


def _frugal(stage: Stage) -> None:
    stage.chapter(
        "What nine servers use", f"Memory, and the time they take in {IDLE_SECONDS:.0f} idle seconds."
    )
    pids = stage.processes().values()
    idle, memory = usage.busy(pids, IDLE_SECONDS), usage.resident(pids)
    stage.claim(
        f"All nine together have no more than {MEMORY_MIB} MiB resident",
        memory <= MEMORY_MIB,
        f"{memory:.0f} MiB",
    )
    stage.claim(
        f"Idle, all nine together take no more than {IDLE_CORE:.0%} of one core",
        idle <= IDLE_CORE,
        f"{idle:.1%} of one core",
    )


def _farewell(player: Player) -> None:
    """Say what is left running, and how to use and stop it."""
    stage = player.stage
    pids = " ".join(str(pid) for pid in stage.processes().values())
    stage.console.print()
    stage.say("The servers keep running, with the files, keys and diagrams of the play. Use them so:")
    exports = " ".join(f"{name}={value}" for name, value in stage.variables.items())
    for line in (f"cd {stage.directory}", f"export {exports}", *player.watched, f"kill {pids}"):
        stage.console.print(f"  {line}", highlight=False, soft_wrap=True)
