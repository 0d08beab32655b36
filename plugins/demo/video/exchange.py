"""Chapter 8: streams connected through an exchange account, which alone has leaf connections."""

from __future__ import annotations

from . import answers
from .accounts import diagram, push
from .ground import account_key, start, together
from .player import Player
from .report import Copy, Count
from .topology import HUB, SPOKE_1, SPOKE_2

HUBACC = "--creds keys/creds/OP/HUBACC/imp.creds"
LEAFACC = "--creds keys/creds/OP/LEAFACC/exp.creds"
PUSHED = ("EXCACC", "HUBACC", "IMPORTER", "LEAFACC", "SYS", "TEST")
TEST = {count: Count(count, "340 B" if count else "0 B") for count in (0, 10)}
AGGREGATE = Count(20, "1.7 KiB")


def through(player: Player) -> None:
    """Chapter 8: three accounts, one more leaf remote, and what crosses only because it is exported."""
    stage = player.stage
    _accounts(player)
    push(player, *PUSHED)
    player.watched = (
        f"pyjs --context=hub {HUBACC} s report",
        f"pyjs --context=spoke-1 {LEAFACC} s report",
        f"pyjs --context=spoke-2 {LEAFACC} s report",
    )
    player.copies.clear()
    player.watch("Nothing is defined yet in the new accounts", {}, {}, {})
    stage.say("Only EXCACC is put into the remotes. That takes a restart, the last one.")
    player.topology.remotes.append((account_key(player, "EXCACC"), "keys/creds/OP/EXCACC/exp.creds"))
    stage.write("leafnode-remotes.cfg", player.topology.leafnode_remotes())
    stage.command(f"kill {' '.join(str(pid) for pid in stage.processes().values())}")
    stage.stop(*stage.processes())
    start(player)
    together(player)
    _connect(player)
    diagram(player, "account-component-diagram-through", "EXCACC", "HUBACC", "LEAFACC")
    push(player, *PUSHED)
    _isolated(player)
    _aggregated(player)


def _accounts(player: Player) -> None:
    for account, user in (("EXCACC", "exp"), ("LEAFACC", "exp"), ("HUBACC", "imp")):
        player.stage.run(f"pyjs nsc add account -n {account}")
        if account != "EXCACC":
            player.stage.run(
                f"pyjs nsc edit account -n {account} --js-disk-storage -1 --js-consumer -1 --js-streams -1"
            )
        player.stage.run(f"pyjs nsc add user --account {account} --name {user}")


def _connect(player: Player) -> None:
    service = "--service --response-type Stream --subject"
    for line in (
        f"add export --account HUBACC  {service} '$JS.hub.API.>'",
        f"add export --account LEAFACC {service} '$JS.spoke-1.API.>'",
        f"add export --account LEAFACC {service} '$JS.spoke-2.API.>'",
        "add export --account HUBACC  --subject 'deliver.hubacc.hub.>'",
        "add export --account LEAFACC --subject 'deliver.leafacc.spoke-1.>'",
        "add export --account LEAFACC --subject 'deliver.leafacc.spoke-2.>'",
        "add import --account EXCACC --src-account HUBACC  --service"
        " --remote-subject '$JS.hub.API.>'     --local-subject '$JS.hubacc.hub.API.>'",
        "add import --account EXCACC --src-account LEAFACC --service"
        " --remote-subject '$JS.spoke-1.API.>' --local-subject '$JS.leafacc.spoke-1.API.>'",
        "add import --account EXCACC --src-account LEAFACC --service"
        " --remote-subject '$JS.spoke-2.API.>' --local-subject '$JS.leafacc.spoke-2.API.>'",
        "add import --account EXCACC --src-account HUBACC  --remote-subject 'deliver.hubacc.hub.>'",
        "add import --account EXCACC --src-account LEAFACC --remote-subject 'deliver.leafacc.spoke-1.>'",
        "add import --account EXCACC --src-account LEAFACC --remote-subject 'deliver.leafacc.spoke-2.>'",
        f"add export --account EXCACC {service} '$JS.>'",
        "add export --account EXCACC --subject 'deliver.>'",
        "add import --account HUBACC --src-account EXCACC --service --remote-subject '$JS.leafacc.>'",
        "add import --account HUBACC --src-account EXCACC --remote-subject 'deliver.leafacc.>'",
    ):
        player.stage.run(f"pyjs nsc {line}")


def _isolated(player: Player) -> None:
    """Show the same account and subject in both spokes, and that no message crosses."""
    for spoke in (SPOKE_1, SPOKE_2):
        # The imports work as soon as the exchange account's leaf connections are established.
        player.until(f"pyjs --context=hub {HUBACC} s ls --js-domain leafacc.{spoke.domain}")
        player.add(
            f"pyjs --context=hub {HUBACC} s add --config test --js-domain leafacc.{spoke.domain}",
            "test",
            spoke,
        )
    empty, ten = {"test": TEST[0]}, {"test": TEST[10]}
    player.watch("The streams in the spokes are created from the hub, by another account", {}, empty, empty)
    for spoke in (SPOKE_1, SPOKE_2):
        player.publish(f'pyjs --context={spoke.domain} {LEAFACC} pub test "" --count 10')
    player.watch("The messages stay in the domain they come from: every stream has 10", {}, ten, ten)
    player.publish(f'pyjs --context=hub {LEAFACC} pub test "" --count 10')
    player.watch("What the same account sends at the hub reaches no spoke", {}, ten, ten)


def _aggregated(player: Player) -> None:
    """Show one stream with the messages of both, in a third account and domain."""
    prefixes = {
        spoke: (f"$JS.leafacc.{spoke.domain}.API", f"deliver.leafacc.{spoke.domain}.hubacc.hub.aggregate")
        for spoke in (SPOKE_1, SPOKE_2)
    }
    player.add(
        f"pyjs --context=hub {HUBACC} s add aggregate --replicas 3 --source test --source test",
        "aggregate",
        HUB,
        answers.sources_of_accounts("test", *prefixes.values()),
    )
    player.copied(*(Copy("hub", "aggregate", "Source", api, "test") for api, _ in prefixes.values()))
    ten = {"test": TEST[10]}
    player.watch(
        "The aggregate in the hub's account has both streams, through the exchange account",
        {"aggregate": AGGREGATE},
        ten,
        ten,
    )
