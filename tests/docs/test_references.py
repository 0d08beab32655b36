"""What documents mention exists: files and folders, functions and classes, pages and their headings.

The same for docstrings and comments, as far as it can be decided without guessing what a name means.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from lib.import_graph import modules, target
from lib.source_facts import Class, Facts, all_facts, facts_of_tests

ROOT = Path(__file__).resolve().parents[2]
HISTORY = {"CHANGELOG.md"}  # names what was there once
PAGES = sorted(
    str(path.relative_to(ROOT))
    for pattern in ("*.md", "docs/**/*.md", "examples/*.md", "tests/lib/*.md", "benchmarks/*.md")
    for path in ROOT.glob(pattern)
    if path.name not in HISTORY
)
FOLDERS = sorted(path.name for path in ROOT.iterdir() if path.is_dir() and path.name.isidentifier())
IN_CODE = re.compile(r"`([^`\n]+)`")
PATH = re.compile(rf"(?:{'|'.join(FOLDERS)})/[\w./-]+")


def text_of(page: str) -> str:
    """A page without its blocks of code."""
    return re.sub(r"(?ms)^```.*?^```$", "", (ROOT / page).read_text("utf-8"))


@pytest.mark.parametrize("page", PAGES)
def test_a_page_names_files_that_are_there(page: str) -> None:
    named = {found for found in IN_CODE.findall(text_of(page)) if PATH.fullmatch(found)}
    # What programs write there is not of the repository: keys and results.
    written = {found for found in named if found.startswith(("keys/creds/", "build/"))}
    assert sorted(found for found in named - written if not (ROOT / found).exists()) == []


@pytest.mark.parametrize("page", PAGES)
def test_a_pages_links_lead_somewhere(page: str) -> None:
    wrong = []
    for link in re.findall(r"\]\(([^)\s]+)\)", text_of(page)):
        file, _, heading = link.partition("#")
        if "://" in link:
            continue
        target = (ROOT / page).parent / file if file else ROOT / page
        if not target.exists() or (heading and heading not in headings(target)):
            wrong.append(link)
    assert wrong == []


@functools.cache
def headings(page: Path) -> frozenset[str]:
    """The anchors that GitHub gives to a page's headings."""
    titles = re.findall(r"(?m)^#+ (.*)$", page.read_text("utf-8"))
    return frozenset(re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles)


def named_in(page: str) -> Iterator[tuple[str, str]]:
    """(file, name) for each "`name` in `file.py`"; several names may stand before the "in"."""
    both = r"((?:`[\w.]+`(?:,| and)? )+)in `([\w/]+\.py)`"
    for names, file in re.findall(both, text_of(page)):
        for name in IN_CODE.findall(names):
            yield file, name


@pytest.mark.parametrize("page", PAGES)
def test_a_page_names_functions_that_are_there(page: str) -> None:
    wrong = [f"{file}: {name}" for file, name in named_in(page) if name not in defined(file)]
    assert wrong == []


def test_the_architecture_page_says_where_things_are() -> None:
    assert len(list(named_in("ARCHITECTURE.md"))) > 20


@functools.cache
def defined(file: str) -> frozenset[str]:
    """The names of a module's functions, classes and constants, and `Class.method`."""
    names: set[str] = set()
    for node in ast.parse((ROOT / file).read_text("utf-8")).body:
        if isinstance(node, ast.AnnAssign | ast.Assign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names.update(each.id for each in targets if isinstance(each, ast.Name))
        elif isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            names.add(node.name)
            inner = node.body if isinstance(node, ast.ClassDef) else []
            functions = (each for each in inner if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef))
            names.update(f"{node.name}.{each.name}" for each in functions)
    return frozenset(names)


# In docstrings and comments a name stands between backticks, or after "see" if it looks like one.
NAME = re.compile(r"(?<!`)`([\w./]+)(?:\(\))?`(?!`)|\b[Ss]ee (\w+(?:\.\w+)+|(?:[A-Z][a-z0-9]+){2,}\b)")
DOTTED = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")
LOOKS_LIKE_CODE = re.compile(r"_*[A-Z]\w*|_*[a-z0-9]+(_[a-z0-9]+)+|_[a-z]\w*")  # no English word
# Names of nats-server, jsm.go and Python, and examples.
FOREIGN = {
    *("AddWeightedMappings", "InitVar", "TypedEvent", "_native.pyx"),
    *("Class.method", "file.py", "pub.alow", "raft_member", "spark.read", "spark.readStream"),
    "state.messages",
}
# Bases that bring no names of their own which one would mention.
PLAIN = {"ABC", "Enum", "Exception", "Generic", "NamedTuple", "Protocol"}


