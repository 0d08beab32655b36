"""What modules contain, each file read once: imports, calls, names, classes, sizes, docstrings and comments.

`all_facts` has the product's modules, `facts_of_tests` those below `tests`.

The facts of a file are kept under the hash of its text in `.pytest_cache` at the root. So only files that
changed are parsed again, and by one of the workers of a run: the others wait for it and read what it wrote.
"""

from __future__ import annotations

import ast
import fcntl
import functools
import gc
import hashlib
import os
import pickle
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
ROOMS = (
    *("native", "protocol", "raft", "keys", "store", "server"),
    *("documents", "provision", "client", "cli", "plugins", "pipeline"),
)
CACHE = ROOT / ".pytest_cache" / "facts.pickle"
RUN, LATE, TYPES = (
    "run",
    "late",
    "types",
)  # when an import happens: at import, inside a function, for mypy only
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
# Formatted code has it alone in its line or after two blanks; a string rarely looks like that.
WORD = re.compile(r"[A-Za-z_]\w*")
COMMENT = re.compile(r"(?:^ *|  )# ?(.*)")


class Import(NamedTuple):
    """One name of an import statement.

    level: dots before the module; 0 for an absolute import.
    module: what stands between `from` and `import`, or after `import`.
    name: the name that is taken from the module; "" for `import module`.
    bound: the name by which the file knows it.
    kind: RUN, LATE or TYPES.
    """

    level: int
    module: str
    name: str
    bound: str
    kind: str
    line: int


class Function(NamedTuple):
    """A function or method; `lines` counts from `def` to its last line."""

    name: str
    line: int
    lines: int


class Class(NamedTuple):
    """A class.

    bases: as written, such as `Protocol` or `Stream[Consumer]`.
    members: names of its methods and annotated fields, private ones left out.
    attributes: all names that its instances have from it: methods, fields, constants, what it assigns to
        `self`, private ones too.
    methods: names of its functions and properties, private ones too, each once.
    handed: (parameter, annotation) of its `__init__`, or of the fields of a dataclass.
    """

    name: str
    line: int
    bases: tuple[str, ...]
    members: tuple[str, ...]
    attributes: frozenset[str]
    methods: frozenset[str]
    handed: tuple[tuple[str, str], ...]


class Facts(NamedTuple):
    """The content of a file. In the dicts, a name's value is the first line that has it."""

    documented: bool
    lines: int
    imports: tuple[Import, ...]
    functions: tuple[Function, ...]
    classes: tuple[Class, ...]
    calls: dict[str, int]  # what is called, dotted: `self.log.info`, `Path('/proc/stat').open`
    names: dict[str, int]  # of classes, functions, parameters, fields, and attributes that are assigned
    chains: tuple[tuple[str, int], ...]  # the longest `a.b.c.d` of each expression, and its line
    getattrs: tuple[int, ...]  # lines of `getattr(x, "constant"...)`
    prose: tuple[tuple[int, str], ...]  # (line, text) of each line of a docstring, and of each comment
    words: frozenset[str]  # names that its code has, and words of its texts; not those of `prose`


def sources(*rooms: str) -> list[Path]:
    """Return the modules of these rooms, or of all."""
    own = [] if rooms else [ROOT / "__init__.py", ROOT / "__main__.py", ROOT / "version.py"]
    return own + sorted(f for room in rooms or ROOMS for f in (ROOT / room).rglob("*.py"))


def path_of(file: Path) -> str:
    """Return a file's path below the root."""
    return file.relative_to(ROOT).as_posix()


def facts(file: Path) -> Facts:
    """Return the facts of one of the product's modules."""
    return all_facts()[path_of(file)]


def all_facts() -> dict[str, Facts]:
    """Return the facts of every module of the product, by its path below the root."""
    return _facts_of_everything()[0]


def facts_of_tests() -> dict[str, Facts]:
    """Return the same of every module below `tests`."""
    return _facts_of_everything()[1]


