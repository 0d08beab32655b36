"""The plans: kinds of faults, each played in rounds (see `Story`)."""

from __future__ import annotations

import errno
import signal

from lib.process import ServerProcess

from .damage import KINDS, damage, files
from .membership import members
from .scenario import Fault, Plan, Story
from .values import STREAM


def how_many(story: Story, number: int) -> int:
    """Return one, a minority, a majority, all, by turns."""
    return [1, story.minority, story.majority, story.size][(number - 1) % 4]


def kill(story: Story, number: int) -> Fault:
    """Kill one, a minority, a majority, all; by turns the stream's leader is among them.

    Most are killed by SIGKILL; in one round of five they end by SIGTERM.
    """
    victims = story.pick(how_many(story, number))
    if number % 2:
        leader = story.site[story.site.leader_of(STREAM)]
        victims = [leader, *[v for v in victims if v is not leader]][: len(victims)]
    gently = story.dice.random() < 0.2
    story.tell(f"{'end' if gently else 'kill'} {[v.name for v in victims]}")
    for victim in victims:
        if gently:
            victim.signal(signal.SIGTERM)
        else:
            victim.kill()
    yield story.some(0, 3)
    for victim in victims:
        victim.end()
    yield from back(story, victims)


def back(story: Story, servers: list[ServerProcess]) -> Fault:
    """Start servers again, together or one after the other; some are killed once more while they start."""
    if story.dice.random() < 0.3:
        again = story.dice.choice(servers)
        story.tell(f"{again.name} is killed while it starts")
        again.spawn()
        yield story.some(0.2, 2)
        again.kill()
    if story.dice.random() < 0.5:
        story.site.launch(servers)
        return
    for server in servers:
        server.launch()
        yield story.some(0, 1.5)


def power(story: Story, number: int) -> Fault:
    """Kill servers at about the same moment and lose what they had not synced."""
    victims = story.pick([1, story.majority, story.size][(number - 1) % 3])
    story.tell(f"power {[v.name for v in victims]}")
    for victim in victims:
        victim.kill()
    for victim in victims:
        story.site.cut_power(victim)
    yield story.some(0, 2)
    yield from back(story, victims)


def killed_then_power(story: Story, number: int) -> Fault:
    """Kill all; when they are back from what they had written, soon cut their power."""
    for server in story.site.servers:
        server.kill()
    yield from back(story, story.pick(story.size))
    yield story.some(0, 3)
    yield from power(story, 3)


def pause(story: Story, number: int) -> Fault:
    """Stop one, a minority, a majority or the leader by SIGSTOP for 1 to 8 seconds, then SIGCONT."""
    victims = story.pick([1, story.minority, story.majority][(number - 1) % 3])
    if number % 2:
        victims = [story.site[story.site.leader_of(STREAM)]]
    story.tell(f"pause {[v.name for v in victims]}")
    for victim in victims:
        victim.signal(signal.SIGSTOP)
    yield story.some(1, 8)
    for victim in victims:
        victim.signal(signal.SIGCONT)
        yield story.some(0, 0.5)


def partition(story: Story, number: int) -> Fault:
    """Part the leader, halves, one way only, or a bridge; held or broken connections; 2 to 10 seconds."""
    leader = story.site.leader_of(STREAM)
    names = [server.name for server in story.pick(story.size)]
    others = [name for name in names if name != leader]
    breaks = story.dice.random() < 0.5
    shape = (number - 1) % 4
    if shape == 0:
        story.site.part([leader], others, breaks=breaks)
    elif shape == 1:
        story.site.part(names[: story.majority], names[story.majority :], breaks=breaks)
    elif shape == 2:  # the leader is heard and does not hear the others, or the other way round
        ends = ([leader], others) if story.dice.random() < 0.5 else (others, [leader])
        story.site.part(*ends, breaks=False, both=False)
    else:  # one server hears both sides, which do not hear each other
        half = (story.size - 1) // 2
        story.site.part(names[1 : 1 + half], names[1 + half :], breaks=breaks)
    story.tell(f"partition {shape}, leader {leader}, order {names}, breaks {breaks}")
    yield story.some(2, 10)
    story.site.switch.heal()


def crash_schedule(story: Story, number: int) -> Fault:
    """Let a majority acknowledge; one of it loses power, and comes back with those who knew nothing.

    A minority is away while values are written. Then one of the writers loses its power, the rest of the
    writers stop, and the new majority consists of those that were away and the one that crashed.
    """
    servers = story.pick(story.size)
    away, crashes, rest = (
        servers[: story.minority],
        servers[story.minority],
        servers[story.minority + 1 :],
    )
    cut = story.dice.random() < 0.5
    story.tell(f"away {[s.name for s in away]}, crashes {crashes.name}, cut {cut}")
    _away(story, away, story.others(away), cut=cut)
    yield story.some(6, 10)
    story.site.cut_power(crashes)
    if not cut:
        for server in rest:
            server.signal(signal.SIGSTOP)
        for server in away:
            server.signal(signal.SIGCONT)
    else:
        story.site.switch.heal()
        _away(story, rest, [*away, crashes], cut=True)
    crashes.launch()
    yield story.some(6, 10)
    story.site.switch.heal()
    for server in rest:
        server.signal(signal.SIGCONT)


