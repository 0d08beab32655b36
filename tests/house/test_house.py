"""The repository checks itself: arrows between rooms, sizes, docstrings, calls that have their one place."""

from __future__ import annotations

import ast
import functools
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROOMS: dict[str, set[str]] = {
    "protocol": set(),
    "keys": {"protocol"},
    "store": {"protocol"},
    "raft": set(),
    "server": {"protocol", "keys", "store", "raft"},
    "cli": {"protocol", "keys"},
    "plugins": {"cli", "protocol", "keys"},
    "pipeline": {"protocol", "keys", "cli"},
}
# What a room may import only inside a function: the command that runs it.
INSIDE_COMMANDS = {"plugins": {"server", "pipeline"}}
# A family whose modules are commands through and through: its package lists them, and imports none.
COMMANDS = {"plugins/pipeline/": "pipeline"}
# Inside server/: a part imports only what stands lower. Parts of equal height do not know each other.
HEIGHT = {
    "clock": 0,
    "memory": 0,
    "slices": 1,
    "config": 1,
    "worker": 1,
    "identity": 2,
    "logging": 2,
    "accounts": 3,
    "cluster": 4,
    "operator": 4,
    "jetstream": 5,
    "connection": 5,
    "client": 6,
    "leaf": 6,
    "route": 7,
    "monitor": 8,
    "system": 9,
    "banner": 9,
    "app": 10,
    "embed": 11,
    "process": 11,
    "main": 12,
}
FILE_LINES = 500
FUNCTION_LINES = 60
# Offenders against the two limits; these lists may only shrink.
LONG_FILES: set[str] = set()
LONG_FUNCTIONS: set[str] = set()
# Jitter of timers and the choice among equals; these may only become fewer.
RANDOM = {
    "server/accounts/account.py",
    "server/accounts/mapping.py",
    "server/app.py",
    "server/client/connection.py",
    "server/connection/ping_timer.py",
    "server/jetstream/consumers/inactivity.py",
    "server/jetstream/consumers/advisories.py",
    "server/leaf/remote.py",
    "server/route/remote.py",
}

# Words that were ours and were replaced by those of NATS, Raft or storage engines: docs/glossary.md has the
# ones that remain. A name is taken apart at underscores and humps; each part counts.
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
    "duties": "ReconcileAction",
    "duty": "ReconcileAction",
    "ear": "a spy or a subscriber",
    "errand": "ForwardedRequest",
    "errands": "ForwardedRequest",
    "families": "AckRouteCache",
    "formation": "Bootstrap",
    "gate": "ApiRouter, or LeafPermissions",
    "hello": "Announce",
    "hellos": "Announce",
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
    "outlet": "FastSender",
    "outlook": "MembershipView",
    "pace": "DeliveryRate, or ProgressState",
    "pacemaker": "Ticker",
    "parcel": "RoutedMessage",
    "parcels": "RoutedMessage",
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
    "unopened": "FailedReplica",
    "unseat": "RemoveConsumer",
    "unserved": "UnsupportedApi",
    "upkeep": "Compactor",
    "verdict": "AuthResult, or result",
    "whom": "resolve",
    "wish": "PlacementRequest",
    "wishes": "StreamApi, ConsumerApi",
    "wiring": "ImportResolver",
}
# In NATS a stream or a consumer is an asset: so in names that mean either, and on the command line.
WORDS_OF_NATS = {"HaAsset", "ha_assets", "max_ha_assets", "is_asset_name"}
COMMANDS_ON_ASSETS = ("plugins/stream/leadership.py", "plugins/server/")
# Still to be renamed; this list may only shrink.
OLD_NAMES: set[str] = set()


def sources(*rooms: str) -> list[Path]:
    """The modules of these rooms, or of all."""
    folders = [ROOT / room for room in rooms or ROOMS]
    own = [] if rooms else [ROOT / "__init__.py", ROOT / "__main__.py", ROOT / "version.py"]
    return own + sorted(f for folder in folders for f in folder.rglob("*.py"))


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@functools.cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


@functools.cache
def nodes(path: Path) -> list[ast.AST]:
    return list(ast.walk(tree(path)))


def imports(path: Path) -> Iterator[tuple[list[str], bool]]:
    """(path of what is imported inside the package, whether at the top level), relative and absolute."""
    here = list(path.relative_to(ROOT).parts[:-1])
    for node, top in _import_statements(tree(path), top=True):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "pyjs":
                    yield alias.name.split(".")[1:], top
        else:
            tail = node.module.split(".") if node.module else []
            if node.level:
                base = here[: len(here) - node.level + 1] + tail
            elif tail[:1] == ["pyjs"]:
                base = tail[1:]
            else:
                continue
            for alias in node.names:
                yield [*base, alias.name], top


FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def _import_statements(parent: ast.AST, *, top: bool) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    """The import statements below `parent`; whether each is run when the module is imported.

    What only the type checker reads is not.
    """
    for node in ast.iter_child_nodes(parent):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node, top
        elif isinstance(node, ast.stmt | ast.excepthandler | ast.match_case):
            later = isinstance(node, FUNCTIONS) or _for_types(node)
            yield from _import_statements(node, top=top and not later)


