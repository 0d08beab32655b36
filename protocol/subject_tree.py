"""Subject tree: values by subject or pattern, found by the tokens that a subject shares with them.

It is a trie of tokens. Promises: the answers are those that `subject.matches`, `collide` and `is_subset` give
for each entry, and the cost of a question depends on the entries that share its tokens, not on the number of
entries. (A question that begins with wildcards looks into every branch.) Subjects must be valid. Values come
in no particular order; a caller that needs one keeps positions as values. A tree must not be changed during
iteration over an answer.
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import Any, Final, Generic, TypeVar, cast

from ..native import NodeFields
from .subject import ANY_REST, ANY_TOKEN

T = TypeVar("T")
V = TypeVar("V")
Steps = Generator[None, None, T]  # each step takes about a millisecond


# The nodes looked at for each subject, at most, to find out what the subjects of a list have in common.
_NODES_EACH = 32
_LETTERS = 8192  # characters of subjects put into a tree in one step
_PAIRS = 2048  # pairs looked at in one step
_LARGE = 256  # subjects from which on an owner has a tree of its own


class TooEntangled(ValueError):  # noqa: N818 - what the subjects are, not what went wrong
    """Wildcards at many different positions: it would take too long to decide whether subjects collide."""

    def __str__(self) -> str:
        return "too many wildcards to tell whether subjects overlap"


class _Absent:
    """Stands for no value, because None can be a value."""


_ABSENT: Final = _Absent()


class _Node(NodeFields, Generic[V]):
    """One token. here: the value of the subject that ends here; rest: of the one that continues with `>`."""

    __slots__ = ()

    children: dict[str, _Node[V]]
    here: V | _Absent
    rest: V | _Absent

    def __init__(self) -> None:
        self.children = {}
        self.here = _ABSENT
        self.rest = _ABSENT

    @property
    def empty(self) -> bool:
        return not self.children and self.here is _ABSENT and self.rest is _ABSENT


class SubjectTree(Generic[V]):
    """A mapping from subjects, which may have wildcards, to values. `len()` is the number of subjects.

    root: the node of no token, always the same one: `native` reads the tree."""

    __slots__ = ("_count", "root")

    def __init__(self, items: Iterable[tuple[str, V]] = ()) -> None:
        self.root: _Node[V] = _Node()
        self._count = 0
        for subject, value in items:
            self[subject] = value

    def __len__(self) -> int:
        return self._count

    def __contains__(self, subject: str) -> bool:
        tokens, rest = _split(subject)
        path = self._path(tokens)
        return bool(path) and (path[-1].rest if rest else path[-1].here) is not _ABSENT

    def __setitem__(self, subject: str, value: V) -> None:
        node, rest = self._place(subject)
        if rest:
            self._count += node.rest is _ABSENT
            node.rest = value
        else:
            self._count += node.here is _ABSENT
            node.here = value

    def setdefault(self, subject: str, default: V) -> V:
        """Return the value of exactly this subject or pattern. If it has none, set it to `default` first."""
        node, rest = self._place(subject)
        value = node.rest if rest else node.here
        if value is not _ABSENT:
            return cast("V", value)
        self._count += 1
        if rest:
            node.rest = default
        else:
            node.here = default
        return default

    def _place(self, subject: str) -> tuple[_Node[V], bool]:
        """Return the node where a subject ends, created if necessary, and whether it ends with `>`."""
        node = self.root
        tokens = subject.split(".")
        rest = tokens[-1] == ANY_REST
        if rest:
            del tokens[-1]
        for token in tokens:
            child = node.children.get(token)
            if child is None:
                child = node.children[token] = _Node()
            node = child
        return node, rest

    def get(self, subject: str) -> V | None:
        """Return the value of exactly this subject or pattern, or None."""
        tokens, rest = _split(subject)
        path = self._path(tokens)
        value = _ABSENT if not path else path[-1].rest if rest else path[-1].here
        return None if value is _ABSENT else cast("V", value)

    def pop(self, subject: str) -> V | None:
        """Remove and return the value of exactly this subject or pattern; None if there is none."""
        tokens, rest = _split(subject)
        path = self._path(tokens)
        if not path:
            return None
        node = path[-1]
        value = node.rest if rest else node.here
        if value is _ABSENT:
            return None
        if rest:
            node.rest = _ABSENT
        else:
            node.here = _ABSENT
        self._count -= 1
        while len(path) > 1 and path[-1].empty:
            path.pop()
            del path[-1].children[tokens[len(path) - 1]]
        return cast("V", value)

    def values(self) -> Iterator[V]:
        """Iterate over all values."""
        return _below(self.root)

    def matching(self, literal: str) -> list[V]:
        """Return the values of all entries that match a literal subject (`subject.matches`).

        If a token of it is a wildcard, it is a token like others.
        """
        return self._above(literal.split("."), False)[0]

    def covering(self, subject: str) -> list[V]:
        """Return the values of all entries that `subject` is a subset of (`subject.is_subset`).

        An entry for `subject` itself is included.
        """
        return self._above(*_split(subject))[0]

    def _above(self, tokens: list[str], rest: bool) -> tuple[list[V], int]:
        """Return the values of the entries that contain a subject, and how many nodes were looked at."""
        found: list[V | _Absent] = []
        level = [self.root]
        looked = 1
        for token in tokens:
            following: list[_Node[V]] = []
            for node in level:
                if node.rest is not _ABSENT:
                    found.append(node.rest)
                children = node.children
                if children:
                    child = children.get(token) if token != ANY_TOKEN else None
                    if child is not None:
                        following.append(child)
                    child = children.get(ANY_TOKEN)
                    if child is not None:
                        following.append(child)
            if not following:
                break
            looked += len(following)
            level = following
        else:
            for node in level:
                value = node.rest if rest else node.here
                if value is not _ABSENT:
                    found.append(value)
        return cast("list[V]", found), looked

    def within(self, subject: str) -> Iterator[V]:
        """Iterate over the values of all subsets of `subject` (`subject.is_subset`), itself included."""
        tokens, rest = _split(subject)
        level = [self.root]
        for token in tokens:
            if token == ANY_TOKEN:
                level = [child for node in level for child in node.children.values()]
            else:
                level = [child for node in level if (child := node.children.get(token)) is not None]
        for node in level:
            if rest:
                yield from _deeper(node)
            elif node.here is not _ABSENT:
                yield cast("V", node.here)

    def colliding(self, subject: str) -> Iterator[V]:
        """Iterate over the values of all entries that collide with `subject` (`subject.collide`)."""
        tokens, rest = _split(subject)
        level = [self.root]
        for token in tokens:
            following: list[_Node[V]] = []
            for node in level:
                if node.rest is not _ABSENT:
                    yield cast("V", node.rest)
                children = node.children
                if token == ANY_TOKEN:
                    following.extend(children.values())
                    continue
                child = children.get(token)
                if child is not None:
                    following.append(child)
                child = children.get(ANY_TOKEN)
                if child is not None:
                    following.append(child)
            level = following
        for node in level:
            if rest:
                yield from _deeper(node)
            elif node.here is not _ABSENT:
                yield cast("V", node.here)

    def parting(self) -> Steps[bool]:
        """Return in steps whether no two of its subjects collide. The tree must not change meanwhile.

        The cost depends on what the subjects have in common. Raises TooEntangled if wildcards at different
        positions would make it take too long.
        """
        looked = 0
        left = _NODES_EACH * (self._count + 1)
        stack: list[_Node[V]] = [self.root]
        while stack:
            node = stack.pop()
            looked += 1
            if not looked % _PAIRS:
                yield
            children = node.children
            if not children:
                continue
            if node.rest is not _ABSENT:
                return False
            stack.extend(children.values())
            star = children.get(ANY_TOKEN)
            if star is None or len(children) == 1:
                continue
            others = [(star, child) for child in children.values() if child is not star]
            left = yield from _meet(others, left)
            if not left:
                return False
        return True

    def meets(self, other: SubjectTree[Any], *, patient: bool = False) -> bool:
        """Return whether a subject collides with one of another tree. The cost depends on what they share.

        Raises TooEntangled, unless `patient`; see `parting`.
        """
        return _at_once(self.meeting(other, patient=patient))

    def meeting(self, other: SubjectTree[Any], *, patient: bool = False) -> Steps[bool]:
        """Like `meets`, in steps. Changes to a tree meanwhile may be seen or not."""
        left = sys.maxsize if patient else _NODES_EACH * (self._count + other._count + 1)
        return not (yield from _meet([(self.root, other.root)], left))

    def _path(self, tokens: list[str]) -> list[_Node[V]]:
        """Return the nodes from the root along `tokens`, or [] if there is no such path."""
        path = [self.root]
        for token in tokens:
            child = path[-1].children.get(token)
            if child is None:
                return []
            path.append(child)
        return path


def _at_once(steps: Steps[T]) -> T:
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]


def _meet(pairs: list[tuple[_Node[Any], _Node[Any]]], left: int) -> Steps[int]:
    """Find out whether subjects collide that continue from pairs of nodes whose own paths collide.

    Return 0 if they do, otherwise what is `left` of the pairs that may be looked at. Uses the list up.
    """
    looked = 0
    while pairs:
        left -= 1
        if looked >= _PAIRS:
            looked = 0
            yield
        if left <= 0:
            raise TooEntangled
        a, b = pairs.pop()
        if a.here is not _ABSENT and b.here is not _ABSENT:
            return 0
        if a.rest is not _ABSENT and (b.children or b.rest is not _ABSENT):
            return 0
        if b.rest is not _ABSENT and a.children:
            return 0
        few, many = a.children, b.children
        if len(few) > len(many):
            few, many = many, few
        looked += 1 + len(few)
        if not few:
            continue
        star = many.get(ANY_TOKEN)
        for token, child in few.items():
            if token == ANY_TOKEN:
                if len(many) > left:
                    raise TooEntangled
                pairs.extend((child, each) for each in many.values())
                looked += len(many)
                continue
            same = many.get(token)
            if same is not None:
                pairs.append((child, same))
            if star is not None:
                pairs.append((child, star))
    return left


def _split(subject: str) -> tuple[list[str], bool]:
    """Return a subject's tokens without a final `>`, and whether there was one."""
    tokens = subject.split(".")
    if tokens[-1] == ANY_REST:
        return tokens[:-1], True
    return tokens, False


