"""The interest of one account: which subscriptions a literal subject finds.

Literal subjects live in a dict, patterns in a trie of tokens. Promises: a match costs the tokens of the
subject times the patterns that share them, never the number of subscriptions; order within a subject is that
of insertion. Never caches (plans do) and never looks into a subscription beyond `subject` and `queue`.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...protocol.subject import ANY_TOKEN, has_wildcard
from .subscription import Subscription

Groups = dict[str, list[Subscription]]


# Shared by the many buckets without queue groups; never written to.
_NO_GROUPS: dict[str, dict[Subscription, None]] = {}


class _Bucket:
    """Subscriptions of exactly one subject or pattern."""

    __slots__ = ("groups", "plain")

    def __init__(self) -> None:
        self.plain: dict[Subscription, None] = {}
        self.groups = _NO_GROUPS

    def add(self, subscription: Subscription) -> None:
        if subscription.queue:
            if self.groups is _NO_GROUPS:
                self.groups = {}
            self.groups.setdefault(subscription.queue, {})[subscription] = None
        else:
            self.plain[subscription] = None

    def discard(self, subscription: Subscription) -> bool:
        if not subscription.queue:
            return self.plain.pop(subscription, self) is None
        members = self.groups.get(subscription.queue, {})
        found = members.pop(subscription, self) is None
        if found and not members:
            del self.groups[subscription.queue]
        return found

    def __bool__(self) -> bool:
        return bool(self.plain or self.groups)

    def __iter__(self) -> Iterator[Subscription]:
        yield from self.plain
        for members in self.groups.values():
            yield from members


class _Node:
    """One token's place in the trie of patterns; `rest` holds patterns that end here with `>`."""

    __slots__ = ("children", "here", "rest")

    def __init__(self) -> None:
        self.children: dict[str, _Node] = {}
        self.here: _Bucket | None = None
        self.rest: _Bucket | None = None

    @property
    def empty(self) -> bool:
        return not (self.children or self.here or self.rest)


class Interest:
    """A set of subscriptions, found by subject. `len()` is how many there are."""

    __slots__ = ("_count", "_literal", "_root")

    def __init__(self) -> None:
        self._literal: dict[str, _Bucket] = {}
        self._root = _Node()
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Subscription]:
        for bucket in list(self._literal.values()):
            yield from list(bucket)
        yield from list(_walk(self._root))

    def insert(self, subscription: Subscription) -> None:
        """Add one; its subject must be valid."""
        subject = subscription.subject
        if not has_wildcard(subject):
            bucket = self._literal.get(subject)
            if bucket is None:
                bucket = self._literal[subject] = _Bucket()
        else:
            bucket = self._pattern_bucket(subject)
        bucket.add(subscription)
        self._count += 1

    def remove(self, subscription: Subscription) -> bool:
        """Take one out; False when it was not there."""
        subject = subscription.subject
        if not has_wildcard(subject):
            bucket = self._literal.get(subject)
            if bucket is None or not bucket.discard(subscription):
                return False
            if not bucket:
                del self._literal[subject]
        elif not self._remove_pattern(subscription):
            return False
        self._count -= 1
        return True

    def weight(self, subject: str, queue: str) -> int:
        """Members with exactly this subject (or pattern) and queue, remote groups by their weights."""
        if not has_wildcard(subject):
            bucket = self._literal.get(subject)
        else:
            tokens, rest = _split(subject)
            path = self._path(tokens)
            bucket = None if not path else path[-1].rest if rest else path[-1].here
        if bucket is None:
            return 0
        return sum(s.weight for s in bucket.groups.get(queue, ())) if queue else len(bucket.plain)

    def match(self, subject: str) -> tuple[list[Subscription], Groups]:
        """Everyone who hears the literal `subject`: plain ones, and members by queue group.

        A subject with an empty token finds nobody.
        """
        plain: list[Subscription] = []
        groups: Groups = {}
        for bucket in self._matching(subject):
            plain.extend(bucket.plain)
            for queue, members in bucket.groups.items() if bucket.groups else ():
                groups.setdefault(queue, []).extend(members)
        return plain, groups

    def has_match(self, subject: str) -> bool:
        """Whether anyone hears the literal `subject`."""
        return bool(self._matching(subject))

    def _matching(self, subject: str) -> list[_Bucket]:
        literal = self._literal.get(subject)
        found = [] if literal is None else [literal]
        if self._root.empty:
            return found
        tokens = subject.split(".")
        if "" in tokens:
            return []
        level = [self._root]
        for token in tokens:
            following: list[_Node] = []
            for node in level:
                if node.rest is not None:
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
                return found
            level = following
        found.extend(node.here for node in level if node.here is not None)
        return found

    def _pattern_bucket(self, pattern: str) -> _Bucket:
        tokens, rest = _split(pattern)
        node = self._root
        for token in tokens:
            child = node.children.get(token)
            if child is None:
                child = node.children[token] = _Node()
            node = child
        if rest:
            if node.rest is None:
                node.rest = _Bucket()
            return node.rest
        if node.here is None:
            node.here = _Bucket()
        return node.here

    def _path(self, tokens: list[str]) -> list[_Node]:
        """The nodes from the root along `tokens`, or [] when they are not there."""
        path = [self._root]
        for token in tokens:
            child = path[-1].children.get(token)
            if child is None:
                return []
            path.append(child)
        return path

    def _remove_pattern(self, subscription: Subscription) -> bool:
        tokens, rest = _split(subscription.subject)
        path = self._path(tokens)
        if not path:
            return False
        node = path[-1]
        bucket = node.rest if rest else node.here
        if bucket is None or not bucket.discard(subscription):
            return False
        if not bucket:
            if rest:
                node.rest = None
            else:
                node.here = None
        while len(path) > 1 and path[-1].empty:
            path.pop()
            del path[-1].children[tokens[len(path) - 1]]
        return True


def _split(pattern: str) -> tuple[list[str], bool]:
    """A pattern's tokens without a last `>`, and whether there was one."""
    tokens = pattern.split(".")
    if tokens[-1] == ">":
        return tokens[:-1], True
    return tokens, False


def _walk(node: _Node) -> Iterator[Subscription]:
    if node.rest is not None:
        yield from node.rest
    if node.here is not None:
        yield from node.here
    for child in node.children.values():
        yield from _walk(child)
