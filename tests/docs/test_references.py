"""What documents mention exists: files and folders, functions and classes, pages and their headings."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

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