def _for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"


def calls(path: Path) -> Iterator[tuple[str, int]]:
    """(dotted name, line) of every call."""
    for node in nodes(path):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), node.lineno


def offenders(paths: list[Path], pattern: str) -> list[str]:
    wanted = re.compile(pattern)
    return [
        f"{name(p)}:{line} {called}" for p in paths for called, line in calls(p) if wanted.fullmatch(called)
    ]


def test_rooms_import_only_what_they_may() -> None:
    wrong = []
    for path in sources():
        room = path.relative_to(ROOT).parts[0]
        if room not in ROOMS:
            continue
        family = path.name != "__init__.py" and name(path).startswith(tuple(COMMANDS))
        inside = {COMMANDS[f"{path.parent.relative_to(ROOT).as_posix()}/"]} if family else set()
        for target, top in imports(path):
            other = target[0] if target else ""
            more = inside if top else INSIDE_COMMANDS.get(room, set())
            allowed = ROOMS[room] | {room, "version"} | more
            if other in ROOMS and other not in allowed:
                wrong.append(f"{name(path)} -> {'.'.join(target)}")
    assert wrong == []


def test_parts_of_the_server_import_only_what_is_below() -> None:
    wrong = []
    for path in sources("server"):
        part = path.relative_to(ROOT / "server").with_suffix("").parts[0]
        if part == "__init__":
            continue
        assert part in HEIGHT, f"server/{part} has no place in the order"
        for target, _ in imports(path):
            if target[:1] != ["server"] or len(target) < 2 or target[1] not in HEIGHT:
                continue
            if target[1] != part and HEIGHT[target[1]] >= HEIGHT[part]:
                wrong.append(f"{name(path)} -> {'.'.join(target)}")
    assert wrong == []


def test_no_room_is_imported_by_its_bare_name() -> None:
    wrong = []
    for path in sources():
        for node in nodes(path):
            bare: list[str] = []
            if isinstance(node, ast.Import):
                bare = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
                bare = [node.module]
            wrong += [f"{name(path)}: {b}" for b in bare if b.split(".")[0] in ROOMS]
    assert wrong == []


def test_every_module_says_what_it_is() -> None:
    assert [name(p) for p in sources() if not ast.get_docstring(tree(p))] == []


def test_files_are_small() -> None:
    long = {name(p) for p in sources() if len(p.read_text(encoding="utf-8").splitlines()) > FILE_LINES}
    assert long == LONG_FILES


def test_functions_are_small() -> None:
    long = {
        f"{name(path)}:{node.name}"
        for path in sources()
        for node in nodes(path)
        if isinstance(node, FUNCTIONS) and (node.end_lineno or 0) - node.lineno + 1 > FUNCTION_LINES
    }
    assert long == LONG_FUNCTIONS


CORES = [p for p in sources("protocol", "keys", "store", "server") if name(p) != "server/clock.py"]


def test_cores_are_told_the_time() -> None:
    pattern = r"time\.(time|time_ns|monotonic|monotonic_ns|sleep)|(datetime\.)?datetime\.(now|utcnow|today)"
    shells = {"server/process", "server/main.py", "server/logging.py", "server/embed"}
    cores = [p for p in CORES if not any(name(p).startswith(shell) for shell in shells)]
    assert offenders(cores, pattern) == []


def test_cores_are_given_their_random_numbers() -> None:
    pattern = r"random\.(random|randrange|randint|choice|choices|shuffle|uniform|seed)"
    # Without the module, `random` is a parameter: a Random that the caller made.
    cores = [p for p in CORES if name(p) not in RANDOM and _imports_random(p)]
    assert offenders(cores, pattern) == []


def _imports_random(path: Path) -> bool:
    imported = [node for node in nodes(path) if isinstance(node, ast.Import)]
    return any(alias.name == "random" for node in imported for alias in node.names)


@pytest.mark.parametrize("room", ["protocol", "keys", "store"])
def test_pure_rooms_know_no_event_loop(room: str) -> None:
    wrong = []
    for path in sources(room):
        if name(path).startswith("keys/workspace/servers/"):
            continue  # they speak to servers: the shell of this room
        for node in nodes(path):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module:
                names = [node.module]
            wrong += [
                f"{name(path)}: {n}" for n in names if n.split(".")[0] in {"asyncio", "socket", "uvloop"}
            ]
    assert wrong == []


def test_only_commands_print() -> None:
    quiet = [p for p in sources() if p.relative_to(ROOT).parts[0] not in {"cli", "plugins"}]
    quiet = [p for p in quiet if name(p) not in {"server/main.py", "server/config/docs.py"}]
    assert offenders(quiet, r"print|sys\.stdout\.write") == []


