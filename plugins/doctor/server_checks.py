"""What is wrong with servers, as they tell the system account: pure functions from facts to findings."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ...cli import words
from ...cli.proposal import command
from ...cli.words import listed
from ..explain.finding import ERROR, NOTE, WARNING, Finding
from .expiry import SOON, URGENT, ending
from .facts import ServerFacts, TrustedOperator

LATE = 1000  # operations that a server may be behind the leader of the meta group
Servers = tuple[ServerFacts, ...]
Ask = Callable[..., str]  # returns a command for the user who may ask servers, from its words


def of_servers(servers: Servers, now: int, context: str = "") -> Iterator[Finding]:
    """Yield everything that is to be said about servers.

    now: ns since 1970.
    context: of the user of the system account who was told; empty if that is the user of this run.
    """

    def ask(*words: str) -> str:
        return command(*words, *(("--context", context) if context else ()))

    for check in (_slow_consumers, _versions, _sync_intervals, _operators, _meta_groups):
        yield from check(servers, ask)
    yield from _operator_tokens(servers, now)


def _slow_consumers(servers: Servers, ask: Ask) -> Iterator[Finding]:
    for server in servers:
        count = sum(server.slow_consumers.values())
        if count:
            kinds = {kind: number for kind, number in server.slow_consumers.items() if number}
            since = {"start": server.started} if server.started else {}
            yield Finding(
                "slow_consumers", WARNING,
                f"Since its start it has cut off {words.counted(count, 'connection')} that read more slowly "
                "than messages came: what was on the way to them is lost, unless a stream has it.",
                {**kinds, **since},
                (ask("server", "report", "connections", "--state", "closed", "--closed-reason", "slow"),),
                server.name,
            )  # fmt: skip


def _versions(servers: Servers, ask: Ask) -> Iterator[Finding]:
    mixed = {
        name for name, there in _by(servers, lambda each: each.cluster).items() if len(_counts(there)) > 1
    }
    for cluster in sorted(mixed - {""}):
        there = [each for each in servers if each.cluster == cluster]
        yield _mixed(
            WARNING, f"The servers of the cluster {cluster} have different versions", there, cluster, ask
        )
    if len(_counts(servers)) > 1 and not mixed - {""}:
        yield _mixed(NOTE, "Servers have different versions", servers, "", ask)


def _mixed(severity: str, what: str, servers: Iterable[ServerFacts], about: str, ask: Ask) -> Finding:
    counts = _counts(servers)
    return Finding(
        "mixed_versions", severity,
        f"{what}: {_listed(counts)}. What only the newer ones know may fail, depending on the server that "
        "does it.",
        dict(counts), (ask("server", "list", "--sort", "name"),), about,
    )  # fmt: skip


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{count} of {version}" for version, count in sorted(counts.items()))


def _counts(servers: Iterable[ServerFacts]) -> Counter[str]:
    return Counter(each.version for each in servers)


def _sync_intervals(servers: Servers, ask: Ask) -> Iterator[Finding]:
    """A server by itself loses what it acknowledged, a cluster only if a majority loses its power at once."""
    late = [each for each in servers if each.sync_interval]
    alike = _by(late, lambda each: (each.sync_interval, not each.cluster))
    for (interval, alone), there in sorted(alike.items()):
        names = [each.name for each in there]
        where = "a power cut loses them" if alone else "if a majority loses its power at once, they are lost"
        yield Finding(
            "sync_interval", WARNING if alone else NOTE,
            f"{listed(names)} {'syncs' if len(names) == 1 else 'sync'} stored messages only every "
            f"{words.span(interval)}, long after they are acknowledged: {where}. 'sync_interval: always' in "
            "the configuration syncs them before.",
            {"sync_interval": words.go_span(interval), "servers": names},
            (ask("server", "request", "variables", "--name", names[0]),),
            names[0] if len(names) == 1 else "",
        )  # fmt: skip


def _operators(servers: Servers, ask: Ask) -> Iterator[Finding]:
    trusting = [each for each in servers if each.operators]
    for cluster, there in sorted(_by(trusting, lambda each: each.cluster).items()):
        keys = {each.name: frozenset(one.key for one in each.operators) for each in there}
        if cluster and len(set(keys.values())) > 1:
            yield Finding(
                "operators_differ", ERROR,
                f"The servers of the cluster {cluster} trust different operators: a user that one accepts is "
                "refused by another.",
                {name: sorted(found) for name, found in sorted(keys.items())},
                (ask("server", "request", "variables", "--cluster", cluster),), cluster,
            )  # fmt: skip
    for tokens in _by_operator(trusting).values():
        newest = max((token for token, _ in tokens), key=lambda each: each.issued)
        older = sorted(server.name for token, server in tokens if token != newest)
        if older:
            yield Finding(
                "operators_differ", WARNING,
                f"{listed(older)} {'has' if len(older) == 1 else 'have'} an older token of the operator "
                f"{newest.name} than others: signing keys, the system account or limits may differ.",
                {"older": older}, (command("nsc", "describe", "operator", "--name", newest.name),),
                newest.name,
            )  # fmt: skip


def _operator_tokens(servers: Servers, now: int) -> Iterator[Finding]:
    for tokens in _by_operator(servers).values():
        newest = max((token for token, _ in tokens), key=lambda each: each.issued)
        if newest.expires is not None:
            yield from ending(
                "operator_token", f"The token of the operator {newest.name}", newest.expires, now,
                SOON, URGENT, command("nsc", "edit", "operator", "--expiry", "365d"), newest.name,
                "sign a new one, and give it to every server",
            )  # fmt: skip


def _by_operator(servers: Iterable[ServerFacts]) -> dict[str, list[tuple[TrustedOperator, ServerFacts]]]:
    found: dict[str, list[tuple[TrustedOperator, ServerFacts]]] = defaultdict(list)
    for server in servers:
        for token in server.operators:
            found[token.key].append((token, server))
    return found


def _meta_groups(servers: Servers, ask: Ask) -> Iterator[Finding]:
    members = [each for each in servers if each.meta is not None]
    for domain, there in sorted(_by(members, lambda each: each.domain).items()):
        what = f"The meta group of the domain {domain}" if domain else "The meta group"
        claims = {each.name: str((each.meta or {}).get("leader") or "") for each in there}
        leaders = sorted(set(claims.values()) - {""})
        if not leaders:
            yield Finding(
                "no_meta_leader", ERROR,
                f"{what} has no leader: streams and consumers can neither be made nor changed. A majority of "
                "its servers has to be up and connected.",
                {"servers": sorted(claims)}, (ask("server", "report", "jetstream"),), domain,
            )  # fmt: skip
            continue
        if len(set(claims.values())) > 1:
            yield Finding(
                "meta_leaders_differ", ERROR,
                f"{what}: servers name different leaders, or none. Those that are wrong are cut off from the "
                "others.",
                dict(sorted(claims.items())), (ask("server", "report", "jetstream"),), domain,
            )  # fmt: skip
        for server in there:
            if server.name == (server.meta or {}).get("leader"):
                yield from _peers(server, ask)


def _peers(leader: ServerFacts, ask: Ask) -> Iterator[Finding]:
    for peer in (leader.meta or {}).get("replicas") or ():
        name, behind = str(peer.get("name", "")), int(peer.get("lag", 0))
        evidence: dict[str, Any] = {name: peer.get(name, False) for name in ("offline", "current")} | {
            "lag": behind
        }
        if peer.get("offline"):
            text = "is offline. While it is, one more failure may stop JetStream"
        elif not peer.get("current") or behind > LATE:
            late = words.counted(behind, "operation")
            text = f"is {late} behind the leader, and takes no part until it has caught up"
        else:
            continue
        yield Finding(
            "meta_peer", WARNING, f"{name} of the meta group {text}.", evidence,
            (ask("server", "report", "health"), ask("server", "cluster", "peer-remove", name)), name,
        )  # fmt: skip


def _by(servers: Iterable[ServerFacts], key: Callable[[ServerFacts], Any]) -> dict[Any, list[ServerFacts]]:
    found: dict[Any, list[ServerFacts]] = defaultdict(list)
    for each in servers:
        found[key(each)].append(each)
    return found