def _away(story: Story, ones: list[ServerProcess], others: list[ServerProcess], *, cut: bool) -> None:
    if cut:
        story.site.part([s.name for s in ones], [s.name for s in others], breaks=True)
        return
    for server in ones:
        server.signal(signal.SIGSTOP)


def damaged(story: Story, number: int) -> Fault:
    """Kill a minority, damage its files of one kind in one way, and start it with them."""
    story.whole()
    kinds = KINDS[story.site.implementation]
    victims = story.pick(story.minority)
    for victim in victims:
        victim.kill()
    # In turn, so that enough rounds meet every pair; a kind without files gives way to the next.
    for step in range(len(kinds)):
        kind = kinds[(number - 1 + step) % len(kinds)]
        if any(files(story.site.store(victim), kind) for victim in victims):
            break
    for victim in victims:
        done = damage(story.site.store(victim), kind, story.dice)
        story.tell(f"{victim.name}: {kind.name}: {'; '.join(done)}")
    yield story.some(0, 1)
    for victim in victims:
        _launch_damaged(story, victim)
    yield story.some(1, 3)
    if story.dice.random() < 0.5:  # the whole ones end, and the damaged must not win
        healthy = story.dice.choice(story.others(victims))
        healthy.kill()
        yield story.some(0, 2)
        healthy.launch()


def _launch_damaged(story: Story, server: ServerProcess) -> None:
    """Start a server. The reference may refuse; then it gets an empty disk, as its operator would do."""
    try:
        server.launch()
    except RuntimeError:
        if story.site.implementation != "reference":
            raise
        story.tell(f"{server.name} does not start")
        story.site.wipe(server)
        server.launch()


def bad_disk(story: Story, number: int) -> Fault:
    """Let disks be full, or fail writes or syncs with EIO; then repair them and restart the servers.

    They are the disks of one, a minority, a majority or the leader.
    """
    victims = story.pick([1, story.minority, story.majority][(number - 1) % 3])
    if number % 2:
        victims = [story.site[story.site.leader_of(STREAM)]]
    faults = [
        {"space": story.dice.randint(0, 20_000)},
        {"write": errno.EIO},
        {"sync": errno.EIO},
    ][story.dice.randrange(3)]
    story.tell(f"disk {[v.name for v in victims]}: {faults}")
    for victim in victims:
        story.site.fail_disk(victim, **faults)
    yield story.some(3, 8)
    for victim in victims:
        story.site.fail_disk(victim)
    if story.dice.random() < 0.5:
        yield story.some(0, 3)
    for victim in victims:
        victim.kill()
        victim.launch()


def mixed(story: Story, number: int) -> Fault:
    """Play any of the others."""
    plays = [kill, pause, partition]
    if story.plan.faulty:
        plays += [power, bad_disk]
    yield from story.dice.choice(plays)(story, story.dice.randint(1, 12))


# So many rounds that `make trust` takes less than half an hour, and 3 or 5 servers meet every variant.
PLANS = [
    Plan("kill", "SIGKILL (at times SIGTERM) of one, a minority, a majority, all", kill, rounds=4),
    Plan("pause", "SIGSTOP of the leader, a minority, a majority, then SIGCONT", pause, rounds=3),
    Plan(
        "partition",
        "routes held or broken: the leader alone, halves, one way only, a bridge",
        partition,
        rounds=4,
    ),
    Plan(
        "power",
        "power cut of one, a majority, all: what was not synced is gone",
        power,
        rounds=3,
        faulty=True,
        reference=False,
    ),
    Plan(
        "kill, then power",
        "everybody killed, and a power cut soon after the start",
        killed_then_power,
        rounds=2,
        faulty=True,
        reference=False,
    ),
    Plan(
        "crash schedule",
        "a writer loses its power and comes back among those who were away",
        crash_schedule,
        rounds=2,
        faulty=True,
        reference=False,
    ),
    Plan(
        "damage",
        "bit flips, truncation, removal, old bytes, in each kind of file, on a minority",
        damaged,
        rounds=4,
        faulty=True,
    ),
    Plan(
        "disk",
        "full disk, EIO on write, EIO on sync",
        bad_disk,
        rounds=3,
        faulty=True,
        reference=False,
    ),
    Plan(
        "members",
        "scaling, removed peers and servers, emptied servers, streams made again, under partition",
        members,
        rounds=3,
        faulty=True,
        replicas=3,
    ),
    Plan("mixed", "any of these at random", mixed, rounds=2, faulty=True, reference=False),
]
