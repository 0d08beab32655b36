"""The words of names, docstrings, comments and documents: those of NATS, Raft and storage engines.

Those that were replaced do not come back. docs/glossary.md has the few of ours that remain.
"""

from __future__ import annotations

import functools
import re
import subprocess

from lib.source_facts import ROOT, Facts, all_facts, facts_of_tests

# For names: a name is taken apart at underscores and humps, and each part counts.
WORDS = {
    "alarm": "DeadlineTimer",
    "arrivals": "SourceProposals",
    "asset": "LocalStream, or stream, or consumer",
    "assets": "local_streams, or streams",
    "backlog": "NumPending",
    "blamed": "violation",
    "bulk": "BatchDelivery",
    "carrier": "PubSub",
    "charter": "AccountToken",
    "committer": "GroupCommit",
    "desk": "MetaPlanner",
    "dice": "DeterministicRandom, or random",
    "door": "listener, proxy, or handshake",
    "doors": "listeners, or proxies",
    "duties": "ReconcileAction",
    "duty": "ReconcileAction",
    "ear": "a spy or a subscriber",
    "errand": "ForwardedRequest",
    "errands": "ForwardedRequest",
    "families": "AckRouteCache",
    "formation": "Bootstrap",
    "gate": "ApiRouter, or LeafPermissions",
    "held": "waiting, paused, assigned, or what it is of",
    "hello": "Announce",
    "hellos": "Announce",
    "hurry": "say what is done soon",
    "inflow": "Sourcing",
    "intake": "AckHandler, or TokenQueue",
    "judgement": "validation",
    "ledger": "DeliveryState",
    "life": "Incarnation",
    "lives": "Incarnation",
    "mailbox": "RaftTransport",
    "misfit": "CatchupMismatchError",
    "mischief": "fault",
    "nursery": "a pool of processes",
    "outbox": "OutboundQueue",
    "outlet": "MessageSender",
    "outlook": "MembershipView",
    "pace": "DeliveryRate, or ProgressState",
    "pacemaker": "Ticker",
    "parcel": "RoutedMessage",
    "parcels": "RoutedMessage",
    "patience": "a timeout, seconds or ticks: what is awaited, and its unit",
    "refill": "catchup",
    "relay": "ReplicatedPersistence",
    "saver": "ConsumerStateWriter",
    "seat": "RaftMember, or AddConsumer",
    "seated": "consumer_added",
    "seats": "members",
    "settler": "AckQueue",
    "sight": "NodeStatus",
    "sights": "NodeStatuses",
    "stalemate": "quorum_diagnosis",
    "standing": "ReplicatedConsumerState, or ResponderState",
    "succession": "step_down",
    "surroundings": "GroupEnvironment",
    "told": "answer, info, reported",
    "unopened": "FailedReplica",
    "unseat": "RemoveConsumer",
    "unserved": "UnsupportedApi",
    "upkeep": "Compactor",
    "verdict": "AuthResult, or result",
    "watcher": "InterestCallback, or an observer",
    "watchers": "callbacks, or observers",
    "whom": "resolve",
    "wish": "PlacementRequest",
    "wishes": "StreamApi, ConsumerApi",
    "wiring": "ImportResolver",
    "world": "ObservedState, or what it is of",
}
# In NATS a stream or a consumer is an asset: so in names that mean either, and on the command line.
WORDS_OF_NATS = {"HaAsset", "ha_assets", "max_ha_assets", "is_asset_name"}
COMMANDS_ON_ASSETS = ("plugins/stream/leadership.py", "plugins/server/")
# Still to be renamed; this list may only shrink.
OLD_NAMES: set[str] = set()

# A class name says what it is without its path. These are one idea on two sides: (the two modules, the idea).
CLASSES_ON_TWO_SIDES = {
    "Account": ("keys/claims/account.py", "server/accounts/account.py", "as its token says, and as served"),
    "ConnectOptions": ("keys/claims/callout.py", "server/client/connect.py", "the fields of CONNECT"),
    "Export": ("keys/claims/export.py", "server/accounts/exports.py", "as a token says, and as served"),
    "JetStreamLimits": ("keys/claims/limits.py", "server/jetstream/limits.py", "of an account"),
    "Message": ("client/frames.py", "server/accounts/subscription.py", "what a subscriber gets"),
    "NotFoundError": ("cli/errors.py", "keys/errors.py", "what was named does not exist"),
    "Permissions": ("keys/claims/parts.py", "server/accounts/permissions.py", "of a user"),
    "ResponsePermission": (
        "keys/claims/parts.py",
        "server/config/options/authorization.py",
        "allow_responses",
    ),
    "StoredMessage": ("cli/messages.py", "store/message.py", "a message of a stream, shown and stored"),
    "Token": ("cli/expression.py", "server/config/lexer.py", "what a lexer makes"),
    "User": ("keys/claims/user.py", "server/accounts/users.py", "as its token says, and as served"),
}

