"""Changes of members while some of them cannot be reached."""

from __future__ import annotations

from lib.eventually import eventually
from lib.jetstream import ApiFailureError, JetStream

from .faulty_cluster import is_led
from .scenario import Fault, Scenario
from .values import BUCKET, JOBS, STREAM

CHANGE_SECONDS = 90.0


def members(scenario: Scenario, number: int) -> Fault:
    """Play one of the changes below, by turns."""
    play = [scale, crash_in_change, emptied, peer_remove, recreated, wiped_first][(number - 1) % 6]
    scenario.log(play.__name__)
    yield from play(scenario)


def ask(scenario: Scenario, suffix: str, body: object = b"") -> None:
    """Ask once for a change, whatever the result: during a partition nobody may answer."""
    server = scenario.rng.choice(scenario.cluster.alive())
    try:
        scenario.cluster.try_call(server, suffix, body)
        said = "done"
    except (ApiFailureError, OSError, EOFError) as error:
        said = f"{type(error).__name__}: {error}"
    scenario.log(f"{suffix} through {server.name}: {said}")


def replicas(scenario: Scenario, count: int) -> None:
    """Scale the stream, and wait until that is done."""

    def scaled() -> bool:
        try:
            info = scenario.cluster.call(f"STREAM.INFO.{STREAM}")
            config = info["config"] | {"num_replicas": count}
            if info["config"]["num_replicas"] != count:
                scenario.cluster.try_call(
                    scenario.rng.choice(scenario.cluster.alive()), f"STREAM.UPDATE.{STREAM}", config
                )
        except (ApiFailureError, OSError, EOFError):
            return False
        others = info["cluster"].get("replicas") or []
        return len(others) == count - 1 and all(other["current"] for other in others)

    eventually(scaled, CHANGE_SECONDS)


def cut_one(scenario: Scenario) -> str:
    """Cut one server off, but not the meta leader, which must make the changes."""
    leader = scenario.cluster.leader()
    name = scenario.rng.choice([server.name for server in scenario.cluster.servers if server.name != leader])
    others = [server.name for server in scenario.cluster.servers if server.name != name]
    scenario.cluster.part([name], others, breaks=scenario.rng.random() < 0.5)
    scenario.log(f"{name} is cut off, {leader} leads")
    return name


def scale(scenario: Scenario) -> Fault:
    """Scale down to one and up again, or to five and back, requested while one server is cut off."""
    scenario.whole()
    cut_one(scenario)
    yield scenario.some(0.5, 2)
    count = scenario.rng.choice([1, 1, scenario.size])
    config = scenario.cluster.call(f"STREAM.INFO.{STREAM}", through=None)["config"]
    ask(scenario, f"STREAM.UPDATE.{STREAM}", config | {"num_replicas": count})
    yield scenario.some(1, 4)
    scenario.cluster.switch.heal()
    replicas(scenario, count)
    yield scenario.some(0, 2)
    replicas(scenario, scenario.replicas)


def crash_in_change(scenario: Scenario) -> Fault:
    """Scale down to one and up again; servers lose their power meanwhile."""
    scenario.whole()
    for count in (1, scenario.replicas):
        config = scenario.cluster.call(f"STREAM.INFO.{STREAM}")["config"] | {"num_replicas": count}
        ask(scenario, f"STREAM.UPDATE.{STREAM}", config)
        yield scenario.some(0, 1.5)
        victims = scenario.pick(scenario.rng.choice([1, scenario.size]))
        scenario.log(f"power {[victim.name for victim in victims]}")
        for victim in victims:
            victim.kill()
        for victim in victims:
            if scenario.cluster.faulty:
                scenario.cluster.cut_power(victim)
        scenario.cluster.launch(victims)
        replicas(scenario, count)


def peer_remove(scenario: Scenario) -> Fault:
    """Remove a member from the stream while one server is cut off."""
    scenario.whole()
    cut_one(scenario)
    yield scenario.some(0.5, 2)
    info = scenario.cluster.call(f"STREAM.INFO.{STREAM}")["cluster"]
    gone = scenario.rng.choice([info.get("leader", ""), *[other["name"] for other in info["replicas"]]])
    ask(scenario, f"STREAM.PEER.REMOVE.{STREAM}", {"peer": gone})
    yield scenario.some(1, 4)
    scenario.cluster.switch.heal()
    replicas(scenario, scenario.replicas)


