"""Chapters 1 to 3: keys and configurations, nine servers, the system account, the domains."""

from __future__ import annotations

import re

from ..stage import DemoError, wait_until
from .player import Player
from .topology import CLUSTERS, EVERYWHERE, HUB, MEMBERS, SPOKE_1, resolver

LIST = "pyjs --context=sys server list 9"
LIST_SERVERS = "pyjs --context=sys --timeout=1s server list 9"
UNLIMITED = "--js-disk-storage -1 --js-streams -1 --js-consumer -1"


def setup(player: Player) -> None:
    """Chapter 1: an operator, two accounts, nine configurations, nine servers, four contexts."""
    stage, topology = player.stage, player.topology
    folders = {"NKEYS_PATH": "keys", "XDG_CONFIG_HOME": ".config"}
    stage.variables = {name: str(stage.directory / folder) for name, folder in folders.items()}
    shown = " ".join(f"{name}=$PWD/{folder}" for name, folder in folders.items())
    stage.command(f"cd {stage.directory}; export {shown}", "keys, store and contexts are the demo's own")
    servers = topology.urls(HUB.members, "localhost")
    for line in (
        'env -s "./store"',
        "add operator --name OP",
        "add account -n SYS",
        "add user --account SYS -n sys",
        "add account -n TEST",
        f"edit account -n TEST {UNLIMITED}",
        "add user --account TEST -n leaf",
        f'edit operator --system-account SYS --account-jwt-server-url "{servers}"',
    ):
        stage.run(f"pyjs nsc {line}")
    _configure(player)
    start(player)
    for name, creds, urls in (
        ("sys", "SYS/sys", topology.urls(EVERYWHERE)),
        *((cluster.domain, "TEST/leaf", topology.urls(cluster.members)) for cluster in CLUSTERS),
    ):
        stage.run(f'pyjs context save {name} --creds ./keys/creds/OP/{creds}.creds --server "{urls}"')
    whole = together(player)
    stage.claim(
        "Nine servers run, and the JetStreams of the spokes can be asked at the hub",
        whole and len(stage.processes()) == len(MEMBERS),
        f"{len(stage.processes())} processes, {'all' if whole else 'not all'} domains answer",
    )


def _configure(player: Player) -> None:
    stage, topology = player.stage, player.topology
    system, test = account_key(player, "SYS"), account_key(player, "TEST")
    stage.write("nats-account-resolver.cfg", resolver(system, account_token(player, "SYS")))
    topology.remotes = [(system, "keys/creds/OP/SYS/sys.creds"), (test, "keys/creds/OP/TEST/leaf.creds")]
    stage.write("leafnode-remotes.cfg", topology.leafnode_remotes(), show=False)
    for cluster in CLUSTERS:
        for member in cluster.members:
            shown = member in (HUB.members[0], SPOKE_1.members[0])
            stage.write(member.config, topology.config(cluster, member), show=shown)
            # As if TEST had been pushed before, because the leaf connections need it from the start.
            cache = stage.directory / topology.cache(member)
            cache.mkdir()
            (cache / f"{test}.jwt").write_text(account_token(player, "TEST"))


def account_key(player: Player, account: str) -> str:
    """Return an account's public key. Raises DemoError if it cannot be found."""
    return _described(player, f"--name {account} --field sub").strip('"')


def account_token(player: Player, account: str) -> str:
    """Return an account's JWT. Raises DemoError if it cannot be found."""
    return _described(player, f"--name {account} --raw")


def _described(player: Player, words: str) -> str:
    done = player.stage.output_of(f"pyjs nsc describe account {words}")
    if done.code:
        raise DemoError(f"nsc describe account {words}: {done.text}")
    return done.text.strip()


def start(player: Player, *names: str) -> None:
    """Start the servers with these names, or all nine, and wait until they are ready."""
    started = [member for member in MEMBERS if not names or member.name in names]
    for member in started:
        cache = f'"{player.topology.cache(member)}"'
        player.stage.launch(member.name, player.stage.directory / member.config, CACHE=cache)
    for member in started:
        player.stage.ready(member.name)
    player.stage.console.print()


def together(player: Player) -> bool:
    """Wait until all nine are connected and every JetStream answers at the hub too.

    Return whether they do.
    """
    local = [f"pyjs --context={cluster.domain} s ls" for cluster in CLUSTERS]
    across = [f"pyjs --context=hub s ls --js-domain {cluster.domain}" for cluster in CLUSTERS]
    return wait_until(lambda: _listed(player.stage.output_of(LIST_SERVERS).text) == 9) and player.until(
        *local, *across
    )


def system_account(player: Player) -> None:
    """Chapter 2: one list of all servers, including the leaf nodes."""
    stage = player.stage
    wait_until(lambda: _listed(stage.output_of(LIST_SERVERS).text) == 9)
    text = stage.run(LIST)
    stage.notice("Every server of the network is there, the leaf nodes as well.")
    whole = [cluster.name for cluster in CLUSTERS if f"│ {cluster.name:<15} │ 3 " in text]
    stage.claim(
        "With connected system accounts one list has every server of hub and leafs",
        _listed(text) == 9 and len(whole) == 3 and "3 Clusters" in text and "9 Servers" in text,
        f"{_listed(text)} servers; three each in {', '.join(whole)}",
    )
    stage.cat("leafnode-remotes.cfg")
    stage.notice("The first remote connects the system accounts, the second the account used from now on.")


def _listed(text: str) -> int:
    return len(re.findall(r"(?m)^│ srv-\d+ +│ cluster-\S+ +│.*│ yes +│", text))


def domains(player: Player) -> None:
    """Chapter 3: three JetStreams that are independent of each other."""
    stage = player.stage
    names = []
    for cluster in CLUSTERS:
        text = stage.run(f"pyjs --context={cluster.domain} account info")
        names += re.findall(r"Account Information for domain (\S+):", text)
    stage.claim(
        "Each cluster's JetStream is a domain of its own",
        names == [cluster.domain for cluster in CLUSTERS],
        ", ".join(names),
    )
    player.watch("There are no streams yet", {}, {}, {})
