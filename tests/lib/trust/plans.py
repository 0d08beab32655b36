"""The plans: kinds of faults, each played in rounds (see `Scenario`)."""

from __future__ import annotations

import errno
import signal

from lib.process import ServerProcess

from .damage import KINDS, damage, files
from .membership import members
from .scenario import Fault, Plan, Scenario
from .values import STREAM


def how_many(scenario: Scenario, number: int) -> int:
    """Return one, a minority, a majority, all, by turns."""
    return [1, scenario.minority, scenario.majority, scenario.size][(number - 1) % 4]


def kill(scenario: Scenario, number: int) -> Fault:
    """Kill one, a minority, a majority, all; by turns the stream's leader is among them.

    Most are killed by SIGKILL; in one round of five they end by SIGTERM.
    """
    victims = scenario.pick(how_many(scenario, number))
    if number % 2:
        leader = scenario.cluster[scenario.cluster.leader_of(STREAM)]
        victims = [leader, *[v for v in victims if v is not leader]][: len(victims)]
    gently = scenario.rng.random() < 0.2
    scenario.log(f"{'end' if gently else 'kill'} {[v.name for v in victims]}")
    for victim in victims:
        if gently:
            victim.signal(signal.SIGTERM)
        else:
            victim.kill()
    yield scenario.some(0, 3)
    for victim in victims:
        victim.end()
    yield from back(scenario, victims)


def back(scenario: Scenario, servers: list[ServerProcess]) -> Fault:
    """Start servers again, together or one after the other; some are killed once more while they start."""
    if scenario.rng.random() < 0.3:
        again = scenario.rng.choice(servers)
        scenario.log(f"{again.name} is killed while it starts")
        again.spawn()
        yield scenario.some(0.2, 2)
        again.kill()
    if scenario.rng.random() < 0.5:
        scenario.cluster.launch(servers)
        return
    for server in servers:
        server.launch()
        yield scenario.some(0, 1.5)


def power(scenario: Scenario, number: int) -> Fault:
    """Kill servers at about the same moment and lose what they had not synced."""
    victims = scenario.pick([1, scenario.majority, scenario.size][(number - 1) % 3])
    scenario.log(f"power {[v.name for v in victims]}")
    for victim in victims:
        victim.kill()
    for victim in victims:
        scenario.cluster.cut_power(victim)
    yield scenario.some(0, 2)
    yield from back(scenario, victims)


def killed_then_power(scenario: Scenario, number: int) -> Fault:
    """Kill all; when they are back from what they had written, soon cut their power."""
    for server in scenario.cluster.servers:
        server.kill()
    yield from back(scenario, scenario.pick(scenario.size))
    yield scenario.some(0, 3)
    yield from power(scenario, 3)


def pause(scenario: Scenario, number: int) -> Fault:
    """Stop one, a minority, a majority or the leader by SIGSTOP for 1 to 8 seconds, then SIGCONT."""
    victims = scenario.pick([1, scenario.minority, scenario.majority][(number - 1) % 3])
    if number % 2:
        victims = [scenario.cluster[scenario.cluster.leader_of(STREAM)]]
    scenario.log(f"pause {[v.name for v in victims]}")
    for victim in victims:
        victim.signal(signal.SIGSTOP)
    yield scenario.some(1, 8)
    for victim in victims:
        victim.signal(signal.SIGCONT)
        yield scenario.some(0, 0.5)


def partition(scenario: Scenario, number: int) -> Fault:
    """Part the leader, halves, one way only, or a bridge; held or broken connections; 2 to 10 seconds."""
    leader = scenario.cluster.leader_of(STREAM)
    names = [server.name for server in scenario.pick(scenario.size)]
    others = [name for name in names if name != leader]
    breaks = scenario.rng.random() < 0.5
    shape = (number - 1) % 4
    if shape == 0:
        scenario.cluster.part([leader], others, breaks=breaks)
    elif shape == 1:
        scenario.cluster.part(names[: scenario.majority], names[scenario.majority :], breaks=breaks)
    elif shape == 2:  # the leader is heard and does not hear the others, or the other way round
        ends = ([leader], others) if scenario.rng.random() < 0.5 else (others, [leader])
        scenario.cluster.part(*ends, breaks=False, both=False)
    else:  # one server hears both sides, which do not hear each other
        half = (scenario.size - 1) // 2
        scenario.cluster.part(names[1 : 1 + half], names[1 + half :], breaks=breaks)
    scenario.log(f"partition {shape}, leader {leader}, order {names}, breaks {breaks}")
    yield scenario.some(2, 10)
    scenario.cluster.switch.heal()


def crash_schedule(scenario: Scenario, number: int) -> Fault:
    """Let a majority acknowledge; one of it loses power, and comes back with those who knew nothing.

    A minority is away while values are written. Then one of the writers loses its power, the rest of the
    writers stop, and the new majority consists of those that were away and the one that crashed.
    """
    servers = scenario.pick(scenario.size)
    away, crashes, rest = (
        servers[: scenario.minority],
        servers[scenario.minority],
        servers[scenario.minority + 1 :],
    )
    cut = scenario.rng.random() < 0.5
    scenario.log(f"away {[s.name for s in away]}, crashes {crashes.name}, cut {cut}")
    _away(scenario, away, scenario.others(away), cut=cut)
    yield scenario.some(6, 10)
    scenario.cluster.cut_power(crashes)
    if not cut:
        for server in rest:
            server.signal(signal.SIGSTOP)
        for server in away:
            server.signal(signal.SIGCONT)
    else:
        scenario.cluster.switch.heal()
        _away(scenario, rest, [*away, crashes], cut=True)
    crashes.launch()
    yield scenario.some(6, 10)
    scenario.cluster.switch.heal()
    for server in rest:
        server.signal(signal.SIGCONT)