def _deeper(node: _Node[V]) -> Iterator[V]:
    """Iterate over the values of all entries that have at least one token more than `node`."""
    if node.rest is not _ABSENT:
        yield cast("V", node.rest)
    for child in node.children.values():
        yield from _below(child)


def _below(start: _Node[V]) -> Iterator[V]:
    """Iterate over the values of a node and of all nodes below it."""
    stack = [start]
    while stack:
        node = stack.pop()
        if node.here is not _ABSENT:
            yield cast("V", node.here)
        if node.rest is not _ABSENT:
            yield cast("V", node.rest)
        stack.extend(node.children.values())


def index_tree(subjects: Iterable[str]) -> SubjectTree[list[int]]:
    """Return a tree of the subjects of a list. The values are the indexes of each subject in the list."""
    return _at_once(indexing(subjects))


def indexing(subjects: Iterable[str]) -> Steps[SubjectTree[list[int]]]:
    """Like `index_tree`, in steps."""
    tree: SubjectTree[list[int]] = SubjectTree()
    letters = 0
    for index, subject in enumerate(subjects):
        letters += len(subject)
        if letters > _LETTERS:
            letters = 0
            yield
        tree.setdefault(subject, []).append(index)
    return tree


def nested(subjects: Sequence[str]) -> bool:
    """Return whether a subject of a list is a subset of another (`subject.is_subset`), or is repeated.

    Raises TooEntangled; see `SubjectTree.parting`.
    """
    return _at_once(nesting(subjects))


