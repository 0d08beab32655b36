"""Chapters 4 to 6: mirrors and sources across domains, a backup, and the hub stopped and started."""

from __future__ import annotations

from . import answers
from .ground import start
from .player import Player
from .report import Copy, Count
from .topology import HUB, SPOKE_1, SPOKE_2

SPOKES = (SPOKE_1, SPOKE_2)
CNC = Count(10, "440 B")
TEST = {10: Count(10, "450 B"), 20: Count(20, "900 B"), 30: Count(30, "1.3 KiB"), 40: Count(40, "1.8 KiB")}
# A sourced message has a header that says where it comes from.
AGGREGATE = {40: Count(40, "3.8 KiB"), 60: Count(60, "5.8 KiB"), 70: Count(70, "6.8 KiB")}
FROM_SPOKE_1 = 'pyjs --context=spoke-1 pub test "hello world" --count 10'


def mirrors(player: Player) -> None:
    """Chapter 4: command and control, from the hub to each spoke."""
    stage = player.stage
    player.add("pyjs --context=hub stream add cnc --subjects cnc --replicas 3", "cnc", HUB, answers.SUBJECTS)
    player.publish('pyjs --context=hub pub cnc "hello world" --count 10')
    stage.say("The configuration is stored in a file first; nothing is created yet.")
    stage.run(
        "pyjs --context=hub stream add recv-cnc --mirror cnc --replicas 3 --output recv-cnc",
        answers=answers.mirror_of_domain("hub"),
    )
    stage.claim(
        "--output writes the configuration to a file and creates nothing",
        (stage.directory / "recv-cnc").exists()
        and "recv-cnc" not in stage.output_of("pyjs --context=hub s ls --names").text,
        "the file recv-cnc; no such stream in the hub",
    )
    for spoke in SPOKES:
        player.add(
            f"pyjs --context=hub stream add --config recv-cnc --js-domain {spoke.domain}", "recv-cnc", spoke
        )
    player.copied(*(Copy(spoke.domain, "recv-cnc", "Mirror", "$JS.hub.API", "cnc") for spoke in SPOKES))
    mirrored = {"recv-cnc": CNC}
    player.watch("Both mirrors have copied all data from cnc", {"cnc": CNC}, mirrored, mirrored)


def sources(player: Player) -> None:
    """Chapter 5: messages collected in the spokes and aggregated in the hub."""
    stage, hub = player.stage, {"cnc": CNC}
    stage.run(
        "pyjs --context=hub stream add test --subjects test --replicas 3 --output test",
        answers=answers.SUBJECTS,
    )
    for spoke in SPOKES:
        player.add(f"pyjs --context=hub stream add --config test --js-domain {spoke.domain}", "test", spoke)
    player.publish('pyjs --context=hub pub test "hello world" --count 10')
    spokes = {"recv-cnc": CNC, "test": TEST[10]}
    player.watch(
        "Messages sent at the hub appear in both streams: domains do not constrict message flow",
        hub,
        spokes,
        spokes,
    )
    player.publish(FROM_SPOKE_1)
    spokes = {"recv-cnc": CNC, "test": TEST[20]}
    player.watch("The same is true of messages sent at a spoke", hub, spokes, spokes)
    player.add(
        "pyjs --context=hub stream add aggregate --replicas 3 --source test --source test",
        "aggregate",
        HUB,
        answers.sources_of_domains("test", *(spoke.domain for spoke in SPOKES)),
    )
    player.copied(
        *(Copy("hub", "aggregate", "Source", f"$JS.{spoke.domain}.API", "test") for spoke in SPOKES)
    )
    hub = {"cnc": CNC, "aggregate": AGGREGATE[40]}
    player.watch("The aggregate has the messages of both spokes", hub, spokes, spokes)


def topology(player: Player) -> None:
    """Chapter 6: copies need no link of their own, and survive the loss of the hub."""
    stage = player.stage
    player.add(
        "pyjs --context=hub stream add backup-test-spoke-1 --replicas 3 --mirror test --js-domain spoke-2",
        "backup-test-spoke-1",
        SPOKE_2,
        answers.mirror_of_domain("spoke-1"),
    )
    player.copied(Copy("spoke-2", "backup-test-spoke-1", "Mirror", "$JS.spoke-1.API", "test"))
    player.publish(FROM_SPOKE_1)
    first = {"recv-cnc": CNC, "test": TEST[30]}
    second = {**first, "backup-test-spoke-1": TEST[30]}
    player.watch(
        "What spoke-1 stores appears in its backup in spoke-2, though no link joins the two",
        {"cnc": CNC, "aggregate": AGGREGATE[60]},
        first,
        second,
    )
    stage.say("All servers of the hub are killed.")
    stage.kill(*HUB.servers)
    player.watch(
        "Without the hub both spokes keep working, and the hub cannot be reached", None, first, second
    )
    player.publish(FROM_SPOKE_1)
    first = {"recv-cnc": CNC, "test": TEST[40]}
    player.watch(
        "While the hub is away the new messages are in test of spoke-1, and not yet in the backup",
        None,
        first,
        second,
    )
    stage.say("The hub is started again.")
    start(player, *HUB.servers)
    player.watch(
        "With the hub back, the backup is identical again, and the aggregate has the new messages too",
        {"cnc": CNC, "aggregate": AGGREGATE[70]},
        first,
        {**second, "backup-test-spoke-1": TEST[40]},
    )
