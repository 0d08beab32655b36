"""The repository checks itself: sizes, docstrings, and calls that have their one place.

`test_order.py` beside it keeps the order of imports, `test_words.py` the words.
"""

from __future__ import annotations

import ast
import re
import statistics
import subprocess
import sys
from pathlib import Path

import pytest
from lib.source_facts import ROOT, all_facts, facts_of_tests, path_of, sources

FILE_LINES = 500
FUNCTION_LINES = 60
MEDIAN_LINES = 150  # of all files
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
    "server/connection/remote.py",
    "server/jetstream/consumers/inactivity.py",
    "server/jetstream/consumers/advisories.py",
    "server/gateway/remote.py",
    "server/leaf/remote.py",
    "server/route/remote.py",
}


def offenders(paths: list[str], pattern: str) -> list[str]:
    """The calls that match, each where a file makes it first."""
    wanted = re.compile(pattern)
    calls = ((path, called, line) for path in paths for called, line in all_facts()[path].calls.items())
    return [f"{path}:{line} {called}" for path, called, line in calls if wanted.fullmatch(called)]


def test_every_module_says_what_it_is() -> None:
    assert [path for path, known in all_facts().items() if not known.documented] == []


def test_files_are_small() -> None:
    every = all_facts() | facts_of_tests()
    assert {path for path, known in every.items() if known.lines > FILE_LINES} == LONG_FILES


def test_most_files_are_much_smaller() -> None:
    assert statistics.median(known.lines for known in all_facts().values()) <= MEDIAN_LINES


def test_functions_are_small() -> None:
    long = {
        f"{path}:{function.name}"
        for path, known in (all_facts() | facts_of_tests()).items()
        for function in known.functions
        if function.lines > FUNCTION_LINES
    }
    assert long == LONG_FUNCTIONS


def cores() -> list[str]:
    found = (path_of(file) for file in sources("protocol", "raft", "keys", "store", "server"))
    return [path for path in found if path != "server/clock.py"]


def test_cores_are_told_the_time() -> None:
    pattern = r"time\.(time|time_ns|monotonic|monotonic_ns|sleep)|(datetime\.)?datetime\.(now|utcnow|today)"
    shells = ("server/process", "server/main.py", "server/logging.py", "server/syslog.py", "server/embed")
    assert offenders([path for path in cores() if not path.startswith(shells)], pattern) == []


def test_cores_are_given_their_random_numbers() -> None:
    pattern = r"random\.(random|randrange|randint|choice|choices|shuffle|uniform|seed)"
    # Without the module, `random` is a parameter: a Random that the caller made.
    assert (
        offenders([path for path in cores() if path not in RANDOM and _imports_random(path)], pattern) == []
    )


def _imports_random(path: str) -> bool:
    return any(each.module == "random" and not each.name for each in all_facts()[path].imports)


PURE = {"__future__", "collections", "collections.abc", "dataclasses", "enum", "json", "struct", "typing"}


def test_raft_is_a_library_that_needs_nothing() -> None:
    """No other room, no event loop, clock, log or file: of the standard library, only what is pure."""
    raft = [path_of(file) for file in sources("raft")]
    wrong = [
        f"{path}: {'.' * each.level}{each.module}"
        for path in raft
        for each in all_facts()[path].imports
        if each.level > 1 or "." in each.module * each.level or (not each.level and each.module not in PURE)
        if (each.module, each.name) != ("random", "Random")
    ]
    # A generator of random numbers is handed in; none is made here.
    assert wrong + offenders(raft, r"Random") == []


def test_only_commands_print() -> None:
    shown = ("cli/", "plugins/", "server/main.py", "server/config/docs.py")
    quiet = [path for path in all_facts() if not path.startswith(shown)]
    assert offenders(quiet, r"print|sys\.stdout\.write") == []


def test_files_are_opened_where_files_are_a_business() -> None:
    allowed = (
        "store/fs.py",
        "store/lock.py",  # one server per store: a lock needs a descriptor
        "server/config/",
        "server/process/",
        "server/logging.py",
        "server/memory.py",  # what the system says of it
        "server/leaf/credentials.py",
        "protocol/errors/",  # its own table, beside it in the package
        "keys/",
        "client/secret.py",
        "cli/",
        "plugins/",
        "pipeline/declared/",
        "provision/files.py",
        "provision/planfile.py",
        "pipeline/options/docs.py",
    )
    others = [path for path in all_facts() if not path.startswith(allowed)]
    pattern = r"open|io\.open|os\.open|.*\.(read_text|read_bytes|write_text|write_bytes)|Path\(.*\)\.open"
    assert [o for o in offenders(others, pattern) if "/proc/" not in o] == []


def test_tests_sleep_only_between_two_looks_at_a_condition() -> None:
    wrong = []
    for path in sorted((ROOT / "tests").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if ".sleep(" not in text:
            continue
        module = ast.parse(text)
        polls = {id(n) for loop in ast.walk(module) if isinstance(loop, ast.While) for n in ast.walk(loop)}
        for node in ast.walk(module):
            if not isinstance(node, ast.Call) or getattr(node.func, "attr", "") != "sleep":
                continue
            called = ast.unparse(node.func)
            zero = [a.value for a in node.args if isinstance(a, ast.Constant)] == [0]
            if called in {"time.sleep", "asyncio.sleep"} and not zero and id(node) not in polls:
                wrong.append(f"{path_of(path)}:{node.lineno} {called}")
    assert wrong == []


def test_tests_have_no_packages() -> None:
    assert [path_of(p) for p in (ROOT / "tests").rglob("__init__.py")] == []


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
    return [n for p in ROOT.rglob("*") if p.is_file() and not (n := path_of(p)).startswith(hidden)]


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


def test_the_page_of_the_helpers_names_each() -> None:
    page = (ROOT / "tests/lib/README.md").read_text(encoding="utf-8")
    helpers = {path.stem if path.suffix else f"{path.name}/" for path in (ROOT / "tests/lib").iterdir()}
    named = set(re.findall(r"`(\w+/?)", page))
    assert sorted(each for each in helpers - named - {"README"} if not each.startswith("__")) == []


def test_tests_take_their_number_of_examples_from_the_profile() -> None:
    number = "max_" + "examples"  # so that this file does not name it
    allowed = {"tests/conftest.py", "tests/lib/examples.py"}
    named = {path_of(path) for path in (ROOT / "tests").rglob("*.py") if number in path.read_text("utf-8")}
    assert sorted(named - allowed) == []


@pytest.mark.parametrize("name", ["pyjs", "elsewhere"])
def test_the_name_of_a_clones_folder_changes_nothing(name: str, tmp_path: Path) -> None:
    (tmp_path / name).symlink_to(ROOT)
    command = [sys.executable, "-m", "ruff", "check", "--no-cache", "--select", "I", str(tmp_path / name)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