def nesting(subjects: Sequence[str]) -> Steps[bool]:
    """Like `nested`, in steps."""
    tree = yield from indexing(subjects)
    if len(tree) < len(subjects):
        return True
    if (yield from tree.parting()):
        return False
    left = _NODES_EACH * len(subjects)
    for number, subject in enumerate(subjects):
        if number and not number % _LARGE:
            yield
        found, looked = tree._above(*_split(subject))
        if len(found) > 1:
            return True
        left -= looked
        if left < 0:
            raise TooEntangled
    return False


class SubjectOwners:
    """Which owners' subjects collide with a subject, e.g. the streams of an account, by name.

    The owners change in many places. So `follow` is called before a question, and compares each owner's list
    of subjects with the known one by identity. Such a list must never be changed in place. An owner of many
    subjects has a tree of its own, which is not merged with the others.
    """

    __slots__ = ("_known", "_large", "_tree")

    def __init__(self) -> None:
        self._known: dict[str, list[str]] = {}
        self._tree: SubjectTree[set[str]] = SubjectTree()
        self._large: dict[str, SubjectTree[Any]] = {}

    def follow(self, owners: Iterable[tuple[str, list[str]]]) -> None:
        """Replace the known owners by exactly these, with these subjects."""
        known = self._known
        gone = set(known)
        for name, subjects in owners:
            gone.discard(name)
            before = known.get(name)
            if before is subjects:
                continue
            if before == subjects:
                known[name] = subjects
            else:
                self.know(name, subjects)
        for name in gone:
            self._forget(name)

    def know(self, name: str, subjects: list[str], tree: SubjectTree[Any] | None = None) -> None:
        """Set the subjects of an owner; `tree` is a tree of them that nobody changes, if there is one."""
        self._forget(name)
        self._learn(name, subjects, tree)

    def colliding(self, subject: str) -> set[str]:
        """Return the names of the owners that have a subject in common with `subject`."""
        found = {name for names in self._tree.colliding(subject) for name in names}
        found.update(name for name, tree in self._large.items() if any(True for _ in tree.colliding(subject)))
        return found

    def overlap(self, itself: str, subjects: Iterable[str], *, patient: bool = False) -> bool:
        """Return whether an owner other than `itself` has something in common with one of `subjects`.

        The subjects that `itself` has already are assumed to be disjoint from the others'. Raises
        TooEntangled, unless `patient`.
        """
        known = set(self._known.get(itself, ()))
        added = index_tree(subject for subject in subjects if subject not in known)
        return _at_once(self.overlapping(itself, added, patient=patient))

    def overlapping(self, itself: str, tree: SubjectTree[Any], *, patient: bool = False) -> Steps[bool]:
        """Like `overlap` for the subjects in a tree, in steps.

        Covers the owners that do not change meanwhile.
        """
        for name, large in list(self._large.items()):
            if name != itself and (yield from tree.meeting(large, patient=patient)):
                return True
        if not (yield from tree.meeting(self._tree, patient=patient)):
            return False
        own = self._known.get(itself)
        if not own or itself in self._large:
            return True
        self._forget(itself)  # it may have met itself
        try:
            return tree.meets(self._tree, patient=patient)
        finally:
            self._learn(itself, own)

    def _learn(self, name: str, subjects: list[str], tree: SubjectTree[Any] | None = None) -> None:
        self._known[name] = subjects
        if len(subjects) > _LARGE:
            self._large[name] = index_tree(subjects) if tree is None else tree
            return
        for subject in subjects:
            self._tree.setdefault(subject, set()).add(name)

    def _forget(self, name: str) -> None:
        subjects = self._known.pop(name, ())
        if self._large.pop(name, None) is not None:
            return
        for subject in subjects:
            names = self._tree.get(subject)
            if names is not None:
                names.discard(name)
                if not names:
                    self._tree.pop(subject)