def emptied(scenario: Scenario) -> Fault:
    """Remove a server that died and bring it back with an empty disk; another one is cut off for a while."""
    scenario.whole()
    cut = cut_one(scenario) if scenario.rng.random() < 0.5 else ""
    leader = scenario.cluster.leader()
    victim = scenario.cluster[
        scenario.rng.choice([n for n in scenario.cluster.names if n not in (cut, leader)])
    ]
    scenario.log(f"{victim.name} loses its disk")
    victim.kill()
    yield scenario.some(0.5, 2)
    if scenario.rng.random() < 0.5:
        _remove_server(scenario, victim.name, cut)
    yield scenario.some(1, 3)
    scenario.cluster.switch.heal()
    scenario.cluster.wipe(victim)
    victim.launch()
    replicas(scenario, scenario.replicas)
    scenario.whole()


def wiped_first(scenario: Scenario) -> Fault:
    """Kill all; a minority with empty disks comes back first, alone with one that is whole.

    It is a minority of each stream's servers, too: without most of its copies nobody can say what was
    acknowledged. Of ten pairs of servers three streams rule out nine at most.
    """
    scenario.whole()
    members = [set(scenario.cluster.members(stream)) for stream in (STREAM, JOBS, BUCKET)]
    servers = scenario.pick(scenario.size)
    count = scenario.minority
    while any(len(names & {server.name for server in servers[:count]}) > 1 for names in members):
        servers = scenario.pick(scenario.size)
    for server in servers:
        server.kill()
    wiped, one, rest = servers[:count], servers[count], servers[count + 1 :]
    scenario.log(f"{[server.name for server in wiped]} are empty, and back first with {one.name}")
    for server in wiped:
        scenario.cluster.wipe(server)
        server.launch()
    yield scenario.some(0, 2)
    one.launch()
    yield scenario.some(2, 6)
    for server in rest:
        server.launch()
    replicas(scenario, scenario.replicas)
    scenario.whole()


def recreated(scenario: Scenario) -> Fault:
    """Delete another stream and make it again while a server is down: the old one must not come back."""
    name = "AGAIN"
    config = {"name": name, "subjects": [f"{name}.>"], "num_replicas": scenario.replicas}
    scenario.cluster.call(f"STREAM.CREATE.{name}", config)
    for number in range(3):
        _publish(scenario, f"{name}.old", f"old {number}")
    victim = scenario.rng.choice(scenario.cluster.servers)
    victim.kill()
    yield scenario.some(0, 1)
    scenario.cluster.call(f"STREAM.DELETE.{name}", seconds=CHANGE_SECONDS)
    kept = scenario.rng.random() < 0.5
    scenario.log(f"{name} is deleted while {victim.name} is down" + (", and made again" if kept else ""))
    if kept:
        scenario.cluster.call(f"STREAM.CREATE.{name}", config)
        _publish(scenario, f"{name}.new", "new")
    victim.launch()
    scenario.whole()
    if not kept:
        for server in scenario.cluster.servers:
            listed = scenario.cluster.call("STREAM.NAMES", through=server)["streams"]
            assert name not in listed, f"{server.name} lists the stream that was deleted while it was down"
        return
    for member in scenario.cluster.members(name):
        scenario.cluster.lead(name, member)
        state = scenario.cluster.call(f"STREAM.INFO.{name}", fits=is_led)["state"]
        assert state["messages"] == state["last_seq"] == 1, f"{name} led by {member}: {state}"
    scenario.cluster.call(f"STREAM.DELETE.{name}")


def _publish(scenario: Scenario, subject: str, text: str) -> None:
    """Publish one message, which is acknowledged."""

    def acked() -> bool:
        try:
            with scenario.cluster.wire(scenario.rng.choice(scenario.cluster.alive())) as wire:
                answer = wire.request(subject, text, {"Nats-Msg-Id": text})
        except (OSError, EOFError):
            return False
        return not answer.status and "seq" in answer.json()

    eventually(acked, CHANGE_SECONDS)


def _remove_server(scenario: Scenario, name: str, cut: str) -> None:
    for server in scenario.cluster.alive():
        if server.name == cut:
            continue
        try:
            with server.connect(user="admin", **{"pass": "admin"}) as wire:
                answer = JetStream(wire).raw("SERVER.REMOVE", {"peer": name})
        except (OSError, EOFError) as error:
            scenario.log(f"SERVER.REMOVE {name} through {server.name}: {error!r}")
            continue
        scenario.log(f"SERVER.REMOVE {name} through {server.name}: {answer.body.decode()[:200]}")
        return
