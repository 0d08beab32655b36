"""YAML with the place of every key and value.

`read` returns the plain document (dicts, lists, scalars as YAML 1.1's safe types) and a map from the path of
each value, a tuple of keys and indexes, to its place in the text. These are errors: a key that is written
twice, a key that is not text, an alias to what contains it, a document nested deeper than DEPTH or with more
values than are allowed (also by aliases of aliases), a tag that is not YAML's own, and a number that is not
what it looks like: `1:30` is 90 in YAML, and `010` is 8.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import yaml

from .problem import DocumentError, DocumentProblem

DEPTH = 30
NODES = 20_000  # aliases of aliases multiply
_YAML = "tag:yaml.org,2002:"
_MERGE = _YAML + "merge"
_ODD_NUMBER = re.compile(r"[-+]?(?:0[0-7_]+|.*:.*)")

Path = tuple[str | int, ...]


@dataclass(frozen=True)
class Place:
    """The place of a value.

    line and column: of the value's key, or of the value itself in a list; counted from 1
    start and end: the characters of the value in the text
    """

    line: int
    column: int
    start: int
    end: int


@dataclass(frozen=True)
class LocatedYaml:
    """A document and the places of its values."""

    value: Any
    places: dict[Path, Place]

    def near(self, path: Path) -> Place | None:
        """Return the place of `path`, or of the nearest thing around it that has one."""
        while path and path not in self.places:
            path = path[:-1]
        return self.places.get(path)


def read(text: str, file: str, nodes: int = NODES) -> LocatedYaml:
    """Return the document in `text`.

    nodes: how many values it may have.

    Raises DocumentError naming `file` if it is ambiguous or not YAML.
    """
    try:
        loader = _Loader(text, nodes)
        node = loader.get_single_node()
        reader = _Reader(loader, nodes)
        value = None if node is None else reader.value(node, (), None)
        return LocatedYaml(value, reader.places)
    except _RefusedError as refused:
        mark = refused.node.start_mark
        raise DocumentError(
            file, [DocumentProblem(dotted(refused.path), str(refused), mark.line + 1, mark.column + 1)]
        ) from None
    except yaml.MarkedYAMLError as error:
        where = error.problem_mark or error.context_mark
        said = " ".join(filter(None, (error.context, error.problem)))
        line, column = (where.line + 1, where.column + 1) if where else (0, 0)
        hint = "YAML indents with blanks, not tabs" if "'\\t'" in said else ""
        raise DocumentError(file, [DocumentProblem("", f"not YAML: {said}", line, column, hint)]) from None
    except yaml.YAMLError as error:
        raise DocumentError(file, [DocumentProblem("", f"not YAML: {error}")]) from None


def dotted(path: Path) -> str:
    """Return a path as people write it: `sinks.lake.partitionBy[0]`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


class _RefusedError(Exception):
    """YAML that is well formed but not accepted."""

    def __init__(self, message: str, path: Path, node: yaml.Node) -> None:
        super().__init__(message)
        self.path = path
        self.node = node


class _Loader(yaml.SafeLoader):
    """Makes nodes of a text, as many and as deep as are allowed."""

    def __init__(self, text: str, nodes: int) -> None:
        super().__init__(text)
        self.left = nodes
        self.depth = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        self.left -= 1
        self.depth += 1
        if self.depth > DEPTH or self.left < 0:
            what = "nested too deeply" if self.depth > DEPTH else "it has too many values"
            mark = parent.start_mark if parent is not None else None
            raise yaml.MarkedYAMLError(problem=what, problem_mark=mark)
        node: yaml.Node | None = super().compose_node(parent, index)
        self.depth -= 1
        return node


Pairs = dict[str, tuple[yaml.Node, yaml.Node]]


class _Reader:
    """Makes values of nodes and notes their places."""

    def __init__(self, loader: yaml.SafeLoader, nodes: int) -> None:
        self.loader = loader
        self.nodes = nodes
        self.places: dict[Path, Place] = {}
        self.merged: dict[int, Pairs | None] = {}  # by the id of a node; None while it is made

    def value(self, node: yaml.Node, path: Path, key: yaml.Node | None) -> Any:
        """Return the value of `node`, which is at `path` after `key`."""
        if len(path) > DEPTH:
            raise _RefusedError("nested too deeply, or an alias contains itself", path[:3], node)
        if len(self.places) > self.nodes:
            raise _RefusedError("it has too many values", path[:3], node)
        mark = (key or node).start_mark
        self.places[path] = Place(mark.line + 1, mark.column + 1, node.start_mark.index, node.end_mark.index)
        if isinstance(node, yaml.MappingNode):
            _require_tag(node, "map", path)
            pairs = self._pairs(node, path)
            return {name: self.value(value, (*path, name), key) for name, (key, value) in pairs.items()}
        if isinstance(node, yaml.SequenceNode):
            _require_tag(node, "seq", path)
            return [self.value(item, (*path, index), None) for index, item in enumerate(node.value)]
        return self._scalar(node, path)

    def _scalar(self, node: yaml.Node, path: Path) -> Any:
        try:
            found = self.loader.construct_object(node)
        except (ValueError, OverflowError) as error:  # 2026-13-45 looks like a date
            raise _RefusedError(f"{node.value} is none: {error}", path, node) from None
        if node.tag in (_YAML + "int", _YAML + "float") and _ODD_NUMBER.fullmatch(node.value):
            raise _RefusedError(f"{node.value} is {found} in YAML: put it in quotes", path, node)
        return found

    def _pairs(self, node: yaml.MappingNode, path: Path) -> Pairs:
        """Return keys and values of a mapping by key, with those that `<<` takes from other mappings.

        Each mapping is merged once, and a key is taken once: aliases of aliases cost no more than their keys.
        """
        if id(node) in self.merged:
            known = self.merged[id(node)]
            if known is None:
                raise _RefusedError("an alias contains itself", path, node)
            return known
        self.merged[id(node)] = None
        own: Pairs = {}
        others: list[yaml.Node] = []
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise _RefusedError("a key has to be a word", path, key)
            if key.tag == _MERGE:
                others += value.value if isinstance(value, yaml.SequenceNode) else [value]
                continue
            if key.value in own:
                raise _RefusedError("is there twice", (*path, key.value), key)
            own[key.value] = (key, value)
        for other in others:
            if not isinstance(other, yaml.MappingNode):
                raise _RefusedError("'<<' takes keys from mappings only", path, other)
            for name, pair in self._pairs(other, path).items():
                own.setdefault(name, pair)
                self.nodes -= 1
        if self.nodes < 0:
            raise _RefusedError("it has too many values", path, node)
        self.merged[id(node)] = own
        return own


def _require_tag(node: yaml.Node, kind: str, path: Path) -> None:
    if node.tag != _YAML + kind:
        raise _RefusedError(f"the tag {node.tag} means nothing here", path, node)