@functools.cache
def _facts_of_everything() -> tuple[dict[str, Facts], dict[str, Facts]]:
    product, tests = sources(), sorted((ROOT / "tests").rglob("*.py"))
    texts = {path_of(file): file.read_text(encoding="utf-8") for file in product + tests}
    CACHE.parent.mkdir(exist_ok=True)
    with CACHE.with_suffix(".lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        kept = _kept()
        keys = {path: _key(text) for path, text in texts.items()}
        gc.disable()  # trees are large, and have no cycles
        try:
            found = {key: kept[key] if key in kept else read(texts[path]) for path, key in keys.items()}
        finally:
            gc.enable()
        if found.keys() != kept.keys():
            written = CACHE.with_suffix(f".{os.getpid()}")
            written.write_bytes(pickle.dumps(found, pickle.HIGHEST_PROTOCOL))
            written.replace(CACHE)
    of = {path: found[key] for path, key in keys.items()}
    return {path_of(file): of[path_of(file)] for file in product}, {
        path_of(file): of[path_of(file)] for file in tests
    }


def _kept() -> dict[bytes, Facts]:
    try:
        kept: dict[bytes, Facts] = pickle.loads(CACHE.read_bytes())
    except Exception:  # none yet, or of another version: everything is read again
        return {}
    return kept


@functools.cache
def _reader() -> bytes:
    """Return a hash of the code that reads files: facts from another version of it are not used."""
    return Path(__file__).read_bytes()


def _key(text: str) -> bytes:
    return hashlib.blake2b(_reader() + text.encode(), digest_size=16).digest()


def read(text: str) -> Facts:
    """Parse a module and return its facts."""
    tree = ast.parse(text)
    found = _Reader()
    found.docstring(tree)
    found.walk(tree, RUN)
    return Facts(
        ast.get_docstring(tree) is not None,
        len(text.splitlines()),
        tuple(found.imports),
        tuple(found.functions),
        tuple(found.classes),
        found.calls,
        found.names,
        tuple(found.chains),
        tuple(found.getattrs),
        (*found.docstrings, *_comments(text)),
        frozenset(map(sys.intern, found.words)),
    )


def _comments(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.splitlines(), 1):
        if "#" in line and (comment := COMMENT.search(line)):
            yield number, comment[1]


class _Reader:
    """One pass over the tree of a module."""

    def __init__(self) -> None:
        self.imports: list[Import] = []
        self.functions: list[Function] = []
        self.classes: list[Class] = []
        self.calls: dict[str, int] = {}
        self.names: dict[str, int] = {}
        self.chains: list[tuple[str, int]] = []
        self.getattrs: list[int] = []
        self.docstrings: list[tuple[int, str]] = []  # line by line
        self.words: set[str] = set()
        self._documents: set[int] = set()  # the docstrings' nodes

    def walk(self, parent: ast.AST, kind: str) -> None:
        """Note everything below `parent`; an import there is of this kind."""
        for node in ast.iter_child_nodes(parent):
            match node:  # the most frequent first; these and what comes below them are nine in ten
                case ast.Name(id=name):
                    self.words.add(name)
                    continue
                case ast.Load() | ast.Store():
                    continue
                case ast.Constant(value=value):
                    if isinstance(value, str) and id(node) not in self._documents:
                        self.words.update(WORD.findall(value))
                    elif isinstance(value, bytes):
                        self.words.update(WORD.findall(value.decode("latin-1")))
                    continue
                case ast.Attribute(attr=name):
                    self.words.add(name)
                    if isinstance(node.ctx, ast.Store):
                        self.names.setdefault(name, node.lineno)
                    if not isinstance(parent, ast.Attribute):
                        self.chains.append((dotted(node), node.lineno))
                    self.walk(node, kind)
                case ast.Call():
                    self._call(node)
                    self.walk(node, kind)
                case ast.keyword(arg=str(name)):
                    self.words.add(name)
                    self.walk(node, kind)
                case ast.arg(arg=name):
                    self.words.add(name)
                    self.names.setdefault(name, node.lineno)
                    self.walk(node, kind)
                case ast.stmt():
                    self.walk(node, self._statement(node, kind))
                case _:
                    self.walk(node, kind)

    def _statement(self, node: ast.stmt, kind: str) -> str:
        """Note a statement of a kind; return the kind of imports in it."""
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                self.docstring(node)
                self.words.add(name)
                self.names.setdefault(name, node.lineno)
                size = (node.end_lineno or node.lineno) - node.lineno + 1
                self.functions.append(Function(name, node.lineno, size))
                return LATE if kind == RUN else kind
            case ast.ClassDef(name=name):
                self.docstring(node)
                self.words.add(name)
                self._class(node)
            case ast.If() if getattr(node.test, "id", "") == "TYPE_CHECKING":
                return TYPES
            case ast.Import() | ast.ImportFrom():
                self._import(node, kind)
                for alias in node.names:
                    self.words.update([*alias.name.split("."), alias.asname or ""])
        return kind

    def docstring(self, node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """Note the docstring of what `node` defines."""
        match node.body[:1]:
            case [ast.Expr(value=ast.Constant(value=str(text))) as first]:
                self.docstrings.extend(enumerate(text.splitlines(), first.lineno))
                self._documents.add(id(first.value))

    def _call(self, node: ast.Call) -> None:
        called = dotted(node.func)
        self.calls.setdefault(called, node.lineno)
        if called == "getattr" and isinstance(node.args[1], ast.Constant):
            self.getattrs.append(node.lineno)

    def _import(self, node: ast.Import | ast.ImportFrom, kind: str) -> None:
        for alias in node.names:
            bound = alias.asname or alias.name
            if isinstance(node, ast.Import):
                self.imports.append(Import(0, alias.name, "", bound, kind, node.lineno))
            else:
                module = node.module or ""
                self.imports.append(Import(node.level, module, alias.name, bound, kind, node.lineno))

    def _class(self, node: ast.ClassDef) -> None:
        self.names.setdefault(node.name, node.lineno)
        members: list[str] = []
        fields: list[tuple[str, str]] = []
        handed: list[tuple[str, str]] = []
        for item in node.body:
            if isinstance(item, FUNCTIONS):
                members.append(item.name)
                if item.name == "__init__":
                    given = [*item.args.posonlyargs, *item.args.args, *item.args.kwonlyargs]
                    handed += [(a.arg, ast.unparse(a.annotation)) for a in given if a.annotation]
            for name in _targets(item):
                self.names.setdefault(name, item.lineno)
                if isinstance(item, ast.AnnAssign):
                    members.append(name)
                    fields.append((name, ast.unparse(item.annotation)))
        public = tuple(m for m in members if not m.startswith("_"))
        bases = tuple(ast.unparse(base) for base in node.bases)
        attributes = frozenset(_attributes(node))
        methods = frozenset(item.name for item in node.body if isinstance(item, FUNCTIONS))
        self.classes.append(
            Class(node.name, node.lineno, bases, public, attributes, methods, tuple(handed or fields))
        )


def _attributes(node: ast.ClassDef) -> Iterator[str]:
    for item in node.body:
        yield from _targets(item)
        if isinstance(item, (*FUNCTIONS, ast.ClassDef)):
            yield item.name
            for inner in ast.walk(item):
                match inner:
                    case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Store()):
                        yield name


def _targets(item: ast.stmt) -> Iterator[str]:
    targets: Sequence[ast.expr] = [item.target] if isinstance(item, ast.AnnAssign) else []
    targets = item.targets if isinstance(item, ast.Assign) else targets
    yield from (target.id for target in targets if isinstance(target, ast.Name))


def dotted(node: ast.AST) -> str:
    """Return an expression of names, attributes and calls as it is written, others as `...`."""
    match node:
        case ast.Name():
            return node.id
        case ast.Attribute():
            return f"{dotted(node.value)}.{node.attr}"
        case ast.Call():
            constants = [repr(a.value) for a in node.args if isinstance(a, ast.Constant)]
            return f"{dotted(node.func)}({', '.join(constants)})"
    return "..."