def test_docstrings_and_comments_name_what_is_there() -> None:
    facts = {**all_facts(), **facts_of_tests()}
    wrong = [
        f"{path}:{line}: {name}"
        for path, known in facts.items()
        for line, text in known.prose
        for found in NAME.finditer(text)
        if not exists(name := found[1] or found[2].removesuffix("."), path, known)
    ]
    assert wrong == []


def test_a_name_that_is_gone_is_found() -> None:
    path = "server/jetstream/streams/core.py"
    known = all_facts()[path]
    there = (
        "Ingest.configure",
        "slices.TurnScheduler",
        "Stream",
        "_contents",
        "server/slices.py",
        "message.body",
    )
    gone = ("Ingest.no_such", "slices.no_such", "NoSuch" + "Class", "no_" + "such_name", "server/no_such.py")
    assert [name for name in there if not exists(name, path, known)] == []
    assert [name for name in gone if exists(name, path, known)] == []


def exists(name: str, path: str, known: Facts) -> bool:
    """Whether what the file at `path` mentions exists, or what is meant cannot be decided.

    Decided are: attributes of classes of this project; what an imported module has, or any module of a name
    that means nothing else in this file; single names that no English word looks like; modules by their file.
    """
    if name in FOREIGN or name == ".py":
        return True
    if name.endswith(".py"):
        return any(f"/{file}".endswith(f"/{name}") for file in files())
    if not DOTTED.fullmatch(name):
        return True
    *owners, last = name.split(".")
    if not owners:
        return not LOOKS_LIKE_CODE.fullmatch(name) or name in words() or bool(modules_named(name))
    if owners[-1] in classes() and owners[-1][0].isupper():
        return has(owners[-1], last)
    imported = {target(path, each) for each in known.imports if each.bound == owners[0]} & modules().keys()
    if owners[0] in known.words and not imported:
        return True  # a variable or something foreign
    found = modules_named(owners[-1]) if len(owners) > 1 or not imported else sorted(imported)
    inside = modules_named(f"{owners[-1]}/{last}")
    return not found or bool(inside) or any(last in words_of_module(each) for each in found)


def has(name: str, attribute: str) -> bool:
    """Whether a class of this name has the attribute, or a base that we know nothing of."""
    return any(
        attribute in each.attributes
        or any(
            base != name and (base not in classes() or has(base, attribute))
            for base in (base.partition("[")[0].rpartition(".")[2] for base in each.bases)
            if base not in PLAIN
        )
        for each in classes()[name]
    )


@functools.cache
def classes() -> dict[str, list[Class]]:
    """The classes of each name."""
    found: dict[str, list[Class]] = {}
    for known in (*all_facts().values(), *facts_of_tests().values()):
        for each in known.classes:
            found.setdefault(each.name, []).append(each)
    return found


@functools.cache
def words() -> frozenset[str]:
    """All names of the code."""
    return frozenset().union(*(known.words for known in (*all_facts().values(), *facts_of_tests().values())))


@functools.cache
def files() -> tuple[str, ...]:
    """The Python files."""
    return (*all_facts(), *facts_of_tests(), *(str(p.relative_to(ROOT)) for p in ROOT.glob("*/*.py")))


@functools.cache
def modules_named(name: str) -> list[str]:
    """The modules and packages whose path ends so; without `.py`."""
    return [path for path in paths_of_modules() if f"/{path}".endswith(f"/{name}")]


@functools.cache
def paths_of_modules() -> frozenset[str]:
    """The modules and packages by their paths, without `.py`."""
    found = {file.removesuffix(".py").removesuffix("/__init__") for file in files()}
    return frozenset(found.union(*(map(str, Path(path).parents) for path in found)))


@functools.cache
def words_of_module(path: str) -> frozenset[str]:
    """The names of a module's code, or of a package's `__init__`."""
    facts = {**all_facts(), **facts_of_tests()}
    known = facts.get(f"{path}.py") or facts.get(f"{path}/__init__.py")
    return known.words if known else frozenset()
