"""YAML with the place of every key and value.

`read` returns the plain document (dicts, lists, scalars as YAML 1.1's safe types) and a map from the path of
each value, a tuple of keys and indexes, to its place in the text. These are errors: a key that is written
twice, a key that is not text, an alias to what contains it, and a document nested deeper than DEPTH.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import yaml

from .problem import DocumentError, DocumentProblem

DEPTH = 30
NODES = 20_000  # aliases of aliases multiply: no pipeline has this many values

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


def read(text: str, file: str) -> LocatedYaml:
    """Return the document in `text`. Raises DocumentError naming `file` if it is ambiguous or not YAML."""
    loader = yaml.SafeLoader(text)
    try:
        node = loader.get_single_node()
        reader = _Reader(loader)
        return (
            LocatedYaml(reader.value(node, (), None), reader.places)
            if node is not None
            else LocatedYaml(None, {})
        )
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
    finally:
        loader.dispose()


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


class _Reader:
    """Makes values of nodes and notes their places."""

    def __init__(self, loader: yaml.SafeLoader) -> None:
        self.loader = loader
        self.places: dict[Path, Place] = {}

    def value(self, node: yaml.Node, path: Path, key: yaml.Node | None) -> Any:
        """Return the value of `node`, which is at `path` after `key`."""
        if len(path) > DEPTH or len(self.places) > NODES:
            raise _RefusedError("nested too deeply, or an alias contains itself", path[:3], node)
        mark = (key or node).start_mark
        self.places[path] = Place(mark.line + 1, mark.column + 1, node.start_mark.index, node.end_mark.index)
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item, (*path, index), None) for index, item in enumerate(node.value)]
        try:
            return self.loader.construct_object(node)
        except (ValueError, OverflowError) as error:  # 2026-13-45 looks like a date
            raise _RefusedError(f"{node.value} is none: {error}", path, node) from None

    def _mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise _RefusedError("a key has to be a word", path, key)
            if key.value in seen and key.value != "<<":
                raise _RefusedError("is there twice", (*path, key.value), key)
            seen.add(key.value)
        self.loader.flatten_mapping(node)
        return {key.value: self.value(value, (*path, key.value), key) for key, value in node.value}
