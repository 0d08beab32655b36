"""Which module may import which: rooms, parts of the server, layers. Circles, and what a class is handed.

Where a rule is not kept yet, a table says how many offences there are today. A number may only fall: a test
fails when there are more, and tells on the terminal when there are fewer, so that the table can be lowered.
`PYTHONPATH=tests python -m lib.import_graph` prints the circles.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping

import pytest
from lib.import_graph import circles, edges, graph, modules, target
from lib.source_facts import ROOT, RUN, TYPES, Class, Import, all_facts, facts, path_of, sources

ROOMS: dict[str, set[str]] = {
    "native": set(),
    "protocol": {"native"},
    "keys": {"protocol"},
    "store": {"protocol", "native"},
    "raft": set(),
    "server": {"protocol", "keys", "store", "raft", "native"},
    "documents": set(),
    "provision": {"protocol", "keys", "documents"},
    "client": {"protocol", "keys", "native"},
    "cli": {"protocol", "keys", "client"},
    "plugins": {"cli", "protocol", "keys", "client", "documents", "provision"},
    "pipeline": {"protocol", "keys", "client", "cli", "documents"},
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
    "task_executor": 1,
    "loop_writes": 1,
    "config": 1,
    "worker": 1,
    "identity": 2,
    "syslog": 1,
    "logging": 2,
    "accounts": 3,
    "callout": 4,
    "cluster": 5,
    "operator": 5,
    "ocsp": 5,
    "jetstream": 6,
    "connection": 6,
    "websocket": 7,
    "client": 8,
    "leaf": 8,
    "mqtt": 9,
    "route": 9,
    "gateway": 10,
    "monitor": 11,
    "system": 12,
    "banner": 12,
    "renewal": 12,
    "app": 13,
    "embed": 14,
    "process": 14,
    "main": 15,
}
# Inside a part: a module imports only its own layer and those below, which stand first. Layers with `|`
# between them do not know each other. `*`: every module without a place of its own.
LAYERS = {
    "server/accounts": (
        "flusher | mapping | exports | permissions | server_trace",
        "subscription",
        "traced_message",
        "sublist",
        "plan ack_routes direct_get_routes inbox_routes stream_routes",
        "space",
        "fanout | routing | latency",
        "imports | leaving | advertiser | reply_ways",
        "account users account_token",
        "*",
    ),
    "server/jetstream": (
        "host quota limits advisories overload catchup_budget lazydisk directory domain encryption",
        "streams",
        "consumers",
        "account | replication",
        "meta",
        "cluster",
        "api",
        "api/cluster | legacy",
        "engine clustering",
    ),
    "server/jetstream/streams": ("*", "core", "stream_info"),
    "server/jetstream/account": (
        "document pending_publishes stream_closer",
        "streams",
        "changes | recovery",
        "backup",
        "account",
    ),
}
# Imports that point up or sideways today, by the layer that imports and the one that is imported.
UPWARD: dict[str, dict[str, int]] = {
    "server/accounts": {},
    "server/jetstream": {},
    "server/jetstream/streams": {},
    "server/jetstream/account": {},
}
# Chains such as `self.a.b.c.d`: what needs `d` should be handed it. What puts the server together may do so.
CHAINS = 1
COMPOSERS = ("server/app.py", "server/banner.py", "server/system/", "server/process/")
# Classes that are handed the object that makes them.
PARENTS = 0
# A class has at most so many methods, and a constructor so many arguments, but for these. A dataclass may
# have more fields: it is what groups them.
METHODS = 30
LARGE_CLASSES: dict[str, int] = {
    "client/connection.py:BlockingConnection": 33,
    "server/connection/connection.py:Connection": 36,
    "server/jetstream/account/streams.py:AccountStreams": 31,
    "server/jetstream/consumers/delivery_state.py:DeliveryState": 44,
    "server/jetstream/streams/origin_consumer.py:Origin": 33,
    "server/system/system.py:System": 40,
    "store/configs.py:AccountDirectory": 33,
    "store/file/stream.py:FileStream": 36,
    "store/indexed.py:IndexedStream": 47,
    "store/stream.py:StreamStore": 46,
    "store/subjects.py:SubjectIndex": 35,
}
ARGUMENTS = 7
LONG_CONSTRUCTORS: dict[str, int] = {
    "store/file/compaction.py:Compaction": 8,
}
# A Protocol of the server says what one part needs of another: six members or fewer, but for these.
PORT_MEMBERS = 6
LARGE_PORTS: dict[str, int] = {}
# Modules that append to what waits for a destination, or say that something waits there.
QUEUEING = {
    "server/accounts/fanout.py",
    "server/accounts/flusher.py",
    "server/jetstream/consumers/sender.py",
}
# `getattr(x, "name")` in the server, outside of what copies fields by their names.
GETATTRS = 3
COPIES_OF_FIELDS = ("server/config/docs.py", "server/config/check/operator.py")


@pytest.fixture
def at_most(capsys: pytest.CaptureFixture[str]) -> Iterator[AtMost]:
    """Compare counts with a table, and say on the terminal which of its numbers may be lowered."""
    compared = AtMost()
    yield compared
    if compared.lower:
        with capsys.disabled():
            print("\n" + "\n".join(compared.lower))  # noqa: T201


class AtMost:
    """at_most(what, counted, table): fails when a count is above its number in the table (0 without one)."""

    def __init__(self) -> None:
        self.lower: list[str] = []

    def __call__(self, what: str, counted: Mapping[str, int], table: Mapping[str, int]) -> None:
        for name in counted.keys() | table.keys():
            if counted.get(name, 0) < table.get(name, 0):
                self.lower.append(
                    f"{what}: {name} may be lowered from {table[name]} to {counted.get(name, 0)}"
                )
        above = {name: count for name, count in counted.items() if count > table.get(name, 0)}
        assert above == {}, f"{what}: more than the table allows"


def imports(path: str) -> Iterator[tuple[list[str], Import]]:
    """(parts of what is imported inside the package, the statement)."""
    for statement in all_facts()[path].imports:
        imported = target(path, statement)
        if imported:
            yield imported.split("/"), statement


def test_rooms_import_only_what_they_may() -> None:
    wrong = []
    for path in all_facts():
        room = path.split("/")[0]
        if room not in ROOMS:
            continue
        family = not path.endswith("__init__.py") and path.startswith(tuple(COMMANDS))
        inside = {COMMANDS[path.rpartition("/")[0] + "/"]} if family else set()
        for imported, statement in imports(path):
            more = inside if statement.kind == RUN else INSIDE_COMMANDS.get(room, set())
            allowed = ROOMS[room] | {room, "version"} | more
            if imported[0] in ROOMS and imported[0] not in allowed:
                wrong.append(f"{path} -> {'.'.join(imported)}")
    assert wrong == []


def test_no_room_is_imported_by_its_bare_name() -> None:
    wrong = [
        f"{path}: {statement.module}"
        for path, found in all_facts().items()
        for statement in found.imports
        if not statement.level and statement.module.split(".")[0] in ROOMS
    ]
    assert wrong == []


EVENT_LOOP = {"asyncio", "socket", "uvloop"}


@pytest.mark.parametrize("room", ["native", "protocol", "keys", "store"])
def test_pure_rooms_know_no_event_loop(room: str) -> None:
    wrong = [
        f"{path_of(file)}: {statement.module}"
        for file in sources(room)
        # These speak to servers: the shell of this room.
        if not path_of(file).startswith("keys/workspace/servers/")
        for statement in facts(file).imports
        if not statement.level and statement.module.split(".")[0] in EVENT_LOOP
    ]
    assert wrong == []


def test_parts_of_the_server_import_only_what_is_below() -> None:
    wrong = []
    for file in sources("server"):
        path = path_of(file)
        part = path.removesuffix(".py").split("/")[1]
        if part == "__init__":
            continue
        assert part in HEIGHT, f"server/{part} has no place in the order"
        for imported, _ in imports(path):
            if imported[0] != "server" or len(imported) < 2 or imported[1] not in HEIGHT:
                continue
            if imported[1] != part and HEIGHT[imported[1]] >= HEIGHT[part]:
                wrong.append(f"{path} -> {'.'.join(imported)}")
    assert wrong == []


class Layers:
    """The layers of a part: the floor and the place of each module."""

    def __init__(self, part: str) -> None:
        self.part = part
        self._floors: dict[str, tuple[int, int]] = {}  # prefix -> floor, side
        for floor, line in enumerate(LAYERS[part]):
            for side, names in enumerate(line.split("|")):
                self._floors.update((name, (floor, side)) for name in names.split())

    def layer(self, module: str) -> str:
        """The prefix below the part that decides: the longest one."""
        names = module.removeprefix(f"{self.part}/").split("/")
        prefixes = ("/".join(names[:length]) for length in range(len(names), 0, -1))
        found = next((prefix for prefix in prefixes if prefix in self._floors), "*")
        assert found in self._floors, f"{module} has no place in the layers of {self.part}"
        return found

    def allowed(self, above: str, below: str) -> bool:
        """Whether a module of the first layer may import one of the second."""
        high, low = self._floors[above], self._floors[below]
        return above == below or high == low or low[0] < high[0]


@pytest.mark.parametrize("part", LAYERS)
def test_layers_import_only_what_is_below(part: str, at_most: AtMost) -> None:
    layers = Layers(part)
    found: set[tuple[str, str, str, str]] = set()
    for module, imported, _ in edges():
        if module.startswith(f"{part}/") and imported.startswith(f"{part}/"):
            found.add((layers.layer(module), layers.layer(imported), module, imported))
    counted = Counter(f"{above} -> {below}" for above, below, *_ in found if not layers.allowed(above, below))
    at_most(f"layers of {part}", counted, UPWARD[part])


def test_no_modules_import_each_other_in_a_circle() -> None:
    """Not for their types either; TYPES contains all other imports."""
    assert circles(graph(TYPES)) == []


def test_no_part_reaches_through_others(at_most: AtMost) -> None:
    found = [
        f"{path}:{line} {chain}"
        for path, known in all_facts().items()
        if path.startswith("server/") and not path.startswith(COMPOSERS)
        for chain, line in known.chains
        if re.fullmatch(r"[a-z_]\w*(\.\w+){4,}", chain)
    ]
    assert len(found) <= CHAINS, found
    at_most("chains", {"of four attributes": len(found)}, {"of four attributes": CHAINS})


def test_no_class_is_handed_the_one_that_makes_it(at_most: AtMost) -> None:
    found = [f"{path}:{line} {name}" for path, line, name in _handed_parents()]
    assert len(found) <= PARENTS, found
    at_most("parents", {"handed": len(found)}, {"handed": PARENTS})


def _handed_parents() -> Iterator[tuple[str, int, str]]:
    """(path, line, class) of those that are handed an object of a class whose module imports theirs."""
    imported = graph(RUN)
    for module, path in modules().items():
        if not path.startswith("server/"):
            continue
        homes = {
            statement.bound: target(path, statement).rpartition("/")[0]
            for statement in all_facts()[path].imports
        }
        for each in all_facts()[path].classes:
            handed = {word for _, annotation in each.handed for word in re.findall(r"\w+", annotation)}
            parents = [word for word in handed if module in imported.get(homes.get(word, ""), ())]
            if parents:
                yield path, each.line, f"{each.name}({', '.join(sorted(parents))})"


def test_classes_are_small(at_most: AtMost) -> None:
    counted = {
        f"{path}:{each.name}": len(each.methods)
        for path, known in all_facts().items()
        for each in known.classes
        if len(each.methods) > METHODS
    }
    at_most("methods of a class", counted, LARGE_CLASSES)


def test_constructors_have_few_arguments(at_most: AtMost) -> None:
    counted = {
        f"{path}:{each.name}": len(each.handed)
        for path, known in all_facts().items()
        for each in known.classes
        if "__init__" in each.methods and len(each.handed) > ARGUMENTS
    }
    at_most("arguments of a constructor", counted, LONG_CONSTRUCTORS)


def test_ports_are_small(at_most: AtMost) -> None:
    counted = {
        each.name: len(each.members)
        for path, known in all_facts().items()
        if path.startswith("server/")
        for each in known.classes
        if _is_protocol(each) and len(each.members) > PORT_MEMBERS
    }
    at_most("members of a Protocol", counted, LARGE_PORTS)


def _is_protocol(each: Class) -> bool:
    return any(base.partition("[")[0] == "Protocol" for base in each.bases)


def test_what_an_object_has_is_not_asked_by_name(at_most: AtMost) -> None:
    found = [
        f"{path}:{line}"
        for path, known in all_facts().items()
        if path.startswith("server/") and path not in COPIES_OF_FIELDS
        for line in known.getattrs
    ]
    assert len(found) <= GETATTRS, found
    at_most("getattr", {"by a constant": len(found)}, {"by a constant": GETATTRS})


def test_every_folder_of_modules_is_a_package() -> None:
    """A folder without __init__.py works in a checkout and is missing in a wheel."""
    folders = {(ROOT / path).parent for path in all_facts()}
    assert [path_of(each) for each in folders if not (each / "__init__.py").exists()] == []


def test_only_the_fan_out_and_the_queues_themselves_queue() -> None:
    """All else goes through the methods of OutboundQueue, so that a message is counted and flushed."""
    found = {
        path
        for path, known in all_facts().items()
        if path.startswith("server/")
        and (
            "flush_pending" in known.names
            or any(
                call.endswith((".out.append", ".out.extend", "pending_flush.append")) for call in known.calls
            )
        )
    }
    assert found == QUEUEING


@pytest.mark.parametrize("room", ["protocol", "store", "server"])
def test_dataclasses_are_those_whose_methods_are_made_late(room: str) -> None:
    """The others cost a server a third of its start (protocol/lazy_dataclass.py)."""
    wrong = [
        path
        for path, found in all_facts().items()
        for statement in found.imports
        if path.startswith(f"{room}/") and (statement.module, statement.name) == ("dataclasses", "dataclass")
    ]
    assert wrong == []