# For prose, as patterns. Only words that have no right meaning in this project: many of those above
# are good English.
PROSE = {
    r"anew": "again",
    r"charters?": "account token",
    r"desks?": "planner",
    r"dice": "random numbers",
    r"errands?": "forwarded request",
    r"inflow": "sourcing",
    r"intake": "ack handler",
    r"judge?ments?": "validation",
    r"ledgers?": "delivery state",
    r"let(?:s|ting)? go of": "release, drop, forget",
    r"mailbox(?:es)?": "transport",
    r"mend(?:s|ed|ing)?": "repair",
    r"mischief": "fault",
    r"misfits?": "mismatch",
    r"nursery": "pool of processes",
    r"outbox(?:es)?": "outbound queue",
    r"pacemakers?": "ticker",
    r"parcels?": "message",
    r"put(?:s|ting)? down": "write, store",
    r"seat(?:s|ed)?": "member",
    r"settle(?:s|d|rs?)?": "converge, answer, confirm",
    r"shall": "is to, must, will",
    r"stalemate": "no quorum",
    r"surroundings": "environment",
    r"unseat(?:s|ed)?": "remove",
    r"upkeep": "compaction",
    r"verdicts?": "result, findings",
    r"whereof|whereby|thereof|hereby": "of which, by which",
}
# Still to be written in other words; this list may only shrink.
OLD_PROSE: set[str] = set()


@functools.cache
def parts_of_name(identifier: str) -> frozenset[str]:
    """Its words: `RaftMember` and `raft_member` have `raft` and `member`."""
    return frozenset(p.lower() for p in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", identifier))


def named(path: str, known: Facts) -> dict[str, int]:
    """The names of a module, those in its path included; a test's own is a sentence."""
    names = dict.fromkeys(path.removesuffix(".py").split("/"), 0) | known.names
    return {name: line for name, line in names.items() if not name.startswith("test_")}


def test_names_are_those_of_the_field() -> None:
    wrong = []
    for path, known in (all_facts() | facts_of_tests()).items():
        commands = path.startswith(COMMANDS_ON_ASSETS)
        for identifier, line in named(path, known).items():
            old = parts_of_name(identifier) & WORDS.keys()
            if commands:
                old -= {"asset", "assets"}
            if old and identifier not in WORDS_OF_NATS and f"{path} {identifier}" not in OLD_NAMES:
                wrong += [f"{path}:{line} {identifier}: {WORDS[word]}" for word in sorted(old)]
    assert wrong == []


def test_a_class_name_is_used_once() -> None:
    defined: dict[str, set[str]] = {}
    for path, known in all_facts().items():
        for each in known.classes:
            if not each.name.startswith("_"):
                defined.setdefault(each.name, set()).add(path)
    shared = {name: paths for name, paths in defined.items() if len(paths) > 1}
    assert shared == {name: set(sides[:2]) for name, sides in CLASSES_ON_TWO_SIDES.items()}


def test_prose_has_the_words_of_the_field() -> None:
    lines = [
        (path, line, text)
        for path, known in (all_facts() | facts_of_tests()).items()
        for line, text in known.prose
    ]
    for page in pages():
        lines += ((page, n, text) for n, text in enumerate((ROOT / page).read_text("utf-8").splitlines(), 1))
    any_of_them = re.compile("|".join(rf"\b(?:{word})\b" for word in PROSE), re.IGNORECASE)
    wrong = []
    for path, line, text in lines:
        if path not in OLD_PROSE and any_of_them.search(text):
            instead = [
                said for word, said in PROSE.items() if re.search(rf"\b(?:{word})\b", text, re.IGNORECASE)
            ]
            wrong.append(f"{path}:{line} {text.strip()}: rather {'; '.join(instead)}")
    assert wrong == []


def pages() -> list[str]:
    listed = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "*.md"], capture_output=True, text=True, check=False
    ).stdout.splitlines()
    return [page for page in listed if (ROOT / page).exists()]