def test_files_are_opened_where_files_are_a_business() -> None:
    doors = (
        "store/fs.py",
        "store/lock.py",  # one server per store: a lock needs a descriptor
        "server/config/",
        "server/process/",
        "server/logging.py",
        "server/memory.py",  # what the system says of it
        "server/leaf/credentials.py",
        "protocol/errors/",  # its own table, beside it in the package
        "keys/",
        "cli/",
        "plugins/",
        "pipeline/declared/",
        "pipeline/options/docs.py",
    )
    others = [p for p in sources() if not name(p).startswith(doors)]
    pattern = r"open|io\.open|os\.open|.*\.(read_text|read_bytes|write_text|write_bytes)|Path\(.*\)\.open"
    assert [o for o in offenders(others, pattern) if "/proc/" not in o] == []


def test_tests_sleep_only_between_two_looks_at_a_condition() -> None:
    wrong = []
    for path in sorted((ROOT / "tests").rglob("*.py")):
        if "sleep(" not in path.read_text(encoding="utf-8"):
            continue
        module = tree(path)
        polls = {id(n) for loop in ast.walk(module) if isinstance(loop, ast.While) for n in ast.walk(loop)}
        for node in ast.walk(module):
            if not isinstance(node, ast.Call) or getattr(node.func, "attr", "") != "sleep":
                continue
            called = ast.unparse(node.func)
            zero = [a.value for a in node.args if isinstance(a, ast.Constant)] == [0]
            if called in {"time.sleep", "asyncio.sleep"} and not zero and id(node) not in polls:
                wrong.append(f"{name(path)}:{node.lineno} {called}")
    assert wrong == []


def test_tests_have_no_packages() -> None:
    assert [name(p) for p in (ROOT / "tests").rglob("__init__.py")] == []


def test_the_architecture_page_names_every_folder() -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    folders = {p.split("/")[0] for p in tracked() if "/" in p and not p.startswith(".")}
    parts = {"/".join(p.split("/")[:2]) for p in tracked() if p.startswith("server/") and p.count("/") > 1}
    assert sorted(f for f in folders | parts if f"`{f}/`" not in page) == []


def tracked() -> list[str]:
    """The files of the repository; what lies around untracked is nobody's business."""
    listed = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files"], capture_output=True, text=True, check=False
    ).stdout.splitlines()
    if listed:
        return [f for f in listed if (ROOT / f).exists()]
    hidden = (".", "build/", "dist/")
    return [n for p in ROOT.rglob("*") if p.is_file() and not (n := name(p)).startswith(hidden)]


def test_no_file_names_a_developers_machine() -> None:
    # Written in pieces, so that this file does not name them either.
    machine = re.compile("|".join(["/ro" + "ot/", "/ho" + r"me/\w", "/wo" + "rk/", "/Us" + r"ers/\w"]))
    wrong = []
    for path in tracked():
        file = ROOT / path
        if file.suffix in {".png", ".gif", ".blk"}:
            continue
        text = file.read_text(encoding="utf-8", errors="ignore")
        wrong += [f"{path}: {found.group()}" for found in machine.finditer(text)]
    assert wrong == []


def test_every_folder_of_modules_is_a_package() -> None:
    """A folder without __init__.py works in a checkout and is missing in a wheel."""
    assert [name(f) for f in {path.parent for path in sources()} if not (f / "__init__.py").exists()] == []


@functools.cache
def parts_of_name(identifier: str) -> frozenset[str]:
    """Its words: `RaftMember` and `raft_member` have `raft` and `member`."""
    return frozenset(p.lower() for p in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", identifier))


def defined_names(path: Path) -> Iterator[tuple[str, int]]:
    """(identifier, line) of the module, classes, functions, parameters and attributes that a file defines."""
    yield from ((part, 0) for part in path.relative_to(ROOT).with_suffix("").parts)
    for node in nodes(path):
        kind = type(node)
        if kind is ast.Attribute:
            if type(node.ctx) is ast.Store:
                yield node.attr, node.lineno
        elif kind is ast.arg:
            yield node.arg, node.lineno
        elif kind is ast.FunctionDef or kind is ast.AsyncFunctionDef:
            yield node.name, node.lineno
        elif kind is ast.ClassDef:
            yield node.name, node.lineno
            yield from _fields(node)


def _fields(node: ast.ClassDef) -> Iterator[tuple[str, int]]:
    for statement in node.body:
        targets = [statement.target] if isinstance(statement, ast.AnnAssign) else []
        targets = statement.targets if isinstance(statement, ast.Assign) else targets
        yield from ((target.id, target.lineno) for target in targets if isinstance(target, ast.Name))


def test_names_are_those_of_the_field() -> None:
    wrong = []
    for path in sources():
        commands = name(path).startswith(COMMANDS_ON_ASSETS)
        for identifier, line in defined_names(path):
            old = parts_of_name(identifier) & WORDS.keys()
            if commands:
                old -= {"asset", "assets"}
            if old and identifier not in WORDS_OF_NATS and f"{name(path)} {identifier}" not in OLD_NAMES:
                wrong += [f"{name(path)}:{line} {identifier}: {WORDS[word]}" for word in sorted(old)]
    assert wrong == []
