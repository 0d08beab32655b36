"""Sublist: the interest of one account, which finds the subscriptions that match a literal subject.

Literal subjects are kept in a dict, patterns in a subject tree. Promises: the cost of a match grows with the
tokens of the subject and the patterns that share them, never with the number of subscriptions; the
subscriptions of one subject keep the order of insertion. Never caches (plans do), and never looks into a
subscription beyond `subject` and `queue`, and `sink` while some are leaving.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...native import BucketFields
from ...protocol.reserved import ACK, DIRECT_GET
from ...protocol.subject import has_wildcard
from ...protocol.subject_tree import SubjectTree
from .subscription import Subscription

if TYPE_CHECKING:
    from ...native import NodeFields
    from .subscription import MessageEndpoint

Groups = dict[str, list[Subscription]]
_WILDCARDS = (b"*", b">")
_SHARED = (ACK, DIRECT_GET)  # begin the subjects of which many have the same route


# Shared by the many buckets that have no queue groups. Never written to.
_NO_GROUPS: dict[str, dict[Subscription, None]] = {}


class _Bucket(BucketFields):
    """The subscriptions of exactly one subject or pattern."""

    __slots__ = ()

    groups: dict[str, dict[Subscription, None]]
    plain: dict[Subscription, None]

    def __init__(self) -> None:
        self.plain = {}
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


# An ordered set of subjects: the values mean nothing to others.
Subjects = dict[str, _Bucket]


class Sublist:
    """A set of subscriptions, found by subject.

    count: how many there are, as `len()` says.
    literal: what subscribes to exactly one subject, by that subject; see `_in_tree`.
    ends: the last tokens of the others that are no wildcard, with the number of patterns that end so.
    leaving: the sinks whose subscriptions are no longer found, although some have yet to be removed. Each has
    the number of the latest watch that knew its subscriptions.
    fallbacks: whether some subscriptions may be such as yield to a stream's (`FallbackSubscription`).
    """

    __slots__ = ("_patterns", "_tree", "count", "ends", "fallbacks", "leaving", "literal")

    def __init__(self) -> None:
        self.fallbacks = False
        self.literal: dict[str, _Bucket] = {}
        self._patterns: dict[str, _Bucket] = {}  # the buckets in the tree, by subject
        self._tree: SubjectTree[_Bucket] = SubjectTree()
        self.count = 0
        self.ends: Counter[bytes] = Counter()
        self.leaving: dict[MessageEndpoint, int] = {}

    @property
    def root(self) -> NodeFields:
        """The root of the tree of patterns, for `native`."""
        return self._tree.root

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[Subscription]:
        for buckets in (self.literal, self._patterns):
            for bucket in list(buckets.values()):
                yield from list(bucket)

    def subjects(self) -> Subjects:
        """Return all subjects as a new dict, which belongs to the caller. There may be very many."""
        return self.literal | self._patterns

    def exactly(self, subject: str) -> dict[Subscription, None]:
        """Return the subscriptions of exactly this subject or pattern, as a new dict."""
        bucket = self._bucket(subject)
        return {} if bucket is None else dict.fromkeys(bucket)

    def insert(self, subscription: Subscription) -> None:
        """Add a subscription, whose subject must be valid."""
        subject = subscription.subject
        bucket = self._bucket(subject)
        if bucket is None:
            bucket = _Bucket()
            if _in_tree(subject):
                self._patterns[subject] = self._tree[subject] = bucket
                if (end := _end(subject)) not in _WILDCARDS:
                    self.ends[end] += 1
            else:
                self.literal[subject] = bucket
        bucket.add(subscription)
        self.count += 1

    def remove(self, subscription: Subscription) -> bool:
        """Remove a subscription. Return False if it was not there."""
        subject = subscription.subject
        bucket = self._bucket(subject)
        if bucket is None or not bucket.discard(subscription):
            return False
        if not bucket and self.literal.pop(subject, None) is None:
            del self._patterns[subject]
            self._tree.pop(subject)
            if (end := _end(subject)) not in _WILDCARDS:
                self.ends[end] -= 1
                if not self.ends[end]:
                    del self.ends[end]
        self.count -= 1
        return True

    def weight(self, subject: str, queue: str) -> int:
        """Return how many members have exactly this subject (or pattern) and queue.

        A remote queue group counts as many members as its weight says.
        """
        bucket = self._bucket(subject)
        if bucket is None:
            return 0
        return sum(s.weight for s in bucket.groups.get(queue, ())) if queue else len(bucket.plain)

    def _bucket(self, subject: str) -> _Bucket | None:
        bucket = self.literal.get(subject)
        return self._patterns.get(subject) if bucket is None else bucket

    def match(self, subject: str) -> tuple[list[Subscription], Groups]:
        """Return the receivers of the literal `subject`: plain subscriptions, and members by queue group.

        A subject with an empty token matches nothing.
        """
        plain: list[Subscription] = []
        groups: Groups = {}
        for bucket in self._matching(subject):
            plain.extend(bucket.plain)
            for queue, members in bucket.groups.items() if bucket.groups else ():
                groups.setdefault(queue, []).extend(members)
        if self.leaving:
            plain = self._staying(plain)
            stay = {queue: self._staying(members) for queue, members in groups.items()}
            groups = {queue: members for queue, members in stay.items() if members}
        return plain, groups

    def _staying(self, subscriptions: list[Subscription]) -> list[Subscription]:
        leaving = self.leaving
        return [each for each in subscriptions if each.sink not in leaving]

    def has_match(self, subject: str) -> bool:
        """Return whether anyone receives the literal `subject`."""
        found = self._matching(subject)
        if not self.leaving:
            return bool(found)
        return any(each.sink not in self.leaving for bucket in found for each in bucket)

    def colliding(self, pattern: str) -> Iterator[Subscription]:
        """Yield the subscriptions that match a part of `pattern`.

        Literal ones are among them only if they begin with `ACK` or `DIRECT_GET`.
        """
        for bucket in self._tree.colliding(pattern):
            yield from bucket

    def only_covering(self, pattern: str) -> Subscription | None:
        """Return the subscription that matches all of `pattern`; None if there is none, or more than one."""
        found: Subscription | None = None
        for bucket in self._tree.covering(pattern):
            for subscription in bucket:
                if subscription.sink in self.leaving:
                    continue
                if found is not None:
                    return None
                found = subscription
        return found

    def _matching(self, subject: str) -> list[_Bucket]:
        literal = self.literal.get(subject)
        if not self._patterns:
            return [] if literal is None else [literal]
        if not subject or subject[0] == "." or subject[-1] == "." or ".." in subject:
            return []
        found = self._tree.matching(subject)
        return found if literal is None else [literal, *found]


def _end(subject: str) -> bytes:
    """Return the last token of a subject."""
    return subject.rpartition(".")[2].encode("utf-8", "surrogateescape")


def _in_tree(subject: str) -> bool:
    """Return whether `subject` goes into the tree.

    All patterns do, and the literal subjects of acks and direct gets too, because `colliding` looks for what
    collides with a pattern of them.
    """
    return has_wildcard(subject) or subject.startswith(_SHARED)