def _away(scenario: Scenario, ones: list[ServerProcess], others: list[ServerProcess], *, cut: bool) -> None:
    if cut:
        scenario.cluster.part([s.name for s in ones], [s.name for s in others], breaks=True)
        return
    for server in ones:
        server.signal(signal.SIGSTOP)


def damaged(scenario: Scenario, number: int) -> Fault:
    """Kill a minority, damage its files of one kind in one way, and start it with them."""
    scenario.whole()
    kinds = KINDS[scenario.cluster.implementation]
    victims = scenario.pick(scenario.minority)
    for victim in victims:
        victim.kill()
    # In turn, so that enough rounds meet every pair; a kind without files gives way to the next.
    for step in range(len(kinds)):
        kind = kinds[(number - 1 + step) % len(kinds)]
        if any(files(scenario.cluster.store(victim), kind) for victim in victims):
            break
    for victim in victims:
        done = damage(scenario.cluster.store(victim), kind, scenario.rng)
        scenario.log(f"{victim.name}: {kind.name}: {'; '.join(done)}")
    yield scenario.some(0, 1)
    for victim in victims:
        _launch_damaged(scenario, victim)
    yield scenario.some(1, 3)
    if scenario.rng.random() < 0.5:  # the whole ones end, and the damaged must not win
        healthy = scenario.rng.choice(scenario.others(victims))
        healthy.kill()
        yield scenario.some(0, 2)
        healthy.launch()


def _launch_damaged(scenario: Scenario, server: ServerProcess) -> None:
    """Start a server. The reference may refuse; then it gets an empty disk, as its operator would do."""
    try:
        server.launch()
    except RuntimeError:
        if scenario.cluster.implementation != "reference":
            raise
        scenario.log(f"{server.name} does not start")
        scenario.cluster.wipe(server)
        server.launch()


def bad_disk(scenario: Scenario, number: int) -> Fault:
    """Let disks be full, or fail writes or syncs with EIO; then repair them and restart the servers.

    They are the disks of one, a minority, a majority or the leader.
    """
    victims = scenario.pick([1, scenario.minority, scenario.majority][(number - 1) % 3])
    if number % 2:
        victims = [scenario.cluster[scenario.cluster.leader_of(STREAM)]]
    faults = [
        {"space": scenario.rng.randint(0, 20_000)},
        {"write": errno.EIO},
        {"sync": errno.EIO},
    ][scenario.rng.randrange(3)]
    scenario.log(f"disk {[v.name for v in victims]}: {faults}")
    for victim in victims:
        scenario.cluster.fail_disk(victim, **faults)
    yield scenario.some(3, 8)
    for victim in victims:
        scenario.cluster.fail_disk(victim)
    if scenario.rng.random() < 0.5:
        yield scenario.some(0, 3)
    for victim in victims:
        victim.kill()
        victim.launch()


def mixed(scenario: Scenario, number: int) -> Fault:
    """Play any of the others."""
    plays = [kill, pause, partition]
    if scenario.plan.faulty:
        plays += [power, bad_disk]
    yield from scenario.rng.choice(plays)(scenario, scenario.rng.randint(1, 12))


# So many rounds that `make trust` takes less than half an hour, and 3 or 5 servers meet every variant.
PLANS = [
    Plan("kill", "SIGKILL (at times SIGTERM) of one server, a minority, a majority or all", kill, rounds=4),
    Plan("pause", "SIGSTOP of the leader, a minority or a majority, then SIGCONT", pause, rounds=3),
    Plan(
        "partition",
        "routes stalled or broken: the leader alone, halves, one direction only, all but a bridge",
        partition,
        rounds=4,
    ),
    Plan(
        "power",
        "power cut of one server, a majority or all: what was not synced is lost",
        power,
        rounds=3,
        faulty=True,
        reference=False,
    ),
    Plan(
        "kill, then power",
        "all servers killed, and a power cut soon after they are started again",
        killed_then_power,
        rounds=2,
        faulty=True,
        reference=False,
    ),
    Plan(
        "crash schedule",
        "a server that has acknowledged loses its power, and comes back among servers that were away",
        crash_schedule,
        rounds=2,
        faulty=True,
        reference=False,
    ),
    Plan(
        "damage",
        "bit flips, truncation, removal and old content, in each kind of file, on a minority",
        damaged,
        rounds=4,
        faulty=True,
    ),
    Plan(
        "disk",
        "a full disk, EIO on write, EIO on sync",
        bad_disk,
        rounds=3,
        faulty=True,
        reference=False,
    ),
    Plan(
        "members",
        "scaling, removed peers and servers, emptied disks, recreated streams, under partition",
        members,
        rounds=3,
        faulty=True,
        replicas=3,
    ),
    Plan(
        "mixed",
        "kill, pause, partition, power and disk at random",
        mixed,
        rounds=2,
        faulty=True,
        reference=False,
    ),
]
